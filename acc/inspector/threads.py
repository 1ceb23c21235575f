"""The threads of a memory and the details of their commits, read from its journal beside whoever writes it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from acc.controller.documents import document
from acc.errors import AccError, InputError
from acc.gate import passages
from acc.inspector.commits import Index, commit_at, entry_of
from acc.inspector.states import Body, StateReader, changes, items_of
from acc.journal import Head, Journal, StoredCommit, ThreadKey
from acc.journal.names import MAIN, StoredMessage
from acc.state.reasons import LEFT, REFUSED
from acc.state.tail import Message

MOST_INDEXES = 16
"""Number of branches whose list of commits stays in memory."""

MOST_FOUND = 50
"""Number of messages that a search returns."""

AROUND = 120
"""Characters that a search shows before and after the first word."""

_NAMES = ("thread", "tenant", "user", "agent")

End = tuple[str, int]
"""Hash and epoch of a branch's head: what changes with every commit and every erasure."""


def name_of(key: ThreadKey) -> str:
    """Return what names a thread in an address."""
    return urlencode([(name, value) for name in _NAMES if (value := getattr(key, name))])


def key_of(name: str) -> ThreadKey:
    """Return the thread of such a name; raise `InputError` if it names none."""
    given = dict(parse_qsl(name, keep_blank_values=True))
    if not given.get("thread") or given.keys() - set(_NAMES):
        raise InputError("no such thread", where=name[:200], hint="choose a thread of the list")
    return ThreadKey(**given)


class Threads:
    """The threads as the page reads them. Several requests may use one object.

    Args:
        journal: The journal, which is only read.
        reader: Reads the states.
    """

    def __init__(self, journal: Journal, reader: StateReader | None = None) -> None:
        self.journal = journal
        self.reader = reader or StateReader()
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], tuple[End, dict[str, Any]]] = {}
        self._indexes: OrderedDict[tuple[str, str], Index] = OrderedDict()

    def ends(self) -> dict[str, dict[str, End]]:
        """Return the end of each branch, by thread: what has changed since it was last asked for."""
        found: dict[str, dict[str, End]] = {}
        for head in self.journal.heads():
            found.setdefault(name_of(head.thread), {})[head.branch] = head.hash, head.epoch
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each thread, with its newest commit."""
        with self._lock:
            self.reader.policies.update(self.journal.policies())
            by_thread: dict[str, list[dict[str, Any]]] = {}
            seen = {}
            for head in self.journal.heads():
                name, end = name_of(head.thread), (head.hash, head.epoch)
                held = self._rows.get((name, head.branch))
                row = held if held and held[0] == end else (end, self._row(head))
                seen[name, head.branch] = row
                by_thread.setdefault(name, []).append(row[1])
            self._rows = seen
        return [_newest(name, branches) for name, branches in by_thread.items()]

    def _row(self, head: Head) -> dict[str, Any]:
        row = {**vars(head.thread), "branch": head.branch}
        try:
            if not head.hash:
                return {**row, "at": "", "turn": 0, "outcome": "not committed", "failed": False}
            last = commit_at(self.journal, head.thread, head.branch, head.version)
            entry = entry_of(last, None, self.reader)
        except AccError as error:
            return {**row, "fault": str(error)}
        told = ("turn", "at", "tokens", "tail", "limit", "outcome", "failed", "kind")
        fault = {"fault": entry["fault"]} if entry["fault"] else {}
        return {**row, **{each: entry[each] for each in told}, **fault}

    def index(self, name: str, branch: str = MAIN) -> Index:
        """Return the list of a branch's commits, up to its present head.

        Raises:
            InputError: There is no such thread or branch.
            AuditError: The journal cannot be read.
        """
        with self._lock:
            index = self._indexes.pop((name, branch), None) or Index(key_of(name), branch)
            index.update(self.journal, self.reader)
            self._indexes[name, branch] = index
            if len(self._indexes) > MOST_INDEXES:
                self._indexes.popitem(last=False)
            return index

    def branches(self, name: str) -> list[str]:
        """Return the names of a thread's branches, in the order of their making."""
        return [head.branch for head in self.journal.branches(key_of(name))]

    def commit(self, index: Index, version: int) -> tuple[StoredCommit, StoredCommit | None]:
        """Return a commit of a branch's past, and the one before it; raise `InputError` if there is none."""
        place = index.entries.index(index.at(version))
        wanted = index.entries[max(0, place - 1) : place + 1]
        found = [commit_at(self.journal, index.key, e["branch"], e["version"]) for e in wanted]
        return found[-1], found[0] if place else None

    def search(self, name: str, branch: str, wanted: str) -> list[dict[str, Any]]:
        """Return the newest messages of a branch that hold every word of ``wanted``, wherever it stands."""
        words = wanted.casefold().split()
        rows = self.journal.messages(key_of(name), branch=branch, also_open=True)
        texts = ((each, each.message.text.casefold()) for each in rows if words)
        found = [each for each, text in texts if all(word in text for word in words)]
        return [_hit(each, words[0]) for each in found[-MOST_FOUND:][::-1]]


def _newest(name: str, branches: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of the branch that was committed last; a damaged one is told whichever that is."""
    row: Mapping[str, Any] = max(branches, key=lambda each: each.get("at", ""))
    faults = [each["fault"] for each in branches if "fault" in each]
    fault = {"fault": faults[0]} if faults else {}
    return {**row, "log": name, "branches": len(branches), **fault}


def _hit(stored: StoredMessage, word: str) -> dict[str, Any]:
    message = stored.message
    at = max(0, message.text.casefold().find(word) - AROUND)
    excerpt = " ".join(message.text[at : at + 2 * AROUND].split())
    return {
        "ref": message.ref, "channel": message.channel.value, "turn": message.turn,
        "version": stored.version, "excerpt": f"{'…' if at else ''}{excerpt}",
    }  # fmt: skip


@dataclass(frozen=True)
class Details:
    """Makes the details of a branch's commits.

    Attributes:
        threads: The threads.
        index: The branch's list of commits.
    """

    threads: Threads
    index: Index

    def of(self, version: int) -> dict[str, Any]:
        """Return the details of a version. Items, notes and claims stand in it as the journal has them."""
        commit, before = self.threads.commit(self.index, version)
        record, entry = commit.record or {}, self.index.at(version)
        old = (before and before.state) or {}
        proposal = record.get("given", {}).get("proposal") or {}
        return {
            "version": version, "hash": commit.hash, "thread": vars(self.index.key),
            "policy": {**self.threads.reader.policies.get(commit.policy, {}), "fingerprint": commit.policy},
            "author": proposal.get("author", ""), "mode": proposal.get("mode", ""),
            "failure": record.get("failure", ""), "outcome": record.get("outcome", ""),
            "usage": record.get("usage", {}), "no_room": record.get("no_room", []),
            "said": [_said(each) for each in self._took(commit)],
            **self._state(commit.state, entry["fault"]),
            "notes": [_grouped(note) for note in record.get("notes", ())],
            "changes": list(_explained(old, commit.state or old, record.get("notes", ()))),
            "verdicts": [self._verdict(*each) for each in record.get("verdicts", ())],
            "waiting": self._waiting() if entry is self.index.entries[-1] else [],
        }  # fmt: skip

    def source(self, ref: str) -> dict[str, Any]:
        """Return the text behind a ref, or why there is none."""
        journal, key = self.threads.journal, self.index.key
        found = next(iter(self._texts([ref])), None) or document(journal, key, ref)
        if found is not None:
            return _said(found)
        rows = journal.messages(key, branch=self.index.branch, also_open=True)
        if any(each.message.ref == ref and not each.digest for each in rows):
            return {"ref": ref, "unavailable": "an erasure removed this text"}
        return {"ref": ref, "unavailable": "no message of this thread has this ref"}

    def between(self, one: int, other: int) -> list[dict[str, Any]]:
        """Return what changed from one version to a later one, with the reasons of all commits in between."""
        first, last = sorted((one, other))
        states = [self.threads.commit(self.index, each)[0].state or {} for each in (first, last)]
        notes: list[Body] = []
        for entry in self.index.entries:
            if first < entry["version"] <= last:
                commit, _ = self.threads.commit(self.index, entry["version"])
                notes += (commit.record or {}).get("notes", ())
        return list(_explained(states[0], states[1], notes))

    def _texts(self, refs: Iterable[str]) -> tuple[Message, ...]:
        return self.threads.journal.texts(self.index.key, refs, branch=self.index.branch)

    def _took(self, commit: StoredCommit) -> Iterator[Message]:
        """Yield the messages that a commit took."""
        first, last = commit.span
        found = self.threads.journal.messages(
            self.index.key, first, last - first + 1 if last else 0, branch=self.index.branch
        )
        return (each.message for each in found)

    def _waiting(self) -> list[dict[str, Any]]:
        """Return what was said and no commit took: of a step that failed or was killed."""
        waiting = self.threads.journal.waiting(self.index.key, self.index.branch)
        return [_said(each) for each in waiting]

    def _state(self, state: Body | None, fault: str) -> dict[str, Any]:
        if state is None:
            why = fault or "an erasure removed this state"
            return {"rendered": None, "unread": why, "pinned": [], "items": [], "tail": []}
        reading = self.threads.reader.read(state)
        says = reading.words
        return {
            "rendered": reading.text, "unread": reading.problem, "pinned": reading.pinned,
            "items": [{**item, "slot": slot, "says": says[item["id"]]} for slot, item in items_of(state)],
            "tail": self._tail(state), "gone": state.get("gone", []),
        }  # fmt: skip

    def _tail(self, state: Body) -> list[dict[str, Any]]:
        """Return the messages that the agent reads word for word beside the state."""
        entries = state.get("unread", ())
        texts = {m.ref: _said(m) for m in self._texts([each["ref"] for each in entries])}
        return [{**each, **texts.get(each["ref"], {"text": None})} for each in entries]

    def _verdict(self, ref: str, place: int, reason: str) -> dict[str, Any]:
        """Return what the gate said of a passage, with its words."""
        parts = [part for message in self._texts([ref]) for part in passages(message.text)]
        text = parts[place] if place < len(parts) else ""
        return {"ref": ref, "place": place, "reason": reason, "text": text}


def _said(message: Message) -> dict[str, Any]:
    seen = message.observation
    return {
        "ref": message.ref, "channel": message.channel.value, "name": seen.name,
        "at": message.at, "turn": message.turn, "text": message.text, "left_out": seen.left_out,
    }  # fmt: skip


def _grouped(note: Body) -> dict[str, Any]:
    reason = note["reason"]
    return {**note, "group": "refused" if reason in REFUSED else "left" if reason in LEFT else ""}


def _explained(before: Body, after: Body, notes: Iterable[Body]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two states, each with the reasons that the notes give of its item."""
    by_item: dict[str, dict[tuple[str, str], None]] = {}
    for note in notes:
        told = note["reason"], note.get("detail", "")
        by_item.setdefault(note.get("item", ""), {})[told] = None
    for change in changes(before, after):
        reasons = by_item.get(change["id"], {})
        yield {**change, "reasons": [{"reason": r, "detail": d} for r, d in reasons]}

"""The threads of a memory and the details of their commits, read from its journal beside whoever writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any
from urllib.parse import parse_qsl, urlencode

from acc.controller.texts import document
from acc.errors import AccError, InputError
from acc.gate import passages
from acc.inspector.commits import (
    Body,
    StateReader,
    checked,
    commits_of,
    entry_of,
    explained,
    items_of,
    words_of,
)
from acc.journal import Head, Journal, StoredCommit, ThreadKey
from acc.journal.names import MAIN
from acc.state.reasons import LEFT, REFUSED
from acc.state.render import shown
from acc.state.tail import Message
from acc.text.tokens import utf8_quarter

MOST_ROWS = 100_000
"""Number of branches whose last commit stays in memory as a row of the list."""

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
    """The threads as the page reads them from a journal. Several requests may use one object: it keeps rows alone."""

    def __init__(self, journal: Journal, reader: StateReader | None = None) -> None:
        self.journal = journal
        self.reader = reader or StateReader()
        self._row = lru_cache(MOST_ROWS)(self._row_of)  # a head changes with what is committed

    def ends(self) -> dict[str, dict[str, End]]:
        """Return the end of each branch, by thread: what has changed since it was last asked for."""
        found: dict[str, dict[str, End]] = {}
        for head in self.journal.heads():
            found.setdefault(name_of(head.thread), {})[head.branch] = head.hash, head.epoch
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each thread, with its newest commit."""
        by_thread: dict[str, list[dict[str, Any]]] = {}
        self.reader.policies.update(self.journal.policies())
        for head in self.journal.heads():
            by_thread.setdefault(name_of(head.thread), []).append(self._row(head))
        return [_newest(name, branches) for name, branches in by_thread.items()]

    def _row_of(self, head: Head) -> dict[str, Any]:
        row = {**vars(head.thread), "branch": head.branch}
        try:
            if not head.hash:
                return {**row, "at": "", "turn": 0, "outcome": "not committed", "failed": False}
            commits = self.journal.commits(head.thread, head.branch, head.version - 1, page=1)
            if (last := next(commits, None)) is None:
                return {**row, "fault": "the journal has no such commit"}
            entry = entry_of(checked(last), None, self.reader)
        except AccError as error:
            return {**row, "fault": str(error)}
        told = ("turn", "at", "tokens", "tail", "limit", "outcome", "failed", "kind")
        fault = {"fault": entry["fault"]} if entry["fault"] else {}
        return {**row, **{each: entry[each] for each in told}, **fault}

    def branch(self, name: str, branch: str = MAIN) -> Branch:
        """Return a branch of a thread as it is now."""
        key = key_of(name)
        heads = [self.journal.head(key, each) for each, _ in self.journal.lineage(key, branch)]
        if not heads:
            hint = "choose one of the list"
            raise InputError("there is no such thread or branch", where=str(key), hint=hint)
        self.reader.policies.update(self.journal.policies())
        return Branch(self.journal, self.reader, key, branch, tuple(heads))


def _newest(name: str, branches: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of the branch that was committed last; a damaged one is told whichever that is."""
    row: Mapping[str, Any] = max(branches, key=lambda each: each.get("at", ""))
    faults = [each["fault"] for each in branches if "fault" in each]
    fault = {"fault": faults[0]} if faults else {}
    return {**row, "log": name, "branches": len(branches), **fault}


@dataclass(frozen=True)
class Branch:
    """A branch of a thread; ``heads`` are its own, the last, and those of the branches that it came from."""

    journal: Journal
    reader: StateReader
    key: ThreadKey
    name: str
    heads: tuple[Head, ...]

    def listed(self, after: int = 0, mark: str = "") -> dict[str, Any]:
        """Return a line for each commit that led to the head, oldest first.

        Only those after the version ``after``, if ``mark`` names that commit as it still is, and as no erasure has
        changed the branch since; ``after`` is 0 in the answer if these are all.
        """
        before = next(self._commits(after - 1), None) if after else None
        if before is None or self._mark(before) != mark:
            after, before = 0, None
        entries, first = {}, 0
        for commit in self._commits(after):
            entries[commit.version] = entry_of(commit, before, self.reader)
            before, first = commit, first or commit.span[0]
        for each in self.journal.messages(self.key, first, branch=self.name) if first else ():
            if each.version in entries:
                entries[each.version]["said"] += utf8_quarter(each.message.text)
        branches = [head.branch for head in self.journal.branches(self.key)]
        newest = self._mark(before) if before else ""
        lines = list(entries.values())
        return {"after": after, "mark": newest, "entries": lines, "branches": branches}

    def _commits(self, after: int) -> Iterator[StoredCommit]:
        return map(checked, commits_of(self.journal, self.key, self.name, max(0, after)))

    def _mark(self, commit: StoredCommit) -> str:
        return ".".join((commit.hash, *(str(head.epoch) for head in self.heads)))

    def of(self, version: int) -> dict[str, Any]:
        """Return the details of a version. Items, notes and claims stand in it as the journal has them."""
        found = list(takewhile(lambda c: c.version <= version, self._commits(version - 2)))
        if not found or found[-1].version != version:
            what, hint = f"the branch has no version {version}", "open the thread again"
            raise InputError(what, where=str(self.key), hint=hint)
        commit, before = found[-1], found[0] if len(found) > 1 else None
        (first, last), is_newest = commit.span, version == self.heads[-1].version
        took = self.journal.messages(
            self.key, first, last - first + 1 if last else 0, branch=self.name
        )
        waiting = self.journal.waiting(self.key, self.name) if is_newest else ()
        record, old = commit.record or {}, (before and before.state) or {}
        proposal = record.get("given", {}).get("proposal") or {}
        return {
            "version": version, "hash": commit.hash, "thread": vars(self.key),
            "policy": {**self.reader.policies.get(commit.policy, {}), "fingerprint": commit.policy},
            "author": proposal.get("author", ""), "mode": proposal.get("mode", ""),
            "failure": record.get("failure", ""), "outcome": record.get("outcome", ""),
            "usage": record.get("usage", {}), "no_room": record.get("no_room", []),
            "said": [_said(each.message) for each in took],
            **self._state(commit),
            "notes": [_grouped(note) for note in record.get("notes", ())],
            "changes": list(explained(old, commit.state or old, record.get("notes", ()))),
            "verdicts": [self._verdict(*each) for each in record.get("verdicts", ())],
            "waiting": [_said(each) for each in waiting],
        }  # fmt: skip

    def source(self, ref: str) -> dict[str, Any]:
        """Return the text behind a ref, or why there is none."""
        found = next(iter(self._texts([ref])), None) or document(self.journal, self.key, ref)
        if found is not None:
            return _said(found)
        rows = self.journal.messages(self.key, branch=self.name, also_open=True)
        if any(each.message.ref == ref and not each.digest for each in rows):
            return {"ref": ref, "unavailable": "an erasure removed this text"}
        return {"ref": ref, "unavailable": "no message of this thread has this ref"}

    def _texts(self, refs: Iterable[str]) -> tuple[Message, ...]:
        return self.journal.texts(self.key, refs, branch=self.name)

    def _state(self, commit: StoredCommit) -> dict[str, Any]:
        if (state := commit.state) is None:
            return {
                "rendered": None,
                "unread": commit.problem,
                "pinned": [],
                "items": [],
                "tail": [],
            }
        reading = self.reader.read(state)
        if reading.state is None:
            pinned, says = {s for s, item in items_of(state) if "words" in item}, {}
        else:
            pinned = {name for name, slot in reading.state.slots().items() if slot.is_pinned}
            says = {item.id: shown(item) for _, item in reading.state.items()}
        items = [
            {**item, "slot": slot, "says": says.get(item["id"]) or words_of(item)}
            for slot, item in items_of(state)
        ]
        return {
            "rendered": reading.text, "unread": reading.problem, "pinned": sorted(pinned),
            "items": items, "tail": self._tail(state), "gone": state.get("gone", []),
        }  # fmt: skip

    def _tail(self, state: Body) -> list[dict[str, Any]]:
        """Return the messages that the agent reads word for word beside the state."""
        entries = state.get("unread", ())
        texts = {m.ref: _said(m) for m in self._texts([each["ref"] for each in entries])}
        return [{**each, **texts.get(each["ref"], {"text": None})} for each in entries]

    def _verdict(self, ref: str, place: int, reason: str) -> dict[str, Any]:
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

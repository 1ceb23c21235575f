"""The threads of a memory and the details of their commits, read from its journal beside whoever writes it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from acc.controller.texts import document
from acc.errors import AccError, InputError
from acc.gate import passages
from acc.inspector.commits import (
    Body,
    StateReader,
    checked,
    commit_at,
    commits_of,
    entry_of,
    explained,
    items_of,
    words_of,
)
from acc.journal import Head, Journal, ThreadKey
from acc.journal.names import MAIN
from acc.state.reasons import LEFT, REFUSED
from acc.state.render import shown
from acc.state.tail import Message
from acc.text.tokens import utf8_quarter

MOST_INDEXES, MOST_ROWS = 16, 100_000
"""Numbers of branches whose list of commits, or last commit alone, stays in memory."""

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


@dataclass
class Index:
    """The list of the commits that led to the head of a branch: small enough that a thousand open at once.

    ``end`` is the hash of the head and the epochs of the branches as the journal was read: an erasure changes these.
    """

    key: ThreadKey
    branch: str
    end: tuple[str, str] = ("", "")
    entries: list[dict[str, Any]] = field(default_factory=list)
    _seq: int = 0

    def update(self, journal: Journal, reader: StateReader) -> None:
        """Read what was committed since, or everything if something was erased."""
        heads = [journal.head(self.key, name) for name, _ in journal.lineage(self.key, self.branch)]
        if not heads:
            hint = "choose one of the list"
            raise InputError("there is no such thread or branch", where=str(self.key), hint=hint)
        end = heads[-1].hash, ".".join(str(head.epoch) for head in heads)
        if end == self.end:
            return
        reader.policies.update(journal.policies())
        if end[1] != self.end[1] or not self._goes_on(journal, reader):
            self.entries, self._seq = [], 0
            self._goes_on(journal, reader)
        by_version = {entry["version"]: entry for entry in self.entries}
        for each in journal.messages(self.key, self._seq + 1, branch=self.branch):
            self._seq = each.seq
            if entry := by_version.get(each.version):
                entry["said"] += utf8_quarter(each.message.text)
        self.end = end

    def _goes_on(self, journal: Journal, reader: StateReader) -> bool:
        """Append what came after the last line; return whether that commit is still there."""
        last, before = (self.entries or [{}])[-1], None
        after = last.get("version", 1) - 1
        for commit in map(checked, commits_of(journal, self.key, self.branch, after)):
            if last and before is None and commit.hash != last["hash"]:
                return False
            if before is not None or not last:
                self.entries.append(entry_of(commit, before, reader))
            before = commit
        return before is not None

    def mark_at(self, position: int) -> str:
        """Return what names the commits up to a position, which an erasure changes; empty if it is none."""
        if not 0 <= position < len(self.entries):
            return ""
        return f"{self.entries[position]['hash']}.{self.end[1]}"

    def place_of(self, version: int) -> int:
        """Return the position of a version; raise `InputError` if there is none."""
        versions = [entry["version"] for entry in self.entries]
        if version not in versions:
            what, hint = f"the branch has no version {version}", "open the thread again"
            raise InputError(what, where=str(self.key), hint=hint)
        return versions.index(version)


class Threads:
    """The threads as the page reads them from a journal. Several requests may use one object."""

    def __init__(self, journal: Journal, reader: StateReader | None = None) -> None:
        self.journal = journal
        self.reader = reader or StateReader()
        self._lock = threading.Lock()
        self._row = lru_cache(MOST_ROWS)(self._row_of)  # a head changes with what is committed
        self._indexes: OrderedDict[tuple[str, str], Index] = OrderedDict()

    def ends(self) -> dict[str, dict[str, End]]:
        """Return the end of each branch, by thread: what has changed since it was last asked for."""
        found: dict[str, dict[str, End]] = {}
        for head in self.journal.heads():
            found.setdefault(name_of(head.thread), {})[head.branch] = head.hash, head.epoch
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each thread, with its newest commit."""
        by_thread: dict[str, list[dict[str, Any]]] = {}
        with self._lock:
            self.reader.policies.update(self.journal.policies())
            for head in self.journal.heads():
                by_thread.setdefault(name_of(head.thread), []).append(self._row(head))
        return [_newest(name, branches) for name, branches in by_thread.items()]

    def _row_of(self, head: Head) -> dict[str, Any]:
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
        """Return the list of a branch's commits, up to its present head."""
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


def _newest(name: str, branches: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of the branch that was committed last; a damaged one is told whichever that is."""
    row: Mapping[str, Any] = max(branches, key=lambda each: each.get("at", ""))
    faults = [each["fault"] for each in branches if "fault" in each]
    fault = {"fault": faults[0]} if faults else {}
    return {**row, "log": name, "branches": len(branches), **fault}


@dataclass(frozen=True)
class Details:
    """Makes the details of the commits of a branch's list."""

    threads: Threads
    index: Index

    def of(self, version: int) -> dict[str, Any]:
        """Return the details of a version. Items, notes and claims stand in it as the journal has them."""
        journal, key, branch = self.threads.journal, self.index.key, self.index.branch
        place = self.index.place_of(version)
        entries = self.index.entries[max(0, place - 1) : place + 1]
        found = [commit_at(journal, key, each["branch"], each["version"]) for each in entries]
        commit, before = found[-1], found[0] if place else None
        record, entry = commit.record or {}, entries[-1]
        (first, last), is_newest = commit.span, entry is self.index.entries[-1]
        took = journal.messages(key, first, last - first + 1 if last else 0, branch=branch)
        waiting = journal.waiting(key, branch) if is_newest else ()
        old = (before and before.state) or {}
        proposal = record.get("given", {}).get("proposal") or {}
        return {
            "version": version, "hash": commit.hash, "thread": vars(self.index.key),
            "policy": {**self.threads.reader.policies.get(commit.policy, {}), "fingerprint": commit.policy},
            "author": proposal.get("author", ""), "mode": proposal.get("mode", ""),
            "failure": record.get("failure", ""), "outcome": record.get("outcome", ""),
            "usage": record.get("usage", {}), "no_room": record.get("no_room", []),
            "said": [_said(each.message) for each in took],
            **self._state(commit.state, entry["fault"]),
            "notes": [_grouped(note) for note in record.get("notes", ())],
            "changes": list(explained(old, commit.state or old, record.get("notes", ()))),
            "verdicts": [self._verdict(*each) for each in record.get("verdicts", ())],
            "waiting": [_said(each) for each in waiting],
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

    def _texts(self, refs: Iterable[str]) -> tuple[Message, ...]:
        return self.threads.journal.texts(self.index.key, refs, branch=self.index.branch)

    def _state(self, state: Body | None, fault: str) -> dict[str, Any]:
        if state is None:
            return {"rendered": None, "unread": fault, "pinned": [], "items": [], "tail": []}
        reading = self.threads.reader.read(state)
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

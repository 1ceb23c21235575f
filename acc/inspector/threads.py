"""The threads of a memory, read from its journal beside whoever writes it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from acc.errors import AccError, AuditError, InputError
from acc.inspector.entries import Index, checked, entry_of
from acc.inspector.states import Reader
from acc.journal import Head, Journal, StoredCommit, ThreadKey
from acc.journal.names import MAIN, StoredMessage

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

    def __init__(self, journal: Journal, reader: Reader | None = None) -> None:
        self.journal = journal
        self.reader = reader or Reader()
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


def commit_at(journal: Journal, key: ThreadKey, branch: str, version: int) -> StoredCommit:
    """Return a commit of a branch itself; raise `InputError` if there is none."""
    try:
        found = next(journal.commits(key, branch, version - 1, page=1), None)
    except AuditError:  # nothing, or a damaged row, stands before it
        found = next((c for c in journal.commits(key, branch) if c.version == version), None)
    if found is None or found.version != version:
        hint = "open the thread again"
        raise InputError("the journal has no such commit", where=str(key), hint=hint)
    return checked(found)


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

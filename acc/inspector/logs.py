"""Reads the audit logs beside the process that writes them. It takes no lock and never opens the store."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from acc.audit.medium import SUFFIX, AuditPlace, AuditStore, End, audit_store
from acc.audit.record import is_record, is_whole
from acc.errors import AccError, AuditError, ConflictError, InputError
from acc.inspector.summary import Record, entry_of
from acc.stores.protocol import UNNAMED

MOST_INDEXES = 16
"""Number of threads whose list of turns stays in memory."""

EXCERPT = 300
"""Characters of each source that are at hand without reading its record again."""

_SAID, _PENDING, _HEARD, _RECALLED = range(4)
"""Where a source's text stands in a record; the first has the most of it."""


class Place(NamedTuple):
    """A record that holds the text behind a ref."""

    position: int
    rank: int
    excerpt: str


@dataclass
class Index:
    """The list of turns of one log, and where the texts of its sources are.

    Attributes:
        end: The end of the log when it was read.
        entries: One for each record, oldest first (`acc.inspector.summary.entry_of`). Its ``prior`` is the
            position of the record that it continues, or None.
        places: The records that hold the text behind each ref.
        faults: What cannot be read, and where.
    """

    end: End | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)
    places: dict[str, list[Place]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _states: dict[str, int] = field(default_factory=dict)
    _is_linear: bool = True

    @property
    def last(self) -> str:
        """The digest of the newest record; empty if there is none."""
        return str(self.entries[-1]["digest"]) if self.entries else ""

    def add(self, lines: Iterable[bytes], where: str) -> None:
        """Add the records of these lines; one that cannot be read becomes a fault."""
        for number, line in enumerate(lines, len(self.entries) + len(self.faults) + 1):
            if not is_whole(line):
                continue
            try:
                self._add(parsed(line, where))
            except (AuditError, KeyError, TypeError, ValueError, AttributeError) as error:
                why = (
                    error.what
                    if isinstance(error, AuditError)
                    else "a record was not written by acc"
                )
                self.faults.append(f"line {number}: {why}")

    def lineage(self, position: int) -> list[int]:
        """Return the positions of the records that led to one, it included, newest first."""
        found: list[int] = []
        at: int | None = position
        while at is not None:
            found.append(at)
            at = self.entries[at]["prior"]
        return found

    def place_of(self, ref: str, position: int) -> Place | None:
        """Return where the past of a record has the most text behind ``ref``."""
        known = self.places.get(ref, [])
        past = range(position + 1) if self._is_linear else set(self.lineage(position))
        near = [each for each in known if each.position in past] or known
        return min(near, key=lambda each: (each.rank, each.position), default=None)

    def _add(self, record: Record) -> None:
        entry = entry_of(record)
        position = len(self.entries)
        # A fork's first prior state is a copy; its parent is the state that a record made.
        before = (record["prior"], record.get("prior_state", {}).get("parent"))
        entry["prior"] = next((self._states[each] for each in before if each in self._states), None)
        self._is_linear &= entry["prior"] in (None, position - 1)
        if record.get("previous") != self.last:
            entry["unchained"] = True
        self.entries.append(entry)
        self._states[str(record["state"]["hash"])] = position
        for rank, source in sources_in(record):
            if source["ref"] and source["text"]:
                places = self.places.setdefault(source["ref"], [])
                if rank < _RECALLED or not places:
                    places.append(Place(position, rank, source["text"][:EXCERPT]))


class Logs:
    """The audit logs of a memory, as the page reads them. Several requests may use one object.

    Args:
        place: The folder or the database of the logs.
    """

    def __init__(self, place: AuditPlace) -> None:
        self.store: AuditStore = audit_store(place, sync=False)
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[End | None, dict[str, Any]]] = {}
        self._indexes: OrderedDict[str, Index] = OrderedDict()

    def ends(self) -> dict[str, End]:
        """Return the end of each log: what has changed since they were last asked for."""
        return self.store.ends()

    def threads(self) -> list[dict[str, Any]]:
        """Return a row for each log, with its newest record."""
        ends = self.ends()
        with self._lock:
            for name, end in ends.items():
                if self._rows.get(name, (None, {}))[0] != end or name not in self._rows:
                    self._rows[name] = (end, self._row(name))
            self._rows = {name: self._rows[name] for name in ends}
            return [row for _, row in self._rows.values()]

    def index(self, name: str) -> Index:
        """Return the list of turns of a log, up to its present end.

        Raises:
            InputError: There is no such log.
            AuditError: The log cannot be read.
        """
        with self._lock:
            end = self._end(name)
            known = self._indexes.pop(name, Index())
            if known.end != end:
                known = self._read(name, known, end)
            self._indexes[name] = known
            if len(self._indexes) > MOST_INDEXES:
                self._indexes.popitem(last=False)
            return known

    def record(self, name: str, digest: str) -> Record:
        """Return the record with this digest.

        Raises:
            InputError: The log has no such record, for example after an erasure.
        """
        self._end(name)
        for line in self.store.newest_first(
            name, f'"digest":"{digest}"'.encode("ascii", "replace")
        ):
            if is_whole(line):
                return parsed(line, self.store.where(name))
        raise InputError(
            "the log has no such record", where=self.store.where(name),
            hint="open the thread again: an erasure may have rewritten its log",
        )  # fmt: skip

    def records(self, name: str) -> Iterator[Record]:
        """Yield the records of a log that can be read, oldest first."""
        for line in filter(is_whole, self.store.lines(name)):
            with suppress(AuditError):  # the index names it
                yield parsed(line, self.store.where(name))

    def _end(self, name: str) -> End:
        # The name comes from a request, and must not lead to another file.
        is_log = Path(name).name == name and name.endswith(SUFFIX)
        if not is_log or (end := self.store.end(name)) is None:
            raise InputError("no such audit log", where=name, hint="choose a thread of the list")
        return end

    def _read(self, name: str, known: Index, end: End) -> Index:
        """Return the index up to ``end``: what is known with the new lines, or that of the whole log.

        A record's digest covers all records before it. If the last known one is still there, so are they;
        an erasure changes it, and a log that is cut into segments keeps it.
        """
        where = self.store.where(name)
        if known.entries and not known.faults:
            mark, new = f'"digest":"{known.last}"'.encode(), list[bytes]()
            with suppress(ConflictError):  # rewritten meanwhile
                for line in self.store.newest_first(name):
                    if mark in line:
                        known.add(reversed(new), where)
                        known.end = end
                        return known
                    new.append(line)
        fresh = Index(end)
        fresh.add(self.store.lines(name), where)
        return fresh

    def _row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"log": name}
        try:
            line = next(filter(is_whole, self.store.newest_first(name)), None)
            if line is None:
                return {**row, "fault": "the audit log has no record"}
            last = parsed(line, self.store.where(name))
            names = {"tenant": UNNAMED, "user": UNNAMED, "agent": UNNAMED, **last["thread"]}
            entry = entry_of(last)
            told = ("turn", "at", "tokens", "limit", "outcome", "failed", "kind", "branch")
            return {**row, **names, **{each: entry[each] for each in told}}
        except AccError as error:
            return {**row, "fault": str(error)}
        except (KeyError, TypeError, ValueError, AttributeError):
            return {**row, "fault": "the newest record was not written by acc"}


def sources_in(record: Record) -> Iterable[tuple[int, Mapping[str, Any]]]:
    """Yield the observations of a record whose text can be shown as a source, each with its rank."""
    turn = record["turn"]
    for rank, group in (
        (_SAID, turn["observations"]), (_PENDING, turn.get("pending", ())),
        (_HEARD, [*turn.get("heard", ()), *filter(None, [turn.get("reply")])]),
        (_RECALLED, record.get("evidence", ())),
    ):  # fmt: skip
        for each in group:
            yield rank, each


def parsed(line: bytes, where: str) -> dict[str, Any]:
    """Return the record of a line.

    Raises:
        AuditError: The line is no record.
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not is_record(entry):
        raise AuditError(
            "a record of the audit log is not JSON, or not a record", where=where,
            hint="restore the log from a backup",
        )  # fmt: skip
    return dict(entry)

"""The audit log: one JSON line per commit, with all inputs of the commit (law 10).

Each record holds the policy, the prior state's hash, the turn, the evidence, the proposal and the
resulting state; `verify` recomputes every commit from them. Each record includes the digest of the
previous one, which reveals any changed byte. The last digest can be kept in another place.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from acc.audit.medium import SUFFIX, AuditPlace, AuditStore, End, audit_store
from acc.audit.record import changed, damaged, digested, is_record, is_whole, parents_of
from acc.errors import AuditError, ConflictError
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.text.lines import canonical_json

_LOG = logging.getLogger(__name__)

FORMAT = 1

MOST_TRIES = 100
"""Maximum number of times that an append begins again because another writer was faster."""


class AuditLog:
    """The records of one thread, in a file or in a database.

    Attributes:
        store: What keeps the lines.
        name: The name of the log there.
        thread: The thread.
        checked_end: The end of the log when it was last compared with the store; None for never.
    """

    def __init__(
        self, at: Path | tuple[AuditStore, str], thread: Thread | None = None, *, sync: bool = True
    ) -> None:
        """Open the log in the file ``at``, or of that name in a store. Every record must belong to ``thread``.

        ``sync`` writes each record to a file's disk before `append` returns.
        """
        if isinstance(at, Path):
            at = (audit_store(at.parent, sync=sync), at.name)
        self.store, self.name = at
        self.thread = thread
        self._digest: str | None = None
        self._head = ""
        self._end: End | None = None
        self.checked_end: End | None = None

    @classmethod
    def of(cls, place: AuditPlace, thread: Thread, *, sync: bool = True) -> AuditLog:
        """Return the log of ``thread`` at ``place``; an existing log with the older, short name is used."""
        name, short = cls.names(thread)
        store = audit_store(place, sync=sync)
        log, before = cls((store, name), thread), cls((store, short))
        if not log.exists() and before.exists() and before.owner() in (None, thread):
            return cls((store, short), thread)
        return log

    @staticmethod
    def names(thread: Thread) -> tuple[str, str]:
        """Return the name of a thread's log, and the older name with a shortened key."""
        readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in thread.thread)[:48]
        fits = readable.encode()[:120].decode("utf-8", "ignore")
        return f"{fits}-{thread.key}{SUFFIX}", f"{readable}-{thread.key[:12]}{SUFFIX}"

    @property
    def path(self) -> Path:
        """The file; of a log in a database, its place."""
        return Path(self.where)

    @property
    def where(self) -> str:
        """The place of the log, for errors and reports."""
        return self.store.where(self.name)

    @property
    def stem(self) -> str:
        """The name of the log without its ending."""
        return self.name.removesuffix(SUFFIX)

    def exists(self) -> bool:
        """Return whether there is such a log, even without a record."""
        return self.end() is not None

    def end(self) -> End | None:
        """Return the mark of the log's end, which changes with every change; None if there is no log."""
        return self.store.end(self.name)

    @property
    def edition(self) -> int | None:
        """The edition of the log that this object last knew; None if it knew none."""
        return self._end.edition if self._end is not None else None

    def expire(self, end: End | None) -> None:
        """Make the next append read the end of the log again, which was rewritten or deleted."""
        self._digest, self._end = None, end

    def delete(self) -> None:
        """Delete the log."""
        self.store.delete(self.name)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines as they are, oldest first."""
        return self.store.lines(self.name)

    def append(
        self,
        record: Mapping[str, Any],
        prior: CompressedCognitiveState | None = None,
        *,
        follows: str | None = None,
    ) -> None:
        """Write ``record`` at the end, chained to the previous record.

        ``prior``, the state before the commit, is written too unless the previous record ends with
        it. With ``sync``, and in a database, the record is on the disk when this returns: it survives a
        power cut, as the store's records do. Without it the record survives a kill of the process. Nothing
        is written if the newest record is already of the same state: another step has made the same commit.
        After an `AuditError`, treat the commit as not acknowledged.

        Raises:
            ConflictError: The newest record's state has another hash than ``follows``, if that is given; or
                other writers are faster all the time. Nothing was written.
        """
        self._check_owner(record)
        try:
            for _ in range(MOST_TRIES):
                # Other threads and processes append too: whoever comes second follows the first one's record.
                with suppress(ConflictError):
                    if self._digest is None or not self._is_in_step():
                        self._find_end()
                    if self._head == record["state"]["hash"]:
                        return  # or a database wrote the record before its connection broke
                    if follows is not None and self._head and self._head != follows:
                        break
                    line, digest = self._chained(record, prior)
                    self._end = self.store.append(self.name, line, self._end)
                    self._digest, self._head = digest, str(record["state"]["hash"])
                    return
                self._digest = None
                log_event(
                    _LOG, logging.INFO, "audit_retry",
                    "another writer changed the audit log; the record follows its own", where=self.where,
                )  # fmt: skip
        except AuditError:
            self._digest = None  # the next append drops a partly written record
            raise
        raise ConflictError(
            "other writers changed the audit log meanwhile", where=self.where,
            hint="repeat the step",
        )  # fmt: skip

    def _chained(
        self, record: Mapping[str, Any], prior: CompressedCognitiveState | None
    ) -> tuple[bytes, str]:
        """Return the line of a record that follows the newest one, and its digest."""
        body = {**record, "format": FORMAT, "previous": self._digest}
        if prior is not None and (not self._head or prior.hash != self._head):
            body["prior_state"] = prior.canonical()
        line, digest = digested(body)
        return line.encode("utf-8", "surrogatepass"), digest

    def last(self) -> dict[str, Any] | None:
        """Return the newest complete record, or None."""
        return next(self._newest_first(), None)

    def last_on(self, branch: str, turn: int | None = None) -> dict[str, Any] | None:
        """Return the newest complete record on ``branch``, or the newest one of ``turn``; or None."""
        for entry in self._newest_first():
            state = entry["state"]
            if state["branch"] == branch and turn in (None, state["turn"]):
                return entry
        return None

    def record_of_turn(self, branch: str, turn: int) -> dict[str, Any] | None:
        """Return the newest record of ``turn`` of ``branch``; None if the branch ends before it in the log."""
        newest = self.last_on(branch)
        is_later = newest is not None and newest["state"]["turn"] > turn
        found = self.last_on(branch, turn) if is_later else newest
        return found if found is not None and found["state"]["turn"] == turn else None

    def has_turn(self, branch: str, *turns: int) -> bool:
        """Return whether the log has a record of one of ``turns`` of ``branch``."""
        states = (entry["state"] for entry in self._newest_first(branch.encode()))
        return any(state["branch"] == branch and state["turn"] in turns for state in states)

    def record_of(self, state_hash: str) -> dict[str, Any] | None:
        """Return the newest record of a commit that made or continued this state, or None."""
        named = self._newest_first(state_hash.encode())
        continues = (e for e in named if state_hash in (e["state"]["hash"], *parents_of(e)))
        return next(continues, None)

    def _newest_first(self, words: bytes = b"") -> Iterator[dict[str, Any]]:
        """Yield the complete records whose lines contain ``words``, newest first.

        A reader that stops early reads only the end of the log.
        """
        for line in self.store.newest_first(self.name, words):
            if is_whole(line):
                yield self._read(line)

    def ends_with(self, state_hash: str) -> bool:
        """Return whether this object wrote the newest record and its state has this hash."""
        return bool(self._digest) and state_hash == self._head and self._is_in_step()

    def owner(self) -> Thread | None:
        """Return the thread of the newest readable record, or None. Skips changed records."""
        for line in self.store.newest_first(self.name):
            with suppress(AuditError):
                return Thread(**_parsed(line, self.where)["thread"])
        return None

    def torn_bytes(self) -> int:
        """Return the size in bytes of an incomplete last record; the next append drops it."""
        line = next(self.store.newest_first(self.name), b"\n")
        return 0 if is_whole(line) else len(line)

    def newest(self, most: int) -> list[dict[str, Any]]:
        """Return the last ``most`` records, newest first."""
        return list(islice(self._newest_first(), most))

    def newest_by_branch(self) -> list[dict[str, Any]]:
        """Return the newest record of each branch among the last 64 records."""
        found: dict[str, dict[str, Any]] = {}
        for entry in self.newest(64):
            found.setdefault(str(entry["state"]["branch"]), entry)
        return list(found.values())

    def lineage(self) -> Iterator[dict[str, Any]]:
        """Yield the records that led to the newest state, newest first. Skips those of abandoned branches."""
        wanted: set[Any] = set()
        for entry in self._newest_first():
            if not wanted or entry["state"]["hash"] in wanted:
                yield entry
                wanted = {*parents_of(entry)}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every record, oldest first; an incomplete last line, left by a kill, is skipped."""
        for number, line in enumerate(self.lines(), 1):
            if is_whole(line):
                yield self._read(line, number)
            elif is_whole(line[:-1]):
                raise changed(f"{self.where}, line {number}")

    def _is_in_step(self) -> bool:
        """Return whether the log has the end that this object's last write left."""
        return self._end is not None and self.end() == self._end

    def _read(self, line: bytes, number: int = 0) -> dict[str, Any]:
        entry = _parsed(line, self._line(number))
        self._check_owner(entry, number)
        return entry

    def _check_owner(self, entry: Mapping[str, Any], number: int = 0) -> None:
        if self.thread is not None and Thread(**entry["thread"]) != self.thread:
            what = "the audit record belongs to another thread than its log"
            raise damaged(what, self._line(number))

    def _line(self, number: int) -> str:
        return f"{self.where}, line {number}" if number else self.where

    def _find_end(self) -> None:
        """Read the end of the log, which the next record follows."""
        # Before the record: if both change in between, the append finds another end.
        self._end = self.end()
        last = self.last() if self._end is not None else None
        self._head = str(last["state"]["hash"]) if last else ""
        self._digest = str(last["digest"]) if last else ""


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
        written = canonical_json(entry).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        raise damaged("a record of the audit log is not JSON", where) from error
    if line not in (written, written + b"\n") or not is_record(entry):
        raise changed(where)
    return dict(entry)

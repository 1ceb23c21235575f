"""Finds the threads of a memory in its audit logs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.audit.log import AuditLog
from acc.audit.namespaces import logs_at
from acc.audit.record import damaged, is_whole, parents_of
from acc.cli.options import audit_place
from acc.errors import AuditError, InputError
from acc.memory import whose
from acc.stores.protocol import Thread
from acc.text.lines import inert_line

Record = Mapping[str, Any]

_POLICY = re.compile(rb'"policy":\{')


@dataclass(frozen=True)
class LoggedThread:
    """A thread with at least one commit.

    Many threads may be listed at once, so it holds no record.

    Attributes:
        thread: The thread's names.
        log: Its audit log.
    """

    thread: Thread
    log: AuditLog

    @property
    def last(self) -> Record:
        """The newest record, read from the log at each use.

        Raises:
            AuditError: It cannot be read, or no record is left.
        """
        if (last := self.log.last()) is None:
            raise AuditError(
                "the audit log has no record any more", where=self.log.where,
                hint="do not delete records while a command runs; restore the log from a backup",
            )  # fmt: skip
        return last

    def policies(self) -> Iterator[Record]:
        """The distinct policies of the records. Reads nothing else of them, which is fast."""
        seen = set()
        for policy in (p for line in self.log.lines() for p in _policies_in(line)):
            if (fingerprint := policy["fingerprint"]) not in seen:
                seen.add(fingerprint)
                yield policy

    def newest_first(self) -> Iterator[Record]:
        """The records that led to the newest state. Skips those of abandoned branches.

        Raises:
            AuditError: A record cannot be read.
        """
        return (record for _, record in self._lineage())

    def oldest_first(self) -> Iterator[Record]:
        """The records of `newest_first`, oldest first, one at a time.

        Raises:
            AuditError: A record cannot be read.
        """
        theirs = {hash(line) for line, _ in self._lineage()}
        for line in self.log.lines():
            if hash(line) in theirs:
                yield _parse(line, self.log.where)

    def _lineage(self) -> Iterator[tuple[bytes, Record]]:
        wanted = {self.last["state"]["hash"]}
        for line in filter(is_whole, self.log.store.newest_first(self.log.name)):
            record = _parse(line, self.log.where)
            if record["state"]["hash"] in wanted:
                yield line, record
                wanted = {*parents_of(record)}


def logged_threads(
    memory: Path, damaged: list[AuditError] | None = None, *, name: str | None = None
) -> list[LoggedThread]:
    """All threads of ``memory`` that have a commit, sorted by log file.

    ``damaged`` collects the errors of unreadable logs; if it is None, the first such error is raised. With a
    ``name``, only logs are read whose file names suggest a thread or log of this name.

    Raises:
        InputError: There is no memory in that folder.
        AuditError: A log cannot be read.
    """
    found = []
    start = f"{AuditLog.names(Thread(thread=name))[0].rpartition('-')[0]}-" if name else ""
    for log in logs_of(memory):
        if name and not (log.name.startswith(start) or log.stem == name):
            continue
        try:
            if (each := _read_thread(log)) is not None:
                found.append(each)
        except AuditError as error:
            if damaged is None:
                raise
            damaged.append(error)
    return found


def logs_of(memory: Path) -> list[AuditLog]:
    """The audit logs of ``memory``, sorted by name.

    Raises:
        InputError: There is no memory in that folder.
    """
    place = audit_place(memory)
    if isinstance(place, Path) and not place.is_dir():
        raise InputError(
            "no memory in this folder",
            where=str(memory),
            hint="name another folder with --memory, or create a memory with "
            "acc replay FILE --memory DIR",
        )
    return logs_at(place)


def logged_thread(memory: Path, name: str | None) -> LoggedThread:
    """The thread with that name or log file; the memory's only thread if ``name`` is None.

    Raises:
        InputError: No thread matches, or several do.
        AuditError: No thread matches and a log cannot be read: it may belong to that thread.
    """
    damaged: list[AuditError] = []
    threads = matching = []
    for likely in (name, None) if name else (None,):
        damaged.clear()
        threads = logged_threads(memory, damaged, name=likely)
        matching = [t for t in threads if name in (None, t.thread.thread, t.log.stem)]
        if matching:
            break
    if damaged and (name is None or not matching):
        raise damaged[0]
    if len(matching) == 1:
        return matching[0]
    hint = f"choose one with --thread: {', '.join(labels(matching or threads))}"
    if not threads:
        what, hint = "no thread with a commit", "replay a conversation into this memory"
    elif not matching:
        what = f"no thread {name!r}"
    else:
        what = f"{len(matching)} threads match"
    raise InputError(what, where=str(memory), hint=hint)


def labels(threads: Sequence[LoggedThread]) -> list[str]:
    """A label for each thread: its name, or its log file if threads share the name."""
    names = Counter(t.thread.thread for t in threads)
    return [
        inert_line(t.thread.thread if names[t.thread.thread] == 1 else t.log.stem) for t in threads
    ]


def thread_named(memory: Path, thread: str | Thread) -> LoggedThread | None:
    """The thread of exactly this owner, or of no named user if it is a text; None if it has no commit."""
    return _read_thread(AuditLog.of(audit_place(memory), whose(thread)))


def _policies_in(line: bytes) -> Iterator[Record]:
    """The policy in a record's line; a broken line has none, and the check of the record says so."""
    # In the texts of a record, quotation marks are escaped.
    for match in _POLICY.finditer(line):
        text = line[match.end() - 1 : match.end() + 4_096].decode("utf-8", "replace")
        with suppress(ValueError):
            policy, _ = json.JSONDecoder().raw_decode(text)
            if policy.keys() >= {"fingerprint", "schema", "counter"}:
                yield policy


def _parse(line: bytes, where: str) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise damaged("a record is not JSON", where) from error
    if isinstance(record, dict) and {"state", "prior", "turn", "notes"} <= record.keys():
        return record
    raise damaged("a record was not written by acc", where)


def _read_thread(log: AuditLog) -> LoggedThread | None:
    last = log.last()
    return LoggedThread(Thread(**last["thread"]), log) if last else None

"""The threads of a memory, read from their audit logs without opening a store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.audit.log import AuditLog
from acc.errors import AuditError, InputError
from acc.stores.protocol import Thread
from acc.text.lines import inert_line

Record = Mapping[str, Any]


@dataclass(frozen=True)
class LoggedThread:
    """A thread with at least one commit.

    Attributes:
        thread: The thread's names.
        log: Its audit log.
        last: The newest record.
    """

    thread: Thread
    log: AuditLog
    last: Record

    def back(self) -> Iterator[Record]:
        """The records that led to the newest state, newest first, read from the log's end.

        Skips the records of abandoned branches.

        Raises:
            AuditError: A record cannot be read.
        """
        return (record for _, record in self._lineage())

    def forth(self) -> Iterator[Record]:
        """The records of `back`, oldest first, one at a time.

        Raises:
            AuditError: A record cannot be read.
        """
        places = [place for place, _ in self._lineage()]
        with self.log.path.open("rb") as file:
            for place in reversed(places):
                file.seek(place)
                yield _parsed(file.readline(), self.log.path)

    def _lineage(self) -> Iterator[tuple[int, Record]]:
        wanted = {self.last["state"]["hash"]}
        for place, line in _lines_from_end(self.log.path):
            record = _parsed(line, self.log.path)
            if record["state"]["hash"] in wanted:
                yield place, record
                # A branch begins with a copy of its parent state. Only the parent was committed.
                wanted = {record["prior"], record.get("prior_state", {}).get("parent")}


def logged_threads(memory: Path, damaged: list[AuditError] | None = None) -> list[LoggedThread]:
    """All threads of ``memory`` that have a commit, sorted by log file.

    Args:
        memory: The folder.
        damaged: Collects the errors of unreadable logs. If None, the first such error is raised.

    Raises:
        InputError: There is no memory in that folder.
        AuditError: A log cannot be read.
    """
    found = []
    for path in log_files(memory):
        try:
            if (each := _logged(path)) is not None:
                found.append(each)
        except AuditError as error:
            if damaged is None:
                raise
            damaged.append(error)
    return found


def log_files(memory: Path) -> list[Path]:
    """The audit logs of ``memory``, sorted by name.

    Raises:
        InputError: There is no memory in that folder.
    """
    folder = memory / "audit"
    if not folder.is_dir():
        raise InputError(
            "no memory in this folder",
            where=str(memory),
            hint="make one with acc replay FILE --memory DIR, or name another with --memory",
        )
    return sorted(folder.glob("*.jsonl"), key=lambda path: path.name)


def logged_thread(memory: Path, name: str | None) -> LoggedThread:
    """The thread with that name or log file; the memory's only thread if ``name`` is None.

    Raises:
        InputError: No thread matches, or several do.
        AuditError: No thread matches and a log cannot be read: it may belong to that thread.
    """
    damaged: list[AuditError] = []
    threads = logged_threads(memory, damaged)
    matching = [t for t in threads if name in (None, t.thread.thread, t.log.path.stem)]
    if damaged and (name is None or not matching):
        raise damaged[0]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(labels(matching or threads))
    if not threads:
        what, hint = "no thread with a commit", "replay a conversation into it"
    elif not matching:
        what, hint = f"no thread {name!r}", f"name one with --thread: {known}"
    else:
        what, hint = f"{len(matching)} threads", f"name one with --thread: {known}"
    raise InputError(what, where=str(memory), hint=hint)


def labels(threads: Sequence[LoggedThread]) -> list[str]:
    """A label for each thread: its name, or its log file if threads share the name."""
    names = Counter(t.thread.thread for t in threads)
    return [
        inert_line(t.thread.thread if names[t.thread.thread] == 1 else t.log.path.stem)
        for t in threads
    ]


def thread_named(memory: Path, name: str) -> LoggedThread | None:
    """The thread that a replay with this name continues; None if it has no commit."""
    return _logged(AuditLog.of(memory / "audit", Thread(thread=name)).path)


def _lines_from_end(path: Path, chunk: int = 1 << 18) -> Iterator[tuple[int, bytes]]:
    """Yield complete lines with their offsets, last line first. Skips a torn last line."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        rest, whole = b"", False
        while start > 0:
            size = min(chunk, start)
            start -= size
            file.seek(start)
            rest = file.read(size) + rest
            end = start + len(rest)
            rest, *lines = rest.split(b"\n")
            for line in reversed(lines):
                end -= len(line)
                if whole:
                    yield end, line
                end, whole = end - 1, True
        if whole:
            yield 0, rest


def _parsed(line: bytes, path: Path) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        what, hint = "a record is not JSON", "restore the log from a backup"
        raise AuditError(what, where=str(path), hint=hint) from error
    if isinstance(record, dict) and {"state", "prior", "turn", "notes"} <= record.keys():
        return record
    what, hint = "not a record of this library", "restore the log from a backup"
    raise AuditError(what, where=str(path), hint=hint)


def _logged(path: Path) -> LoggedThread | None:
    log = AuditLog(path)
    last = log.last()
    return LoggedThread(Thread(**last["thread"]), log, last) if last else None

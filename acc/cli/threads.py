"""The threads of a memory, as their audit logs tell of them: no store is opened."""

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
        thread: Whose it is.
        log: Its audit log.
        last: The newest record.
    """

    thread: Thread
    log: AuditLog
    last: Record

    def back(self) -> Iterator[Record]:
        """The records that led to the newest state, newest first, read from the log's end.

        A fork leaves records of another future in the log; they are passed over.

        Raises:
            AuditError: A record cannot be read.
        """
        return (record for _, record in self._lineage())

    def forth(self) -> Iterator[Record]:
        """The same records, oldest first, one at a time.

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
                # A branch begins with a copy of the state it leaves; only that one was committed.
                wanted = {record["prior"], record.get("prior_state", {}).get("parent")}


def logged_threads(memory: Path, damaged: list[AuditError] | None = None) -> list[LoggedThread]:
    """Every thread of ``memory`` that has a commit, by name.

    Args:
        memory: The folder.
        damaged: Takes the errors of logs that cannot be read; without it the first is raised.

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
    """The audit logs of ``memory``, by name.

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
    """The thread of that name, or of that log file; the only one where ``name`` is None.

    Raises:
        InputError: None, or several.
        AuditError: None, and a log cannot be read: it may be that thread's.
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
    """What each is called: by its name, or by its log file where others have that name too."""
    names = Counter(t.thread.thread for t in threads)
    return [
        inert_line(t.thread.thread if names[t.thread.thread] == 1 else t.log.path.stem)
        for t in threads
    ]


def thread_named(memory: Path, name: str) -> LoggedThread | None:
    """The thread that a replay by this name goes on with, if it has a commit."""
    return _logged(AuditLog.of(memory / "audit", Thread(thread=name)).path)


def _lines_from_end(path: Path, chunk: int = 1 << 18) -> Iterator[tuple[int, bytes]]:
    """Whole lines, last first, each with its place; a torn last one is passed over."""
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

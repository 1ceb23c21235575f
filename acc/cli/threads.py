"""The threads of a memory, as their audit logs tell of them: no store is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.audit import AuditLog
from acc.errors import InputError
from acc.store import Thread

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

    def lineage(self) -> list[int]:
        """Line numbers of the records that led to the newest state, oldest first.

        A fork leaves records of another future in the log; they are not among these.
        """
        made: dict[str, tuple[int, str]] = {}
        for number, record in enumerate(self.log.records(), 1):
            # Where the prior state is not the one before, it may be the first of a branch,
            # and then its parent is the state that was committed.
            forked_from = record.get("prior_state", {}).get("parent", "")
            before = record["prior"] if record["prior"] in made else forked_from
            made[record["state"]["hash"]] = (number, before)
        lines = []
        wanted = self.last["state"]["hash"]
        while wanted in made:
            number, wanted = made.pop(wanted)
            lines.append(number)
        return lines[::-1]

    def history(self) -> Iterator[Record]:
        """The records that led to the newest state, oldest first, one at a time."""
        wanted = frozenset(self.lineage())
        for number, record in enumerate(self.log.records(), 1):
            if number in wanted:
                yield record


def logged_threads(memory: Path) -> list[LoggedThread]:
    """Every thread of ``memory`` that has a commit, by name.

    Raises:
        InputError: There is no memory in that folder.
        AuditError: A log cannot be read.
    """
    folder = memory / "audit"
    if not folder.is_dir():
        raise InputError(
            "no memory in this folder",
            where=str(memory),
            mend="make one with acc replay FILE --memory DIR, or name another with --memory",
        )
    found = (_logged(path) for path in sorted(folder.glob("*.jsonl")))
    return sorted((each for each in found if each), key=lambda each: each.log.path.name)


def logged_thread(memory: Path, name: str | None) -> LoggedThread:
    """The thread of that name, or of that log file; the only one where ``name`` is None.

    Raises:
        InputError: None, or several.
    """
    threads = logged_threads(memory)
    if name is not None:
        matching = [t for t in threads if name in (t.thread.thread, t.log.path.stem)]
    else:
        matching = threads
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(
        t.thread.thread if name is None or not matching else t.log.path.stem
        for t in (matching or threads)
    )
    if not threads:
        what, mend = "no thread with a commit", "replay a conversation into it"
    elif not matching:
        what, mend = f"no thread {name!r}", f"name one with --thread: {known}"
    else:
        what, mend = f"{len(matching)} threads", f"name one with --thread: {known}"
    raise InputError(what, where=str(memory), mend=mend)


def thread_named(memory: Path, name: str) -> LoggedThread | None:
    """The thread that a replay by this name goes on with, if it has a commit."""
    return _logged(AuditLog.of(memory / "audit", Thread(thread=name)).path)


def _logged(path: Path) -> LoggedThread | None:
    log = AuditLog(path)
    last = log.last()
    return LoggedThread(Thread(**last["thread"]), log, last) if last else None

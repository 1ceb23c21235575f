"""The audit log: one JSON line per commit, with all inputs of the commit (law 10).

Each record holds the policy, the prior state's hash, the turn, the evidence, the proposal and the
resulting state; `verify` recomputes every commit from them. Each record includes the digest of the
previous one, which reveals any changed byte. The last digest can be kept in another place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from acc.audit.record import digested, is_record
from acc.errors import AuditError
from acc.folders import (
    PRIVATE_FILE,
    is_private,
    opened_private,
    private_folder,
    sync_folder,
    synced,
    tighten,
)
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.text.lines import canonical_json

FORMAT = 1

LOCK_SECONDS = 30
"""Maximum time in seconds that a writer waits for another process to write its record."""

_HALF = ".half"


class AuditLog:
    """The records of one thread, in one file.

    Attributes:
        path: The file.
        thread: The thread.
        checked_size: Size of the file when its end was last compared with the store; -1 for never.
    """

    def __init__(self, path: Path, thread: Thread | None = None, *, sync: bool = True) -> None:
        """Open the log at ``path``. If ``thread`` is given, every record must belong to it.

        ``sync`` writes each record to the disk before `append` returns.
        """
        self.path = path
        self.thread = thread
        self._sync = sync
        self._digest: str | None = None
        self._head = ""
        self._size = 0
        self.checked_size = -1

    @classmethod
    def of(cls, folder: Path, thread: Thread, *, sync: bool = True) -> AuditLog:
        """Return the log of ``thread`` in ``folder``; an existing log with the older, short name is used."""
        name, short = cls.names(thread)
        path, before = folder / name, folder / short
        if not path.exists() and before.exists() and cls(before).owner() in (None, thread):
            path = before
        return cls(path, thread, sync=sync)

    @staticmethod
    def names(thread: Thread) -> tuple[str, str]:
        """Return the file name of a thread's log, and the older name with a shortened key."""
        readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in thread.thread)[:48]
        fits = readable.encode()[:120].decode("utf-8", "ignore")
        return f"{fits}-{thread.key}.jsonl", f"{readable}-{thread.key[:12]}.jsonl"

    @cached_property
    def lock(self) -> BaseFileLock:
        """The lock to hold while the log is written; all logs of a folder and all processes share it."""
        folder = self.path.parent
        return FileLock(
            folder.with_name(f"{folder.name}.lock"), timeout=LOCK_SECONDS, mode=PRIVATE_FILE
        )

    def append(
        self, record: Mapping[str, Any], prior: CompressedCognitiveState | None = None
    ) -> None:
        """Write ``record`` at the end, chained to the previous record.

        ``prior``, the state before the commit, is written too unless the previous record ends with
        it. With ``sync`` the record is on the disk when this returns: it survives a power cut, as the
        store's records do. Without it the record survives a kill of the process.
        After an `AuditError`, treat the commit as not acknowledged.
        """
        self._check_owner(record)
        try:
            private_folder(self.path.parent)
            # Several processes may share a folder: `_append` reads the newest line while it holds the lock.
            with self.lock:
                self._append(record, prior)
        except (OSError, Timeout) as error:
            self._digest = None  # the next append drops a partly written record
            raise AuditError(
                f"the audit record cannot be written: {getattr(error, 'strerror', '') or error}",
                where=str(self.path),
                hint="free disk space, or choose another folder with audit=...",
            ) from error

    def _append(self, record: Mapping[str, Any], prior: CompressedCognitiveState | None) -> None:
        if self._digest is None or not self._is_in_step():
            self._digest = self._opened()
        body = {**record, "format": FORMAT, "previous": self._digest}
        if prior is not None and (not self._head or prior.hash != self._head):
            body["prior_state"] = prior.canonical()
        line, digest = digested(body)
        self._write(line.encode("utf-8", "surrogatepass"))
        self._digest, self._head = digest, str(record["state"]["hash"])

    def _write(self, line: bytes) -> None:
        if self.path.exists():
            with opened_private(self.path, "ab") as file:
                file.write(line)
                if self._sync:
                    synced(file)
                self._size = file.tell()
            return
        # A killed writer must not leave a new log without a whole record: an empty log means that
        # somebody emptied it.
        half = self.path.with_suffix(_HALF)
        with opened_private(half) as file:
            file.write(line)
            if self._sync:
                synced(file)
        half.replace(self.path)
        if self._sync:
            sync_folder(self.path.parent)
        self._size = len(line)

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

    def size(self) -> int:
        """Return the size of the file in bytes; 0 if there is none."""
        with _readable(self.path):
            return self.path.stat().st_size if self.path.exists() else 0

    def has_turn(self, branch: str, *turns: int) -> bool:
        """Return whether the log has a record of one of ``turns`` of ``branch``."""
        states = (entry["state"] for entry in self._newest_first(branch.encode()))
        return any(state["branch"] == branch and state["turn"] in turns for state in states)

    def record_of(self, state_hash: str) -> dict[str, Any] | None:
        """Return the newest record of a commit that made or continued this state, or None."""
        named = self._newest_first(state_hash.encode())
        return next((entry for entry in named if state_hash in _states_in(entry)), None)

    def _newest_first(self, words: bytes = b"") -> Iterator[dict[str, Any]]:
        """Yield the complete records whose lines contain ``words``, newest first.

        A reader that stops early reads only the end of the file.
        """
        with _readable(self.path):
            for line in _tail_first(self.path):
                if words in line and _is_whole(line):
                    yield self._read(line)

    def ends_with(self, state_hash: str) -> bool:
        """Return whether this object wrote the newest record and its state has this hash."""
        return bool(self._digest) and state_hash == self._head and self._is_in_step()

    def owner(self) -> Thread | None:
        """Return the thread of the newest readable record, or None. Skips changed records."""
        with _readable(self.path):
            for line in _tail_first(self.path):
                with suppress(AuditError):
                    return Thread(**_parsed(line, self.path, 0)["thread"])
        return None

    def torn_bytes(self) -> int:
        """Return the size in bytes of an incomplete last record; the next append drops it."""
        with _readable(self.path):
            line = next(_tail_first(self.path), b"")
        return 0 if _is_whole(line) else len(line)

    def newest(self, most: int) -> list[dict[str, Any]]:
        """Return the last ``most`` records, newest first."""
        return list(islice(self._newest_first(), most))

    def newest_by_branch(self, most: int = 64) -> list[dict[str, Any]]:
        """Return the newest record of each branch among the last ``most`` records."""
        found: dict[str, dict[str, Any]] = {}
        for entry in self.newest(most):
            found.setdefault(str(entry["state"]["branch"]), entry)
        return list(found.values())

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every record, oldest first; an incomplete last line, left by a kill, is skipped."""
        with _readable(self.path):
            if not self.path.exists():
                return
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if _is_whole(line):
                        yield self._read(line, number)
                    elif _is_whole(line[:-1]):
                        raise changed(f"{self.path}, line {number}")

    def _is_in_step(self) -> bool:
        """Return whether the file has the size that this object's last write left."""
        return self.path.exists() and self.path.stat().st_size == self._size

    def _read(self, line: bytes, number: int = 0) -> dict[str, Any]:
        entry = _parsed(line, self.path, number)
        self._check_owner(entry, number)
        return entry

    def _check_owner(self, entry: Mapping[str, Any], number: int = 0) -> None:
        if self.thread is not None and Thread(**entry["thread"]) != self.thread:
            raise AuditError(
                "the audit record belongs to another thread than its log",
                where=f"{self.path}, line {number}" if number else str(self.path),
                hint="restore the log from a backup",
            )

    def _opened(self) -> str:
        if not self.path.exists():
            return ""
        last = self.last()
        _drop_torn_line(self.path)
        self._size = self.path.stat().st_size
        self._head = str(last["state"]["hash"]) if last else ""
        return str(last["digest"]) if last else ""


def _states_in(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hashes of the state that a record's commit made and of the state that it continued."""
    # A fork's first prior state is a copy; its parent is the original state.
    return (
        entry["state"]["hash"],
        entry.get("prior", ""),
        entry.get("prior_state", {}).get("parent", ""),
    )


def _parsed(line: bytes, path: Path, number: int) -> dict[str, Any]:
    where = f"{path}, line {number}" if number else str(path)
    try:
        entry = json.loads(line)
        written = canonical_json(entry).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError) as error:
        raise AuditError(
            "a record of the audit log is not JSON",
            where=where,
            hint="restore the log from a backup",
        ) from error
    if line not in (written, written + b"\n") or not is_record(entry):
        raise changed(where)
    return dict(entry)


def _tail_first(path: Path, chunk: int = 1 << 16) -> Iterator[bytes]:
    """Yield the lines of a file, last first, without reading the whole file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        rest = b""
        while position > 0:
            size = min(chunk, position)
            position -= size
            file.seek(position)
            rest = file.read(size) + rest
            lines = rest.splitlines(keepends=True)
            if position > 0:
                rest, lines = lines[0], lines[1:]
            yield from reversed(lines)


def _drop_torn_line(path: Path) -> None:
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        torn = next(iter(_tail_first(path)), b"\n")
        if torn.endswith(b"\n"):
            return
        if _is_whole(torn[:-1]) and not _is_whole(torn):
            raise changed(str(path))
        if _is_whole(torn):
            file.seek(end)
            file.write(b"\n")
        else:
            file.truncate(end - len(torn))


def _is_whole(line: bytes) -> bool:
    """Return whether a line is a complete record. A kill may leave the last one incomplete or unterminated."""
    if line.endswith(b"\n"):
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def drop_halves(folder: Path) -> None:
    """Remove the incomplete first records of killed writers; no log uses them."""
    with _readable(folder), AuditLog(folder / "any").lock:
        for half in folder.glob(f"*{_HALF}"):
            half.unlink()


def keep_private(folder: Path) -> None:
    """Restrict the logs in ``folder`` to their owner; older versions left them readable for others."""
    if folder.is_dir() and not is_private(folder):
        tighten([*folder.iterdir(), folder, folder.with_name(f"{folder.name}.lock")])


def changed(where: str) -> AuditError:
    return AuditError(
        "the audit record was changed", where=where, hint="restore the log from a backup"
    )


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AuditError(
            f"the audit log cannot be read: {error.strerror or error}",
            where=str(path),
            hint="give the audit folder of a memory, and let this user read it",
        ) from error

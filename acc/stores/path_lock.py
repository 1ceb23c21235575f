"""One process at a time on an embedded path: two lose each other's vectors without an error."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

from acc.errors import StoreError, StoreLockedError
from acc.folders import PRIVATE_FILE, opened_private, private_folder
from acc.stores.chroma_errors import translated

LOCK = "acc.lock"
HOLDER = "acc.pid"


class PathLock:
    """Holds a directory from construction to `release`, or to the end of the process.

    The operating system drops the lock when the process ends, however it ends. A second file
    has the holder's process id, and stays behind where the holder did not release.

    Attributes:
        left_open: Whether the holder before ended without a release: it may have been killed.

    Raises:
        StoreLockedError: Another store holds the directory, in this process or another.
        StoreError: The directory cannot be made or written, or its file system has no locks.
    """

    def __init__(self, directory: Path) -> None:
        import filelock

        self._pid = os.getpid()
        self._directory = directory
        self.left_open = False
        with translated("the directory of the store cannot be locked", str(directory)):
            private_folder(directory)
            # Not per thread: a store may be closed by another thread than opened it.
            self._lock = filelock.FileLock(
                directory / LOCK, timeout=0, mode=PRIVATE_FILE, thread_local=False
            )
            if self._other is not None:
                gc.collect()  # what holds it may be a memory that nobody holds any more
            with _GUARD:
                self._acquire()

    def _acquire(self) -> None:
        import filelock

        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            raise self._refusal() from error
        try:
            if isinstance(self._lock, filelock.SoftFileLock):
                raise self._no_locks()
            self.left_open = self._holder.exists()
            with opened_private(self._holder, "w", encoding="ascii") as file:
                file.write(f"{self._pid}\n")
            _HELD[self._key] = self
        except BaseException:
            self._lock.release()
            raise

    @property
    def held(self) -> bool:
        """Whether this process, and not a fork of it, holds the directory."""
        return os.getpid() == self._pid and self._lock.is_locked

    def release(self, *, clean: bool = True) -> None:
        """Let go. Safe to repeat; in a forked child it does nothing, since the parent holds it.

        Args:
            clean: Whether nothing was left half done; if not, the next holder is told.
        """
        if not self.held:
            return
        with translated("the lock of the store cannot be released", str(self._directory)):
            try:
                if clean:
                    self._holder.unlink(missing_ok=True)
            finally:
                self._lock.release()

    @property
    def _holder(self) -> Path:
        return self._directory / HOLDER

    @property
    def _key(self) -> str:
        return os.path.realpath(self._directory)

    @property
    def _other(self) -> PathLock | None:
        """The lock of this process that holds the directory, if one does."""
        other = _HELD.get(self._key)
        return other if other is not None and other.held else None

    def _refusal(self) -> StoreLockedError:
        if self._other is not None:
            return StoreLockedError(
                "a memory or store that is open in this process holds the path",
                where=str(self._directory),
                mend="go on with that one, or close it first: memory.close(), or open it in a "
                "`with` block",
            )
        pid = ""
        with suppress(OSError, UnicodeDecodeError):
            pid = self._holder.read_text(encoding="ascii").strip()
        known = pid.isdigit() and int(pid) != self._pid  # else a process of another container
        return StoreLockedError(
            f"{f'process {pid}' if known else 'another process'} holds the path of the store",
            where=str(self._directory),
            mend="end that process or close its memory, choose another path, or let both use a Chroma "
            "server: start `chroma run --path DIR` and open ChromaArtifactStore.server()",
        )

    def _no_locks(self) -> StoreError:
        return StoreError(
            "the file system has no locks, without which two processes damage a store",
            where=str(self._directory),
            mend="put the store on a local disk, or use a Chroma server",
        )


_HELD: WeakValueDictionary[str, PathLock] = WeakValueDictionary()
"""The locks of this process, by the real path of the directory."""

_GUARD = threading.Lock()
"""Held until a lock that was acquired is among `_HELD`: whoever comes second in this process finds it."""


def _renew_guard() -> None:
    """A forked child must not wait for a thread that only its parent has."""
    global _GUARD
    _GUARD = threading.Lock()


os.register_at_fork(after_in_child=_renew_guard)

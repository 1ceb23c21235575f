"""One process at a time on an embedded path: two lose each other's vectors without an error."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acc.errors import StoreError, StoreLockedError
from acc.stores.chroma_errors import translated

if TYPE_CHECKING:
    from filelock import BaseFileLock

FILE = "acc.lock"


class PathLock:
    """Holds a directory from construction to `release`, or to the end of the process.

    The operating system drops it when the process dies, however it dies. The file stays, and
    names the last holder's process id.

    Raises:
        StoreLockedError: Another store holds the directory, in this process or another.
        StoreError: The directory cannot be made or written, or its file system has no locks.
    """

    def __init__(self, directory: Path) -> None:
        import filelock

        self._pid = os.getpid()
        self._file = directory / FILE
        with translated("the directory of the store cannot be used", str(directory)):
            directory.mkdir(parents=True, exist_ok=True)
            # Not per thread: a store may be closed by another thread than opened it.
            self._lock: BaseFileLock = filelock.FileLock(self._file, timeout=0, thread_local=False)
            try:
                self._lock.acquire()
            except filelock.Timeout as error:
                raise self._refusal() from error
            if isinstance(self._lock, filelock.SoftFileLock):
                self._lock.release()
                raise StoreError(
                    "the file system has no locks, without which two processes damage a store",
                    where=str(directory),
                    mend="put the store on a local disk, or run a Chroma server",
                )
            with suppress(OSError):  # the id is a courtesy; Windows denies access to a locked file
                self._file.write_text(f"{self._pid}\n", encoding="ascii")

    def release(self) -> None:
        """Let go. Safe to repeat; in a forked child it does nothing, since the parent holds it."""
        if os.getpid() == self._pid:
            with translated("the lock of the store cannot be released", str(self._file)):
                self._lock.release(force=True)

    def _refusal(self) -> StoreLockedError:
        holder = ""
        with suppress(OSError, UnicodeDecodeError):
            holder = self._file.read_text(encoding="ascii").strip()
        if not holder.isdigit():
            who = "another process"
        elif int(holder) == self._pid:
            who = "another store of this process"
        else:
            who = f"process {holder}"
        return StoreLockedError(
            f"{who} holds the path of the store",
            where=str(self._file.parent),
            mend="end it, choose another path, or let both use a Chroma server: start "
            "`chroma run --path DIR` and open ChromaArtifactStore.server()",
        )

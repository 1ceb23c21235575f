"""Chroma on a directory that this process locks."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

from acc.errors import StoreError, StoreLockedError
from acc.folders import PRIVATE_FILE, opened_private, private_folder, tighten
from acc.logs import log_event
from acc.stores.chroma.client import Connection, close_embedded, embedded_client, translated
from acc.stores.chroma.collections import FORK_HINT, OWN_NAME
from acc.stores.chroma.files import DATABASE, blank, drop_indexes, is_index, scrub

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


_LOG = logging.getLogger(__name__)

LOCK = "acc.lock"
HOLDER = "acc.pid"


class PathLock:
    """Locks a directory from construction to `release`, or to the end of the process.

    The operating system drops the lock however the process ends. A second file contains the
    holder's process id, and stays if the holder did not release: then ``left_open`` of the next
    holder is True.

    Raises:
        StoreLockedError: Another store holds the directory, in this process or another.
    """

    def __init__(self, directory: Path) -> None:
        import filelock

        self._pid = os.getpid()
        self._directory = directory
        self.left_open = False
        with translated("the directory of the store cannot be locked", str(directory)):
            private_folder(directory)
            # Not per thread: another thread may close the store.
            self._lock = filelock.FileLock(
                directory / LOCK, timeout=0, mode=PRIVATE_FILE, thread_local=False
            )
            if self._other is not None:
                gc.collect()  # the holder may be an unreferenced memory
            with _GUARD:
                self._acquire()

    def _acquire(self) -> None:
        import filelock

        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            log_event(
                _LOG, logging.INFO, "store_locked", "another process or memory holds the folder",
                path=self._directory,
            )  # fmt: skip
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
        """Whether this process, not its fork, holds the directory."""
        return os.getpid() == self._pid and self._lock.is_locked

    def release(self, *, clean: bool = True) -> None:
        """Release the lock. Idempotent; does nothing in a forked child: the parent holds it.

        If not ``clean``, because some work was not finished, the next holder sees ``left_open``.
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
        """The lock of this process that holds the directory, if any."""
        other = _HELD.get(self._key)
        return other if other is not None and other.held else None

    def _refusal(self) -> StoreLockedError:
        if self._other is not None:
            return StoreLockedError(
                "a memory or store that is open in this process uses the path",
                where=str(self._directory),
                hint="use that one, or close it first: memory.close(), or open it in a "
                "`with` block",
            )
        pid = ""
        with suppress(OSError, UnicodeDecodeError):
            pid = self._holder.read_text(encoding="ascii").strip()
        known = pid.isdigit() and int(pid) != self._pid  # otherwise a process of another container
        return StoreLockedError(
            f"{f'process {pid}' if known else 'another process'} holds the path of the store",
            where=str(self._directory),
            hint="stop that process or close its memory, choose another path, or let both use a Chroma "
            "server: start `chroma run --path DIR` and open ChromaArtifactStore.server()",
        )

    def _no_locks(self) -> StoreError:
        return StoreError(
            "the file system has no file locks; without locks, two processes can damage a store",
            where=str(self._directory),
            hint="put the store on a local disk, or use a Chroma server",
        )


_HELD: WeakValueDictionary[str, PathLock] = WeakValueDictionary()
"""The locks of this process, by the real path of the directory."""

_GUARD = threading.Lock()
"""Held until an acquired lock is in `_HELD`; a concurrent attempt in this process then finds it."""


_chroma_ran = False
_is_forked_from_chroma = False
"""Whether this process opened an embedded Chroma, and whether it is a fork of a process that had."""


_OPEN: WeakSet[EmbeddedConnection] = WeakSet()


def _after_fork() -> None:
    """Make sure that a forked child waits for no thread of its parent.

    Chroma's client waits for its threads when it is freed, at the latest when Python exits. The child
    therefore keeps one more reference to it, which nothing ever releases.
    """
    global _GUARD, _is_forked_from_chroma
    _GUARD = threading.Lock()
    _is_forked_from_chroma = _is_forked_from_chroma or _chroma_ran
    for connection in _OPEN:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection.client))


os.register_at_fork(after_in_child=_after_fork)


def _refuse_fork(directory: Path) -> None:
    """Raise if the embedded Chroma cannot run here: its pool of threads is gone, and a write waits for it forever."""
    global _chroma_ran
    if _is_forked_from_chroma:
        raise StoreError(
            "this process was forked after its parent opened a memory in a folder",
            where=str(directory),
            hint=FORK_HINT,
        )
    _chroma_ran = True


class EmbeddedConnection(Connection):
    """Holds the path and a client on it from construction to `close`.

    With ``looks`` this opening only inspects; after a kill, the next holder is still informed.
    """

    owns_files = True
    _seen: set[str]
    """Names in the folder for which `keep_private` has nothing left to do, since the client was opened."""

    def __init__(self, directory: Path, *, looks: bool = False) -> None:
        _refuse_fork(directory)
        self._directory = directory
        self._looks = looks
        self._lock = PathLock(directory)
        if not _others_in(directory):
            tighten([directory])
        self.after_kill = self._lock.left_open
        try:
            super().__init__(self._opened())
            _OPEN.add(self)
        except BaseException:
            self._lock.release(clean=False)
            raise

    def keep_private(self) -> None:
        """Restrict access to the index folders that Chroma created since the last call, and blank their files."""
        with suppress(OSError):
            names = set(os.listdir(self._directory))
            new = [self._directory / name for name in names - self._seen]
            self._seen = names
            indexes = [path for path in new if is_index(path)]
            tighten(indexes)
            for index in indexes:
                if not blank(index):
                    self._seen.discard(index.name)

    def recover(self) -> None:
        """Replace the client: after a failure, a later write to the same one may hang forever."""
        with suppress(StoreError):
            close_embedded(self.client, self._directory)
        self.client = self._opened()
        self.failed = False

    def scrub(self) -> bool:
        """Rewrite the files without deleted content, and reopen them."""
        self.failed = True
        for each in self.client.list_collections():
            if OWN_NAME.fullmatch(each.name):
                each.get(limit=1, include=[])  # a read makes Chroma apply its log of writes
        close_embedded(self.client, self._directory)
        scrub(self._directory)
        self.client = self._opened()
        self.failed = False
        return True

    def close(self) -> None:
        """Close the client, and release the path."""
        try:
            close_embedded(self.client, self._directory)
            if self._lock.held:
                drop_indexes(self._directory)
                tighten(_files_of(self._directory))
        finally:
            self._lock.release(clean=not self.failed and not (self._looks and self.after_kill))

    def _opened(self) -> ClientAPI:
        drop_indexes(self._directory)
        self._seen = set()  # Chroma creates the dropped indexes again under their names
        with translated("the embedded Chroma cannot be opened", str(self._directory)):
            # Chroma would create it with the umask's mode. SQLite's journals take its mode.
            opened_private(self._directory / DATABASE, "ab").close()
        client = embedded_client(self._directory)
        tighten(_files_of(self._directory))
        return client


_OURS = (
    f"{DATABASE}*", "acc.*", "audit", "audit.lock", "erasure*.json*", "import.json", "vacuum.json", ".*.half"
)  # fmt: skip
"""Names in a memory's folder, except those of Chroma's indexes."""


def _others_in(directory: Path) -> list[Path]:
    """Return foreign paths in the folder; with any, the folder is shared and keeps its mode."""
    ours = {path for name in _OURS for path in directory.glob(name)}
    return [p for p in directory.iterdir() if p not in ours and not is_index(p)]


def _files_of(directory: Path) -> Iterator[Path]:
    """Yield the files of the store in ``directory``, and the folders of its indexes."""
    for name in _OURS:
        yield from (path for path in directory.glob(name) if not path.is_dir())
    for index in filter(is_index, directory.iterdir()):
        yield from index.iterdir()
        yield index

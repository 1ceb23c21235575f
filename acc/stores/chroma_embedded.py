"""Chroma on a directory that this process alone has: locked, and mended where that is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acc.errors import StoreError
from acc.folders import opened_private, tighten
from acc.stores.chroma_client import Connection, close_client, embedded_client
from acc.stores.chroma_errors import translated
from acc.stores.chroma_repair import make_anew, set_aside_damaged
from acc.stores.chroma_scrub import blank_unused, scrub, widen
from acc.stores.path_lock import PathLock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


DATABASE = "chroma.sqlite3"


class EmbeddedConnection(Connection):
    """Holds the path, and a client on it, from construction to `close`.

    Args:
        directory: The path.
        looks: Whether nothing that a kill left is ended here: the next holder is told of it again.

    Raises:
        StoreLockedError: Another store holds the path.
        StoreError: The path cannot be read or written, or its files are damaged.
    """

    owns_files = True

    def __init__(self, directory: Path, *, looks: bool = False) -> None:
        self._directory = directory
        self._looks = looks
        self._lock = PathLock(directory)
        if not _others_in(directory):
            tighten([directory])
        self._seen: set[str] = set()
        self.after_kill = self._lock.left_open
        try:
            super().__init__(self._opened(suspect=self._lock.left_open))
        except BaseException:
            self._lock.release(clean=False)
            raise

    def keep_private(self) -> None:
        """Close to others the folders of the indexes that Chroma made since the last call."""
        with suppress(OSError):
            names = set(os.listdir(self._directory))
            new = [self._directory / name for name in names - self._seen]
            self._seen = names
            tighten(path for path in new if _is_index(path))

    def recover(self) -> None:
        """Replace the client: after a failure, a later write to the same one may hang for ever.

        Raises:
            StoreError: The path still cannot be used; the client stays closed.
        """
        with suppress(StoreError):
            close_client(self.client)
        self.client = self._opened(suspect=True)
        self.failed = False

    def scrub(self) -> bool:
        """Rewrite the files, so that nothing deleted is left in them, and open them anew.

        Raises:
            StoreError: They cannot be rewritten; the next opening mends what was begun.
        """
        return self._rewritten(lambda: scrub(self._directory))

    def widen(self, collection: str, links: int) -> bool:
        """Make a collection's index anew with so many links a vector, and open the files anew.

        Raises:
            StoreError: They cannot be rewritten; the next opening mends what was begun.
        """
        return self._rewritten(lambda: widen(self._directory, collection, links))

    def _rewritten(self, act: Callable[[], None]) -> bool:
        self.failed = True
        for each in self.client.list_collections():
            each.get(limit=1, include=[])  # so that its log of writes is applied
        close_client(self.client)
        act()
        self.client = self._opened(suspect=True)
        self.failed = False
        return True

    def close(self) -> None:
        """Close the client and let the path go. Safe to repeat.

        After a failure, whoever opens the path next examines its files.
        """
        try:
            close_client(self.client)
            if self._lock.held:
                blank_unused(self._directory)
                tighten(_files_of(self._directory))
        finally:
            self._lock.release(clean=not self.failed and not (self._looks and self.after_kill))

    def _opened(self, *, suspect: bool) -> ClientAPI:
        aside = set_aside_damaged(self._directory, suspect=suspect)
        with translated("the embedded Chroma cannot be opened", str(self._directory)):
            # Made here, since Chroma makes it as the umask has it; its journals follow its mode.
            opened_private(self._directory / DATABASE, "ab").close()
        client = embedded_client(self._directory)
        try:
            make_anew(client, aside)
            blank_unused(self._directory)
        except BaseException:
            close_client(client)
            raise
        tighten(_files_of(self._directory))
        return client


_OURS = (
    f"{DATABASE}*", "acc.*", "audit", "audit.lock", "erasure*.json*", "import.json", "vacuum.json", ".*.half"
)  # fmt: skip
"""Names in a memory's folder, beside those of Chroma's indexes."""


def _others_in(directory: Path) -> list[Path]:
    """What in the folder is no memory's: then the folder is not the memory's alone, and keeps its mode."""
    ours = {path for name in _OURS for path in directory.glob(name)}
    return [p for p in directory.iterdir() if p not in ours and not _is_index(p)]


def _files_of(directory: Path) -> Iterator[Path]:
    """The files of the store in ``directory``, and the folders of its indexes."""
    for name in _OURS:
        yield from (path for path in directory.glob(name) if not path.is_dir())
    for index in filter(_is_index, directory.iterdir()):
        yield from index.iterdir()
        yield index


def _is_index(path: Path) -> bool:
    is_named = path.name.count("-") >= 4 and len(path.name.partition(".")[0]) == 36
    return is_named and path.is_dir()

"""Chroma on a directory that this process alone has: locked, and mended where that is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acc.errors import StoreError
from acc.stores.chroma_client import Connection, close_client, embedded_client
from acc.stores.chroma_repair import make_anew, set_aside_damaged
from acc.stores.chroma_scrub import blank_unused, scrub, widen
from acc.stores.path_lock import PathLock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


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
        self.after_kill = self._lock.left_open
        try:
            super().__init__(self._opened(suspect=self._lock.left_open))
        except BaseException:
            self._lock.release(clean=False)
            raise

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
        finally:
            self._lock.release(clean=not self.failed and not (self._looks and self.after_kill))

    def _opened(self, *, suspect: bool) -> ClientAPI:
        aside = set_aside_damaged(self._directory, suspect=suspect)
        client = embedded_client(self._directory)
        try:
            make_anew(client, aside)
            blank_unused(self._directory)
        except BaseException:
            close_client(client)
            raise
        return client

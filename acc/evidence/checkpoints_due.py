"""Checkpoints that an erasure still has to delete, noted in a file until each database has done so.

The databases are somebody else's and may be away. So the memory's own part of an erasure does not
wait for them: the note names threads and databases, nothing of what was erased and no password, and
whoever opens the memory tries again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from acc.errors import AccError
from acc.evidence import marks
from acc.evidence.checkpoints import checkpointer_at
from acc.evidence.database_urls import by_lasting, lasting_url

_NAME = "checkpoints-{}.json"


class Due(NamedTuple):
    """What is to be deleted.

    Attributes:
        erasure: The erasure's identity.
        threads: Names of threads.
        urls: Databases, as `checkpointer_at` takes them, but without passwords.
    """

    erasure: str
    threads: tuple[str, ...]
    urls: tuple[str, ...]


class Settled(NamedTuple):
    """What came of it.

    Attributes:
        rows: Rows that went.
        left: Why each database that could not be used still has its rows; it is tried again.
    """

    rows: int = 0
    left: tuple[str, ...] = ()


class CheckpointsDue:
    """The notes in a memory's folder; without one, what fails now is not tried again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def owe(self, erasure: str, threads: Sequence[str], urls: Sequence[str]) -> Due:
        """Note it. On return it will be tried until it is done.

        Raises:
            StoreError: It cannot be noted.
        """
        due = Due(erasure, tuple(threads), tuple(map(lasting_url, urls)))
        self._note(due)
        return due

    def settle(self, due: Due, given: Sequence[str] = ()) -> Settled:
        """Delete what is due, database by database.

        Args:
            due: What is due.
            given: Databases' addresses with their passwords, which the note does not have.
        """
        rows, left, urls = 0, [], []
        whole = by_lasting(given)
        for url in due.urls:
            try:
                rows += checkpointer_at(whole.get(lasting_url(url), url))(due.threads)
            except AccError as error:
                left.append(str(error))
                urls.append(lasting_url(url))
        self._note(due._replace(urls=tuple(urls)))
        return Settled(rows, tuple(left))

    def waiting(self) -> Iterator[Due]:
        """What earlier processes left.

        Raises:
            StoreError: A note cannot be read.
        """
        for path in self.notes():
            said = marks.read(path)
            if said is not None:
                yield Due(said["erasure"], tuple(said["threads"]), tuple(said["urls"]))

    def notes(self) -> list[Path]:
        """The notes that there are."""
        return sorted(self._folder.glob(_NAME.format("*"))) if self._folder is not None else []

    def _note(self, due: Due) -> None:
        if self._folder is None:
            return
        path = self._folder / _NAME.format(due.erasure)
        if due.urls and due.threads:
            marks.begin(path, due._asdict())
        else:
            marks.wipe(path)

"""A store whose vectors are in an index of its own, which may lose some or no longer come to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Looked(NamedTuple):
    """What a look at an index found so far, since the one before.

    Attributes:
        seen: Records looked at, of all.
        of: All.
        lost: Keys of records whose vector is not there, or cannot be read.
        unreachable: Keys of records whose vector is there, and which the index does not answer a
            query with that very vector, though it answers others that are farther from it. Where
            all answers are equal to it, that is a tie.
    """

    seen: int
    of: int
    lost: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()


@runtime_checkable
class IndexedStore(Protocol):
    """What a store offers whose vector indexes can be looked at and mended.

    A key is a record's id, or its hash where the backend has no room for the id.
    """

    def indexes(self, tenant: str) -> list[str]:
        """The tenant's indexes: "" for its records' own, then the embedders' of dense vectors.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def look(self, tenant: str, index: str) -> Iterator[Looked]:
        """Look at every vector of an index, some hundred at a time; of no more is held in memory.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def relink(self, tenant: str, index: str, keys: Sequence[str]) -> None:
        """Write these vectors anew. Of a lost dense one the place goes: it is made when it is wanted.

        A kill leaves each record as it is. Safe to repeat.

        Raises:
            StoreError: They cannot be written.
        """
        ...

    def widen(self, tenant: str, index: str, links: int) -> bool:
        """Make an index anew as a graph with ``links`` links for each vector, where writing vectors anew is not enough.

        Takes some milliseconds for each record. A kill leaves each record as it is.

        Returns:
            False where the files are not this store's to rewrite: a server's.

        Raises:
            StoreError: It cannot be written.
        """
        ...

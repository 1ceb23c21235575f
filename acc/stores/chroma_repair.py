"""Vector indexes that are half written: set aside, and made anew.

Chroma writes an index over the one before, file by file, the list of its ids last. When the
process is killed in between, or the disk is full, Chroma refuses to read even the records of
the collection, which are whole in its SQLite file. Vectors follow from the texts, so nothing
is lost with them.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from acc.stores.chroma_batches import embedded_again
from acc.stores.chroma_client import at_once
from acc.stores.chroma_collections import DENSE, fingerprint
from acc.stores.chroma_errors import translated

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

ASIDE = ".damaged"
"""Suffix of an index set aside; it stays until the vectors are made anew."""

_IDS = "index_metadata.pickle"
_INDEXES = """
    SELECT segments.id, collections.name
    FROM segments JOIN collections ON collections.id = segments.collection
    WHERE segments.scope = 'VECTOR' AND collections.name LIKE 'acc-%'
"""


def set_aside_damaged(directory: Path, *, suspect: bool) -> Mapping[Path, str]:
    """Set damaged indexes aside; to be called before Chroma opens ``directory``.

    Args:
        directory: The embedded path, locked.
        suspect: Whether the last process may have been killed, or has failed. Then a list of ids
            that is whole but older than its index counts as damage, which else is how a copy
            of the directory may look.

    Returns:
        The collection's name of each index that is aside now.

    Raises:
        StoreError: The files cannot be read or moved.
    """
    with translated("the indexes of the store cannot be examined", str(directory)):
        aside = {}
        for segment, name in _indexes(directory / "chroma.sqlite3"):
            index, moved = directory / segment, directory / f"{segment}{ASIDE}"
            if _is_damaged(index, suspect=suspect):
                shutil.rmtree(moved, ignore_errors=True)
                index.rename(moved)
            if moved.exists():
                aside[moved] = name
        return aside


def make_anew(client: ClientAPI, aside: Mapping[Path, str]) -> None:
    """Embed the records of these collections again; some 0.7 ms for each record.

    Those of another embedder are left for the release that wrote them; of dense ones the collection
    goes, and whoever wants a vector makes it anew. Interrupted, it is done again when the store is
    opened again.

    Raises:
        StoreError: The records cannot be read or written.
    """
    for moved, name in aside.items():
        if name.startswith(DENSE):
            with translated("the dense vectors cannot be dropped", str(moved.parent)):
                client.delete_collection(name)
                shutil.rmtree(moved)
        elif name.endswith(f"-{fingerprint()}"):
            with translated("the vector index cannot be made anew", str(moved.parent)):
                collection = client.get_collection(name, embedding_function=None)
                embedded_again(at_once, collection, collection.get(include=[])["ids"])
                shutil.rmtree(moved)


def _indexes(database: Path) -> list[tuple[str, str]]:
    if not database.is_file():
        return []
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute(_INDEXES).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # killed before Chroma had made its tables
                return []
            raise


def _is_damaged(index: Path, *, suspect: bool) -> bool:
    files = list(index.iterdir()) if index.is_dir() else []
    if not files:
        return False
    ids = index / _IDS
    if ids not in files or not _is_whole(ids):
        return True
    written = ids.stat().st_mtime_ns
    return suspect and any(file.stat().st_mtime_ns > written for file in files)


def _is_whole(pickle: Path) -> bool:
    with pickle.open("rb") as file:
        file.seek(max(0, pickle.stat().st_size - 1))
        return file.read() == b"."  # its last instruction

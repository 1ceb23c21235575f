"""Rewrite an embedded Chroma's files without deleted content, and repair its indexes.

Chroma only marks deletions: SQLite keeps the text in free pages, in the log of writes and in the
trigram index, and a vector index never removes its vectors. This module deletes applied entries
from the log, rebuilds the trigrams, vacuums the database, and sets every vector index aside to
rebuild it from the texts. Dense vectors cannot be rebuilt from texts:
`acc.stores.chroma.vectors` rewrites their collections beforehand.

Each step is idempotent, and the next opening completes the work after a kill: an index that is set
aside is always rebuilt.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Set
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acc.stores.chroma.client import at_once, translated
from acc.stores.chroma.collections import DENSE, fingerprint, wide
from acc.stores.chroma.rows import reembed

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


ASIDE = ".damaged"
"""Suffix of an index set aside; it stays until the vectors are rebuilt."""

_IDS_FILE = "index_metadata.pickle"
_DATABASE = "chroma.sqlite3"
_INDEXES = """
    SELECT segments.id, collections.name
    FROM segments JOIN collections ON collections.id = segments.collection
    WHERE segments.scope = 'VECTOR'
"""
"""The name of each vector index's folder, and of its collection."""

_OWN_INDEXES = f"{_INDEXES} AND collections.name LIKE 'acc-%'"


def set_aside_damaged(directory: Path, *, suspect: bool) -> Mapping[Path, str]:
    """Set damaged indexes aside before Chroma opens ``directory``; return their collections' names.

    ``suspect`` says that the last process failed or may have been killed. An index with a list of ids
    that is older than its other files then counts as damaged. Otherwise it does not: copying the
    directory can change the times of files too.
    """
    with translated("the indexes of the store cannot be examined", str(directory)):
        aside = {}
        for segment, name in _own_indexes(directory / _DATABASE):
            index, moved = directory / segment, directory / f"{segment}{ASIDE}"
            if _is_damaged(index, suspect=suspect):
                shutil.rmtree(moved, ignore_errors=True)
                index.rename(moved)
            if moved.exists():
                aside[moved] = name
        return aside


def rebuild_indexes(client: ClientAPI, aside: Mapping[Path, str]) -> None:
    """Rebuild the indexes that were set ``aside`` from the records' texts; about 0.7 ms per record.

    Collections of another embedder are left for the release that wrote them. A dense collection is
    deleted, and its vectors are embedded again on demand. After an interruption the next opening
    repeats the work.
    """
    for moved, name in aside.items():
        if name.startswith(DENSE):
            with translated("the dense vectors cannot be dropped", str(moved.parent)):
                client.delete_collection(name)
                shutil.rmtree(moved)
        elif name.endswith(f"-{fingerprint()}"):
            with translated("the vector index cannot be rebuilt", str(moved.parent)):
                collection = client.get_collection(name, embedding_function=None)
                reembed(at_once, collection, collection.get(include=[])["ids"])
                shutil.rmtree(moved)


def _own_indexes(database: Path) -> list[tuple[str, str]]:
    if not database.is_file():
        return []
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute(_OWN_INDEXES).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # killed before Chroma had created its tables
                return []
            raise


def _is_damaged(index: Path, *, suspect: bool) -> bool:
    files = list(index.iterdir()) if index.is_dir() else []
    if not files:
        return False
    ids = index / _IDS_FILE
    if ids not in files or not _is_whole(ids):
        return True
    written = ids.stat().st_mtime_ns
    return suspect and any(file.stat().st_mtime_ns > written for file in files)


def _is_whole(pickle: Path) -> bool:
    with pickle.open("rb") as file:
        file.seek(max(0, pickle.stat().st_size - 1))
        return file.read() == b"."  # the pickle's last instruction


# The head of an index's header: version, offset, capacity, elements, bytes per element.
_HEADER = struct.Struct("<i4Q")

# Keep the newest row: the numbers of later rows continue from it, and Chroma skips rows with
# numbers that its records already have.
_DELETE_APPLIED = """
    DELETE FROM embeddings_queue
    WHERE seq_id < (SELECT max(seq_id) FROM embeddings_queue) AND seq_id <= (
        SELECT max_seq_id.seq_id FROM max_seq_id
        JOIN segments ON segments.id = max_seq_id.segment_id
        WHERE segments.scope = 'METADATA'
        AND embeddings_queue.topic LIKE '%/' || segments.collection
        AND segments.collection NOT IN (SELECT id FROM collections WHERE name LIKE 'acc-dense-%')
    )
"""
_DELETE_ORPHANED_ROWS = (
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('rebuild')",
)


def scrub(directory: Path) -> None:
    """Rewrite the files in ``directory`` without deleted content.

    The caller has locked it, has let Chroma apply its log of writes, and has closed the client.
    """
    database = directory / _DATABASE
    with translated("the files of the store cannot be rewritten", str(directory)):
        if not database.is_file():
            return
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            indexes = {str(id_): str(name) for id_, name in connection.execute(_INDEXES)}
            for segment, name in indexes.items():
                if not name.startswith(DENSE):  # already rewritten, from vectors instead of texts
                    _set_aside(directory / segment)
            for folder in _orphaned_folders(directory, indexes.keys()):
                shutil.rmtree(folder)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            for statement in (_DELETE_APPLIED, *_DELETE_ORPHANED_ROWS):
                connection.execute(statement)
            connection.execute("COMMIT")
            connection.execute("VACUUM")


def widen(directory: Path, collection: str, links: int) -> None:
    """Set a collection's index aside, to rebuild it as a graph with ``links`` links per vector.

    The caller has locked ``directory`` and closed the client.
    """
    database = directory / _DATABASE
    with (
        translated("the index cannot be rebuilt", str(directory)),
        closing(sqlite3.connect(database)) as connection,
        connection,
    ):
        for segment, name in connection.execute(_INDEXES).fetchall():
            if name == collection:
                _set_aside(directory / segment)
        connection.execute(
            f"{_DELETE_APPLIED} AND topic LIKE '%/' || (SELECT id FROM collections WHERE name = ?)",
            (collection,),
        )
        found = connection.execute(
            "SELECT id, schema_str FROM collections WHERE name = ?", (collection,)
        ).fetchall()
        for id_, schema in found:
            wider = json.dumps(_widened(json.loads(schema or "{}"), links))
            connection.execute("UPDATE collections SET schema_str = ? WHERE id = ?", (wider, id_))


def _widened(schema: Any, links: int) -> Any:
    """Return Chroma's schema of a collection with ``links`` in every index section."""
    if not isinstance(schema, dict):
        return schema
    wider = {name: _widened(value, links) for name, value in schema.items()}
    return {**wider, "hnsw": {**wider["hnsw"], **wide(links)}} if "hnsw" in wider else wider


def blank_unused(directory: Path) -> None:
    """Overwrite with zeros the part of a vector index's files after its elements.

    Chroma allocates a new index at full capacity from uninitialized memory. Earlier contents of
    the process memory, such as a text erased since, can therefore reach the file.
    """
    with translated("the indexes of the store cannot be blanked", str(directory)):
        for header in directory.glob("*/header.bin"):
            _, _, _, count, size = _HEADER.unpack_from(
                header.read_bytes().ljust(_HEADER.size, b"\0")
            )
            _blank(header.with_name("data_level0.bin"), count * size)
            _blank(header.with_name("length.bin"), count * 4)


def _blank(file: Path, used: int) -> None:
    rest = file.stat().st_size - used if file.exists() else 0
    if rest <= 0:
        return
    with file.open("r+b") as opened:
        opened.seek(used)
        if any(opened.read()):
            opened.seek(used)
            opened.write(bytes(rest))


def _set_aside(index: Path) -> None:
    """Set an index aside; an empty folder takes its place if there is none, so that it is rebuilt."""
    moved = index.with_name(f"{index.name}{ASIDE}")
    if moved.exists():  # set aside before a kill: the index was only partly rebuilt
        shutil.rmtree(index, ignore_errors=True)
    elif index.exists():
        index.rename(moved)
    else:
        moved.mkdir()


def _orphaned_folders(directory: Path, indexes: Set[str]) -> Iterator[Path]:
    """Yield index folders of deleted collections, which Chroma does not remove."""
    for path in directory.iterdir():
        name = path.name.removesuffix(ASIDE)
        if path.is_dir() and (path / "header.bin").exists() and name not in indexes:
            yield path

"""The files of an embedded Chroma: drop its vector indexes, and rewrite it without deleted content.

ACC reads records by id from Chroma's SQLite database. Chroma also writes every vector to an index, which
nothing in ACC reads. A power cut leaves index files missing, empty or cut, and Chroma then refuses the
whole collection, or crashes the process. So ACC deletes the indexes of its own collections before Chroma
opens them: Chroma starts with an empty index, and every record stays readable. Indexes of other
collections in the same folder are never touched.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from uuid import UUID

from acc.logs import cause, log_event
from acc.stores.chroma.client import translated
from acc.stores.chroma.collections import OWN_NAME

_LOG = logging.getLogger(__name__)

DATABASE = "chroma.sqlite3"

_DROPPED = ".damaged"
"""Suffix of an index that is being deleted. Earlier releases set damaged ones aside under it."""

_INDEX_FILES = {
    "data_level0.bin", "header.bin", "length.bin", "link_lists.bin", "index_metadata.pickle"
}  # fmt: skip

_INDEXES = """
    SELECT segments.id, collections.name
    FROM segments JOIN collections ON collections.id = segments.collection
    WHERE segments.scope = 'VECTOR'
"""
"""The name of each vector index's folder, and of its collection."""


def drop_indexes(directory: Path) -> None:
    """Delete the vector indexes of ACC's collections, and those that belong to no collection.

    The caller has locked ``directory``, and no client is open. An index that cannot be deleted, such as
    one of another owner, is moved out of Chroma's way.
    """
    with translated("the indexes of the store cannot be dropped", str(directory)):
        names = dict(_indexes(directory))
        for path in list(directory.iterdir()):
            name = names.get(path.name)
            is_own = name is not None and OWN_NAME.fullmatch(name) and path.is_dir()
            if is_own or (name is None and is_index(path)):
                _drop(path)


def is_index(path: Path) -> bool:
    """Return whether ``path`` is the folder of one vector index, or of one that is being deleted."""
    try:
        UUID(path.name.removesuffix(_DROPPED))
        return path.is_dir() and {file.name for file in path.iterdir()} <= _INDEX_FILES
    except (ValueError, OSError):
        return False


def blank(index: Path) -> bool:
    """Overwrite the files of a new vector index with zeros, after its elements.

    Chroma allocates an index at full capacity from uninitialized memory. Earlier contents of the process's memory,
    such as a text erased since, can therefore reach a file. Return False if another thread is still
    writing the files.
    """
    header = index / "header.bin"
    data = index / "data_level0.bin"
    length = index / "length.bin"
    if not (header.is_file() and data.is_file() and length.is_file()):
        return False
    fields: tuple[int, ...] = _HEADER.unpack_from(header.read_bytes().ljust(_HEADER.size, b"\0"))
    _, _, capacity, count, size = fields
    whole = data.stat().st_size >= capacity * size > 0 and length.stat().st_size >= capacity * 4
    _blank(data, count * size)
    _blank(length, count * 4)
    return whole


_HEADER = struct.Struct("<i4Q")
"""Format, offset, capacity, number of elements and size of an element."""


def _blank(file: Path, used: int) -> None:
    rest = file.stat().st_size - used
    if rest > 0:
        with file.open("r+b") as opened:
            opened.seek(used)
            opened.write(bytes(rest))


def _drop(index: Path) -> None:
    aside = index
    try:
        if not index.name.endswith(_DROPPED):
            # Chroma finds the index whole or not at all, even if the deletion is cut short.
            aside = index.with_name(index.name + _DROPPED)
            shutil.rmtree(aside, ignore_errors=True)
            index.rename(aside)
        aside.chmod(0o700)
        shutil.rmtree(aside)
    except OSError as error:
        log_event(
            _LOG, logging.WARNING, "index_kept", "a vector index that nothing reads cannot be deleted",
            path=aside, cause=cause(error),
        )  # fmt: skip


def _indexes(directory: Path) -> list[tuple[str, str]]:
    database = directory / DATABASE
    if not database.is_file():
        return []
    with closing(sqlite3.connect(database)) as connection:
        try:
            return connection.execute(_INDEXES).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):  # killed before Chroma had created its tables
                return []
            raise


# Keep the newest row: the numbers of later rows continue from it, and Chroma skips rows with
# numbers that its records already have.
_DELETE_APPLIED = """
    DELETE FROM embeddings_queue
    WHERE seq_id < (SELECT max(seq_id) FROM embeddings_queue) AND seq_id <= (
        SELECT max_seq_id.seq_id FROM max_seq_id
        JOIN segments ON segments.id = max_seq_id.segment_id
        JOIN collections ON collections.id = segments.collection
        WHERE segments.scope = 'METADATA' AND own(collections.name)
        AND embeddings_queue.topic LIKE '%/' || segments.collection
    )
"""
_DELETE_ORPHANED_ROWS = (
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('rebuild')",
)


def scrub(directory: Path) -> None:
    """Rewrite the files in ``directory`` without the deleted content of ACC's collections.

    Chroma only marks deletions: SQLite keeps the text in free pages, in the log of writes and in the
    trigram index, and a vector index never removes its vectors. Each step is idempotent. The caller has
    locked ``directory``, has let Chroma apply its log of writes, and has closed the client.
    """
    drop_indexes(directory)
    database = directory / DATABASE
    with translated("the files of the store cannot be rewritten", str(directory)):
        if not database.is_file():
            return
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.create_function("own", 1, lambda name: bool(OWN_NAME.fullmatch(name)))
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            for statement in (_DELETE_APPLIED, *_DELETE_ORPHANED_ROWS):
                connection.execute(statement)
            connection.execute("COMMIT")
            connection.execute("VACUUM")

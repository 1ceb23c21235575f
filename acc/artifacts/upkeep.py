"""A collection's upkeep: opened with the mark of its embedder and its rows' form, written anew, scrubbed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acc.artifacts.clients import DATABASE, index_folders
from acc.artifacts.embedding import Embedder, embedded
from acc.artifacts.rows import FORM

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_NEW = "-new"
"""Suffix of a collection that is being written: it is whole once the other is gone, and never before."""

_BATCH, _ROWS = 100, "acc:rows"


def opened(client: ClientAPI, name: str, embedder: Embedder) -> Collection:
    """Open or make the collection; finish a rewriting that was cut short after the old one was deleted."""
    names = {each.name for each in client.list_collections()}
    if name not in names and name + _NEW in names:
        client.get_collection(name + _NEW, embedding_function=None).modify(name=name)
    return _made(client, name, _mark(embedder))


def staleness(
    collection: Collection, embedder: Embedder, broken: Sequence[str]
) -> tuple[str, bool]:
    """Return why the collection has to be rebuilt, if it has to, and whether it can be used until then.

    ``broken`` are indexes that were found damaged and dropped; the collection remembers it until the rebuilding.
    """
    metadata = dict(collection.metadata or {})
    if broken and collection.count():
        metadata["acc:broken"] = ",".join(broken)
        collection.modify(metadata=metadata)
    if metadata.get(_ROWS) != FORM:
        return "another release wrote the index, with rows that this one cannot read", False
    if not _mark(embedder).items() <= metadata.items():
        there = f"{metadata.get('acc:embedder')} ({metadata.get('acc:dimension')})"
        here = f"{embedder.name} ({embedder.dimension})"
        return f"the index was made by the embedder {there}, and this one is {here}", False
    dropped = "a vector index was damaged, and has been dropped; the texts are intact"
    return dropped if "acc:broken" in metadata else "", True


def rewritten(client: ClientAPI, old: Collection, embedder: Embedder | None) -> Collection:
    """Copy the collection, embedded anew or with its vectors, and let the copy take its place.

    Until the copy is whole, the old one stays. Rows of another form are left out: the journal has their messages.
    """
    name = old.name
    if name + _NEW in {each.name for each in client.list_collections()}:
        client.delete_collection(name + _NEW)
    new = _made(client, name + _NEW, _mark(embedder) if embedder else dict(old.metadata or {}))
    is_readable = dict(old.metadata or {}).get(_ROWS) == FORM
    ids = old.get(include=[])["ids"] if is_readable else []
    for at in range(0, len(ids), _BATCH):
        include: Any = ["documents", "metadatas"] + ([] if embedder else ["embeddings"])
        found: Any = old.get(ids=ids[at : at + _BATCH], include=include)
        texts = [text or "" for text in found["documents"]]
        vectors = embedded(embedder, texts) if embedder else found["embeddings"]
        new.add(ids=found["ids"], documents=texts, metadatas=found["metadatas"], embeddings=vectors)
    client.delete_collection(name)
    new.modify(name=name)
    return new


def _mark(embedder: Embedder) -> dict[str, Any]:
    return {"acc:embedder": embedder.name, "acc:dimension": embedder.dimension, _ROWS: FORM}


def _made(client: ClientAPI, name: str, metadata: dict[str, Any]) -> Collection:
    # With ef_search under the number of results asked for, Chroma's search misses near ones. Each add reads the rows
    # again that no index on the disk holds: with 1,000 of them, Chroma's default, it takes twice as long.
    hnsw: Any = {"space": "cosine", "ef_search": 256, "sync_threshold": 100}
    return client.get_or_create_collection(
        name,
        embedding_function=None,
        metadata=metadata,
        configuration={"hnsw": hnsw},
    )


_SCRUB = (
    # The newest row stays, emptied: the numbers of later rows go on from it, and Chroma skips lower ones.
    "UPDATE embeddings_queue SET vector = NULL, metadata = NULL WHERE {gone}",
    "DELETE FROM embeddings_queue WHERE {gone} AND seq_id < (SELECT max(seq_id) FROM embeddings_queue)",
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('rebuild')",
)
_GONE = "substr(topic, -36) NOT IN (SELECT id FROM collections)"


def scrub(folder: Path) -> None:
    """Rewrite the files of a closed Chroma without what its collections no longer hold.

    Chroma only marks deletions: SQLite keeps texts in free pages, in its queue of writes and in the trigram index,
    and the folder of a deleted collection's vectors stays.
    """
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = ON")
        database.execute("BEGIN IMMEDIATE")
        for statement in _SCRUB:
            database.execute(statement.format(gone=_GONE))
        database.execute("COMMIT")
        database.execute("VACUUM")
        live = {row[0] for row in database.execute("SELECT id FROM segments")}
    for path in index_folders(folder):
        if path.name not in live:
            shutil.rmtree(path)

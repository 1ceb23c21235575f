"""Chroma as the artifact store: one collection for all threads, searched by Chroma's own query.

Only ids, texts, metadata and vectors of ours go in; Chroma is never given an embedding function, which it would
store and rebuild from the stored form.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acc.artifacts.clients import DATABASE, EmbeddedClient, ServerClient, forked, index_folders
from acc.artifacts.embedding import Embedder, HashedWords
from acc.artifacts.faults import DAMAGED, translated
from acc.artifacts.rows import FORM
from acc.artifacts.store import Store
from acc.errors import StoreError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

NAME = "acc-artifacts"
"""The collection."""

_NEW = "-new"
"""Suffix of a collection that is being written: it is whole once the other is gone, and never before."""

_ROWS, _BATCH = "acc:rows", 100


class ChromaStore(Store):
    """An `ArtifactStore` in Chroma. Open it with `embedded` or `server`.

    A folder is one process's; several processes and machines use one server. Where a damaged vector index was dropped,
    the store begins empty: the journal fills it.
    """

    def __init__(
        self, client: EmbeddedClient | ServerClient, embedder: Embedder, collection: str = NAME
    ) -> None:
        super().__init__(embedder, client.where)
        self._client, self._name = client, collection
        self._pid, self._failed = os.getpid(), False
        self._mark = {"acc:embedder": embedder.name, "acc:dimension": embedder.dimension, _ROWS: FORM}  # fmt: skip
        try:
            self._open()
        except BaseException:
            client.close()
            raise

    @classmethod
    def embedded(
        cls, folder: str | Path, embedder: Embedder | None = None, *, collection: str = NAME
    ) -> ChromaStore:
        """Open Chroma in this process, in ``folder``.

        Raises:
            StoreLockedError: Another store holds the folder.
            StoreError: The folder cannot be used.
        """
        return cls(EmbeddedClient(Path(folder)), embedder or HashedWords(), collection)

    @classmethod
    def server(
        cls,
        address: str = "http://localhost:8000",
        embedder: Embedder | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        verify: str | bool = True,
        timeout: float = 30.0,
        collection: str = NAME,
    ) -> ChromaStore:
        """Use a Chroma server; the arguments are those of `acc.artifacts.clients.ServerClient`.

        Raises:
            ConfigurationError: It is no such address.
            StoreError: The server cannot be used.
        """
        client = ServerClient(address, headers=headers or {}, verify=verify, timeout=timeout)
        return cls(client, embedder or HashedWords(), collection)

    @classmethod
    def set_aside(cls, folder: Path) -> Path | None:
        """Give the folder another name if its files are damaged; return it, or None if they are not.

        The journal has every text: the next store in ``folder`` begins empty, and is filled from it.
        """
        try:
            cls.embedded(folder).close()
        except StoreError as error:
            if error.what == DAMAGED:
                now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
                return folder.rename(folder.with_name(f"{folder.name}-damaged-{now}"))
        return None

    def clear(self) -> None:
        """Begin anew, empty and with this store's embedder."""
        with self._using("the index cannot be begun anew"), self._writing:
            self._emptied()

    def compact(self) -> bool:
        """Write the files anew without deleted texts and vectors; False on a server (`chroma vacuum` there)."""
        client = self._client
        if not isinstance(client, EmbeddedClient):
            return False
        with self._using("the files of the index cannot be rewritten"), self._writing:
            _rewrite(client.client, self._collection)
            client.reopen(lambda: scrub(client.folder))
            self._open()
        return True

    def _release(self) -> None:
        if os.getpid() == self._pid:
            self._client.close()

    @contextmanager
    def _using(self, doing: str, *, needs_embedder: bool = False) -> Iterator[None]:
        """Check and translate as every store; open Chroma anew after a failure: else a later write may hang."""
        if os.getpid() != self._pid:
            raise forked(self.where)
        with super()._using(doing, needs_embedder=needs_embedder):
            if self._failed:
                self._recover()
            try:
                yield
            except StoreError:
                raise
            except BaseException:
                self._failed = True
                raise

    def _recover(self) -> None:
        with self._writing:
            if self._failed and isinstance(self._client, EmbeddedClient):
                self._client.reopen(lambda: None)
            self._open()
            self._failed = False

    def _open(self) -> None:
        """Open the collection, or make it; finish a rewriting that was cut short after the old one was deleted."""
        client, name = self._client.client, self._name
        with translated("the collection cannot be opened", self.where):
            names = {each.name for each in client.list_collections()}
            if name not in names and name + _NEW in names:
                client.get_collection(name + _NEW, embedding_function=None).modify(name=name)
            self._collection = _made(client, name, self._mark)
            self._stale = self._staleness()
            if self._client.is_broken and not self._stale:
                self._emptied()

    def _staleness(self) -> str:
        metadata = dict(self._collection.metadata or {})
        if metadata.get(_ROWS) != FORM:
            return "another release wrote the index, with rows that this one cannot read"
        if self._mark.items() <= metadata.items():
            return ""
        there = f"{metadata.get('acc:embedder')} ({metadata.get('acc:dimension')})"
        here = f"{self.embedder.name} ({self.embedder.dimension})"
        return f"the index was made by the embedder {there}, and this one is {here}"

    def _emptied(self) -> None:
        self._client.client.delete_collection(self._name)
        self._collection = _made(self._client.client, self._name, self._mark)
        self._stale, self._client.is_broken = "", False


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


def _rewrite(client: ClientAPI, old: Collection) -> None:
    """Copy the collection, and let the copy take its place: until it is whole, the old one stays."""
    name = old.name
    if name + _NEW in {each.name for each in client.list_collections()}:
        client.delete_collection(name + _NEW)
    new = _made(client, name + _NEW, dict(old.metadata or {}))
    ids = old.get(include=[])["ids"]
    for at in range(0, len(ids), _BATCH):
        found: Any = old.get(
            ids=ids[at : at + _BATCH], include=["documents", "metadatas", "embeddings"]
        )
        texts = [text or "" for text in found["documents"]]
        vectors = found["embeddings"]
        new.add(ids=found["ids"], documents=texts, metadatas=found["metadatas"], embeddings=vectors)
    client.delete_collection(name)
    new.modify(name=name)


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

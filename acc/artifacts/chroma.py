"""The artifact store in Chroma: how it is opened, begun anew, compacted and closed.

The journal is the truth, and the store can be filled from it anew at any time, so it needs no transaction. Only ids,
texts, metadata and vectors of ours go in; Chroma is never given an embedding function, which it would store and rebuild
from the stored form.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acc.artifacts.clients import EmbeddedClient, ServerClient, forked, lock_of, translated
from acc.artifacts.embedding import HASHED_WORDS, Embedder
from acc.artifacts.store import BATCH, Store
from acc.errors import StoreError, StoreMismatchError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

NAME = "acc-artifacts"
"""The collection."""


class ChromaStore(Store):
    """The messages of threads in Chroma. Open it with `embedded` or `server`.

    A folder is one process's; several processes and machines use one server. Where a damaged vector index was dropped,
    the store begins empty: the journal fills it.

    Attributes:
        stale: Why `clear` is needed; empty if it is not. Until then `add` and `query` raise `StoreMismatchError`.
    """

    def __init__(
        self, client: EmbeddedClient | ServerClient, embedder: Embedder | None = None
    ) -> None:
        super().__init__(embedder or HASHED_WORDS)
        self._client, self.where = client, client.where
        self._pid, self._failed, self._closed = os.getpid(), False, False
        self._mark = {"acc:embedder": self.embedder.name, "acc:dimension": self.embedder.dimension}
        try:
            self._open()
        except BaseException:
            client.close()
            raise

    @classmethod
    def embedded(cls, folder: str | Path, embedder: Embedder | None = None) -> ChromaStore:
        """Open Chroma in this process, in ``folder``.

        Raises:
            StoreLockedError: Another store holds the folder.
            StoreError: The folder cannot be used.
        """
        return cls(EmbeddedClient(Path(folder)), embedder)

    @classmethod
    def server(
        cls,
        address: str = "http://localhost:8000",
        embedder: Embedder | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        verify: str | bool = True,
        timeout: float = 30.0,
    ) -> ChromaStore:
        """Use a Chroma server; the arguments are those of `acc.artifacts.clients.ServerClient`.

        Raises:
            ConfigurationError: It is no such address.
            StoreError: The server cannot be used.
        """
        client = ServerClient(address, headers=headers or {}, verify=verify, timeout=timeout)
        return cls(client, embedder)

    @classmethod
    def discard(cls, folder: Path) -> None:
        """Delete the folder, whether its files are damaged or not: the next store in it is filled from the journal.

        Raises:
            StoreLockedError: Another store holds it.
            StoreError: It cannot be deleted.
        """
        where = str(folder)
        with translated("the index cannot be deleted", where), lock_of(folder):
            shutil.rmtree(folder)

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
            client.rewrite(lambda new: _copy(self._rows, _made(new, self._rows.metadata)))
            self._open()
        return True

    def close(self) -> None:
        """Release files and connections. Idempotent; any later use raises."""
        with self._writing:
            if not self._closed and os.getpid() == self._pid:
                self._client.close()
            self._closed = True

    @contextmanager
    def _using(self, doing: str, *, needs_embedder: bool = False) -> Iterator[None]:
        """Check that the store can be used, and translate what goes wrong.

        After a failure Chroma is opened anew: else a later write may hang.
        """
        if os.getpid() != self._pid:
            raise forked(self.where)
        with translated(doing, self.where):
            if self._closed:
                raise StoreError("the store is closed", where=self.where, hint="open it again")
            if needs_embedder and self.stale:
                hint = "run `acc reindex`, or call clear()"
                raise StoreMismatchError(self.stale, where=self.where, hint=hint)
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
                self._client.reopen()
            self._open()
            self._failed = False

    def _open(self) -> None:
        """Open the collection, or make it."""
        with translated("the collection cannot be opened", self.where):
            self._rows = _made(self._client.client, self._mark)
            metadata, own = dict(self._rows.metadata or {}), self.embedder
            there = f"{metadata.get('acc:embedder')} ({metadata.get('acc:dimension')})"
            here = f"{own.name} ({own.dimension})"
            why = f"the index was made by the embedder {there}, and this one is {here}"
            self.stale = "" if self._mark.items() <= metadata.items() else why
            if self._client.is_broken and not self.stale:
                self._emptied()

    def _emptied(self) -> None:
        self._client.client.delete_collection(NAME)
        self._rows = _made(self._client.client, self._mark)
        self.stale, self._client.is_broken = "", False


def _made(client: ClientAPI, metadata: Mapping[str, Any] | None) -> Collection:
    # With ef_search under the number of results asked for, Chroma's search misses near ones. Each add reads the rows
    # again that no index on the disk holds: with 1,000 of them, Chroma's default, it takes twice as long.
    hnsw: Any = {"space": "cosine", "ef_search": 256, "sync_threshold": 100}
    return client.get_or_create_collection(
        NAME, embedding_function=None, metadata=dict(metadata or {}), configuration={"hnsw": hnsw}
    )


def _copy(old: Collection, new: Collection) -> None:
    ids = old.get(include=[])["ids"]
    for at in range(0, len(ids), BATCH):
        asked = ids[at : at + BATCH]
        found: Any = old.get(ids=asked, include=["documents", "metadatas", "embeddings"])
        texts = [text or "" for text in found["documents"]]
        vectors = found["embeddings"]
        new.add(ids=found["ids"], documents=texts, metadatas=found["metadatas"], embeddings=vectors)

"""Listing, replacing and deleting records in a Chroma collection, and reading their vectors."""

from __future__ import annotations

from collections.abc import Sequence

from acc.store import Artifact
from acc.stores.chroma_batches import deleted, listed, replaced, vectors
from acc.stores.chroma_dense import dropped, renewed
from acc.stores.chroma_errors import translated
from acc.stores.chroma_guard import GuardedClient
from acc.stores.chroma_rows import row_id, to_rows


class ManagedRecords(GuardedClient):
    """The part of `acc.stores.chroma.ChromaArtifactStore` that retention and erasure need."""

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """The ids of all records, or of those of this kind or thread, sorted; linear in the tenant's.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            if collection is None:
                return []
            return listed(self._ask, collection, kind=kind, thread=thread)

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, over what stands under their ids; see `acc.store.ManagedStore`.

        Raises:
            StoreError: A record is beyond `acc.stores.limits`, or cannot be written.
        """
        self._check_usable()
        if rows := to_rows(tenant, artifacts):
            with self._changing(tenant, "the records cannot be replaced"):
                self.rewrites += 1
                dropped(self._ask, self._connection.client, tenant, [row.id for row in rows])
                replaced(self._ask, self._collections.ensured(tenant), rows)

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Take the records of these ids out, with their vectors. Absent ones are passed over.

        Raises:
            StoreError: They cannot be deleted.
        """
        self._check_usable()
        with self._changing(tenant, "the records cannot be deleted"):
            self.rewrites += 1
            keys = [row_id(id_) for id_ in ids]
            dropped(self._ask, self._connection.client, tenant, keys)
            if (collection := self._collections.existing(tenant)) is not None:
                deleted(self._ask, collection, keys)

    def vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors of these ids; see `acc.store.ManagedStore`.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            # A lost vector is an answer, not a failure of the connection: no `_ask` here.
            return vectors(self._patience, collection, ids) if collection is not None else {}

    def compact(self) -> bool:
        """Rewrite the files, so that nothing deleted is left in them; see `acc.store.ManagedStore`.

        Some 0.7 ms for each record: every vector is made anew.

        Raises:
            StoreError: They cannot be rewritten.
        """
        self._check_usable()
        with self._writing, translated("the files cannot be rewritten", self._where):
            self._recover()
            if self._connection.owns_files:
                renewed(self._patience, self._connection.client)
            done = self._connection.scrub()
            self._read_anew(self._connection.client)
            return done

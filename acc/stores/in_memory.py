"""An artifact store in memory, for tests and for agents with temporary evidence."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from acc.errors import StoreError
from acc.stores.protocol import Artifact, check_storable, labels


class InMemoryStore:
    """Keeps records in a dict per tenant; accepts and refuses the same records as the Chroma store.

    Safe for use by any number of threads. The records end with the process.

    Attributes:
        temporary: True: a thread that began in another process has no past here, which is no loss.
    """

    temporary = True

    def __init__(self) -> None:
        self._tenants: dict[str, dict[str, Artifact]] = {}
        self._dense: dict[tuple[str, str], dict[str, bytes]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def shared(self) -> bool:
        """False: no other process can write to it."""
        return False

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Insert records with an absent id; existing records stay unchanged."""
        for artifact in artifacts:
            check_storable(artifact, labels(tenant, artifact))
        with self._lock:
            self._check_open()
            records = self._tenants.setdefault(tenant, {})
            for artifact in artifacts:
                records.setdefault(artifact.id, artifact)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """Return the existing records of these ids, in the requested order; any number of ids."""
        with self._lock:
            self._check_open()
            records = self._tenants.get(tenant, {})
            return [records[id_] for id_ in ids if id_ in records]

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """Return the sorted ids of all records, or of those of this kind or thread."""
        with self._lock:
            self._check_open()
            records = self._tenants.get(tenant, {}).values()
            return sorted(
                a.id for a in records if kind in ("", a.kind) and thread in ("", a.thread)
            )

    def containing(self, tenant: str, word: str) -> list[str]:
        """Return the sorted ids of the records whose text contains ``word`` in any case."""
        with self._lock:
            self._check_open()
            records = self._tenants.get(tenant, {}).values()
            return sorted(a.id for a in records if word.lower() in a.text.lower())

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, overwriting existing ones with the same ids."""
        for artifact in artifacts:
            check_storable(artifact, labels(tenant, artifact))
        with self._lock:
            self._check_open()
            self._drop_dense(tenant, [artifact.id for artifact in artifacts])
            self._tenants.setdefault(tenant, {}).update({a.id: a for a in reversed(artifacts)})

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Delete the records of these ids; ignore absent ones."""
        with self._lock:
            self._check_open()
            self._drop_dense(tenant, ids)
            for id_ in ids:
                self._tenants.get(tenant, {}).pop(id_, None)

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep these vectors; see `acc.stores.protocol.DenseStore`."""
        with self._lock:
            self._check_open()
            self._dense.setdefault((tenant, embedder), {}).update(vectors)

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the kept vectors; see `acc.stores.protocol.DenseStore`."""
        with self._lock:
            self._check_open()
            kept = self._dense.get((tenant, embedder), {})
            return {id_: kept[id_] for id_ in ids if id_ in kept}

    def compact(self) -> bool:
        """Return True: there are no files."""
        return True

    def close(self) -> None:
        """Delete everything. Idempotent; any later use raises a `StoreError`."""
        with self._lock:
            self._closed = True
            self._tenants.clear()
            self._dense.clear()

    def _drop_dense(self, tenant: str, ids: Sequence[str]) -> None:
        for (owner, _), kept in self._dense.items():
            for id_ in ids if owner == tenant else ():
                kept.pop(id_, None)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", where="memory", hint="open a new one")

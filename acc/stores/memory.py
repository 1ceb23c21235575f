"""An artifact store in memory: for tests, and for agents whose evidence may end with them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from acc.errors import StoreError
from acc.store import Artifact
from acc.stores.limits import check_storable, labels


class MemoryArtifactStore:
    """Keeps records in a dict per tenant; accepts and refuses what the Chroma store does.

    For any number of threads. Gone with the process.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, dict[str, Artifact]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def shared(self) -> bool:
        """False: nothing else can write to it."""
        return False

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Insert those whose id is absent; what is there stays as it is.

        Raises:
            StoreError: A record is beyond `acc.stores.limits`, or the store is closed.
        """
        for artifact in artifacts:
            check_storable(artifact, labels(tenant, artifact))
        with self._lock:
            self._check_open()
            records = self._tenants.setdefault(tenant, {})
            for artifact in artifacts:
                records.setdefault(artifact.id, artifact)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """The records of these ids that exist, in the order asked; any number of ids.

        Raises:
            StoreError: The store is closed.
        """
        with self._lock:
            self._check_open()
            records = self._tenants.get(tenant, {})
            return [records[id_] for id_ in ids if id_ in records]

    def close(self) -> None:
        """Forget everything. Safe to repeat; using it afterwards is a `StoreError`."""
        with self._lock:
            self._closed = True
            self._tenants.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", where="memory", mend="open a new one")

"""One Chroma collection per tenant, and the check that its rows fit this release."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from acc.errors import StoreError, StoreMismatchError
from acc.stores import embedding
from acc.stores.chroma.client import Connection, Patience, translated

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI

    from acc.stores.chroma.client import Patience


SCHEMA = 1
"""Version of the rows' layout in `acc.stores.chroma.rows`."""

SPACE: Final = "cosine"

DENSE = "acc-dense-"
"""Name prefix of collections of dense vectors (`acc.stores.chroma.vectors`)."""

SYNC = 100
"""Number of records after which Chroma writes its index to disk and shortens its log of writes. Every
write reads that log: with Chroma's default of 1,000, adding four records takes twice the time.
"""


_NAME = re.compile(r"acc-[0-9a-f]{24}-[0-9a-f]{8}")

OWN_NAME = re.compile(r"acc-(dense-)?[0-9a-f]{24}-[0-9a-f]{8}")
"""The names of ACC's collections. Any other collection in the same database is somebody else's."""


@cache
def identity() -> Mapping[str, str | int]:
    """Return the metadata of a collection's rows; a collection with other values is refused."""
    return {
        "acc:schema": SCHEMA,
        "acc:embed_id": embedding.EMBEDDING_ID,
        "acc:embed_version": embedding.EMBEDDING_VERSION,
        "acc:dim": embedding.DIMENSION,
        "acc:space": SPACE,
        "acc:probe_sha": embedding.probe_sha(),
    }


@cache
def fingerprint() -> str:
    """Return eight hexadecimal digits over schema, space and embedder."""
    text = f"{SCHEMA}\n{SPACE}\n{embedding.fingerprint()}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def collection_name(tenant: str) -> str:
    """Return ``acc-<hash of the tenant>-<fingerprint>``; a hash, because Chroma restricts names."""
    return _prefix(tenant) + fingerprint()


class TenantCollections:
    """Finds, checks and creates the collections of tenants; each is looked up once.

    If other processes may create one, all are listed again before a tenant's first is created,
    which takes some 0.15 ms per collection.
    """

    def __init__(self, client: ClientAPI, patience: Patience, *, shared: bool) -> None:
        self._client = client
        self._patience = patience
        self._shared = shared
        self._lock = threading.Lock()
        self._open: dict[str, Collection] = {}
        self._listed: dict[str, Mapping[str, Any]] | None = None

    def check(self) -> None:
        """Check that every tenant's collection has this release's `identity`."""
        with self._lock:
            for name, written in self._list().items():
                ours = name.endswith(f"-{fingerprint()}") and _agrees(written, identity())
                if _NAME.fullmatch(name) and not ours:
                    raise _mismatch(name, written, identity())

    def existing(self, tenant: str) -> Collection | None:
        """Return the tenant's collection, if there is one."""
        if (collection := self._open.get(tenant)) is None:
            with self._lock:
                if self._is_listed(tenant):
                    collection = self._opened(tenant)
        return collection

    def ensured(self, tenant: str) -> Collection:
        """Return the tenant's collection; create it if absent."""
        if (collection := self._open.get(tenant)) is None:
            with self._lock:
                self._is_listed(tenant)
                collection = self._opened(tenant)
        return collection

    def forget(self, tenant: str) -> None:
        """Drop the cached collection: after a failure it may have been replaced or deleted."""
        with self._lock:
            self._open.pop(tenant, None)
            self._listed = None

    def _is_listed(self, tenant: str) -> bool:
        prefix, name = _prefix(tenant), collection_name(tenant)
        if self._listed is None or (self._shared and name not in self._listed):
            self._list()
        listed = self._listed or {}
        for other, written in listed.items():
            if other.startswith(prefix) and other != name:
                raise _mismatch(other, written, identity())
        return name in listed

    def _list(self) -> Mapping[str, Mapping[str, Any]]:
        found = self._patience(self._client.list_collections)
        self._listed = {collection.name: collection.metadata or {} for collection in found}
        return self._listed

    def _opened(self, tenant: str) -> Collection:
        name = collection_name(tenant)
        collection = self._patience(lambda: self._get_or_create(name))
        _check(collection)
        if self._listed is not None:
            self._listed[name] = collection.metadata
        self._open[tenant] = collection
        return collection

    def _get_or_create(self, name: str) -> Collection:
        # No embedding function: Chroma would store it and rebuild it from the stored form.
        return self._client.get_or_create_collection(
            name,
            embedding_function=None,
            metadata=dict(identity()),
            configuration={"hnsw": {"space": SPACE, "ef_search": 200, "sync_threshold": SYNC}},
        )


def _prefix(tenant: str) -> str:
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()
    return f"acc-{digest[:24]}-"


def _check(collection: Collection) -> None:
    configuration = collection.configuration_json
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    written = {**(collection.metadata or {}), "space of the index": index.get("space")}
    expected = {**identity(), "space of the index": SPACE}
    if not _agrees(written, expected):
        raise _mismatch(collection.name, written, expected)


def _agrees(written: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(written.get(key) == value for key, value in expected.items())


def _mismatch(
    name: str, written: Mapping[str, Any], expected: Mapping[str, Any]
) -> StoreMismatchError:
    differing = [key for key, value in expected.items() if written.get(key) != value]
    there = ", ".join(f"{key}={written.get(key, 'absent')}" for key in differing)
    here = ", ".join(f"{key}={expected[key]}" for key in differing)
    return StoreMismatchError(
        "the tenant's records were written under another schema or embedder: "
        f"there {there or 'another fingerprint'}; here {here or fingerprint()}",
        where=f"collection {name}",
        hint="open the store with the release that wrote it, or use an empty store",
    )


T = TypeVar("T")

FORK_HINT = (
    "start processes with 'spawn' or 'forkserver' (multiprocessing.set_start_method), fork before "
    "anything opens a memory in a folder, or use a Chroma server"
)


class GuardedClient:
    """A thread-safe Chroma client; base class of readers and writers."""

    def __init__(self, client: ClientAPI, *, shared: bool, where: str, patience: Patience) -> None:
        self._connection = Connection(client)
        self._shared = shared
        self._where = where
        self._patience = patience
        self._read_anew(client)
        self._writing = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self.directory: Path | None = None
        self.after_kill = False
        self.revision = self.rewrites = 0

    @contextmanager
    def _reading(self, tenant: str) -> Iterator[Any]:
        """Yield the tenant's collection, or None; translate errors."""
        self._check_usable()
        with self._watched(tenant, "the records cannot be read"):
            if self._connection.failed:
                with self._writing:
                    self._recover()
            yield self._collections.existing(tenant)
        self._connection.keep_private()

    def _ask(self, call: Callable[[], T], /) -> T:
        try:
            return self._patience(call)
        except BaseException:
            self._connection.failed = True
            raise

    def _recover(self) -> None:
        self._check_usable()  # check again: now no other thread can close it
        if self._connection.failed:
            self._connection.recover()
            self._read_anew(self._connection.client)

    def _read_anew(self, client: ClientAPI) -> None:
        """Drop cached collections: ``client`` is new, or its files were rewritten."""
        store = weakref.proxy(self)  # lets a dropped store be released
        self._collections = TenantCollections(
            client, lambda call: store._ask(call), shared=self._shared
        )

    @contextmanager
    def _changing(self, tenant: str, doing: str) -> Iterator[None]:
        with self._writing, self._watched(tenant, doing):
            self.revision += 1
            self._recover()
            yield
        self._connection.keep_private()

    @contextmanager
    def _watched(self, tenant: str, doing: str) -> Iterator[None]:
        try:
            with translated(doing, self._where):
                yield
        except StoreError:
            self._collections.forget(tenant)
            raise

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise StoreError(
                "the store was opened before the process forked",
                where=self._where,
                hint=FORK_HINT if self._connection.owns_files else "open it again in this process",
            )
        if self._closed:
            raise StoreError("the store is closed", where=self._where, hint="open it again")

"""No vendor's exception leaves the Chroma store, whatever breaks, wherever it does."""

from __future__ import annotations

import sqlite3
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import tenacity
from chromadb.errors import ChromaAuthError, InternalError, NotFoundError, RateLimitError
from store_processes import Record

from acc.errors import StoreError
from acc.stores.chroma.client import at_once, patient, translated
from acc.stores.chroma.collections import collection_name, identity
from acc.stores.chroma.store import ChromaArtifactStore


class PanicException(BaseException):
    """As Chroma's Rust raises it: no Exception."""


FAILURES = [
    InternalError("error returned from database: (code: 1) boom"),
    NotFoundError("Tenant [t] not found"),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    OSError(28, "No space left on device"),
    sqlite3.OperationalError("locked"),
    ssl.SSLError("certificate verify failed"),
    AttributeError("'RustBindingsAPI' object has no attribute 'bindings'"),
    Exception("Payload too large\nsecond line"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    RecursionError(),
    PanicException("called `Option::unwrap()` on a `None` value"),
]


class BrokenCollection:
    """A collection that can be found, and nothing else."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure
        self.name = collection_name("tenant")
        self.metadata = dict(identity())
        self.configuration_json = {"hnsw": {"space": "cosine"}}

    def add(self, **_: Any) -> None:
        raise self.failure

    def get(self, **_: Any) -> None:
        raise self.failure


class BrokenClient:
    """A client that fails at its ``stage``-th call, and later."""

    def __init__(self, failure: BaseException, stage: int) -> None:
        self.failure = failure
        self.left = stage

    def _call(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise self.failure

    def list_collections(self) -> list[BrokenCollection]:
        self._call()
        return [BrokenCollection(self.failure)]

    def get_or_create_collection(self, *_: Any, **__: Any) -> BrokenCollection:
        self._call()
        return BrokenCollection(self.failure)


@pytest.mark.parametrize("stage", [0, 1, 2], ids=["listing", "opening", "using"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_every_method_translates_every_failure(
    record: Record, failure: BaseException, stage: int
) -> None:
    client: Any = BrokenClient(failure, stage)
    store = ChromaArtifactStore(client, where="here")
    uses: list[Callable[[], object]] = [
        lambda: store.add("tenant", [record(1, "text")]),
        lambda: store.get("tenant", ["thread.main:1"]),
    ]
    for use in (*uses, *uses):
        client.left = stage
        with pytest.raises(StoreError) as caught:
            use()
        assert caught.value.__cause__ is failure
        assert "(here). To fix: " in str(caught.value)
        assert "\n" not in str(caught.value)
    store.add("tenant", [])
    assert store.get("tenant", []) == []
    store.close()
    store.close()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_is_let_through(record: Record, failure: BaseException) -> None:
    client: Any = BrokenClient(failure, 0)
    with pytest.raises(type(failure)):
        ChromaArtifactStore(client).add("tenant", [record(1)])


def answered(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "http://127.0.0.1")
    return httpx.HTTPStatusError("x", request=request, response=httpx.Response(status))


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (InternalError("(code: 13) database or disk is full"), "the disk is full"),
        (OSError(28, "No space left on device"), "the disk is full"),
        (InternalError("(code: 8) attempt to write a readonly database"), "cannot be written"),
        (PermissionError(13, "Permission denied"), "cannot be written"),
        (OSError(30, "Read-only file system"), "cannot be written"),
        (NotADirectoryError(20, "Not a directory"), "is not a directory"),
        (AttributeError("X has no attribute 'bindings'"), "closed by another thread"),
        (InternalError("(code: 26) file is not a database"), "are damaged"),
        (InternalError("database disk image is malformed"), "are damaged"),
        (InternalError("Error loading hnsw index"), "a vector index .* is damaged"),
        (Exception("Payload too large (trace ID: 0)"), "a request of this size"),
        (answered(413), "a request of this size"),
        (answered(401), "refuses the credentials"),
        (ChromaAuthError("Forbidden"), "refuses the credentials"),
        (answered(404), "not a Chroma server"),
        (httpx.ReadTimeout("timed out"), "does not answer in time"),
        (httpx.ConnectError("[Errno 111] Connection refused"), "cannot be reached"),
        (httpx.RemoteProtocolError("Server disconnected"), "cannot be reached"),
        (ConnectionResetError(104, "Connection reset by peer"), "cannot be reached"),
        (answered(503), "cannot be reached"),
        (answered(429), "overloaded"),
        (RateLimitError("slow down"), "overloaded"),
        (InternalError("(code: 5) database is locked"), "another program"),
        (InternalError("pool timed out while waiting for an open connection"), "another program"),
        (NotFoundError("Collection [x] does not exist."), "collection is gone"),
        (RuntimeError("something else"), "it failed: RuntimeError: something else"),
    ],
)
def test_a_known_failure_is_named(failure: Exception, told: str) -> None:
    with pytest.raises(StoreError, match=told), translated("it failed", "there"):
        raise failure


def test_the_reason_may_lie_deeper() -> None:
    failure = ValueError("Are you sure it is running?")  # as Chroma's client tells it
    failure.__context__ = httpx.ConnectError("refused")
    with pytest.raises(StoreError, match="cannot be reached"), translated("it failed", "there"):
        raise failure


def test_a_store_error_stays_as_it_is() -> None:
    error = StoreError("plain")
    with pytest.raises(StoreError) as caught, translated("it failed", "there"):
        raise error
    assert caught.value is error


class TestPatience:
    def attempts(self, failure: Exception, *, until: int = 99) -> int:
        made = 0

        def call() -> str:
            nonlocal made
            made += 1
            if made < until:
                raise failure
            return "done"

        patience = patient(3, tenacity.wait_none())
        if until > 3:
            with pytest.raises(type(failure)):
                patience(call)
        else:
            assert patience(call) == "done"
        return made

    @pytest.mark.parametrize(
        "failure", [httpx.ConnectError("x"), httpx.RemoteProtocolError("x"), answered(503)]
    )
    def test_a_failing_connection_is_tried_again(self, failure: Exception) -> None:
        assert self.attempts(failure, until=3) == 3
        assert self.attempts(failure) == 3

    @pytest.mark.parametrize(
        "failure", [httpx.ReadTimeout("x"), InternalError("x"), ValueError("x"), answered(413)]
    )
    def test_nothing_else_is(self, failure: Exception) -> None:
        assert self.attempts(failure) == 1

    def test_one_attempt(self) -> None:
        assert at_once(lambda: 7) == 7

    def test_a_server_that_asks_for_patience(self) -> None:
        assert self.attempts(RateLimitError("x"), until=2) == 2


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    for path in (tmp_path / "nul\x00", tmp_path / ("x" * 5000)):
        with pytest.raises(StoreError):
            ChromaArtifactStore.embedded(path)

"""No exception of Chroma's escapes: each becomes a `StoreError` that says what happened, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acc.errors import AccError, StoreError, StoreUnavailableError

DAMAGED = "the files of the index are damaged"

_REINDEX = "run `acc reindex`: the journal has every turn"
# Error, words of which one is in the account, what happened, what to do. Chroma passes messages of SQLite, the system
# and the server as texts without a code: only their words tell them apart. The first match counts.
_FAULTS = (
    (StoreError, ("disk is full", "no space left", "disk quota"),
     "the disk is full", "free space there; the index then goes on"),
    (StoreError, ("readonly database", "read-only file", "permission denied", "not permitted",
                  "unable to open database"),
     "the path cannot be written", "give this user write access to the folder and its files"),
    (StoreError, ("not a directory", "file exists", "is a directory"),
     "the path is not a folder", "name a folder"),
    (StoreUnavailableError, ("database is locked", "pool timed out"),
     "another program uses the database of the index", "stop it: an embedded Chroma is one process's"),
    (StoreError, ("not a database", "malformed"), DAMAGED, _REINDEX),
    (StoreError, ("hnsw", "pickle", "error finding id", "error getting embedding"),
     "a vector index is damaged", _REINDEX),
    (StoreError, ("status 401", "status 403", "forbidden", "unauthorized"),
     "the server refuses the credentials", "pass what the server or its proxy asks for in headers="),
    (StoreError, ("status 404", "jsondecodeerror", "keyerror: 'nanosecond heartbeat'"),
     "the server at this address is not a Chroma server 1.0 or later", "correct its address, or update it"),
    (StoreUnavailableError, ("connecttimeout", "readtimeout", "writetimeout", "pooltimeout"),
     "the Chroma server does not answer in time", "check the server's load, or raise timeout="),
    (StoreUnavailableError, ("connecterror", "readerror", "writeerror", "closeerror", "proxyerror",
                             "remoteprotocolerror", "connectionerror", "connectionrefusederror",
                             "status 429", "status 502", "status 503", "status 504"),
     "the Chroma server cannot be reached",
     "start it with `chroma run --path DIR --port PORT`, or correct its address"),
    (StoreError, ("does not exist", "notfounderror"), "the collection is gone", _REINDEX),
)  # fmt: skip


@contextmanager
def translated(doing: str, where: str) -> Iterator[None]:
    """Raise a `StoreError` for whatever the block raises; ``doing`` says what failed if no known fault matches.

    An interrupt, as of Ctrl-C, passes. A panic of Chroma's Rust code is no `Exception`, but is one of these faults.
    """
    try:
        yield
    except (AccError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise _store_error(error, doing, where) from error


def _store_error(error: BaseException, doing: str, where: str) -> StoreError:
    account = " | ".join(map(_account, _chain(error))).lower()
    for kind, words, what, hint in _FAULTS:
        if any(word in account for word in words):
            return kind(what, where=where, hint=hint)
    hint = "read the cause; check the disk and, if there is a server, its log"
    return StoreError(f"{doing}: {_account(error)[:200]}", where=where, hint=hint)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what caused it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _account(error: BaseException) -> str:
    code = getattr(getattr(error, "response", None), "status_code", "")
    return f"{type(error).__name__}: {error}" + (f" (status {code})" if code else "")

"""What goes wrong in Chroma, SQLite, the network and the disk, said as a `StoreError`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from acc.errors import AccError, StoreError

_SPARE = 1 << 20
"""Bytes that SQLite needs free to write a page and its journal, generously."""


class _Fault(NamedTuple):
    pattern: str
    what: str
    mend: str


# Chroma hands on SQLite's, the system's and the server's messages as texts without a code, so
# they are told apart by their words. The first that matches counts.
_FULL = _Fault(
    r"disk is full|no space left|disk quota",
    "the disk is full",
    "free space there; what was stored before is intact, and the write may be repeated",
)
_FAULTS = (
    _FULL,
    _Fault(
        r"validation errors? for settings|can't decode byte",
        "a Chroma setting in the environment, or in a .env of the working directory, is not valid",
        "correct it (the cause names it), or start in another directory",
    ),
    _Fault(
        r"readonly database|read-only file|permission denied|not permitted|unable to open database",
        "the path cannot be written",
        "let this user write to the directory and all in it, or choose another path",
    ),
    _Fault(
        r"not a directory|file exists|is a directory",
        "the path is not a directory, or lies below a file",
        "name a directory, or a path where one can be made",
    ),
    _Fault(
        r"no attribute 'bindings'",
        "the store was closed by another thread",
        "open it again",
    ),
    _Fault(
        r"database is locked|pool timed out",
        "another program keeps the database of the store busy",
        "end it: an embedded path is for one process",
    ),
    _Fault(
        r"not a database|malformed",
        "the files of the store are damaged",
        "restore the directory from a backup, or move it away and begin anew",
    ),
    _Fault(
        r"hnsw|pickle",
        "a vector index of the store is damaged",
        "stop the server if there is one, and open its directory by ChromaArtifactStore.embedded, "
        "which makes a half-written index anew; if that does not help, restore a backup",
    ),
    _Fault(
        r"payload too large|status 413",
        "the server refuses a request of this size",
        "raise max_payload_size_bytes in the file that `chroma run` is given, or its proxy's limit",
    ),
    _Fault(
        r"status 40[13]|forbidden|unauthorized",
        "the server refuses the credentials",
        "pass what it or its proxy asks for in headers=",
    ),
    _Fault(
        r"status 404|jsondecodeerror|nanosecond heartbeat",
        "what answers there is no Chroma server that this client knows",
        "correct host, port and ssl; the server must be 1.0 or later",
    ),
    _Fault(
        r"ratelimiterror:|status 429",
        "the Chroma server is overloaded",
        "repeat it later, or give the server more room",
    ),
    _Fault(
        r"(connect|read|write|pool)timeout:",
        "the Chroma server does not answer in time",
        "look at its load, or raise timeout=",
    ),
    _Fault(
        r"(connect|read|write|close|proxy|remoteprotocol|connection\w*)error:|status 50[234]",
        "the Chroma server cannot be reached",
        "start it with `chroma run --path DIR --port PORT`, or correct host, port and ssl",
    ),
    _Fault(
        r"collection .* does not exist",
        "the tenant's collection is gone",
        "restore it from a backup; the next write begins a new one",
    ),
)


@contextmanager
def translated(doing: str, where: str) -> Iterator[None]:
    """Turn whatever is raised inside into a `StoreError`, with the original as its cause.

    Args:
        doing: What failed, as a clause, where nothing better is known about the fault.
        where: Path or address of the store.

    Raises:
        StoreError: Anything was raised, an `AccError`, an interrupt or an exit apart.
    """
    try:
        yield
    except AccError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic in Chroma's Rust is no Exception
        raise _store_error(error, doing, where) from error


def chain(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it was raised from, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def status(error: BaseException) -> int:
    """The HTTP status that ``error`` tells of; 0 if none."""
    code = getattr(getattr(error, "response", None), "status_code", 0)
    return code if isinstance(code, int) else 0


def _store_error(error: BaseException, doing: str, where: str) -> StoreError:
    account = " | ".join(_account(link) for link in chain(error)).lower()
    if "failed to apply logs" in account and _is_full(where):
        return StoreError(_FULL.what, where=where, mend=_FULL.mend)
    for fault in _FAULTS:
        if re.search(fault.pattern, account):
            return StoreError(fault.what, where=where, mend=fault.mend)
    return StoreError(
        f"{doing}: {_account(error)[:200]}",
        where=where,
        mend="look at the cause, at the disk and, with a server, at its log",
    )


def _is_full(where: str) -> bool:
    # Chroma does not say why it could not go through its latest records; this is why, mostly.
    with suppress(OSError, ValueError):
        return shutil.disk_usage(where).free < _SPARE
    return False


def _account(error: BaseException) -> str:
    code = status(error)
    return f"{type(error).__name__}: {error}" + (f" (status {code})" if code else "")

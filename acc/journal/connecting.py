"""Which database a journal lies in: a file of SQLite, or PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from acc.errors import ConfigurationError
from acc.folders import expanded
from acc.folders import file_system as of_folder
from acc.journal.database import Database
from acc.journal.postgresql import Postgresql
from acc.journal.sqlite import Sqlite

FILE = "journal.sqlite3"

Where = str | Path | URL | Engine
"""A memory's folder, a URL ``sqlite:///FILE`` or ``postgresql://...``, or the caller's own engine for one."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

_HINT = "give a folder, sqlite:///FILE, postgresql://HOST/DATABASE, or an engine for one of them"


def is_url(where: object) -> bool:
    """Whether a place is named by a URL: it has no folder. One letter and a colon are a drive."""
    return isinstance(where, str) and _SCHEME.match(where) is not None


def connected(
    where: Where,
    *,
    wait: float = 30.0,
    file_system: Callable[[Path], str] = of_folder,
    reads_only: bool = False,
) -> Database:
    """Return the database of a journal; a file is made if it is missing.

    Args:
        where: Where it lies.
        wait: Seconds to wait for the database and for who writes to it.
        file_system: Tells the type of the file system that a folder lies on.
        reads_only: Whether its connections can write nothing.

    Raises:
        ConfigurationError: ``where`` names no such database, or its driver is not installed.
        StoreError: It cannot be opened.
    """
    if isinstance(where, Path) or (isinstance(where, str) and not is_url(where)):
        return _sqlite(expanded(where) / FILE, wait, file_system, None, reads_only)
    engine = where if isinstance(where, Engine) else None
    url = engine.url if engine is not None else _url(where)
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return Postgresql(url, wait=wait, engine=engine, reads_only=reads_only)
    if kind != "sqlite" or not url.database or url.database == ":memory:":
        raise ConfigurationError(
            f"{kind} is no database that the journal writes", where="journal", hint=_HINT
        )
    return _sqlite(expanded(url.database), wait, file_system, engine, reads_only)


def _sqlite(
    path: Path,
    wait: float,
    file_system: Callable[[Path], str],
    engine: Engine | None,
    reads_only: bool,
) -> Sqlite:
    kind = file_system(path.parent)
    return Sqlite(path, file_system=kind, wait=wait, engine=engine, reads_only=reads_only)


def _url(where: object) -> URL:
    try:
        url = make_url(where)  # type: ignore[arg-type]
    except (ArgumentError, AttributeError, ValueError):  # their messages repeat the address
        raise ConfigurationError(
            "the place names no journal", where="journal", hint=_HINT
        ) from None
    return url.set(drivername="postgresql") if url.drivername == "postgres" else url

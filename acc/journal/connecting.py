"""Which database a journal lies in, a file of SQLite or PostgreSQL, and the format of its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import ascii_letters, digits

from sqlalchemy import URL, Connection, Engine, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from acc.errors import ConfigurationError, InputError, StoreError
from acc.folders import expanded
from acc.folders import file_system as of_folder
from acc.journal.database import Database, told
from acc.journal.postgresql import Postgresql
from acc.journal.sqlite import Sqlite
from acc.journal.tables import FORMAT, METADATA

FILE = "journal.sqlite3"

FORMAT_NUMBER = 1
"""The format that this version writes."""

Where = str | Path | URL | Engine
"""A memory's folder, a URL ``sqlite:///FILE`` or ``postgresql://...``, or the caller's own engine for PostgreSQL."""

_IN_SCHEME = frozenset(f"{ascii_letters}{digits}+.-")

_HINT = "give a folder, sqlite:///FILE, postgresql://HOST/DATABASE, or an engine for PostgreSQL"


def is_url(where: object) -> bool:
    """Whether a place is named by a URL: it has no folder. One letter and a colon are a drive."""
    if not isinstance(where, str):
        return False
    scheme, colon, _ = where.partition(":")
    return bool(colon) and len(scheme) > 1 and scheme[0].isalpha() and not set(scheme) - _IN_SCHEME


def connected(
    where: Where,
    *,
    wait: float = 30.0,
    file_system: Callable[[Path], str] = of_folder,
    reads_only: bool = False,
) -> Database:
    """Return the database of a journal; a file is made if it is missing. Arguments are those of `Journal.open`.

    Raises:
        ConfigurationError: ``where`` names no such database, or its driver is not installed.
        StoreError: It cannot be opened.
    """
    engine = where if isinstance(where, Engine) else None
    if isinstance(where, Path) or (isinstance(where, str) and not is_url(where)):
        path = expanded(where) / FILE
    else:
        url = engine.url if engine is not None else _url(where)
        kind = url.get_backend_name()
        if kind in ("postgresql", "postgres"):
            return Postgresql(url, wait=wait, engine=engine, reads_only=reads_only)
        if kind != "sqlite" or engine or not url.database or url.database == ":memory:":
            raise ConfigurationError(
                f"{kind} is no database that the journal writes", where="journal", hint=_HINT
            )
        path = expanded(url.database)
    kind = file_system(path.parent)
    return Sqlite(path, file_system=kind, wait=wait, reads_only=reads_only)


def _url(where: object) -> URL:
    try:
        url = make_url(where)  # type: ignore[arg-type]
    except (ArgumentError, AttributeError, ValueError):  # their messages repeat the address
        raise ConfigurationError(
            "the place names no journal", where="journal", hint=_HINT
        ) from None
    return url.set(drivername="postgresql") if url.drivername == "postgres" else url


def prepare(database: Database, now: str, *, reads_only: bool = False) -> None:
    """Make the tables if there are none.

    Raises:
        StoreError: A newer version wrote the journal, or the database holds something else.
        InputError: Nothing may be written, and there is no journal.
    """

    def make(connection: Connection) -> None:
        if not _found(connection, database.where):  # nobody was faster
            METADATA.create_all(connection)
            row = {"number": FORMAT_NUMBER, "at": now}
            connection.execute(FORMAT.insert(), row)

    with told(database.where), database.read() as connection:
        found = _found(connection, database.where)
    if found:
        return
    if reads_only:
        raise InputError(
            "there is no memory",
            where=database.where, hint="open it to write once: MemoryController.open",
        )  # fmt: skip
    database.write(make)


def _found(connection: Connection, where: str) -> int:
    """Return the number of the format that the database has; 0 if it has none."""
    names = set(inspect(connection).get_table_names())
    own = names & METADATA.tables.keys()
    # beside tables of others a server's database may begin a journal, a file may not
    if not (own if connection.dialect.name == "postgresql" else names):
        return 0
    if not {"format", "heads"} <= own:
        raise StoreError(
            "the database holds no journal, but other tables", where=where,
            hint="name another folder, or a schema of its own: ?options=-csearch_path=acc",
        )  # fmt: skip
    number = max((row[0] for row in connection.execute(select(FORMAT.c.number))), default=0)
    if number > FORMAT_NUMBER:
        raise StoreError(
            f"the journal has format {number}, this version writes {FORMAT_NUMBER}",
            where=where,
            hint="update the package",
        )
    return number

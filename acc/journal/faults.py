"""What a database raises, as errors of the library. No vendor's exception escapes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from acc.errors import AccError, AuditError, StoreError, StoreUnavailableError

_REPEAT = "repeat the step: nothing of it was written, or it finds what was written"

_TOLD: dict[str, tuple[type[AccError], str, str]] = {
    "SQLITE_BUSY": (StoreUnavailableError, "another process is writing", _REPEAT),
    "SQLITE_LOCKED": (StoreUnavailableError, "another connection is writing", _REPEAT),
    "SQLITE_PROTOCOL": (StoreUnavailableError, "the lock could not be taken", _REPEAT),
    "SQLITE_FULL": (StoreError, "the disk is full", f"make room, then {_REPEAT}"),
    "SQLITE_READONLY": (StoreError, "the file may only be read", "make file and folder writable"),
    "SQLITE_PERM": (StoreError, "access is denied", "make file and folder readable and writable"),
    "SQLITE_CANTOPEN": (StoreError, "the file cannot be opened", "check the folder and its rights"),
    "SQLITE_NOTADB": (StoreError, "the file is no journal", "name another folder, or restore a backup"),
    "SQLITE_CORRUPT": (AuditError, "the file is damaged", "restore a backup; export what can be read"),
    "SQLITE_IOERR": (StoreError, "the disk fails", "check the disk, then repeat the step"),
    "SQLITE_NOMEM": (StoreUnavailableError, "memory is full", _REPEAT),
    "SQLITE_TOOBIG": (StoreError, "a text is too long for the database", "shorten it"),
    "SQLITE_INTERRUPT": (StoreUnavailableError, "the statement was interrupted", _REPEAT),
    # PostgreSQL's codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
    "55P03": (StoreUnavailableError, "another worker is writing to the thread", _REPEAT),
    "40": (StoreUnavailableError, "another transaction was in the way", _REPEAT),
    "25P03": (StoreUnavailableError, "the transaction was idle for too long", _REPEAT),
    "25006": (StoreError, "the server only reads", "name the primary server"),
    "3F": (StoreError, "there is no such schema", "create it, or name another"),
    "42501": (StoreError, "the role may not do this", "GRANT it, or use the role for it (roles.sql)"),
    "53100": (StoreError, "the server's disk is full", f"make room, then {_REPEAT}"),
    "53": (StoreUnavailableError, "the server is short of something", _REPEAT),
    "54": (StoreError, "a name is too long for the database", "shorten it"),
    "57": (StoreUnavailableError, "the server stopped the statement", _REPEAT),
    "XX": (AuditError, "the server finds damage", "see its log; restore a backup"),
}  # fmt: skip

_UNREACHED = "the server cannot be reached, or refuses the connection"
_UNDECODED = "Could not decode to UTF-8"
_CONNECT = f"check address, user and password; then {_REPEAT}"


@contextmanager
def told(where: object) -> Iterator[None]:
    """Raise a `StoreError`, `StoreUnavailableError` or `AuditError` for what a database or its driver raises.

    ``where`` names the journal without credentials.
    """
    try:
        yield
    except (exc.TimeoutError, TimeoutError) as error:
        raise StoreUnavailableError(
            "no connection became free", where=str(where), hint=_REPEAT
        ) from error
    except (exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise translated(error, where) from error


def translated(error: BaseException, where: object) -> AccError:
    """Return the library's error for ``error``."""
    cause = getattr(error, "orig", None) or error
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    if not name and "is not a database" in str(cause):
        name = "SQLITE_NOTADB"
    if not name and _UNDECODED in str(cause):
        name = "SQLITE_CORRUPT"
    for known, (kind, what, hint) in _TOLD.items():
        if name.startswith(known):
            return kind(f"{what}: {_first_line(cause)}", where=str(where), hint=hint)
    if isinstance(error, exc.OperationalError) and not isinstance(cause, sqlite3.Error):
        return StoreUnavailableError(
            f"{_UNREACHED}: {_first_line(cause)}", where=str(where), hint=_CONNECT
        )
    if isinstance(cause, OSError):
        said = cause.strerror or str(cause)
        return StoreError(said, where=str(where), hint="check the folder, its rights and the disk")
    return StoreError(
        f"{type(cause).__name__}: {cause}", where=str(where), hint="see the database's own log"
    )


def damaged(what: str, where: str) -> AuditError:
    """Return the error for rows that cannot be read."""
    return AuditError(what, where=where, hint="run acc verify; restore a backup")


def _first_line(cause: object) -> str:
    """Return what a driver says, without the text that it quotes: that may be somebody's."""
    said = next(iter(str(cause).splitlines()), "")
    return said.partition(" with text ")[0] if _UNDECODED in said else said


def is_of_database(error: BaseException) -> bool:
    """Whether a database or its driver raised ``error``: after it, nothing of the transaction is certain."""
    return isinstance(error, exc.SQLAlchemyError | sqlite3.Error)

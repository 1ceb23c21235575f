"""Where audit logs are kept: lines of bytes under the name of a log.

A folder (`acc.audit.folder.FolderLogs`) is the default, for one process or one machine. A PostgreSQL
database (`acc.audit.postgres.PostgresLogs`) is for workers on several machines. What a line means is
`acc.audit.log.AuditLog`'s alone. `acc.testing.check_audit_store` tests the promises of this protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from acc.errors import ConflictError

SUFFIX = ".jsonl"
"""How the name of a thread's log ends. Lines under other names are notes (`acc.evidence.marks`)."""

DATABASE = ("postgresql://", "postgres://")
"""How the address of a database begins."""


class End(NamedTuple):
    """A mark of the end of a log, which changes with every change of the log.

    Attributes:
        edition: Changes when the log is rewritten, or deleted and written anew.
        length: Grows with every line.
    """

    edition: int
    length: int


@runtime_checkable
class AuditStore(Protocol):
    """Keeps audit logs. Several threads and processes may use the same logs.

    A method raises an `AuditError` if the logs cannot be read or written.
    """

    @property
    def shared(self) -> bool:
        """Whether every process that uses the memory's store uses these logs, on any machine."""

    def where(self, name: str) -> str:
        """Return the place of a log, for errors and reports; it holds no password."""

    def names(self) -> list[str]:
        """Return the names of all logs, sorted. Only a name that ends in `SUFFIX` is a log's."""

    def ends(self) -> dict[str, End]:
        """Return the mark of the end of each log, by name, in the order of `names`."""

    def end(self, name: str) -> End | None:
        """Return the mark of the end of a log, or None if there is no such log.

        An earlier mark does not return, not even if the log is deleted and written anew.
        """

    def append(self, name: str, line: bytes, after: End | None) -> End:
        """Write ``line`` at the end of a log, and return the new mark of its end.

        On return the line is durable. An incomplete line that a killed writer left at the end is dropped.

        Args:
            name: The log; created if ``after`` is None.
            line: A line with its line feed.
            after: The mark of the end that the line follows; None if there is no log yet.

        Raises:
            ConflictError: The log has another end: another writer was faster. Nothing was written.
        """

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a log, oldest first, as they were when the first one was read."""

    def newest_first(self, name: str, words: bytes = b"") -> Iterator[bytes]:
        """Yield the lines that contain ``words``, newest first. Who stops early reads only the end.

        Raises:
            ConflictError: The log was rewritten meanwhile; read it again.
        """

    def rewrite(self, name: str, change: Callable[[], Iterable[bytes] | None]) -> None:
        """Replace the lines of a log by those that ``change`` returns; None leaves the log unchanged.

        ``change`` may read the log. Nobody appends to it meanwhile. A kill leaves all old lines or all new ones.
        """

    def delete(self, name: str) -> None:
        """Delete a log, if there is one."""

    def tidy(self) -> None:
        """Remove what deleted and rewritten logs and killed writers left behind."""

    def close(self) -> None:
        """Release connections; a later call opens them again."""


@runtime_checkable
class TakesTurns(Protocol):
    """What an `AuditStore` may offer besides: an order of the writers of several processes."""

    def in_turn(self, name: str) -> AbstractContextManager[None]:
        """Let writers of a log work one after another, in the order in which they come.

        It saves a writer work that another one would outrun, and protects nothing: `AuditStore.append` decides. Who
        cannot wait for its turn, or not that long, goes on all the same.
        """


AuditPlace: TypeAlias = Path | str | AuditStore
"""A folder, the address of a database, or an object that keeps the logs."""


def audit_store(place: AuditPlace, *, sync: bool = True) -> AuditStore:
    """Return what keeps the logs at ``place``. ``sync`` makes its lines survive a power cut."""
    from acc.audit.folder import FolderLogs
    from acc.audit.postgres import PostgresLogs

    if isinstance(place, str) and place.startswith(DATABASE):
        return PostgresLogs(place, sync=sync)
    return FolderLogs(Path(place), sync=sync) if isinstance(place, str | Path) else place


def other_end(where: str) -> ConflictError:
    """Return the error of a writer that another one outran."""
    return ConflictError(
        "another writer changed the audit log at the same moment",
        where=where,
        hint="repeat the step",
    )

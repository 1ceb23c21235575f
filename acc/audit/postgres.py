"""Audit logs in a PostgreSQL database: one row for each line. Workers on all machines share them.

The table ``acc_audit`` is made on first use. Its primary key, a log and a line number, lets one writer of
two append at one end. All lines that one rewriting or one first append wrote have its transaction's number
as their generation: an end of an earlier generation is never taken for a later one.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from acc.audit.medium import SUFFIX, End, other_end
from acc.errors import AuditError, ConfigurationError, extra
from acc.logs import cause, log_event

if TYPE_CHECKING:
    import psycopg

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[["psycopg.Connection[Any]"], T]

LONGEST_TURN = 2.0
"""Maximum seconds to wait for the turn of a writer (`PostgresLogs.in_turn`)."""

_MADE_BY = 0x616363  # names the lock under which the table is made, among all advisory locks
_TABLE = """
CREATE TABLE IF NOT EXISTS acc_audit (
    log text NOT NULL, number bigint NOT NULL, generation bigint NOT NULL, line bytea NOT NULL,
    PRIMARY KEY (log, number)
)"""
# Says for this transaction alone whether its end waits for the disk: True makes sure of it.
_WAIT = """
set_config('synchronous_commit', CASE WHEN NOT %(wait)s THEN 'off'
    ELSE replace(current_setting('synchronous_commit'), 'off', 'on') END, true)"""
_NEWEST = (
    "SELECT generation, number FROM acc_audit WHERE log = %(log)s ORDER BY number DESC LIMIT 1"
)
_FIRST = f"""
INSERT INTO acc_audit (log, number, generation, line)
SELECT %(log)s, 1, pg_current_xact_id()::text::bigint, %(line)s
WHERE NOT EXISTS (SELECT FROM acc_audit WHERE log = %(log)s) RETURNING generation, number, {_WAIT}"""
_NEXT = f"""
INSERT INTO acc_audit (log, number, generation, line)
SELECT %(log)s, number + 1, generation, %(line)s FROM ({_NEWEST}) AS newest
WHERE number = %(number)s AND generation = %(generation)s RETURNING generation, number, {_WAIT}"""
_PAGE = """
SELECT number, generation, line FROM acc_audit
WHERE log = %(log)s AND number < %(before)s AND position(%(words)s IN line) > 0
ORDER BY number DESC LIMIT %(most)s"""
# An append takes a weaker lock, and waits for the end of the transaction; readers do not wait.
_ALONE = "LOCK TABLE acc_audit IN SHARE ROW EXCLUSIVE MODE"
_MOST_IN_PAGE = 64


class PostgresLogs:
    """The logs in the database at ``address``; an `acc.audit.medium.AuditStore`.

    It connects on first use, and again after the server restarted. A thread that reads or writes uses a
    connection of its own, which is kept for the next one.

    Args:
        address: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, or what libpq takes after the scheme.
        sync: Whether a line survives a power cut or a crash of the server. True raises a server's
            ``synchronous_commit`` of off to on for each writing. False sets it to off for each append, which
            then does not wait for the disk or a replica.

    Raises:
        ConfigurationError: The address is malformed, or psycopg is not installed.
    """

    def __init__(self, address: str, *, sync: bool = True) -> None:
        with extra("postgres", "psycopg is not installed", where="audit"):
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        try:
            said = conninfo_to_dict(address)
        except psycopg.Error as error:  # its words may hold the password
            raise ConfigurationError(
                "the address of the database is malformed",
                where="audit",
                hint="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
            ) from error
        self._address = address
        self._sync = sync
        host, port, name = (said.get(part) or "" for part in ("host", "port", "dbname"))
        self._place = f"postgresql://{host}{f':{port}' if port else ''}/{name}"
        self._idle: deque[psycopg.Connection[Any]] = deque()
        self._owner = os.getpid()
        self._is_made = False

    def __repr__(self) -> str:
        return f"PostgresLogs({self._place!r})"

    @property
    def shared(self) -> bool:
        return True

    def where(self, name: str) -> str:
        return f"{self._place}, audit log {name}"

    def names(self) -> list[str]:
        query = "SELECT DISTINCT log FROM acc_audit WHERE log LIKE %s"
        found = self._done("read", lambda c: c.execute(query, (f"%{SUFFIX}",)).fetchall())
        return sorted(row[0] for row in found)

    def end(self, name: str) -> End | None:
        found = self._done("read", lambda c: c.execute(_NEWEST, {"log": name}).fetchone())
        return End(*found) if found else None

    def ends(self) -> dict[str, End]:
        # All lines of a log have its generation.
        query = """
            SELECT log, max(generation), max(number) FROM acc_audit WHERE log LIKE %s GROUP BY log"""
        found = self._done("read", lambda c: c.execute(query, (f"%{SUFFIX}",)).fetchall())
        return {name: End(*end) for name, *end in sorted(found)}

    def append(self, name: str, line: bytes, after: End | None) -> End:
        import psycopg

        given: dict[str, Any] = {"log": name, "line": line, "wait": self._sync}
        if after is not None:
            given |= {"number": after.length, "generation": after.edition}
        insert = _FIRST if after is None else _NEXT
        try:
            found = self._done("written", lambda c: c.execute(insert, given).fetchone())
        except psycopg.errors.UniqueViolation as error:
            raise other_end(self.where(name)) from error
        if found is None:
            raise other_end(self.where(name))
        return End(*found[:2])

    def lines(self, name: str) -> Iterator[bytes]:
        query = "SELECT line FROM acc_audit WHERE log = %s ORDER BY number"
        # One cursor sees one moment, however slowly the lines are taken.
        with (
            self._failing("read"),
            closing(self._connect()) as connection,
            connection.transaction(),
            connection.cursor("acc_audit_lines") as cursor,
        ):
            cursor.itersize = _MOST_IN_PAGE
            for (line,) in cursor.execute(query, (name,)):
                yield bytes(line)

    def newest_first(self, name: str, words: bytes = b"") -> Iterator[bytes]:
        given: dict[str, Any] = {"log": name, "words": words, "before": 1 << 62, "most": 1}
        generation: int | None = None
        while True:
            rows = self._done("read", lambda c: c.execute(_PAGE, given).fetchall())
            for number, made, line in rows:
                if generation not in (None, made):
                    raise other_end(self.where(name))
                given["before"], generation = number, made
                yield bytes(line)
            if len(rows) < given["most"]:
                break
            given["most"] = min(given["most"] * 8, _MOST_IN_PAGE)
        if generation is not None and (self.end(name) or (0, 0))[0] != generation:
            raise other_end(self.where(name))

    @contextmanager
    def in_turn(self, name: str) -> Iterator[None]:
        """See `acc.audit.medium.TakesTurns`. It waits for `LONGEST_TURN` at most, and for no server that is down."""
        import psycopg

        held = ExitStack()
        try:
            connection = held.enter_context(self._connected())
            held.enter_context(connection.transaction())
            connection.execute(f"SET LOCAL lock_timeout = {round(1000 * LONGEST_TURN)}")
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))
        except psycopg.Error as error:
            log_event(
                _LOG, logging.DEBUG, "turn_not_awaited", "a writer goes on without its turn",
                where=self.where(name), cause=cause(error),
            )  # fmt: skip
        try:
            yield
        finally:
            with suppress(
                psycopg.Error
            ):  # the server has ended the connection, and the lock with it
                held.close()

    def rewrite(self, name: str, change: Callable[[], Iterable[bytes] | None]) -> None:
        def replaced(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction():
                connection.execute(_ALONE)
                connection.execute(f"SELECT {_WAIT}", {"wait": True})
                if (lines := change()) is None:
                    return
                connection.execute("DELETE FROM acc_audit WHERE log = %s", (name,))
                with connection.cursor() as cursor:
                    cursor.executemany(
                        "INSERT INTO acc_audit (log, number, generation, line) "
                        "VALUES (%s, %s, pg_current_xact_id()::text::bigint, %s)",
                        ((name, number, line) for number, line in enumerate(lines, 1)),
                    )

        self._done("written", replaced)

    def delete(self, name: str) -> None:
        self.rewrite(name, lambda: ())

    def tidy(self) -> None:
        """Free the room of deleted rows. The server's write-ahead log and backups are its operator's."""
        self._done("written", lambda c: c.execute("VACUUM acc_audit"))

    def close(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.popleft().close()

    def _done(self, what: str, work: Work[T]) -> T:
        """Do ``work`` with a connection; once more with a new one if the server had ended the first."""
        with self._failing(what):
            with self._connected() as connection:
                try:
                    return work(connection)
                except Exception as error:
                    if not connection.closed:
                        raise
                    log_event(
                        _LOG, logging.INFO, "database_retry",
                        "the database ended a connection; the call is made again with a new one",
                        where=self._place, cause=cause(error),
                    )  # fmt: skip
            self.close()
            with self._connected() as connection:
                return work(connection)

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection that nobody else uses; keep it afterwards, unless it ended."""
        import psycopg

        if self._owner != os.getpid():  # a forked child must not use its parent's connections
            self._idle, self._owner = deque(), os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                self._idle.append(connection)
            else:
                connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        connection: psycopg.Connection[Any] = psycopg.connect(self._address, autocommit=True)
        try:
            if not self._is_made:
                _make(connection)
                self._is_made = True
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turn the database's errors into an `AuditError`; a broken key is for the caller."""
        import psycopg

        try:
            yield
        except psycopg.errors.UniqueViolation:
            raise
        except psycopg.Error as error:
            said = error.diag.message_primary or type(error).__name__
            raise AuditError(
                f"the audit log cannot be {what}: {said}",
                where=self._place,
                hint="start the database, or correct audit=...; its user needs SELECT, INSERT and DELETE on the "
                "table acc_audit. Then repeat the step",
            ) from error


def _make(connection: psycopg.Connection[Any]) -> None:
    """Make the table, unless it is there: a user without the right to make it may use it."""
    there = "SELECT to_regclass('acc_audit')"
    if connection.execute(there).fetchone() != (None,):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MADE_BY,))
        connection.execute(_TABLE)

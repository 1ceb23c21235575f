"""The journal's format, and the SQL that leads to it: one reviewable file a step."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from importlib.metadata import PackageNotFoundError, version

from sqlalchemy import Connection, inspect, select

from acc.errors import StoreError
from acc.journal.database import Database
from acc.journal.tables import FORMAT

FORMAT_NUMBER = 1
"""The format that this version writes."""


def written_by() -> str:
    """Return what names this version."""
    try:
        return f"agent-cognitive-compressor {version('agent-cognitive-compressor')}"
    except PackageNotFoundError:
        return "agent-cognitive-compressor"


def migrate(database: Database, dialect: str, now: str) -> None:
    """Bring the tables to `FORMAT_NUMBER`, all in one transaction.

    Raises:
        StoreError: A newer version wrote the journal, or the database holds something else.
    """

    def bring(connection: Connection) -> None:
        for number in range(_found(connection, database.where) + 1, FORMAT_NUMBER + 1):
            for statement in statements(dialect, number):
                connection.exec_driver_sql(statement)
            connection.execute(
                FORMAT.insert(), {"number": number, "written_by": written_by(), "at": now}
            )

    if database.read(lambda connection: _found(connection, database.where)) < FORMAT_NUMBER:
        database.write(bring)


def statements(dialect: str, number: int) -> Iterator[str]:
    """Yield the statements of one migration."""
    folder = resources.files("acc.journal") / "migrations" / dialect
    for file in folder.iterdir():
        if file.name.startswith(f"{number:04}_"):
            lines = file.read_text(encoding="utf-8").splitlines()
            text = "\n".join(line for line in lines if not line.startswith("--"))
            yield from (each for each in text.split(";\n") if each.strip(" \n;"))


def _found(connection: Connection, where: str) -> int:
    names = set(inspect(connection).get_table_names())
    if not names:
        return 0
    if "format" not in names or "heads" not in names:
        raise StoreError("the database holds no journal", where=where, hint="name another folder")
    number = max((row[0] for row in connection.execute(select(FORMAT.c.number))), default=0)
    if number > FORMAT_NUMBER:
        raise StoreError(
            f"the journal has format {number}, this version writes {FORMAT_NUMBER}",
            where=where,
            hint="update the package",
        )
    return number

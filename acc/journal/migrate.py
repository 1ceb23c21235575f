"""The journal's format, and the SQL that leads to it: one reviewable file a step."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from importlib.metadata import PackageNotFoundError, version

from sqlalchemy import Connection, inspect, select

from acc.errors import InputError, StoreError
from acc.journal.database import Database
from acc.journal.faults import told
from acc.journal.tables import FORMAT, METADATA

FORMAT_NUMBER = 2
"""The format that this version writes."""


def written_by() -> str:
    """Return what names this version."""
    try:
        return f"agent-cognitive-compressor {version('agent-cognitive-compressor')}"
    except PackageNotFoundError:
        return "agent-cognitive-compressor"


def migrate(database: Database, now: str, *, reads_only: bool = False) -> None:
    """Bring the tables to `FORMAT_NUMBER`, all in one transaction.

    Raises:
        StoreError: A newer version wrote the journal, or the database holds something else.
        InputError: Nothing may be written, and there is no journal, or an older version wrote it.
    """

    def bring(connection: Connection) -> None:
        for number in range(_found(connection, database.where) + 1, FORMAT_NUMBER + 1):
            for statement in statements(database.dialect, number):
                connection.exec_driver_sql(statement)
            connection.execute(
                FORMAT.insert(), {"number": number, "written_by": written_by(), "at": now}
            )

    with told(database.where), database.read() as connection:
        found = _found(connection, database.where)
    if found == FORMAT_NUMBER:
        return
    if reads_only:
        raise InputError(
            f"an earlier version wrote the journal: format {found}" if found else "there is no memory",
            where=database.where, hint="open it to write once: MemoryController.open",
        )  # fmt: skip
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

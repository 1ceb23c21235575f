"""Delete threads from the database of a LangGraph checkpointer: it holds states and messages of its own.

A checkpoint is one blob, so that an erasure in a thread deletes all of them; the thread goes on from the memory's last
state. The file is rewritten, so that no byte stays. Another checkpointer deletes a thread with ``delete_thread``; logs,
backups and free blocks of its server are the deployer's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from acc.errors import ConfigurationError, StoreError
from acc.journal import ThreadKey
from acc.journal.opened import Key


def delete_checkpoints(url: str, threads: Iterable[Key]) -> int:
    """Delete the checkpoints of threads from a database, ``sqlite:PATH``; return how many rows.

    Raises:
        ConfigurationError: There is no such file, or the URL is another one.
        StoreError: The database cannot be written.
    """
    names = [each.thread if isinstance(each, ThreadKey) else each for each in threads]
    with _connected(url) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        count = sum(
            connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (name,)).rowcount
            for table in ("checkpoints", "writes")
            for name in names
        )
        connection.commit()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count


def names_at(url: str) -> tuple[str, ...]:
    """Return the names of the threads that have checkpoints in a database; errors as of `delete_checkpoints`."""
    with _connected(url) as connection:
        rows = connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
        return tuple(str(name) for (name,) in rows)


@contextmanager
def _connected(url: str) -> Iterator[sqlite3.Connection]:
    path = Path(url.removeprefix("sqlite:"))
    if not url.startswith("sqlite:") or not path.is_file():
        raise ConfigurationError(
            "there is no database of a checkpointer", where=url.partition("@")[2] or url,
            hint="give sqlite:PATH; another checkpointer deletes a thread with delete_thread(NAME)",
        )  # fmt: skip
    try:
        with closing(sqlite3.connect(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        what = f"the checkpoints cannot be deleted: {type(error).__name__}: {error}"[:300]
        hint = "stop the processes that use the database, then try again"
        raise StoreError(what, where=str(path), hint=hint) from error

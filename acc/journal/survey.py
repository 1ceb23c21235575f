"""Questions to a whole memory. Each is one statement, however many threads there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Table, bindparam, case, func, select

from acc.journal.names import ThreadKey
from acc.journal.reading import message_of
from acc.journal.tables import BRANCHES, COMMITS, HEADS, MESSAGES, THREADS
from acc.tail import Message

STRETCH = 10_000
"""Messages that are searched at a time for words."""

_NAMES = THREADS.c.thread, THREADS.c.tenant, THREADS.c.user, THREADS.c.agent


def _rows(table: Table) -> Any:
    """Return the number of a thread's rows on all its branches, as a column."""
    counted = select(func.count()).select_from(BRANCHES)
    counted = counted.join(table, table.c.branch_id == BRANCHES.c.id)
    return counted.where(BRANCHES.c.thread_id == THREADS.c.id).scalar_subquery()


_SIZES = select(*_NAMES, _rows(COMMITS), _rows(MESSAGES)).order_by(THREADS.c.id)
_IS_TAKEN = MESSAGES.c.version > 0
_IS_OPEN = (MESSAGES.c.version == 0) & (MESSAGES.c.seq > func.coalesce(HEADS.c.seq, 0))
_BRANCHES = (
    select(
        *_NAMES, BRANCHES.c.name,
        func.sum(case((_IS_TAKEN, 1), else_=0)), func.sum(case((_IS_OPEN, 1), else_=0)),
    )
    .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
    .outerjoin(HEADS, HEADS.c.branch_id == BRANCHES.c.id)
    .join(MESSAGES, MESSAGES.c.branch_id == BRANCHES.c.id)
    .where(MESSAGES.c.digest != "")
    .group_by(*_NAMES, BRANCHES.c.name, BRANCHES.c.id)
    .order_by(BRANCHES.c.id)
)  # fmt: skip


class Said(NamedTuple):
    """How many messages a branch itself has: those that commits took, and those of a turn after its head."""

    thread: ThreadKey
    branch: str
    taken: int
    open: int


def sizes(connection: Connection) -> dict[ThreadKey, tuple[int, int]]:
    """Return how many commits and messages each thread has, on all its branches."""
    return {ThreadKey(*row[:4]): (row[4], row[5]) for row in connection.execute(_SIZES)}


def said(connection: Connection) -> list[Said]:
    """Return how many messages each branch has, without those that an erasure blanked; none where it has none."""
    rows = connection.execute(_BRANCHES)
    return [Said(ThreadKey(*row[:4]), row[4], int(row[5]), int(row[6])) for row in rows]


def holding(
    connection: Connection, words: Sequence[str], limit: int, names: Mapping[str, str]
) -> list[tuple[ThreadKey, str, Message]]:
    """Return the newest messages that hold all the words, with thread and branch (`Journal.holding`).

    A word that is rare reads every text. Stretches are read forwards, the newest first: a disk reads no page ahead
    that lies before the last one.
    """
    text = MESSAGES.c.text
    is_sqlite = connection.dialect.name == "sqlite"
    # SQLite's LIKE takes letters in any case by itself; lower() on each text takes twice as long.
    holds = text.contains if is_sqlite else text.icontains
    statement = (
        select(*_NAMES, BRANCHES.c.name.label("branch"), MESSAGES)
        .join(BRANCHES, BRANCHES.c.id == MESSAGES.c.branch_id)
        .join(THREADS, THREADS.c.id == BRANCHES.c.thread_id)
        .where(*(holds(word, autoescape=True) for word in words))
        .where(*(THREADS.c[name] == value for name, value in names.items()))
        .where(MESSAGES.c.id > bindparam("after"), MESSAGES.c.id <= bindparam("upto"))
        .order_by(MESSAGES.c.id)
    )
    found: list[Row[Any]] = []
    upto = int(connection.execute(select(func.max(MESSAGES.c.id))).scalar() or 0)
    size = upto if "thread" in names else STRETCH
    while upto > 0 and len(found) < limit:
        rows = connection.execute(statement, {"after": upto - size, "upto": upto}).all()
        found += reversed(rows)
        upto -= size
    return [(ThreadKey(*row[:4]), row.branch, message_of(row)) for row in found[:limit]]

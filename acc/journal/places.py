"""Where a branch lies in the tables, and what it sees of the branches that it came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, or_, select
from sqlalchemy.sql import ColumnElement

from acc.journal.faults import damaged
from acc.journal.names import MAIN, Head, ThreadKey
from acc.journal.tables import BRANCHES, COMMITS, HEADS, MESSAGES, THREADS, TOMBSTONES


@dataclass(frozen=True)
class Place:
    """A branch's rows.

    Attributes:
        thread_id: Its thread.
        branch_id: The branch.
        ancestry: Branches that it came from, the nearest first, each with the last number that it sees of it.
        head: Its head.
        is_begun: Whether the head has a row.
    """

    thread_id: int
    branch_id: int
    ancestry: tuple[tuple[int, int], ...]
    head: Head
    is_begun: bool

    @property
    def seen(self) -> dict[str, int]:
        """The branch and what it sees of others, as `sees` names them."""
        found = {"own": self.branch_id}
        for number, (branch_id, up_to) in enumerate(self.ancestry):
            found |= {f"branch_{number}": branch_id, f"upto_{number}": up_to}
        return found

    def holds(self, branch_id: int, seq: int) -> bool:
        """Whether the branch sees the message with this number."""
        seen = any(branch_id == branch and seq <= up_to for branch, up_to in self.ancestry)
        return seen or branch_id == self.branch_id

    @property
    def where(self) -> str:
        """What names the branch in errors."""
        return f"{self.head.thread}, branch {self.head.branch}"

    @property
    def lineage(self) -> tuple[int, ...]:
        """The branch and those that it came from, the nearest first."""
        return (self.branch_id, *(branch for branch, _ in self.ancestry))


def sees(ancestors: int) -> ColumnElement[bool]:
    """Return the condition that a message is in a branch with so many ancestors, or in what it sees of them."""
    branch, seq = MESSAGES.c.branch_id, MESSAGES.c.seq
    before = [
        (branch == bindparam(f"branch_{n}")) & (seq <= bindparam(f"upto_{n}"))
        for n in range(ancestors)
    ]
    return or_(branch == bindparam("own"), *before)


_FIND = (
    select(
        THREADS.c.id.label("thread_id"), BRANCHES.c.id.label("branch_id"), BRANCHES.c.ancestry,
        HEADS.c.hash, HEADS.c.version, HEADS.c.epoch, HEADS.c.seq,
    )
    .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
    .outerjoin(HEADS, HEADS.c.branch_id == BRANCHES.c.id)
    .where(
        THREADS.c.tenant == bindparam("tenant"), THREADS.c.user == bindparam("user"),
        THREADS.c.agent == bindparam("agent"), THREADS.c.thread == bindparam("thread"),
        BRANCHES.c.name == bindparam("name"),
    )
)  # fmt: skip

_BRANCHES = (
    select(BRANCHES.c.id, BRANCHES.c.name)
    .where(BRANCHES.c.thread_id == bindparam("of_thread"))
    .order_by(BRANCHES.c.id)
)
_WITH_HASH = (
    select(COMMITS.c.branch_id, COMMITS.c.version, COMMITS.c.seq)
    .where(COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.hash == bindparam("digest"))
    .order_by(COMMITS.c.version.desc())
    .limit(1)
)
_WITH_SEQ = (
    select(COMMITS.c.hash, COMMITS.c.version)
    .where(COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.seq == bindparam("upto"))
    .order_by(COMMITS.c.version.desc())
    .limit(1)
)
_LAST = select(func.max(MESSAGES.c.seq)).where(MESSAGES.c.branch_id == bindparam("branch_id"))


def names_of(key: ThreadKey) -> dict[str, str]:
    """Return the key's parts by column."""
    return {"tenant": key.tenant, "user": key.user, "agent": key.agent, "thread": key.thread}


def find(connection: Connection, key: ThreadKey, branch: str = MAIN) -> Place | None:
    """Return where a branch lies, or None."""
    row = connection.execute(_FIND, {**names_of(key), "name": branch}).first()
    if row is None:
        return None
    head = Head(key, branch, row.hash or "", row.version or 0, row.epoch or 0, row.seq or 0)
    try:
        ancestry = tuple((int(b), int(s)) for b, s in json.loads(row.ancestry))
    except (ValueError, TypeError) as error:
        what = f"row {row.branch_id} of the branches was changed: {error}"
        raise damaged(what, f"{key}, branch {branch}") from error
    return Place(row.thread_id, row.branch_id, ancestry, head, row.hash is not None)


def was_deleted(connection: Connection, key: ThreadKey | None, digest_key: bytes) -> bool:
    """Whether a thread of this name was deleted; None for any name."""
    of_a_thread = TOMBSTONES.c.branch_id == 0
    if key is not None:
        of_a_thread &= TOMBSTONES.c.digest == key.digest(digest_key)
    statement = select(TOMBSTONES.c.id).where(of_a_thread).limit(1)
    return connection.execute(statement).first() is not None


def create(connection: Connection, key: ThreadKey, now: str) -> Place:
    """Make the rows of a new thread with its main branch."""
    thread = connection.execute(THREADS.insert(), {**names_of(key), "created": now})
    return add_branch(connection, key, _id_of(thread), MAIN, (), now)


def add_branch(
    connection: Connection,
    key: ThreadKey,
    thread_id: int,
    name: str,
    ancestry: tuple[tuple[int, int], ...],
    now: str,
) -> Place:
    """Make the row of a branch."""
    row = {
        "thread_id": thread_id, "name": name, "ancestry": json.dumps(ancestry), "created": now,
    }  # fmt: skip
    branch_id = _id_of(connection.execute(BRANCHES.insert(), row))
    return Place(thread_id, branch_id, ancestry, Head(key, name), is_begun=False)


def _id_of(result: Any) -> int:
    key = result.inserted_primary_key
    return int(key[0])


def next_seq(connection: Connection, place: Place) -> int:
    """Return the number of the next message."""
    last = connection.execute(_LAST, {"branch_id": place.branch_id}).scalar()
    before = place.ancestry[0][1] if place.ancestry else 0
    return (before if last is None else int(last)) + 1


def branch_names(connection: Connection, thread_id: int) -> Mapping[int, str]:
    """Return the names of a thread's branches by id, in the order in which they were made."""
    rows = connection.execute(_BRANCHES, {"of_thread": thread_id})
    return {row.id: row.name for row in rows}


def commit_with(connection: Connection, branches: Iterable[int], digest: str) -> Any:
    """Return branch row, version and seq of the commit with a hash. The newest are looked at first."""
    for branch_id in branches:
        given = {"branch_id": branch_id, "digest": digest}
        if (row := connection.execute(_WITH_HASH, given).first()) is not None:
            return row
    return None


def last_at(connection: Connection, branch_id: int, seq: int) -> Any:
    """Return hash and version of the last commit of a branch that had taken messages up to ``seq`` and no more."""
    return connection.execute(_WITH_SEQ, {"branch_id": branch_id, "upto": seq}).first()

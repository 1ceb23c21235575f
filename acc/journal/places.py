"""Where a branch lies in the tables, and what it sees of the branches that it came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import bindparam, or_, select, text
from sqlalchemy.sql import ColumnElement

from acc.errors import StateError
from acc.journal.database import damaged
from acc.journal.names import MAIN, Head, Place, ThreadKey
from acc.journal.opened import Key, Opened, key_of, reads
from acc.journal.tables import BRANCHES, MESSAGES, THREADS, TOMBSTONES


def sees(ancestors: int) -> ColumnElement[bool]:
    """Return the condition that a message is in a branch with so many ancestors, or in what it sees of them."""
    branch, seq = MESSAGES.c.branch_id, MESSAGES.c.seq
    before = [
        (branch == bindparam(f"branch_{n}")) & (seq <= bindparam(f"upto_{n}"))
        for n in range(ancestors)
    ]
    return or_(branch == bindparam("own"), *before)


_FIND = text(
    "SELECT threads.id AS thread_id, branches.id AS branch_id, ancestry, hash, version, epoch, seq FROM threads"
    " JOIN branches ON branches.thread_id = threads.id LEFT JOIN heads ON heads.branch_id = branches.id"
    ' WHERE tenant = :tenant AND threads."user" = :user AND agent = :agent AND thread = :thread AND name = :name'
)
_BRANCHES = text("SELECT id, name FROM branches WHERE thread_id = :thread_id ORDER BY id")
_WITH_HASH = text(
    "SELECT branch_id, version, seq FROM commits WHERE branch_id = :branch_id AND hash = :digest"
    " ORDER BY version DESC LIMIT 1"
)
_LAST = text("SELECT max(seq) FROM messages WHERE branch_id = :branch_id")


class Places(Opened):
    """Find branches, and make them."""

    def _find(self, thread: Key, branch: str = MAIN) -> Place | None:
        key = key_of(thread)
        if self._time:  # what this transaction writes moves it
            return self._looked_up(key, branch)
        if (key, branch) not in self._seen:
            self._seen[key, branch] = self._looked_up(key, branch)
        return self._seen[key, branch]

    def _looked_up(self, key: ThreadKey, branch: str) -> Place | None:
        row = self._execute(_FIND, {**vars(key), "name": branch}).first()
        if row is None:
            return None
        head = Head(key, branch, row.hash or "", row.version or 0, row.epoch or 0, row.seq or 0)
        try:
            ancestry = tuple((int(b), int(s)) for b, s in json.loads(row.ancestry))
        except (ValueError, TypeError) as error:
            what = f"row {row.branch_id} of the branches was changed: {error}"
            raise damaged(what, f"{key}, branch {branch}") from error
        return Place(row.thread_id, row.branch_id, ancestry, head, row.hash is not None)

    def _found(self, thread: Key, branch: str = MAIN) -> Place:
        """Return where a branch lies, or raise `StateError`."""
        place = self._find(thread, branch)
        if place is None:
            raise self._missing(thread, branch)
        return place

    def _missing(self, thread: Key, branch: str) -> StateError:
        if self.was_deleted(thread):
            return StateError(
                "this thread was deleted",
                where=str(key_of(thread)),
                hint="delete its checkpoints, too, and begin a new thread",
            )
        return StateError(
            f"branch {branch} of this thread is not in the journal",
            where=str(key_of(thread)),
            hint="give a state of this thread, or None; Journal.threads lists the threads",
        )

    @reads
    def was_deleted(self, thread: Key | None = None) -> bool:
        """Whether a thread of this name was deleted; None for any name."""
        of_a_thread = TOMBSTONES.c.branch_id == 0
        if thread is not None:
            of_a_thread &= TOMBSTONES.c.digest == key_of(thread).digest(self._digest_key)
        return (
            self._execute(select(TOMBSTONES.c.id).where(of_a_thread).limit(1)).first() is not None
        )

    def _branch_names(self, place: Place | None) -> dict[int, str]:
        """Return the names of the branches of a place's thread by row, in the order in which they were made."""
        rows = self._execute(_BRANCHES, {"thread_id": place.thread_id}) if place else ()
        return {row.id: row.name for row in rows}

    def _names(self, place: Place) -> Mapping[int, str]:
        """Return the names of the branches that a branch sees, by row."""
        if not place.ancestry:
            return {place.branch_id: place.head.branch}
        return self._branch_names(place)

    def _places(self, thread: Key) -> list[Place]:
        """Return where the branches of a thread lie, the main one first; raise as `_found`."""
        names = self._branch_names(self._found(thread)).values()
        return [self._found(thread, name) for name in names]

    def _create(self, key: ThreadKey) -> Place:
        """Make the rows of a new thread with its main branch."""
        made = self._execute(THREADS.insert(), {**vars(key), "created": self._now()})
        return self._add_branch(_id_of(made), Head(key), ())

    def _add_branch(
        self, thread_id: int, head: Head, ancestry: tuple[tuple[int, int], ...]
    ) -> Place:
        row = {
            "thread_id": thread_id, "name": head.branch, "ancestry": json.dumps(ancestry),
            "created": self._now(),
        }  # fmt: skip
        made = self._execute(BRANCHES.insert(), row)
        return Place(thread_id, _id_of(made), ancestry, head, is_begun=False)

    def _next_seq(self, place: Place) -> int:
        """Return the number of the next message."""
        last = self._execute(_LAST, {"branch_id": place.branch_id}).scalar()
        before = place.ancestry[0][1] if place.ancestry else 0
        return (before if last is None else int(last)) + 1

    def _commit_with(self, branches: Iterable[int], digest: str) -> Any:
        """Return branch row, version and seq of the commit with a hash. The newest are looked at first."""
        for branch_id in branches:
            given = {"branch_id": branch_id, "digest": digest}
            if (row := self._execute(_WITH_HASH, given).first()) is not None:
                return row
        return None


def _id_of(result: Any) -> int:
    return int(result.inserted_primary_key[0])

"""What a branch sees: its own messages and commits, and what it came from of others; read in order, by pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, or_, select, text
from sqlalchemy.sql import ColumnElement

from acc.errors import StateError
from acc.journal.database import damaged
from acc.journal.names import MAIN, Head, Place, StoredCommit, StoredMessage, ThreadKey
from acc.journal.opened import Key, Opened, key_of, reads
from acc.journal.rows import commit_of, message_of
from acc.journal.tables import BRANCHES, COMMITS, MESSAGES, THREADS, TOMBSTONES, WHOLE_COMMITS

PAGE = 500

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


_NO_END = 1 << 31
_CHOICES = {
    "taken": (MESSAGES.c.seq > bindparam("after"), MESSAGES.c.version > 0),
    "any": (MESSAGES.c.seq > bindparam("after"),),
    "numbered": (
        MESSAGES.c.seq.in_(bindparam("numbers", expanding=True)), MESSAGES.c.version > 0,
    ),
    "named": (MESSAGES.c.message_id == bindparam("message_id"),),
}  # fmt: skip


def sees(ancestors: int) -> ColumnElement[bool]:
    """Return the condition that a message is in a branch with so many ancestors, or in what it sees of them."""
    branch, seq = MESSAGES.c.branch_id, MESSAGES.c.seq
    before = [
        (branch == bindparam(f"branch_{n}")) & (seq <= bindparam(f"upto_{n}"))
        for n in range(ancestors)
    ]
    return or_(branch == bindparam("own"), *before)


@lru_cache(maxsize=64)
def _chosen(choice: str, ancestors: int) -> Select[Any]:
    """Return the statement for messages that a branch sees. To make one takes SQLAlchemy longer than to run it."""
    seen = select(MESSAGES).where(sees(ancestors), *_CHOICES[choice])
    return seen.order_by(MESSAGES.c.seq).limit(bindparam("most"))


@lru_cache(maxsize=64)
def _ids_taken(ancestors: int) -> Select[Any]:
    columns = MESSAGES.c.message_id, MESSAGES.c.digest, MESSAGES.c.turn
    return select(*columns).order_by(MESSAGES.c.seq).where(
        sees(ancestors), MESSAGES.c.version > 0, MESSAGES.c.seq <= bindparam("upto"),
        MESSAGES.c.message_id.in_(bindparam("ids", expanding=True)),
    )  # fmt: skip


class Listing(Opened):
    """Find branches, make them, read their messages and commits."""

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

    def messages(
        self,
        thread: Key,
        from_seq: int = 0,
        limit: int | None = None,
        *,
        branch: str = MAIN,
        also_open: bool = False,
    ) -> Iterator[StoredMessage]:
        """Yield the messages that a branch sees, in order, from a number on.

        ``also_open``: also those that no commit took. They are read by pages, while others write.
        """
        after, left = from_seq - 1, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = self._message_page(thread, branch, after, size, also_open=also_open)
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].seq, None if left is None else left - len(page)

    @reads
    def _message_page(
        self, thread: Key, branch: str, after: int, limit: int, *, also_open: bool
    ) -> list[StoredMessage]:
        """Return up to ``limit`` messages with numbers over ``after``, blanked ones too."""
        place = self._find(thread, branch)
        return self._chosen(place, "any" if also_open else "taken", limit, after=after)

    def _chosen(
        self, place: Place | None, choice: str, most: int = _NO_END, **given: Any
    ) -> list[StoredMessage]:
        """Return the messages of a choice that a branch sees, in order, as many as ``most``."""
        if place is None:
            return []
        names = self._names(place)
        statement = _chosen(choice, len(place.ancestry))
        return [
            StoredMessage(r.seq, names[r.branch_id], r.version, message_of(r), r.digest, r.id)
            for r in self._execute(statement, {**place.seen, **given, "most": most})
        ]

    @reads
    def numbered(
        self, thread: Key, numbers: Sequence[int], *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the committed messages with these numbers that a branch sees, in order, blanked ones too."""
        return tuple(self._chosen(self._find(thread, branch), "numbered", numbers=numbers))

    @reads
    def with_message_id(
        self, thread: Key, message_id: str, *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the messages that carry an id of their application; an erased one carries none."""
        place = self._find(thread, branch)
        return tuple(self._chosen(place, "named", message_id=message_id))

    @reads
    def taken(
        self, thread: Key, message_ids: Sequence[str], upto: int, *, branch: str = MAIN
    ) -> frozenset[tuple[str, str]]:
        """Return id and digest of what a branch has committed last under these ids of an application, up to a number.

        An application may use an id again for other words: then those are the last.
        """
        place = self._find(thread, branch)
        if place is None:
            return frozenset()
        given = {**place.seen, "upto": upto, "ids": message_ids}
        rows = self._execute(_ids_taken(len(place.ancestry)), given)
        last: dict[str, tuple[int, set[str]]] = {}
        for row in rows:
            if row.message_id not in last or last[row.message_id][0] != row.turn:
                last[row.message_id] = row.turn, set()
            last[row.message_id][1].add(row.digest)
        return frozenset((name, each) for name, (_, digests) in last.items() for each in digests)

    @reads
    def lineage(self, thread: Key, branch: str = MAIN) -> tuple[tuple[str, int | None], ...]:
        """Return the branches that a branch sees, the root first, each with the last number that it sees of it.

        Of itself it sees all: None. Empty if the branch is not in the journal.
        """
        place = self._find(thread, branch)
        if place is None:
            return ()
        names = self._names(place)
        before = [(names[branch_id], up_to) for branch_id, up_to in reversed(place.ancestry)]
        return (*before, (branch, None))

    def commits(
        self, thread: Key, branch: str = MAIN, after: int = 0, *, page: int = 64
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch itself, in order, after a version. They are read by so many at a time.

        A damaged one says so in ``problem``.
        """
        size = page
        while size == page:
            found = self._commit_page(thread, branch, after, page)
            yield from found
            size, after = len(found), found[-1].version if found else after

    @reads
    def _commit_page(self, thread: Key, branch: str, after: int, limit: int) -> list[StoredCommit]:
        place = self._find(thread, branch)
        if place is None:
            return []
        own = WHOLE_COMMITS.where(COMMITS.c.branch_id == place.branch_id, COMMITS.c.version > after)
        rows = self._execute(own.order_by(COMMITS.c.version).limit(limit))
        return [commit_of(row, branch) for row in rows]


def _id_of(result: Any) -> int:
    return int(result.inserted_primary_key[0])

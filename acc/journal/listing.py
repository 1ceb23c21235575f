"""Read what a branch holds in order: its messages and its commits, by pages, while others write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, select

from acc.journal.names import MAIN, Place, StoredCommit, StoredMessage
from acc.journal.opened import Key, reads
from acc.journal.places import sees
from acc.journal.reading import PAGE, Reading
from acc.journal.tables import COMMITS, MESSAGES, commit_of, message_of

_NO_END = 1 << 31
_CHOICES = {
    "taken": (MESSAGES.c.seq > bindparam("after"), MESSAGES.c.version > 0),
    "any": (MESSAGES.c.seq > bindparam("after"),),
    "numbered": (
        MESSAGES.c.seq.in_(bindparam("numbers", expanding=True)), MESSAGES.c.version > 0,
    ),
    "named": (MESSAGES.c.message_id == bindparam("message_id"),),
}  # fmt: skip


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


class Listing(Reading):
    """Read messages and commits."""

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
        own = select(COMMITS).where(
            COMMITS.c.branch_id == place.branch_id, COMMITS.c.version > after
        )
        rows = self._execute(own.order_by(COMMITS.c.version).limit(limit))
        return [commit_of(row, branch) for row in rows]

"""What a branch sees: its own messages and commits, and what it came from of others; read in order, by pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Row, TextClause, bindparam, text

from acc.errors import StateError
from acc.journal.database import damaged
from acc.journal.names import (
    MAIN,
    NO_END,
    Head,
    Key,
    Place,
    StoredCommit,
    StoredMessage,
    ThreadKey,
    key_of,
)
from acc.journal.opened import Opened, reads
from acc.journal.tables import (
    BRANCHES,
    COMMITS,
    THREADS,
    TOMBSTONES,
    WHOLE_COMMITS,
    commit_of,
    message_of,
)

PAGE = 500

_PLACES = (
    "SELECT threads.id AS thread_id, branches.id AS branch_id, name, ancestry, hash, version, epoch, seq FROM threads"
    " JOIN branches ON branches.thread_id = threads.id LEFT JOIN heads ON heads.branch_id = branches.id"
    ' WHERE tenant = :tenant AND threads."user" = :user AND agent = :agent AND thread = :thread'
)
_OF_THREAD, _FIND = text(f"{_PLACES} ORDER BY branches.id"), text(f"{_PLACES} AND name = :name")
_WITH_HASH = text(
    "SELECT branch_id, version, seq FROM commits WHERE branch_id = :branch_id AND hash = :digest"
    " ORDER BY version DESC LIMIT 1"
)
_LAST = text("SELECT max(seq) FROM messages WHERE branch_id = :branch_id")


def _chosen(which: str, *lists: str, order: str = "seq") -> TextClause:
    """Return the statement for those messages of one branch, up to a number."""
    own = f"branch_id = :branch_id AND {order} <= :upto AND {which} ORDER BY {order} LIMIT :most"
    statement = text(f"SELECT * FROM messages WHERE {own}")
    return statement.bindparams(*(bindparam(each, expanding=True) for each in lists))


TAKEN = _chosen("seq > :after AND version > 0")
ANY = _chosen("seq > :after")
WAITING = _chosen("seq > :after AND version = 0 AND digest <> ''")
NUMBERED = _chosen("seq IN :numbers AND version > 0", "numbers")
NAMED = _chosen("message_id IN :ids AND version > 0", "ids")
# +seq: a database that begins with the numbers reads all of the branch
WITH_REFS = _chosen("ref IN :refs AND digest <> ''", "refs", order="+seq")


class Listing(Opened):
    """Find branches, make them, read their messages and commits."""

    def _find(self, thread: Key, branch: str = MAIN) -> Place | None:
        at = key_of(thread), branch
        if self._time:  # what this transaction writes moves it
            return self._looked_up(*at)
        if at not in self._seen:
            self._seen[at] = self._looked_up(*at)
        return self._seen[at]

    def _looked_up(self, key: ThreadKey, branch: str) -> Place | None:
        row = self._execute(_FIND, {**vars(key), "name": branch}).first()
        return None if row is None else _place_of(row, key)

    def _places(self, thread: Key) -> list[Place]:
        """Return where the branches of a thread lie, the main one first; none if there is no such thread."""
        key = key_of(thread)
        return [_place_of(row, key) for row in self._execute(_OF_THREAD, vars(key))]

    def _found(self, thread: Key, branch: str = MAIN) -> Place:
        """Return where a branch lies, or raise `StateError`."""
        place = self._find(thread, branch)
        if place is None:
            raise self._missing(thread, branch)
        return place

    def _missing(self, thread: Key, branch: str) -> StateError:
        what = f"branch {branch} of this thread is not in the journal"
        hint = "give a state of this thread, or None; Journal.threads lists the threads"
        if self.was_deleted(thread):
            what = "this thread was deleted"
            hint = "delete its checkpoints, too, and begin a new thread"
        return StateError(what, where=str(key_of(thread)), hint=hint)

    @reads
    def was_deleted(self, thread: Key | None = None) -> bool:
        """Whether a thread of this name was deleted; None for any name."""
        of_a_thread = TOMBSTONES.c.branch_id == 0
        if thread is not None:
            of_a_thread &= TOMBSTONES.c.digest == key_of(thread).digest(self._digest_key)
        return self._is_there(of_a_thread)

    def _names(self, thread: Key) -> dict[int, str]:
        """Return the names of a thread's branches by row, in the order in which they were made."""
        return {place.branch_id: place.head.branch for place in self._places(thread)}

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
        last = self._execute(_LAST, {"branch_id": place.branch_id}).scalar()
        return (place.begun if last is None else int(last)) + 1

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
        return self._chosen(place, ANY if also_open else TAKEN, limit, after=after)

    def _chosen(
        self,
        place: Place | None,
        choice: TextClause,
        most: int = NO_END,
        *,
        upto: int = NO_END,
        **given: Any,
    ) -> list[StoredMessage]:
        """Return the messages of a choice that a branch sees, in order, as many as ``most``."""
        found: list[StoredMessage] = []
        if place is None:
            return found
        names = self._names(place.head.thread) if place.ancestry else {}
        for branch_id, last in place.sees:
            left = {"branch_id": branch_id, "upto": min(last, upto), "most": most - len(found)}
            name = names.get(branch_id, place.head.branch)
            found += [
                StoredMessage(message_of(r), name, r.seq, r.version, r.digest, r.id)
                for r in self._execute(choice, {**given, **left})
            ]
        return found

    @reads
    def numbered(
        self, thread: Key, numbers: Sequence[int], *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the committed messages with these numbers that a branch sees, in order, blanked ones too."""
        return tuple(self._chosen(self._find(thread, branch), NUMBERED, numbers=numbers))

    @reads
    def with_message_id(
        self, thread: Key, message_id: str, *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the committed messages that carry an id of their application; an erased one carries none."""
        return tuple(self._chosen(self._find(thread, branch), NAMED, ids=[message_id]))

    @reads
    def taken(
        self, thread: Key, message_ids: Sequence[str], upto: int, *, branch: str = MAIN
    ) -> frozenset[tuple[str, str]]:
        """Return id and digest of what a branch has committed last under these ids of an application, up to a number.

        An application may use an id again for other words: then those are the last.
        """
        found = dict[str, tuple[int, set[str]]]()
        for each in self._chosen(self._find(thread, branch), NAMED, upto=upto, ids=message_ids):
            name, turn = each.message.observation.message, each.message.turn
            if name not in found or found[name][0] != turn:
                found[name] = turn, set()
            found[name][1].add(each.digest)
        return frozenset((name, each) for name, (_, digests) in found.items() for each in digests)

    @reads
    def lineage(self, thread: Key, branch: str = MAIN) -> tuple[tuple[str, int | None], ...]:
        """Return the branches that a branch sees, the root first, each with the last number that it sees of it.

        Of itself it sees all: None. Empty if the branch is not in the journal.
        """
        place = self._find(thread, branch)
        if place is None:
            return ()
        names = self._names(thread) if place.ancestry else {}
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


def head_of(row: Row[Any], key: ThreadKey) -> Head:
    """Return the head in a row of branches with their heads; one that has not begun is empty."""
    at = row.hash or "", row.version or 0, row.epoch or 0, row.seq or 0
    return Head(key, row.name, *at)


def _place_of(row: Row[Any], key: ThreadKey) -> Place:
    try:
        ancestry = tuple((int(b), int(s)) for b, s in json.loads(row.ancestry))
    except (ValueError, TypeError) as error:
        what = f"row {row.branch_id} of the branches was changed: {error}"
        raise damaged(what, f"{key}, branch {row.name}") from error
    head = head_of(row, key)
    return Place(row.thread_id, row.branch_id, ancestry, head, row.hash is not None)


def _id_of(result: Any) -> int:
    return int(result.inserted_primary_key[0])

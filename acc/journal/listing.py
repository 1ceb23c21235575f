"""Read what a branch holds in order: its messages and its commits, by pages, while others write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.sql import ColumnElement

from acc.journal import places
from acc.journal.names import MAIN, Appended, StoredCommit, StoredMessage
from acc.journal.opened import Key, reads
from acc.journal.places import Place
from acc.journal.reading import PAGE, Reading
from acc.journal.rows import decoded, message_of
from acc.journal.states import read_state
from acc.journal.tables import COMMITS, MESSAGES
from acc.tail import Message

MOST_WAITING = 10_000
"""Messages of an uncommitted turn that are read at most."""


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
        which = MESSAGES.c.seq > after
        if not also_open:
            which &= MESSAGES.c.version > 0
        return self._chosen(self._find(thread, branch), which, limit)

    def _chosen(
        self, place: Place | None, which: ColumnElement[bool], limit: int | None = None
    ) -> list[StoredMessage]:
        """Return the messages of a condition that a branch sees, in order, up to ``limit``."""
        if place is None:
            return []
        names = places.branch_names(self._sql, place.thread_id)
        statement = (
            select(MESSAGES)
            .where(place.sees(MESSAGES.c.branch_id, MESSAGES.c.seq), which)
            .order_by(MESSAGES.c.seq)
            .limit(limit)
        )
        return [
            StoredMessage(r.seq, names[r.branch_id], r.version, message_of(r), r.digest, r.id)
            for r in self._execute(statement)
        ]

    @reads
    def numbered(
        self, thread: Key, numbers: Sequence[int], *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the committed messages with these numbers that a branch sees, in order, blanked ones too."""
        which = MESSAGES.c.seq.in_(numbers) & (MESSAGES.c.version > 0)
        return tuple(self._chosen(self._find(thread, branch), which))

    def waiting(self, thread: Key, branch: str = MAIN) -> tuple[Message, ...]:
        """Return the messages that were appended after the head and that no commit took: of a step that failed."""
        return tuple(each.message for each in self._waiting(thread, branch))

    @reads
    def waiting_turn(
        self, thread: Key, branch: str = MAIN
    ) -> tuple[Appended, tuple[Message, ...]] | None:
        """Return what was appended after the head and no commit took, with its messages; None if there is nothing.

        It is a turn that was recorded, or one whose step failed, was killed, or is being made by another worker.
        """
        open_ = self._waiting(thread, branch)
        if not open_:
            return None
        refs = tuple(each.message.ref for each in open_)
        head = self.head(thread, branch)
        turn = Appended(head, open_[0].seq, open_[-1].seq, refs, False, False, b"")
        return turn, tuple(each.message for each in open_)

    @reads
    def _waiting(self, thread: Key, branch: str) -> list[StoredMessage]:
        after = self.head(thread, branch).seq
        page = self._message_page(thread, branch, after, MOST_WAITING, also_open=True)
        return [each for each in page if not each.version and each.digest]

    @reads
    def with_message_id(
        self, thread: Key, message_id: str, *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the messages that carry an id of their application; an erased one carries none."""
        which = MESSAGES.c.message_id == message_id
        return tuple(self._chosen(self._find(thread, branch), which))

    @reads
    def taken(
        self, thread: Key, message_ids: Sequence[str], upto: int, *, branch: str = MAIN
    ) -> frozenset[tuple[str, str]]:
        """Return id and digest of what a branch has committed under these ids of an application, up to a number."""
        place = self._find(thread, branch)
        if place is None:
            return frozenset()
        statement = select(MESSAGES.c.message_id, MESSAGES.c.digest).where(
            place.sees(MESSAGES.c.branch_id, MESSAGES.c.seq),
            MESSAGES.c.version > 0,
            MESSAGES.c.seq <= upto,
            MESSAGES.c.message_id.in_(message_ids),
        )
        return frozenset((row.message_id, row.digest) for row in self._execute(statement))

    @reads
    def lineage(self, thread: Key, branch: str = MAIN) -> tuple[tuple[str, int | None], ...]:
        """Return the branches that a branch sees, the root first, each with the last number that it sees of it.

        Of itself it sees all: None. Empty if the branch is not in the journal.
        """
        place = self._find(thread, branch)
        if place is None:
            return ()
        names = places.branch_names(self._sql, place.thread_id)
        before = [(names[branch_id], up_to) for branch_id, up_to in reversed(place.ancestry)]
        return (*before, (branch, None))

    def commits(
        self, thread: Key, branch: str = MAIN, after: int = 0, *, page: int = 64
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch itself, in order, after a version. They are read by so many at a time.

        A damaged one says so in ``problem``.
        """
        for found in self._commit_pages(thread, branch, after, page):
            yield from found

    def _commit_pages(
        self, thread: Key, branch: str, after: int = 0, size: int = PAGE
    ) -> Iterator[list[StoredCommit]]:
        before = b""
        while True:
            page, before = self._commit_page(thread, branch, after, size, before)
            yield page
            if len(page) < size:
                return
            after = page[-1].version

    @reads
    def _commit_page(
        self, thread: Key, branch: str, after: int, limit: int, before: bytes
    ) -> tuple[list[StoredCommit], bytes]:
        """Return up to ``limit`` commits of the branch itself after a version.

        ``before`` is the state of version ``after``; the last state read is returned for the next page.
        """
        place = self._find(thread, branch)
        if place is None:
            return [], b""
        statement = (
            select(COMMITS)
            .where(COMMITS.c.branch_id == place.branch_id, COMMITS.c.version > after)
            .order_by(COMMITS.c.version)
            .limit(limit)
        )
        found = []
        if after and not before:
            before = read_state(self._sql, place.branch_id, after) or b""
        for row in self._execute(statement):
            stored, before = decoded(row, branch, before)
            found.append(stored)
        return found, before

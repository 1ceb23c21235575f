"""The journal: what happened is a row, and a commit is a transaction.

A step appends its turn before anything can fail, and commits by compare-and-swap on the branch's head::

    with Journal.open(folder) as journal:
        head = journal.head("ticket-7")
        turn = journal.append("ticket-7", messages, follows=head.hash)
        ...                                                       # the compressor runs outside any transaction
        journal.commit("ticket-7", entries, follows=head.hash, epoch=head.epoch, turn=turn)

Where nothing has to be compressed, `Journal.append_and_commit` does both in one transaction.

**Conflict or fork.** A commit whose ``follows`` is not the head raises `ConflictError`: somebody committed since. The
same holds for a turn that is appended to an older state. Who wants to go on from an older state all the same, as
after a resumed checkpoint, forks the branch first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from acc.folders import expanded
from acc.journal import erasing, exchange, places, reading, survey, verifying
from acc.journal.backing import backup
from acc.journal.erasing import Blanked, Unindexed
from acc.journal.keeping import Keeping
from acc.journal.names import MAIN, Head, StoredMessage, ThreadKey
from acc.journal.opened import FILE, Key, key_of
from acc.journal.places import Place
from acc.journal.policies import body_of
from acc.journal.reading import PAGE, StoredCommit, chosen
from acc.journal.stepping import Latest
from acc.journal.survey import Said
from acc.journal.tables import MESSAGES, POLICIES, TOMBSTONES
from acc.journal.verify import Report
from acc.state.policy import Policy
from acc.tail import Message


class Journal(Keeping):
    """A memory's journal. Threads, event loops and processes may share it; a forked child may go on using it.

    Every method may raise `StoreError`, `StoreLockedError` if another process writes for too long, and `AuditError`
    if rows are damaged. After each of them the step may be repeated.
    """

    def waiting(self, thread: Key, branch: str = MAIN) -> tuple[Message, ...]:
        """Return the messages that were appended after the head and that no commit took: of a step that failed."""
        after = self.head(thread, branch).seq
        page = self.messages(thread, after, branch=branch, also_open=True)
        return tuple(each.message for each in page if not each.version and each.digest)

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
        key, after, left = key_of(thread), from_seq - 1, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = self._at(
                key, branch,
                lambda c, p, a=after, n=size: reading.message_page(c, p, a, n, also_open=also_open),  # type: ignore[misc]
            ) or []  # fmt: skip
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].seq, None if left is None else left - len(page)

    def held_texts(
        self, thread: Key, seqs: Sequence[int], *, branch: str = MAIN
    ) -> dict[tuple[str, int], str]:
        """Return the texts under these numbers, by branch and number, that a branch sees and that are not erased."""
        found = self._at(key_of(thread), branch, lambda c, p: erasing.held_texts(c, p, seqs))
        return found or {}

    def with_message_id(
        self, thread: Key, message_id: str, *, branch: str = MAIN
    ) -> tuple[StoredMessage, ...]:
        """Return the messages that carry an id of their application; an erased one carries none."""
        which = MESSAGES.c.message_id == message_id
        return tuple(self._at(key_of(thread), branch, lambda c, p: chosen(c, p, which)) or ())

    def taken(
        self, thread: Key, message_ids: Sequence[str], upto: int, *, branch: str = MAIN
    ) -> frozenset[tuple[str, str]]:
        """Return id and digest of what a branch has committed under these ids of an application, up to a number."""
        found = self._at(
            key_of(thread), branch, lambda c, p: reading.taken(c, p, message_ids, upto)
        )
        return found or frozenset()

    def lineage(self, thread: Key, branch: str = MAIN) -> tuple[tuple[str, int | None], ...]:
        """Return the branches that a branch sees, the root first, each with the last number that it sees of it.

        Of itself it sees all: None. Empty if the branch is not in the journal.
        """
        return self._at(key_of(thread), branch, reading.lineage_of) or ()

    def commits(
        self, thread: Key, branch: str = MAIN, after: int = 0, *, page: int = 64
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch itself, in order, after a version. They are read by so many at a time.

        A damaged one says so in ``problem``.
        """
        key, before = key_of(thread), b""
        while True:
            found = self._at(
                key, branch,
                lambda c, p, a=after, b=before: reading.commit_page(c, p, a, page, b),  # type: ignore[misc]
            )  # fmt: skip
            if found is None:
                return
            read, before = found
            yield from read
            if len(read) < page:
                return
            after = read[-1].version

    def heads(self, /, **prefixes: str) -> Iterator[Head]:
        """Yield the heads of all branches, in the order of their making; to be kept outside, for `verify`.

        ``prefixes``: how thread, tenant, user and agent begin.
        """
        after = 0
        while True:
            page = self._database.read(
                lambda c, a=after: reading.head_page(c, a, prefixes)  # type: ignore[misc]
            )
            yield from (head for _, head in page)
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def threads(self, /, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return (head.thread for head in self.heads(**prefixes) if head.branch == MAIN)

    def sizes(self) -> dict[ThreadKey, tuple[int, int]]:
        """Return how many commits and messages each thread has, on all its branches."""
        return self._database.read(survey.sizes)

    def said(self) -> list[Said]:
        """Return how many messages each branch has, without those that an erasure blanked; none where it has none."""
        return self._database.read(survey.said)

    def erased(
        self, thread: Key, messages: Sequence[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        """Return those of some messages, pairs of chat message id and digest, whose words were erased in a thread."""
        key = key_of(thread)

        def job(c: Connection, place: Place) -> frozenset[tuple[str, str]]:
            branches = list(places.branch_names(c, place.thread_id))
            statement = select(TOMBSTONES.c.message_id, TOMBSTONES.c.digest).where(
                TOMBSTONES.c.digest.in_([digest for _, digest in messages]),
                TOMBSTONES.c.branch_id.in_(branches),
            )
            found = {(row.message_id, row.digest) for row in c.execute(statement)}
            return frozenset(found & set(messages))

        return (self._at(key, MAIN, job) if messages else None) or frozenset()

    def policies(self) -> dict[str, Mapping[str, Any]]:
        """Return the policies that commits name by fingerprint (`Policy.body`), without those whose row is damaged."""
        rows = self._database.read(lambda c: c.execute(select(POLICIES)).all())
        found = {row.fingerprint: body_of(row.body) for row in rows}
        return {name: body for name, body in found.items() if body}

    def blank(
        self,
        thread: Key,
        refs: Sequence[str],
        *,
        words: Sequence[str] = (),
        why: str = "",
        branch: str = MAIN,
    ) -> Blanked:
        """Overwrite the texts of messages, and each commit that cites them or holds one of ``words``.

        A head that held them gets a successor without them. A tombstone says ref, digest, when and why. Workers that
        began before are told when they commit.
        """
        key = key_of(thread)
        done = self._write(
            key, lambda c, d: erasing.blank(c, d, key, branch, tuple(refs), tuple(words), why)
        )
        return replace(done, left=self._forget())

    def delete_thread(self, thread: Key, why: str = "") -> int:
        """Delete a thread; return how many messages it had. A digest of its names stays."""
        key = key_of(thread)
        count = self._write(key, lambda c, d: erasing.delete_thread(c, d, key, why))
        self._forget()
        return count

    def was_deleted(self, thread: Key | None = None) -> bool:
        """Whether a thread of this name was deleted; None for any name."""
        key = key_of(thread) if thread is not None else None
        return self._database.read(lambda c: places.was_deleted(c, key, self._digest_key))

    def unindexed(self) -> list[Unindexed]:
        """Return what was erased, pruned or deleted, and what the index has yet to lose."""
        return self._database.read(erasing.unindexed)

    def settle(self, notes: Sequence[Unindexed]) -> None:
        """Note that the index has lost these."""
        if notes:
            self._write(None, lambda c, _: erasing.forget_notes(c, notes))
            self._forget()  # they named threads

    def export(self, thread: Key) -> Iterator[str]:
        """Yield a thread as JSON lines (`acc.journal.exchange`)."""
        return exchange.export(self._database, key_of(thread), self._digest_key)

    def import_(self, lines: Iterable[str]) -> ThreadKey:
        """Write the thread that `export` yielded, all or nothing.

        Raises:
            InputError: A line is malformed, or the chain of hashes is broken.
            ConflictError: The thread is in the journal already.
        """
        return self.import_all(lines)[0]

    def import_all(self, lines: Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads whose lines follow each other, all or nothing; errors are those of `import_`."""
        given = tuple(lines)
        return self._write(None, lambda c, d: exchange.import_(c, d, given))

    def backup(self, path: str | Path) -> Path:
        """Copy the journal to a new file while it is used, by SQLite's online backup.

        Raises:
            InputError: There is such a file.
            ConfigurationError: It lies in PostgreSQL, which has means of its own.
        """
        return backup(self._database, expanded(path))

    def check_pages(self) -> list[str]:
        """Return what the database's own check finds wrong with its pages; empty if nothing is."""
        return self._database.damages()

    def verify(
        self,
        policies: Sequence[Policy],
        *,
        threads: Iterable[Key] | None = None,
        anchors: Iterable[Head] = (),
        processes: int = 1,
        progress: Callable[[Report], None] | None = None,
    ) -> Report:
        """Recompute every commit, and check chain, digests and heads.

        Args:
            policies: Schema, counter and digest key of each policy in use. The numbers of older ones are stored.
            threads: The threads; None for all.
            anchors: Heads that were kept outside: each has to be a commit still.
            processes: Processes to use, where others can open the journal: not with the caller's own engine.
            progress: Gets the report so far, again and again.
        """
        heads = self.heads() if threads is None else (Head(key_of(each)) for each in threads)
        work = verifying.by_thread(heads, anchors)
        address = self._database.address
        if processes > 1 and address is not None:
            return verifying.verify_spread(
                address, work, policies, self._digest_key, processes, progress
            )
        return verifying.verify_here(self._database, work, policies, self._digest_key, progress)


__all__ = ["FILE", "Journal", "Key", "Latest"]

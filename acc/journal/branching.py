"""Fork a branch, take one over, commit one anew after an erasure, ingest documents.

**Anew.** What was said stays, but for what is erased. The commits before it stay as they are; others take the place of
those after it. Of each that goes, the hash stays as a tombstone: a checkpoint with such a state is told.

**Documents.** A document is no turn of a conversation: no compressor reads it, and it stands in no tail. It lies in a
thread of its own, whose states say nothing. Its commits only number its parts, so that a branch's chain, digests and
index hold for it as for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import delete, select, update

from acc.errors import ConflictError, InputError, StateError
from acc.journal.committing import ADD_COMMIT, commit_row, successor
from acc.journal.erasing import Erasing
from acc.journal.names import MAIN, Appended, Head, Place
from acc.journal.opened import Key, key_of, writes
from acc.journal.record import Entry, record_of
from acc.journal.tables import COMMITS, HEADS, MESSAGES, body_of, packed, read_state
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message


@dataclass(frozen=True)
class Made:
    """A commit that takes another's place.

    Attributes:
        body: Its state.
        kind: Where the state comes from.
        taken: Numbers of the messages that it took.
        seq: Number of the last message that was taken.
        at: When its predecessor was committed.
        entry: What it was made of; None for a fork.
    """

    body: Mapping[str, Any]
    kind: str
    taken: tuple[int, ...]
    seq: int
    at: str
    entry: Entry[Any] | None = None


@dataclass(frozen=True)
class Anew:
    """What takes the place of a branch's commits.

    Attributes:
        branch: The branch.
        head: Hash of its head as it was read.
        after: The last version that stays; 0 if none does.
        made: The new commits in order.
    """

    branch: str
    head: str
    after: int
    made: tuple[Made, ...]


class Branching(Erasing):
    """Fork, take over, commit anew, prune, ingest."""

    @writes
    def fork(self, thread: Key, at: str, branch: str) -> Head:
        """Begin ``branch`` after the commit whose hash is ``at``. It sees nothing that came later.

        Its first commit is that state under the branch's name.

        Raises:
            StateError: The journal does not hold ``at``, or an erasure blanked it.
            ConflictError: There is a branch of this name.
        """
        key = key_of(thread)
        main = self._found(key)
        if self._find(key, branch) is not None:
            raise ConflictError(
                f"branch {branch} is there already", where=str(key), hint="give it another name"
            )
        names = self._branch_names(main)
        row = self._commit_with(names, at)
        if row is None:
            raise StateError(
                f"the journal does not hold the state {at[:16]}", where=str(key),
                hint="fork from a commit that acc show lists",
            )  # fmt: skip
        data = read_state(self._sql, row.branch_id, row.version)
        if not data:
            raise StateError(
                "this state was erased", where=str(key),
                hint="delete the thread's checkpoints; give None to go on from what is left",
            )  # fmt: skip
        parent = self._found(key, names[row.branch_id])
        ancestry = ((row.branch_id, row.seq), *parent.ancestry)
        place = self._add_branch(main.thread_id, Head(key, branch, seq=row.seq), ancestry)
        return self._append_body(place, successor(body_of(data), branch=branch), "fork")

    @writes
    def take_over(self, thread: Key, branch: str = MAIN) -> Head:
        """Raise the branch's epoch: a worker that began before is told when it commits."""
        place = self._found(thread, branch)
        self._raise_epoch(place)
        return replace(place.head, epoch=place.head.epoch + 1)

    @writes
    def commit_anew(
        self, thread: Key, anew: Sequence[Anew], erased: Sequence[tuple[str, int]], why: str = ""
    ) -> tuple[Head, ...]:
        """Blank messages, and let new commits take the place of those that came after them, in one transaction.

        Workers that began before are told when they commit. Of each commit that goes, the hash stays.

        Args:
            thread: The thread.
            anew: What takes the place of which commits, for each branch.
            erased: Branch and number of each message.
            why: Stands in the tombstones.

        Returns:
            The new heads.

        Raises:
            ConflictError: Somebody committed meanwhile. Nothing was done.
        """
        found = {a.branch: self._found(thread, a.branch) for a in anew}
        if moved := [a.branch for a in anew if found[a.branch].head.hash != a.head]:
            raise _too_late(thread, f"branch {', '.join(moved)} was committed to meanwhile")
        for row_id in self._forget_texts(thread, erased, why):  # nothing was made of them any more
            self._execute(update(MESSAGES).where(MESSAGES.c.id == row_id).values(version=0))
        gone = [digest for a in anew for digest in self._replace(found[a.branch], a)]
        known = [place.branch_id for place in found.values()]
        forks = select(COMMITS.c.id).where(
            COMMITS.c.kind == "fork", COMMITS.c.branch_id.not_in(known), COMMITS.c.parent.in_(gone)
        )
        if self._execute(forks).first() is not None:  # somebody forked from what goes
            raise _too_late(thread, "the thread was forked meanwhile")
        heads = self._places(thread)
        for place in heads:
            self._raise_epoch(place)
        return tuple(replace(place.head, epoch=place.head.epoch + 1) for place in heads)

    @writes
    def ingest(self, thread: Key, messages: Sequence[Message]) -> Appended:
        """Append documents to a thread that only holds documents, and commit them, in one transaction.

        Ingesting the same again finds what is there.

        Raises:
            InputError: There are no messages, or they carry no refs.
        """
        place = self._find(thread)
        held = self._texts(place, [m.ref for m in messages]) if place else ()
        there = {message.ref for message in held}
        new = [message for message in messages if message.ref not in there]
        head = place.head if place else None
        if head is not None and messages and not new:
            refs = tuple(message.ref for message in messages)
            return Appended(head, 0, 0, refs, is_committed=True)
        if not new:
            raise InputError(
                "there is nothing to ingest", where=str(thread), hint="give parts with refs"
            )
        version = (head.version if head else 0) + 1
        turn, place = self._append(thread, MAIN, new, head.hash if head else "", version=version)
        body = CompressedCognitiveState.empty().canonical()
        made = {**body, "hash": place.head.hash or body["hash"], "version": version - 1}
        made = successor(made, turn=version)
        done = self._append_body(place, made, "ingest", turn)
        return replace(turn, head=done, is_committed=True)

    def prune(self, thread: Key, rows: Sequence[tuple[str, int]], why: str = "") -> None:
        """Forget the texts of messages, by branch and number; states and records stay, with a tombstone of each."""
        self._write(thread, lambda journal: journal._forget_texts(thread, rows, why))
        self.scrub()

    def _forget_texts(self, thread: Key, erased: Sequence[tuple[str, int]], why: str) -> list[int]:
        """Blank messages, by branch and number; return their rows."""
        ids = {branch: self._found(thread, branch).branch_id for branch, _ in erased}
        found = []
        for branch, seq in erased:
            own = (MESSAGES.c.branch_id == ids[branch]) & (MESSAGES.c.seq == seq)
            row = self._execute(select(MESSAGES).where(own)).first()
            if row is not None:
                self._overwrite(key_of(thread), row, why)
                found.append(int(row.id))
        return found

    def _replace(self, place: Place, anew: Anew) -> list[str]:
        """Put new commits in the place of others; return the hashes of those."""
        own = (COMMITS.c.branch_id == place.branch_id) & (COMMITS.c.version > anew.after)
        gone = [str(row.hash) for row in self._execute(select(COMMITS.c.hash).where(own)).all()]
        again = {str(made.body["hash"]) for made in anew.made}  # the same state may come out
        for digest in (each for each in gone if each not in again):
            self._bury(place.branch_id, digest=digest)
        self._execute(delete(COMMITS).where(own))
        messages = update(MESSAGES).where(MESSAGES.c.branch_id == place.branch_id)
        self._execute(messages.where(MESSAGES.c.version > anew.after).values(version=0))
        for made in anew.made:
            self._add_made(place, made)
            taken = messages.where(MESSAGES.c.seq.in_(made.taken))
            self._execute(taken.values(version=made.body.get("version", 0)))
        self._reset_head(place)
        return gone

    def _add_made(self, place: Place, made: Made) -> None:
        record = {}
        if made.entry is not None:
            record = record_of(made.entry)
            self._keep_policy(made.entry)
        row = {
            **commit_row(place, made.body, made.kind, made.at), "epoch": place.head.epoch + 1,
            "first_seq": min(made.taken, default=0), "last_seq": max(made.taken, default=0),
            "seq": made.seq, "record": packed(record), "state": packed(made.body),
        }  # fmt: skip
        self._execute(ADD_COMMIT, row)

    def _reset_head(self, place: Place) -> None:
        own = HEADS.c.branch_id == place.branch_id
        last = select(COMMITS).where(COMMITS.c.branch_id == place.branch_id)
        row = self._execute(last.order_by(COMMITS.c.version.desc()).limit(1)).first()
        if row is None:
            self._execute(delete(HEADS).where(own))
            return
        # A turn that is erased whole was taken all the same.
        seq = max(row.seq, place.head.seq)
        self._overwrite_commit(row.id, seq=seq)
        self._execute(update(HEADS).where(own).values(hash=row.hash, version=row.version, seq=seq))


def _too_late(thread: Key, what: str) -> ConflictError:
    return ConflictError(
        f"{what}; nothing was erased", where=str(thread), hint="plan the erasure again"
    )

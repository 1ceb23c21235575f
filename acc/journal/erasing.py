"""Erase: forget texts, commit a thread anew without them, delete a thread.

What was said stays, but for what is erased. The commits before the erased words stay as they are; others take the
place of those after it (`acc.evidence.replay` makes them). Of each that goes, the hash stays as a tombstone: a
checkpoint with such a state is told. What the index has yet to lose is noted in the same transaction.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, select, text, update

from acc.errors import ConflictError
from acc.journal.committing import ADD_COMMIT, Committing, commit_row
from acc.journal.names import Key, Place, ThreadKey, key_of
from acc.journal.opened import reads, writes
from acc.journal.record import Entry, record_of
from acc.journal.tables import (
    BRANCHES,
    COMMITS,
    HEADS,
    MESSAGES,
    OF_A_BRANCH,
    OF_A_THREAD,
    THREADS,
    TOMBSTONES,
)
from acc.turn.observations import is_ingested

UNINDEXED = -1
"""Stands in a tombstone in place of a branch: the index has yet to lose the message, or with no ref the thread."""

_BLANK = text(
    "UPDATE messages SET text = '', name = '', call_id = '', message_id = '', digest = '' WHERE id = :id"
)
_NAME_ANEW = text(  # a turn's identity is a digest of the words
    "UPDATE turns SET identity = :identity"
    " WHERE branch_id = :branch_id AND first_seq <= :seq AND last_seq >= :seq"
)


@dataclass(frozen=True)
class Unindexed:
    """An erased message of a branch, or with an empty ref a whole thread, that the index has yet to lose."""

    thread: ThreadKey
    branch: str
    ref: str
    id: int


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


class Erasing(Committing):
    """Forget texts, commit anew, delete threads."""

    @writes
    def commit_anew(
        self, thread: Key, anew: Sequence[Anew], erased: Sequence[tuple[str, int]]
    ) -> None:
        """Blank messages, and let new commits take the place of those that came after them, in one transaction.

        Workers that began before are told when they commit, also if nothing is blanked.

        Args:
            thread: The thread.
            anew: What takes the place of which commits, for each branch.
            erased: Branch and number of each message.

        Raises:
            ConflictError: Somebody committed meanwhile. Nothing was done.
        """
        found = {a.branch: self._found(thread, a.branch) for a in anew}
        if moved := [a.branch for a in anew if found[a.branch].head.hash != a.head]:
            raise _too_late(thread, f"branch {', '.join(moved)} was committed to meanwhile")
        for row_id in self._forget_texts(thread, erased):  # nothing was made of them any more
            self._execute(update(MESSAGES).where(MESSAGES.c.id == row_id).values(version=0))
        gone = [digest for a in anew for digest in self._replace(found[a.branch], a)]
        known = [place.branch_id for place in found.values()]
        if self._is_there(  # somebody forked from what goes
            COMMITS.c.kind == "fork", COMMITS.c.branch_id.not_in(known), COMMITS.c.parent.in_(gone)
        ):
            raise _too_late(thread, "the thread was forked meanwhile")
        branches = [place.branch_id for place in self._places(thread)]
        own = update(HEADS).where(HEADS.c.branch_id.in_(branches))
        self._execute(own.values(epoch=HEADS.c.epoch + 1))

    def prune(self, thread: Key, rows: Sequence[tuple[str, int]]) -> None:
        """Forget the texts of messages, by branch and number; states and records stay, with a tombstone of each."""
        self._write(thread, lambda journal: journal._forget_texts(thread, rows))
        self.scrub()

    def _forget_texts(self, thread: Key, erased: Sequence[tuple[str, int]]) -> list[int]:
        """Blank messages, by branch and number; return their rows."""
        ids = {branch: self._found(thread, branch).branch_id for branch, _ in erased}
        found = []
        for branch, seq in erased:
            own = (MESSAGES.c.branch_id == ids[branch]) & (MESSAGES.c.seq == seq)
            row = self._execute(select(MESSAGES).where(own)).first()
            if row is not None:
                self._overwrite(key_of(thread), branch, row)
                found.append(int(row.id))
        return found

    def _overwrite(self, key: ThreadKey, branch: str, row: Any) -> None:
        """Blank a message; a tombstone says which it was."""
        if row.digest:
            said = "" if is_ingested(row.ref) else row.message_id
            self._bury(row.branch_id, seq=row.seq, ref=row.ref, digest=row.digest, message_id=said)
            self._note_unindexed(key, branch, row.ref)
        self._execute(_BLANK, {"id": row.id})
        turn = {"branch_id": row.branch_id, "seq": row.seq}
        self._execute(_NAME_ANEW, {**turn, "identity": os.urandom(16)})

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
            record = record_of(made.entry) if made.entry is not None else {}
            if made.entry is not None:
                self._keep_policy(made.entry)
            span = min(made.taken, default=0), max(made.taken, default=0)
            how: dict[str, Any] = {"at": made.at, "span": span, "seq": made.seq}
            self._execute(ADD_COMMIT, commit_row(place, made.body, made.kind, record, **how))
            taken = messages.where(MESSAGES.c.seq.in_(made.taken))
            self._execute(taken.values(version=made.body.get("version", 0)))
        self._reset_head(place)
        return gone

    def _reset_head(self, place: Place) -> None:
        own = HEADS.c.branch_id == place.branch_id
        last = select(COMMITS).where(COMMITS.c.branch_id == place.branch_id)
        row = self._execute(last.order_by(COMMITS.c.version.desc()).limit(1)).first()
        if row is None:
            self._execute(delete(HEADS).where(own))
            return
        # A turn that is erased whole was taken all the same.
        seq = max(row.seq, place.head.seq)
        self._execute(update(COMMITS).where(COMMITS.c.id == row.id).values(seq=seq))
        self._execute(update(HEADS).where(own).values(hash=row.hash, version=row.version, seq=seq))

    def delete_thread(self, thread: Key) -> int:
        """Delete a thread; return how many messages it had. A digest of its names stays."""
        count = self._delete_thread(thread)
        self.scrub()
        return count

    @writes
    def _delete_thread(self, thread: Key) -> int:
        key = key_of(thread)
        places = self._places(key)
        if not places:
            return 0
        thread_id, branches = places[0].thread_id, [place.branch_id for place in places]
        count = 0
        for table in OF_A_BRANCH:
            done = self._execute(delete(table).where(table.c.branch_id.in_(branches)))
            count += done.rowcount if table is MESSAGES else 0
        for table in (*OF_A_THREAD, BRANCHES):
            self._execute(delete(table).where(table.c.thread_id == thread_id))
        self._execute(delete(THREADS).where(THREADS.c.id == thread_id))
        self._bury(0, digest=key.digest(self._digest_key))
        self._note_unindexed(key, "", "")
        return count

    def _bury(self, branch_id: int, **values: Any) -> None:
        empty = {"seq": 0, "ref": "", "message_id": "", "digest": ""}
        row = {**empty, **values, "branch_id": branch_id, "at": self._now()}
        self._execute(TOMBSTONES.insert(), row)

    @reads
    def was_erased(self, thread: Key, digest: str) -> bool:
        """Whether an erasure took the state with this hash away, or the thread that it was of."""
        branches = [place.branch_id for place in self._places(thread)]
        if self.was_deleted(thread):
            return self._commit_with(branches, digest) is None
        own = TOMBSTONES.c.branch_id.in_(branches), TOMBSTONES.c.ref == ""
        return self._is_there(*own, TOMBSTONES.c.digest == digest)

    def _note_unindexed(self, key: ThreadKey, branch: str, ref: str) -> None:
        """Keep what the index has yet to lose, with the names of thread and branch, until it has lost it."""
        self._bury(UNINDEXED, ref=ref, message_id=json.dumps([*vars(key).values(), branch]))

    @reads
    def unindexed(self) -> list[Unindexed]:
        """Return what was erased, pruned or deleted, and what the index has yet to lose."""
        own = select(TOMBSTONES).where(TOMBSTONES.c.branch_id == UNINDEXED)
        rows = self._execute(own.order_by(TOMBSTONES.c.id))
        found = ((json.loads(row.message_id), row) for row in rows)
        return [Unindexed(ThreadKey(*key), branch, r.ref, r.id) for (*key, branch), r in found]

    def settle(self, notes: Sequence[Unindexed]) -> None:
        """Note that the index has lost these."""
        if notes:
            done = delete(TOMBSTONES).where(TOMBSTONES.c.id == bindparam("note"))
            gone = [{"note": each.id} for each in notes]
            self._write(None, lambda journal: journal._execute(done, gone))
            self.scrub()  # they named threads


def _too_late(thread: Key, what: str) -> ConflictError:
    return ConflictError(
        f"{what}; nothing was erased", where=str(thread), hint="plan the erasure again"
    )

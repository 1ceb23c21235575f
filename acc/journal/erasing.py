"""Erasure in place: texts, and every record and state that may hold their words, are overwritten.

A commit is blanked if it cites an erased ref, or an item that ever cited one: `was` values, notes and labels repeat
an item's words without its ref. So more is blanked than holds the words, and never less than what is derived by
citation. Words that somebody said again in another message are not found by citation: name them in ``words``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, select, text, update

from acc.journal.committing import Committing, successor
from acc.journal.names import MAIN, Place, ThreadKey
from acc.journal.opened import Key, key_of, reads, writes
from acc.journal.places import sees
from acc.journal.tables import (
    BRANCHES,
    COMMITS,
    MESSAGES,
    OF_A_BRANCH,
    OF_A_THREAD,
    THREADS,
    TOMBSTONES,
    decoded,
    packed,
)
from acc.journal.wording import Traces
from acc.turn.observations import is_ingested, storable

UNINDEXED = -1
"""Stands in a tombstone in place of a branch: the index has yet to lose the message, or with no ref the thread."""


@dataclass(frozen=True)
class Unindexed:
    """A message, or with an empty ref a whole thread, that was erased and that the index has yet to lose."""

    thread: ThreadKey
    ref: str
    id: int


_BLANK = text(
    "UPDATE messages SET text = '', name = '', call_id = '', message_id = '', digest = '' WHERE id = :id"
)
_NAME_ANEW = text(  # a turn's identity is a digest of the words
    "UPDATE turns SET identity = :identity"
    " WHERE branch_id = :branch_id AND first_seq <= :seq AND last_seq >= :seq"
)


class Erasing(Committing):
    """Erase."""

    def blank(
        self,
        thread: Key,
        refs: Sequence[str],
        *,
        words: Sequence[str] = (),
        why: str = "",
        branch: str = MAIN,
    ) -> int:
        """Overwrite the texts of messages, and each commit that cites them or holds one of ``words``.

        A head that held them gets a successor without them. A tombstone says ref, digest, when and why. Workers that
        began before are told when they commit.

        Returns:
            How many commits were overwritten.
        """
        count = self._blank(thread, branch, tuple(refs), tuple(words), why)
        self.scrub()
        return count

    @writes
    def _blank(
        self, thread: Key, branch: str, refs: Sequence[str], words: Sequence[str], why: str
    ) -> int:
        place = self._found(thread, branch)
        statement = select(MESSAGES).where(MESSAGES.c.ref.in_(refs), sees(len(place.ancestry)))
        rows = self._execute(statement, place.seen).all()
        for row in rows:
            self._overwrite(key_of(thread), row, why)
        traces = Traces(refs, words)
        touched = (
            place
            for place in self._places(thread)  # parents first
            if words or any(place.holds(row.branch_id, row.seq) for row in rows)
        )
        return sum(self._blank_commits(place, traces) for place in touched)

    def _overwrite(self, key: ThreadKey, row: Any, why: str) -> None:
        """Blank a message; a tombstone says ref, digest, when and why."""
        if row.digest:
            said = "" if is_ingested(row.ref) else row.message_id
            self._bury(
                row.branch_id, seq=row.seq, ref=row.ref, digest=row.digest, message_id=said,
                why=storable(why),
            )  # fmt: skip
            self._note_unindexed(key, row.ref)
        self._execute(_BLANK, {"id": row.id})
        turn = {"branch_id": row.branch_id, "seq": row.seq}
        self._execute(_NAME_ANEW, {**turn, "identity": os.urandom(16)})

    def _blank_commits(self, place: Place, traces: Traces) -> int:
        """Blank the commits of one branch; return how many."""
        before, count, is_hit, last = b"", 0, False, None
        was_blank = False
        own = select(COMMITS).where(COMMITS.c.branch_id == place.branch_id)
        for row in self._execute(own.order_by(COMMITS.c.version)).all():
            stored, before = decoded(row, place.head.branch, before)
            if stored.state is None:  # blanked before; what is damaged is blanked, too
                if stored.problem:
                    self._overwrite_commit(row.id, record=None, state=None, is_whole=1)
                was_blank = True
                continue
            last = stored.state
            is_hit = traces.are_in_state(stored.state) or traces.is_in(stored.record)
            if is_hit:
                traces.learn_feedback(stored.state)
                # a checkpoint that still has the state is told
                self._bury(place.branch_id, digest=row.hash)
                self._overwrite_commit(row.id, record=None, state=None, is_whole=1)
                count += 1
            elif was_blank and not row.is_whole:  # what it was written against is gone
                self._overwrite_commit(row.id, state=packed(stored.state), is_whole=1)
            was_blank = is_hit
        if last is not None and is_hit:
            after = {**traces.without(last), "hash": last["hash"]}
            self._append_body(place, successor(after), "erasure")
        self._raise_epoch(place)
        return count

    def _overwrite_commit(self, row_id: int, **values: Any) -> None:
        self._execute(update(COMMITS).where(COMMITS.c.id == row_id).values(**values))

    def _bury(self, branch_id: int, **values: Any) -> None:
        empty = {"seq": 0, "ref": "", "message_id": "", "digest": "", "why": ""}
        row = {**empty, **values, "branch_id": branch_id, "at": self._now()}
        self._execute(TOMBSTONES.insert(), row)

    def delete_thread(self, thread: Key, why: str = "") -> int:
        """Delete a thread; return how many messages it had. A digest of its names stays."""
        count = self._delete_thread(thread, why)
        self.scrub()
        return count

    @writes
    def _delete_thread(self, thread: Key, why: str) -> int:
        key = key_of(thread)
        place = self._find(key)
        if place is None:
            return 0
        branches = list(self._branch_names(place))
        count = 0
        for table in OF_A_BRANCH:
            done = self._execute(delete(table).where(table.c.branch_id.in_(branches)))
            count += done.rowcount if table is MESSAGES else 0
        for table in (*OF_A_THREAD, BRANCHES):
            self._execute(delete(table).where(table.c.thread_id == place.thread_id))
        self._execute(delete(THREADS).where(THREADS.c.id == place.thread_id))
        self._bury(0, digest=key.digest(self._digest_key), why=storable(why))
        self._note_unindexed(key, "")
        return count

    @reads
    def was_erased(self, thread: Key, digest: str) -> bool:
        """Whether an erasure took the state with this hash away, or the thread that it was of."""
        place = self._find(thread)
        branches = list(self._branch_names(place))
        if self.was_deleted(thread):
            return self._commit_with(branches, digest) is None
        statement = select(TOMBSTONES.c.id).where(
            TOMBSTONES.c.digest == digest, TOMBSTONES.c.ref == "",
            TOMBSTONES.c.branch_id.in_(branches),
        )  # fmt: skip
        return self._execute(statement).first() is not None

    def _note_unindexed(self, key: ThreadKey, ref: str) -> None:
        """Keep what the index has yet to lose, with the names of the thread, until it has lost it."""
        self._bury(UNINDEXED, ref=ref, message_id=json.dumps(vars(key)))

    @reads
    def unindexed(self) -> list[Unindexed]:
        """Return what was erased, pruned or deleted, and what the index has yet to lose."""
        notes = (
            select(TOMBSTONES).where(TOMBSTONES.c.branch_id == UNINDEXED).order_by(TOMBSTONES.c.id)
        )
        return [
            Unindexed(ThreadKey(**json.loads(row.message_id)), row.ref, row.id)
            for row in self._execute(notes)
        ]

    def settle(self, notes: Sequence[Unindexed]) -> None:
        """Note that the index has lost these."""
        if notes:
            done = delete(TOMBSTONES).where(TOMBSTONES.c.id == bindparam("note"))
            gone = [{"note": each.id} for each in notes]
            self._write(None, lambda journal: journal._execute(done, gone))
            self.scrub()  # they named threads

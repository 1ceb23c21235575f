"""What stands beside the steps: holds, feedback, keys, indexes, tombstones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Delete, bindparam, delete, select, text

from acc.errors import AuditError, InputError
from acc.journal.listing import Listing
from acc.journal.names import Key, Place, ThreadKey, key_of
from acc.journal.opened import reads, writes
from acc.journal.tables import FEEDBACK, HOLDS, INDEXES, KEYS, NAMES, THREADS, TOMBSTONES
from acc.turn.observations import storable


@dataclass(frozen=True)
class Hold:
    """What no deletion may touch.

    Attributes:
        thread: The thread.
        ref: A message of it; empty for the whole thread.
        reason: Who asks for it, and why.
        at: Since when.
    """

    thread: ThreadKey
    ref: str
    reason: str
    at: str


@dataclass(frozen=True)
class Feedback:
    """How useful the evidence was that a turn admitted."""

    branch: str
    turn: int
    utility: float


class Tombstone(NamedTuple):
    """A message that an erasure blanked: its ref, and the id of the chat message that it came from."""

    ref: str
    message_id: str


_KEY = 32

_ERASED = text(
    "SELECT message_id, digest FROM tombstones JOIN branches ON branches.id = tombstones.branch_id"
    " WHERE thread_id = :thread_id AND digest IN :digests"
).bindparams(bindparam("digests", expanding=True))


class Keeping(Listing):
    """Hold, rate, note."""

    @writes
    def hold(self, thread: Key, ref: str = "", *, reason: str) -> Hold:
        """Protect a message, or a whole thread, from deletion. A second hold changes the reason.

        Raises:
            StateError: There is no such thread.
        """
        place, reason, now = self._found(thread), storable(reason), self._now()
        self._execute(_released(place, ref))
        row = {"thread_id": place.thread_id, "ref": ref, "reason": reason, "at": now}
        self._execute(HOLDS.insert(), row)
        return Hold(key_of(thread), ref, reason, now)

    @writes
    def release(self, thread: Key, ref: str = "") -> None:
        """End a hold.

        Raises:
            InputError: There is none.
        """
        place = self._find(thread)
        if place is None or not self._execute(_released(place, ref)).rowcount:
            where = f"{key_of(thread)} {ref}".strip()
            raise InputError("there is no such hold", where=where, hint="see acc hold")

    @reads
    def held(self) -> tuple[Hold, ...]:
        """Return all holds."""
        named = select(*NAMES, HOLDS.c.ref, HOLDS.c.reason, HOLDS.c.at)
        rows = self._execute(named.join_from(HOLDS, THREADS).order_by(HOLDS.c.id))
        return tuple(Hold(ThreadKey(*row[:4]), *row[4:]) for row in rows)

    @writes
    def rate(self, thread: Key, given: Feedback) -> None:
        """Keep how useful evidence was.

        Raises:
            StateError: There is no such thread.
        """
        row = {**vars(given), "thread_id": self._found(thread).thread_id, "at": self._now()}
        self._execute(FEEDBACK.insert(), row)

    @reads
    def feedback(self, thread: Key) -> tuple[Feedback, ...]:
        """Return what was said of a thread's evidence, in order."""
        place = self._find(thread)
        if place is None:
            return ()
        own = select(FEEDBACK).where(FEEDBACK.c.thread_id == place.thread_id)
        rows = self._execute(own.order_by(FEEDBACK.c.id))
        return tuple(Feedback(r.branch, r.turn, r.utility) for r in rows)

    def key(self, name: str) -> bytes:
        """Return 32 random bytes that are the memory's own, made on first use; empty if nothing may be written.

        Raises:
            AuditError: The row was changed.
        """
        own = select(KEYS.c.value).where(KEYS.c.name == name)

        def made(journal: Keeping) -> bytes:
            held: bytes | None = journal._execute(own).scalar()
            if held is None:  # nobody was faster
                held = _sealed(os.urandom(_KEY))
                journal._execute(KEYS.insert(), {"name": name, "value": held})
            return held

        held: bytes | None = self._read(lambda journal: journal._execute(own).scalar())
        if held is None:
            held = b"" if self._reads_only else self._write(None, made)
        if held and _sealed(held[:_KEY]) != held:
            raise AuditError(
                f"the key {name!r} was changed", where=self.where, hint="restore a backup"
            )
        return held[:_KEY]

    def note_index(self, place: str, *, alone: bool = False) -> None:
        """Note where artifacts of the memory are indexed; ``alone``: and nowhere else any more."""

        def noted(journal: Keeping) -> None:
            if place not in journal.indexes():  # nobody was faster
                journal._execute(INDEXES.insert(), {"place": place})
            if alone:
                journal._execute(delete(INDEXES).where(INDEXES.c.place != place))

        known = self.indexes()
        if place not in known or (alone and len(known) > 1):
            self._write(None, noted)

    @reads
    def indexes(self) -> frozenset[str]:
        """Return where artifacts of the memory were ever indexed."""
        return frozenset(row.place for row in self._execute(select(INDEXES)))

    @reads
    def tombstones(self, thread: Key) -> tuple[Tombstone, ...]:
        """Return the messages of a thread that were erased, on all branches."""
        own = TOMBSTONES.c.branch_id.in_(list(self._names(thread))), TOMBSTONES.c.ref != ""
        columns = select(TOMBSTONES.c.ref, TOMBSTONES.c.message_id)
        rows = self._execute(columns.where(*own).order_by(TOMBSTONES.c.id))
        return tuple(Tombstone(*row) for row in rows)

    @reads
    def erased(
        self, thread: Key, messages: Sequence[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        """Return those of some messages, pairs of chat message id and digest, whose words were erased in a thread."""
        place = self._find(thread) if messages else None
        if place is None:
            return frozenset()
        given = {"thread_id": place.thread_id, "digests": [digest for _, digest in messages]}
        return frozenset({tuple(row) for row in self._execute(_ERASED, given)} & set(messages))


def _released(place: Place, ref: str) -> Delete:
    return delete(HOLDS).where(HOLDS.c.thread_id == place.thread_id, HOLDS.c.ref == ref)


def _sealed(key: bytes) -> bytes:
    """Return a key with a digest of it, so that a changed one is told: nothing else would tell."""
    return key + hashlib.blake2b(key, digest_size=8).digest()

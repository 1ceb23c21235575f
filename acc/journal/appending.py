"""Append a turn: what was said is on the disk before anything can fail (law 8)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import text

from acc.errors import ConflictError, InputError, StateError
from acc.journal.listing import TAKEN
from acc.journal.names import MAIN, Appended, Head, Key, Place, key_of
from acc.journal.opened import reads, writes
from acc.journal.reading import Reading
from acc.journal.tables import MESSAGES, TURNS
from acc.state.tail import Message, digest_of
from acc.turn.observations import storable

RECORD = b"record"
"""Begins the identity of words that were recorded: a commit that would leave them behind is refused."""


def identity_of(messages: Sequence[Message], follows: str) -> bytes:
    """Return what names a turn: its messages and the head that it follows.

    Ids and times of messages do not count: a client that repeats a step may give new ones. What somebody says twice
    follows two heads.
    """
    parts = [follows, *(message.observation.identity for message in messages)]
    return hashlib.blake2b("\x00".join(parts).encode(), digest_size=16).digest()


_ADD_TURN, _ADD_MESSAGE = TURNS.insert(), MESSAGES.insert()
_TURN = text(
    "SELECT first_seq, last_seq FROM turns"
    " WHERE branch_id = :branch_id AND number = :number AND identity = :identity"
)
_OF_SPAN = text(
    "SELECT id, seq, version, ref, turn, digest FROM messages"
    " WHERE branch_id = :branch_id AND seq >= :first AND seq <= :last ORDER BY seq"
)
_OF_TURN = text(
    "SELECT hash, version, seq FROM commits WHERE branch_id = :branch_id AND version >= :version"
    " AND version < :version + 256 AND turn = :number ORDER BY version DESC LIMIT 1"
)
_MOVE = text("UPDATE messages SET turn = :turn, ref = :ref WHERE id = :id")
_NAME_AGAIN = text(  # refs name the number, and a repeated step names the old one
    "INSERT INTO turns (branch_id, number, identity, first_seq, last_seq)"
    " SELECT DISTINCT branch_id, CAST(:number AS BIGINT), identity, first_seq, last_seq FROM turns"
    " WHERE branch_id = :branch_id AND first_seq >= :first AND last_seq <= :last ON CONFLICT DO NOTHING"
)
_MARK = text(
    "UPDATE messages SET version = :version WHERE branch_id = :branch_id AND seq >= :first AND seq <= :last"
    " AND version = 0 AND digest <> ''"
)
_LEFT = text(
    "SELECT messages.id FROM messages JOIN turns ON turns.branch_id = messages.branch_id"
    " AND first_seq <= seq AND last_seq >= seq WHERE messages.branch_id = :branch_id AND seq > :after"
    " AND seq < :last AND version = 0 AND digest <> '' AND substr(identity, 1, :length) = :record LIMIT 1"
)


class Appending(Reading):
    """Append turns, find them, and mark what a commit takes."""

    @writes
    def append(
        self,
        thread: Key,
        messages: Sequence[Message],
        *,
        follows: str = "",
        branch: str = MAIN,
        is_record: bool = False,
    ) -> Appended:
        """Write a turn. It is on the disk when this returns.

        A repeated step finds its turn, whoever wrote it, and what was committed for it.

        Args:
            thread: The thread; a new one is begun.
            messages: The numbered messages of the turn.
            follows: Hash of the branch's head; empty while it has none.
            branch: The branch.
            is_record: The words belong to the next step, whoever makes it: no commit may leave them behind.

        Raises:
            ConflictError: The head is another one: somebody committed since ``follows``. Nothing was written.
            StateError: The journal does not hold ``follows``, or the thread was deleted.
            InputError: There are no messages, or they carry no refs.
        """
        if not messages or len({m.ref for m in messages} - {""}) != len(messages):
            raise InputError(
                "a turn needs messages, each with a ref of its own", where=str(thread),
                hint="number the turn with Turn.numbered",
            )  # fmt: skip
        place, number = self._find(thread, branch), messages[0].turn
        identity = identity_of(messages, follows)
        if is_record:
            identity = RECORD + identity[len(RECORD) :]
        known = self._known(place, number, identity) if place else None
        if known and known.is_committed:
            return known
        if place is None:
            if follows or branch != MAIN:
                raise self._missing(thread, branch)
            place = self._create(key_of(thread))
        if place.head.hash != follows:
            raise self._conflict(place, follows)
        if known:
            return known
        first = self._next_seq(place)
        last = first + len(messages) - 1
        turn = {
            "branch_id": place.branch_id, "identity": identity, "number": number,
            "first_seq": first, "last_seq": last,
        }  # fmt: skip
        self._execute(_ADD_TURN, turn)
        rows = [_row(place, m, self._digest_key, first + n) for n, m in enumerate(messages)]
        self._execute(_ADD_MESSAGE, rows)
        return Appended(place.head, first, last, tuple(m.ref for m in messages), is_new=True)

    @reads
    def repeated(
        self, held: Head, messages: Sequence[Message], *, by_id: bool = False
    ) -> Appended | None:
        """Return the turn of these messages that was said after ``held`` already, with what was committed for it.

        It is known by its identity; or by its words, if what was committed after ``held`` begins with them: they may
        have been recorded before the step. One that still waits is returned, too. None if there is none.

        ``by_id``: its messages also carry the same ids of their application. What somebody says twice has two ids.
        """
        place = self._find(held.thread, held.branch)
        if place is None:
            return None
        turn = None
        if not by_id:
            turn = self._known(place, messages[0].turn, identity_of(messages, held.hash))
        if turn is not None and turn.is_committed:
            return turn
        page = self._chosen(place, TAKEN, len(messages), after=held.seq)
        if _said([each.message for each in page], by_id=by_id) != _said(messages, by_id=by_id):
            return turn
        head = self._made_of(place, page[-1].version, page[-1].message.turn)
        if head is None:
            return turn
        refs = tuple(each.message.ref for each in page)
        return Appended(head, page[0].seq, page[-1].seq, refs, is_committed=True)

    def _known(self, place: Place, number: int, identity: bytes) -> Appended | None:
        """Return the turn with this identity, and what was committed for it."""
        where = {"branch_id": place.branch_id}
        turn = self._execute(_TURN, {**where, "number": number, "identity": identity}).first()
        if turn is None:
            return None
        span = turn.first_seq, turn.last_seq
        rows = self._execute(_OF_SPAN, {**where, "first": span[0], "last": span[1]}).all()
        found = Appended(place.head, *span, tuple(row.ref for row in rows))
        taken = next((row for row in rows if row.version), None)
        if taken is None:
            return found
        head = self._made_of(place, taken.version, taken.turn) or place.head
        return replace(found, head=head, is_committed=True)

    def _made_of(self, place: Place, version: int, turn: int) -> Head | None:
        """Return the last commit of a turn that the commit of a version took."""
        given = {"branch_id": place.branch_id, "version": version, "number": turn}
        made = self._execute(_OF_TURN, given).first()
        if made is None:
            return None
        return replace(place.head, hash=made.hash, version=made.version, seq=made.seq)

    def _take(
        self, place: Place, turn: Appended, messages: Sequence[Message], version: int
    ) -> None:
        """Mark the messages of a turn as taken.

        If they waited for another turn than that which takes them, they get its number and refs: what was said has
        one row, whoever takes it.
        """
        span = {"branch_id": place.branch_id, "first": turn.first, "last": turn.last}
        waited = [] if turn.is_new else self._execute(_OF_SPAN, span).all()
        rows = [row for row in waited if not row.version and row.digest]
        both = zip(rows, messages, strict=False)
        moved = [(r, m) for r, m in both if r.turn != m.turn or r.ref != m.ref]
        for row, message in moved:
            self._execute(_MOVE, {"id": row.id, "turn": message.turn, "ref": message.ref})
        if moved:
            self._execute(_NAME_AGAIN, {**span, "number": moved[0][1].turn})
        done = self._execute(_MARK, {**span, "version": version})
        if done.rowcount != len(turn.refs):
            raise ConflictError(
                "the turn is not in the journal any more",
                where=place.where,
                hint="append it again",
            )

    def _leave_no_record(self, place: Place, turn: Appended) -> None:
        """Raise `ConflictError` if recorded words lie before the end of a turn that does not hold them."""
        where = {"branch_id": place.branch_id, "after": place.head.seq, "last": turn.last}
        recorded = {"record": RECORD, "length": len(RECORD)}
        if self._execute(_LEFT, {**where, **recorded}).first() is not None:
            raise ConflictError(
                "words were recorded while the step was made",
                where=place.where,
                hint="repeat the step with the same state and turn: it takes them along",
            )

    def _conflict(self, place: Place, follows: str) -> ConflictError | StateError:
        """Return why ``follows`` is not the head: somebody committed since, or the journal does not know it."""
        head = place.head
        row = self._commit_with(place.lineage, follows) if follows else None
        if follows and row is None:
            return StateError(
                f"the journal does not hold the state {follows[:16]};"
                f" its head is version {head.version}, {head.hash[:16]}",
                where=place.where,
                hint="the journal may have been restored: commit the state as taken, or go on from the head",
            )
        found = row.version if row else 0
        return ConflictError(
            f"version {head.version} was committed after version {found}: the head is {head.hash[:16]}",
            where=place.where,
            hint="repeat the step with the same state and turn: it finds what was committed, or goes on from the head",
        )


def _said(messages: Sequence[Message], *, by_id: bool) -> list[tuple[str, str]]:
    seen = (message.observation for message in messages)
    return [(each.message if by_id else "", each.identity) for each in seen]


def _row(place: Place, message: Message, key: bytes, seq: int) -> dict[str, Any]:
    seen = message.observation
    return {
        "branch_id": place.branch_id, "seq": seq, "version": 0, "turn": message.turn,
        "ref": seen.ref, "channel": seen.channel.value, "name": seen.name, "call_id": seen.call_id,
        "message_id": seen.message, "text": seen.text, "left_out": seen.left_out,
        "at": storable(message.at), "digest": digest_of(seen, key),
    }  # fmt: skip

"""Append a turn: what was said is on the disk before anything can fail (law 8)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from acc.errors import ConflictError, InputError, StateError
from acc.journal import places
from acc.journal.names import MAIN, Appended, Head, ThreadKey
from acc.journal.places import Place
from acc.journal.reading import message_page
from acc.journal.states import Recent
from acc.journal.tables import COMMITS, MESSAGES, TURNS
from acc.tail import Message, digest_of
from acc.turn.observations import storable


@dataclass(frozen=True)
class Desk:
    """What writing needs beside a connection.

    Attributes:
        digest_key: Key of the messages' digests.
        now: The time, as rows have it.
        recent: The last states.
    """

    digest_key: bytes
    now: str
    recent: Recent


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
_TURN = select(TURNS.c.number, TURNS.c.first_seq, TURNS.c.last_seq).where(
    TURNS.c.branch_id == bindparam("branch_id"), TURNS.c.number == bindparam("number"),
    TURNS.c.identity == bindparam("identity"),
)  # fmt: skip
TAKEN = select(
    MESSAGES.c.id, MESSAGES.c.seq, MESSAGES.c.version, MESSAGES.c.ref, MESSAGES.c.turn, MESSAGES.c.digest,
).where(
    MESSAGES.c.branch_id == bindparam("branch_id"),
    MESSAGES.c.seq >= bindparam("first"), MESSAGES.c.seq <= bindparam("last"),
).order_by(MESSAGES.c.seq)  # fmt: skip
_OF_TURN = select(COMMITS.c.hash, COMMITS.c.version, COMMITS.c.epoch, COMMITS.c.seq).where(
    COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.version >= bindparam("version"),
    COMMITS.c.version < bindparam("version") + 256, COMMITS.c.turn == bindparam("number"),
).order_by(COMMITS.c.version.desc()).limit(1)  # fmt: skip


def append(
    connection: Connection,
    desk: Desk,
    key: ThreadKey,
    branch: str,
    messages: Sequence[Message],
    follows: str,
    *,
    version: int = 0,
    is_record: bool = False,
) -> tuple[Appended, Place]:
    """Write a turn, or find it; return it, and where the branch lies.

    ``version`` is that of a commit in the same transaction. ``is_record``: the words belong to the next step, whoever
    makes it.
    """
    if not messages or len({m.ref for m in messages} - {""}) != len(messages):
        raise InputError(
            "a turn needs messages, each with a ref of its own", where=str(key),
            hint="number the turn with Turn.numbered",
        )  # fmt: skip
    place = places.find(connection, key, branch)
    identity = identity_of(messages, follows)
    if is_record:
        identity = RECORD + identity[len(RECORD) :]
    known = _known(connection, place, messages[0].turn, identity) if place else None
    if place and known:
        if not known.is_committed and place.head.hash != follows:
            raise conflict(connection, place, follows)
        return known, place
    place = _begun(connection, desk, key, branch, place, follows)
    first = places.next_seq(connection, place)
    last = first + len(messages) - 1
    turn = {
        "branch_id": place.branch_id, "identity": identity, "number": messages[0].turn,
        "first_seq": first, "last_seq": last,
    }  # fmt: skip
    connection.execute(_ADD_TURN, turn)
    rows = [_row(place, desk, m, first + n, version) for n, m in enumerate(messages)]
    connection.execute(_ADD_MESSAGE, rows)
    refs = tuple(message.ref for message in messages)
    return Appended(place.head, first, last, refs, True, False, identity), place


def turn_of(
    connection: Connection, place: Place, messages: Sequence[Message], follows: str
) -> Appended | None:
    """Return a turn that was appended after the commit ``follows``, and what was committed for it."""
    return _known(connection, place, messages[0].turn, identity_of(messages, follows))


def _known(connection: Connection, place: Place, number: int, identity: bytes) -> Appended | None:
    """Return the turn with this identity, and what was committed for it."""
    where = {"branch_id": place.branch_id}
    turn = connection.execute(_TURN, {**where, "number": number, "identity": identity}).first()
    if turn is None:
        return None
    span = {**where, "first": turn.first_seq, "last": turn.last_seq}
    rows = connection.execute(TAKEN, span).all()
    taken, of_turn = next(((r.version, r.turn) for r in rows if r.version), (0, 0))
    head = place.head
    if taken:
        last = {**where, "version": taken, "number": of_turn}
        made = connection.execute(_OF_TURN, last).first()
        if made is not None:
            head = Head(head.thread, head.branch, made.hash, made.version, made.epoch, made.seq)
    refs = tuple(row.ref for row in rows)
    return Appended(head, turn.first_seq, turn.last_seq, refs, False, bool(taken), identity)


def said_after(
    connection: Connection, place: Place, seq: int, said: Sequence[str]
) -> Appended | None:
    """Return what was committed after the message ``seq`` if it begins with these words, by their identities."""
    rows = message_page(connection, place, seq, len(said), also_open=False)
    if [row.message.observation.identity for row in rows] != list(said):
        return None
    where = {"branch_id": place.branch_id, "version": rows[-1].version}
    made = connection.execute(_OF_TURN, {**where, "number": rows[-1].message.turn}).first()
    if made is None:
        return None
    head = place.head
    head = Head(head.thread, head.branch, made.hash, made.version, made.epoch, made.seq)
    refs = tuple(row.message.ref for row in rows)
    return Appended(head, rows[0].seq, rows[-1].seq, refs, False, True, b"")


def _begun(
    connection: Connection,
    desk: Desk,
    key: ThreadKey,
    branch: str,
    place: Place | None,
    follows: str,
) -> Place:
    """Return the branch that ``follows`` is the head of; a new thread's main branch is made."""
    if place is None:
        if follows or branch != MAIN:
            raise places.missing(connection, key, branch, desk.digest_key)
        return places.create(connection, key, desk.now)
    if place.head.hash != follows:
        raise conflict(connection, place, follows)
    return place


def conflict(connection: Connection, place: Place, follows: str) -> ConflictError | StateError:
    """Return why ``follows`` is not the head: somebody committed since, or the journal does not know it."""
    head = place.head
    row = places.commit_with(connection, place.lineage, follows) if follows else None
    found = row.version if row else None
    where = f"{head.thread}, branch {head.branch}"
    if follows and row is None:
        return StateError(
            f"the journal does not hold the state {follows[:16]}; its head is version {head.version}, {head.hash[:16]}",
            where=where,
            hint="the journal may have been restored: commit the state as taken, or go on from the head",
        )
    return ConflictError(
        f"version {head.version} was committed after version {found or 0}: the head is {head.hash[:16]}",
        where=where,
        hint="repeat the step with the same state and turn: it finds what was committed, or goes on from the head",
    )


def _row(place: Place, desk: Desk, message: Message, seq: int, version: int) -> dict[str, Any]:
    seen = message.observation
    return {
        "branch_id": place.branch_id, "seq": seq, "version": version, "turn": message.turn,
        "ref": seen.ref, "channel": seen.channel.value, "name": seen.name, "call_id": seen.call_id,
        "message_id": seen.message, "text": seen.text, "left_out": seen.left_out,
        "at": storable(message.at), "digest": digest_of(seen, desk.digest_key),
    }  # fmt: skip

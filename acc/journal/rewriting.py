"""Commit anew what came after an erasure: other commits take the place of those that may hold the words.

What was said stays, but for what is erased. The commits before stay as they are. Of each that goes, the hash stays as
a tombstone: a checkpoint with such a state is told that its thread was erased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, select, update

from acc.errors import ConflictError
from acc.journal import places
from acc.journal.appending import Desk
from acc.journal.committing import ADD_COMMIT, commit_row, keep_policy
from acc.journal.erasing import note_state, overwrite, raise_epoch
from acc.journal.names import Head, ThreadKey
from acc.journal.places import Place
from acc.journal.record import Entry, packed, record_of
from acc.journal.tables import COMMITS, HEADS, MESSAGES, TOMBSTONES


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


def commit_anew(
    connection: Connection,
    desk: Desk,
    key: ThreadKey,
    anew: Sequence[Anew],
    erased: Sequence[tuple[str, int]],
    why: str,
) -> tuple[Head, ...]:
    """See `acc.journal.keeping.Keeping.commit_anew`."""
    found = {a.branch: places.found(connection, key, a.branch, desk.digest_key) for a in anew}
    moved = [a.branch for a in anew if found[a.branch].head.hash != a.head]
    if moved:
        raise ConflictError(
            f"branch {', '.join(moved)} was committed to meanwhile; nothing was erased",
            where=str(key),
            hint="plan the erasure again",
        )
    for row_id in forget(connection, desk, key, erased, why):
        connection.execute(update(MESSAGES).where(MESSAGES.c.id == row_id).values(version=0))
    gone = [digest for a in anew for digest in _replace(connection, desk, found[a.branch], a)]
    _check_forks(connection, key, [place.branch_id for place in found.values()], gone)
    main = places.found(connection, key, "main", desk.digest_key)
    names = places.branch_names(connection, main.thread_id).values()
    heads = [places.found(connection, key, name, desk.digest_key) for name in names]
    for place in heads:
        raise_epoch(connection, place)
    return tuple(replace(place.head, epoch=place.head.epoch + 1) for place in heads)


def forget(
    connection: Connection, desk: Desk, key: ThreadKey, erased: Sequence[tuple[str, int]], why: str
) -> list[int]:
    """Blank messages, by branch and number; return their rows."""
    ids: dict[str, int] = {}
    found = []
    for branch, seq in erased:
        if branch not in ids:
            ids[branch] = places.found(connection, key, branch, desk.digest_key).branch_id
        own = (MESSAGES.c.branch_id == ids[branch]) & (MESSAGES.c.seq == seq)
        row = connection.execute(select(MESSAGES).where(own)).first()
        if row is not None:
            overwrite(connection, desk, key, row, why)
            found.append(int(row.id))
    return found


def _check_forks(
    connection: Connection, key: ThreadKey, known: Sequence[int], gone: Sequence[str]
) -> None:
    """Raise if somebody forked from what goes since it was read."""
    statement = select(COMMITS.c.id).where(
        COMMITS.c.kind == "fork", COMMITS.c.branch_id.not_in(known), COMMITS.c.parent.in_(gone)
    )
    if connection.execute(statement).first() is not None:
        raise ConflictError(
            "the thread was forked meanwhile; nothing was erased", where=str(key),
            hint="plan the erasure again",
        )  # fmt: skip


def _replace(connection: Connection, desk: Desk, place: Place, anew: Anew) -> list[str]:
    """Put new commits in the place of others; return the hashes of those."""
    own = (COMMITS.c.branch_id == place.branch_id) & (COMMITS.c.version > anew.after)
    gone = [str(row.hash) for row in connection.execute(select(COMMITS.c.hash).where(own)).all()]
    again = {str(made.body["hash"]) for made in anew.made}  # the same state may come out
    for digest in (each for each in gone if each not in again):
        note_state(connection, desk, place.branch_id, digest)
    connection.execute(delete(COMMITS).where(own))
    here = MESSAGES.c.branch_id == place.branch_id
    connection.execute(
        update(MESSAGES).where(here, MESSAGES.c.version > anew.after).values(version=0)
    )
    for made in anew.made:
        _add(connection, place, made)
    _move_head(connection, place)
    return gone


def _add(connection: Connection, place: Place, made: Made) -> None:
    version = made.body.get("version", 0)
    record = record_of(made.entry) if made.entry is not None else {}
    row = {
        **commit_row(place, made.body, made.kind, made.at), "epoch": place.head.epoch + 1,
        "first_seq": min(made.taken, default=0), "last_seq": max(made.taken, default=0),
        "seq": made.seq, "record": packed(record), "state": packed(made.body),
    }  # fmt: skip
    connection.execute(ADD_COMMIT, row)
    if made.entry is not None:
        keep_policy(connection, made.entry)
    for seq in made.taken:
        connection.execute(
            update(MESSAGES)
            .where(MESSAGES.c.branch_id == place.branch_id, MESSAGES.c.seq == seq)
            .values(version=version)
        )


def _move_head(connection: Connection, place: Place) -> None:
    own = HEADS.c.branch_id == place.branch_id
    last = (
        select(COMMITS.c.hash, COMMITS.c.version, COMMITS.c.seq)
        .where(COMMITS.c.branch_id == place.branch_id)
        .order_by(COMMITS.c.version.desc())
        .limit(1)
    )
    row = connection.execute(last).first()
    if row is None:
        connection.execute(delete(HEADS).where(own))
        return
    # A turn that is erased whole was taken all the same.
    seq = max(row.seq, place.head.seq)
    connection.execute(update(HEADS).where(own).values(hash=row.hash, version=row.version, seq=seq))


def is_gone(connection: Connection, branches: Sequence[int], digest: str) -> bool:
    """Whether an erasure took the state with this hash away."""
    statement = select(TOMBSTONES.c.id).where(
        TOMBSTONES.c.digest == digest, TOMBSTONES.c.ref == "", TOMBSTONES.c.branch_id.in_(branches)
    )
    return connection.execute(statement).first() is not None

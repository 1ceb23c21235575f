"""Read a thread: its head, states, the texts of a tail, messages and commits in order."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select
from sqlalchemy.sql import ColumnElement

from acc.errors import InputError
from acc.journal import places
from acc.journal.names import Head, StoredMessage, ThreadKey
from acc.journal.places import Place, branch_names
from acc.journal.record import unsqueezed
from acc.journal.states import Recent, read_state
from acc.journal.tables import BRANCHES, COMMITS, HEADS, MESSAGES, THREADS, TURNS
from acc.tail import Message
from acc.turn.observations import Channel, Observation

PAGE = 500


@dataclass(frozen=True)
class StoredCommit:
    """A commit with its record.

    Attributes:
        branch: Its branch.
        version: Version of its state.
        kind: Where the state comes from (`acc.journal.record.Kind`).
        parent: Hash of the state before.
        hash: Hash of the state.
        policy: Fingerprint of the policy.
        epoch: Epoch of the branch at that time.
        turn: Number of the turn.
        span: Numbers of the first and last message that it took; (0, 0) if it took none.
        seq: Number of the last message that any commit of the branch had taken.
        at: When it was committed.
        record: What was given and noted (`acc.journal.record.record_of`); None where an erasure blanked it.
        state: The state's canonical form; None where an erasure blanked it.
        id: Its row.
        problem: Why it cannot be read; empty if it can.
    """

    branch: str
    version: int
    kind: str
    parent: str
    hash: str
    policy: str
    epoch: int
    turn: int
    span: tuple[int, int]
    seq: int
    at: str
    record: Mapping[str, Any] | None
    state: Mapping[str, Any] | None
    id: int
    problem: str = ""


def state_at(
    connection: Connection, place: Place, recent: Recent, at: str | int | None
) -> bytes | None:
    """Return the state with a hash or version, or the head's; None if there is none, or if it was blanked."""
    head = place.head
    if at is None or at == head.hash:
        if not place.is_begun:
            return None
        return recent.get(head.hash) or read_state(connection, place.branch_id, head.version)
    if isinstance(at, str):
        names = branch_names(connection, place.thread_id)
        row = places.commit_with(connection, dict.fromkeys((*place.lineage, *names)), at)
        return read_state(connection, row.branch_id, row.version) if row else None
    for branch_id in place.lineage if at <= head.version else ():
        is_there = select(COMMITS.c.id).where(
            COMMITS.c.branch_id == branch_id, COMMITS.c.version == at
        )
        if connection.execute(is_there).first() is not None:
            return read_state(connection, branch_id, at)
    return None


def lineage_of(connection: Connection, place: Place) -> tuple[tuple[str, int | None], ...]:
    """Return the branches that a branch sees, the root first, each with the last number that it sees of it."""
    names = branch_names(connection, place.thread_id)
    before = [(names[branch_id], up_to) for branch_id, up_to in reversed(place.ancestry)]
    return (*before, (place.head.branch, None))


_TURN_IN_REF = re.compile(r"[a-z](\d+)(?:\.\d+)?")
_WITH_REFS = (
    select(MESSAGES)
    .where(
        MESSAGES.c.branch_id == bindparam("branch_id"),
        MESSAGES.c.seq >= bindparam("first"), MESSAGES.c.seq <= bindparam("last"),
        MESSAGES.c.ref.in_(bindparam("refs", expanding=True)), MESSAGES.c.digest != "",
    )
    .order_by(MESSAGES.c.seq)
)  # fmt: skip
_SPANS = (
    select(TURNS.c.first_seq, TURNS.c.last_seq)
    .where(
        TURNS.c.branch_id == bindparam("branch_id"),
        TURNS.c.number.in_(bindparam("numbers", expanding=True)),
    )
    .order_by(TURNS.c.first_seq)
)
_NEAR = 32
_NO_END = 1 << 62


def texts(connection: Connection, place: Place, refs: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages of some refs in their order, as far as the branch sees them.

    Refs that name their turn are found by it. Where a turn was appended twice, as by two workers, that one counts
    which a commit took.
    """
    best: dict[str, Row[Any]] = {}
    for branch_id, up_to in ((place.branch_id, _NO_END), *place.ancestry):
        left = [ref for ref in refs if ref not in best]
        for start in range(0, len(left), PAGE):
            part = left[start : start + PAGE]
            for row in _with_refs(connection, branch_id, up_to, part):
                if up_to != _NO_END and not row.version:
                    continue  # another branch's turn that nothing came of
                held = best.get(row.ref)
                if held is None or row.version or not held.version:
                    best[row.ref] = row
    return tuple(message_of(best[ref]) for ref in dict.fromkeys(refs) if ref in best)


def _with_refs(
    connection: Connection, branch_id: int, up_to: int, refs: Sequence[str]
) -> Iterator[Row[Any]]:
    """Yield the rows of one branch with some refs, oldest first."""
    named = [_TURN_IN_REF.fullmatch(ref) for ref in refs]
    spans = [(0, up_to)]
    if all(named):
        numbers = sorted({int(found[1]) for found in named if found})
        rows = connection.execute(_SPANS, {"branch_id": branch_id, "numbers": numbers})
        spans = _merged((row.first_seq, min(row.last_seq, up_to)) for row in rows)
    for first, last in spans:
        given = {"branch_id": branch_id, "first": first, "last": last, "refs": refs}
        yield from connection.execute(_WITH_REFS, given)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in which those near each other are one: a tail's turns mostly follow each other."""
    found: list[tuple[int, int]] = []
    for first, last in spans:
        if found and first - found[-1][1] <= _NEAR:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def message_of(row: Row[Any]) -> Message:
    """Return the message of a row."""
    seen = Observation(
        channel=Channel(row.channel), text=row.text, name=row.name, call_id=row.call_id,
        ref=row.ref, left_out=row.left_out, message=row.message_id, at=row.at,
    ).as_split()  # fmt: skip
    return Message(seen, row.turn, row.at)


def message_page(
    connection: Connection, place: Place, after: int, limit: int, *, also_open: bool
) -> list[StoredMessage]:
    """Return up to ``limit`` messages with numbers over ``after``, blanked ones too.

    ``also_open``: also those that no commit took.
    """
    which = MESSAGES.c.seq > after
    return chosen(
        connection, place, which if also_open else which & (MESSAGES.c.version > 0), limit
    )


def chosen(
    connection: Connection, place: Place, which: ColumnElement[bool], limit: int | None = None
) -> list[StoredMessage]:
    """Return the messages of a condition that a branch sees, in order, up to ``limit``."""
    names = branch_names(connection, place.thread_id)
    statement = (
        select(MESSAGES)
        .where(place.sees(MESSAGES.c.branch_id, MESSAGES.c.seq), which)
        .order_by(MESSAGES.c.seq)
        .limit(limit)
    )
    return [
        StoredMessage(r.seq, names[r.branch_id], r.version, message_of(r), r.digest, r.id)
        for r in connection.execute(statement)
    ]


def taken(
    connection: Connection, place: Place, message_ids: Sequence[str], upto: int
) -> frozenset[tuple[str, str]]:
    """Return id and digest of what a branch has committed under these ids, up to a number."""
    statement = select(MESSAGES.c.message_id, MESSAGES.c.digest).where(
        place.sees(MESSAGES.c.branch_id, MESSAGES.c.seq),
        MESSAGES.c.version > 0,
        MESSAGES.c.seq <= upto,
        MESSAGES.c.message_id.in_(message_ids),
    )
    return frozenset((row.message_id, row.digest) for row in connection.execute(statement))


def commit_page(
    connection: Connection, place: Place, after: int, limit: int, before: bytes
) -> tuple[list[StoredCommit], bytes]:
    """Return up to ``limit`` commits of the branch itself after a version.

    ``before`` is the state of version ``after``; the last state read is returned for the next page.
    """
    statement = (
        select(COMMITS)
        .where(COMMITS.c.branch_id == place.branch_id, COMMITS.c.version > after)
        .order_by(COMMITS.c.version)
        .limit(limit)
    )
    found = []
    if after and not before:
        before = read_state(connection, place.branch_id, after) or b""
    for row in connection.execute(statement):
        stored, before = decoded(row, place.head.branch, before)
        found.append(stored)
    return found, before


def decoded(row: Row[Any], branch: str, before: bytes) -> tuple[StoredCommit, bytes]:
    """Return a commit, and its state as bytes, which the next row is written against."""
    record = state = None
    data, problem = b"", ""
    try:
        if row.record is not None:
            record = json.loads(unsqueezed(row.record))
        if row.state is not None:
            data = unsqueezed(row.state, b"" if row.is_whole else before)
            state = json.loads(data)
    except (zlib.error, ValueError, TypeError) as error:
        problem = f"the row, or one before it, is damaged: {error}"
    stored = StoredCommit(
        branch, row.version, row.kind, row.parent, row.hash, row.policy, row.epoch, row.turn,
        (row.first_seq, row.last_seq), row.seq, row.at, record, state, row.id, problem,
    )  # fmt: skip
    return stored, data


_HEADS = (
    select(
        THREADS.c.id, THREADS.c.thread, THREADS.c.tenant, THREADS.c.user, THREADS.c.agent,
        BRANCHES.c.id.label("branch_id"), BRANCHES.c.name,
        HEADS.c.hash, HEADS.c.version, HEADS.c.epoch, HEADS.c.seq,
    )
    .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
    .outerjoin(HEADS, HEADS.c.branch_id == BRANCHES.c.id)
    .where(BRANCHES.c.id > bindparam("after"))
    .order_by(BRANCHES.c.id)
    .limit(PAGE)
)  # fmt: skip


def head_page(
    connection: Connection, after: int, prefixes: Mapping[str, str]
) -> list[tuple[int, Head]]:
    """Return the heads of branches after a branch's row, those of threads whose names begin so."""
    statement = _HEADS
    for name, prefix in prefixes.items():
        if name not in ("thread", "tenant", "user", "agent"):
            raise InputError(
                f"threads have no {name!r}", where="filter", hint="thread, tenant, user or agent"
            )
        start = func.substr(THREADS.c[name], 1, len(prefix))
        statement = statement.where(start == prefix)
    found = []
    for row in connection.execute(statement, {"after": after}):
        key = ThreadKey(row.thread, row.tenant, row.user, row.agent)
        head = Head(key, row.name, row.hash or "", row.version or 0, row.epoch or 0, row.seq or 0)
        found.append((row.branch_id, head))
    return found


def flat(refs: Iterable[Any]) -> list[str]:
    """Return refs of strings, or of entries of a tail."""
    return [each if isinstance(each, str) else str(each.ref) for each in refs]

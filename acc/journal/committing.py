"""Commit by compare-and-swap on the head of a branch (law 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, text

from acc.errors import ConflictError, StateError
from acc.journal import places
from acc.journal.appending import RECORD, TAKEN, Desk, conflict
from acc.journal.names import Appended, Head, ThreadKey
from acc.journal.places import Place
from acc.journal.policies import policy_body
from acc.journal.record import Entry, as_bytes, packed, record_of, squeezed
from acc.journal.states import WHOLE_EVERY, read_state
from acc.journal.tables import COMMITS, HEADS, MESSAGES, POLICIES, TURNS
from acc.tail import Message

ADD_COMMIT = COMMITS.insert()


def commit(
    connection: Connection,
    desk: Desk,
    key: ThreadKey,
    branch: str,
    entries: Sequence[Entry[Any]],
    follows: str,
    *,
    epoch: int | None = None,
    turn: Appended | None = None,
    place: Place | None = None,
) -> Head:
    """Append commits if the head is ``follows``. ``place`` is where the branch lies, if this transaction knows."""
    place = place or places.find(connection, key, branch)
    if place is None and turn is None and entries and entries[0].kind == "taken" and not follows:
        place = places.create(connection, key, desk.now)
    if place is None:
        raise places.missing(connection, key, branch, desk.digest_key)
    head = place.head
    if not entries or head.hash == entries[-1].commit.state.hash:  # repeated: it is there
        return head
    if head.hash != follows:
        raise conflict(connection, place, follows)
    if epoch is not None and head.epoch != epoch:
        raise ConflictError(
            f"somebody took the branch over: its epoch is {head.epoch}, not {epoch}",
            where=f"{key}, branch {branch}",
            hint="read the head and step again from it",
        )
    _check(entries, place, turn)
    if turn is not None:
        take(connection, place, turn, entries[0].turn, entries[0].commit.state.version)
        _leave_no_record(connection, place, turn)
    return _write(connection, desk, place, entries, turn)


def _check(entries: Sequence[Entry[Any]], place: Place, turn: Appended | None) -> None:
    """Raise `StateError` if the commits do not follow each other, or took another turn."""
    parent, version = place.head.hash, place.head.version
    for number, entry in enumerate(entries):
        state = entry.commit.state
        is_next = state.version == version + 1 and (state.parent == parent or not parent)
        if entry.kind == "step" and not is_next:
            raise _unfit(f"version {state.version} does not follow version {version}", place)
        if state.branch != place.head.branch:
            raise _unfit(f"the state is of branch {state.branch}", place)
        refs = tuple(message.ref for message in entry.turn)
        if refs != (turn.refs if turn is not None and number == 0 else ()):
            raise _unfit(f"version {state.version} took other messages than were appended", place)
        parent, version = state.hash, state.version


def _unfit(what: str, place: Place) -> StateError:
    return StateError(
        what,
        where=f"{place.head.thread}, branch {place.head.branch}",
        hint="commit what one step made, in its order, with the turn that was appended for it",
    )


_MOVE = (
    MESSAGES.update()
    .where(MESSAGES.c.id == bindparam("of_row"))
    .values(turn=bindparam("to_turn"), ref=bindparam("to_ref"))
)
_MARK = (
    MESSAGES.update()
    .where(
        MESSAGES.c.branch_id == bindparam("of_branch"), MESSAGES.c.seq >= bindparam("first"),
        MESSAGES.c.seq <= bindparam("last"), MESSAGES.c.version == 0, MESSAGES.c.digest != "",
    )
    .values(version=bindparam("taken_by"))
)  # fmt: skip


def take(
    connection: Connection, place: Place, turn: Appended, messages: Sequence[Message], version: int
) -> None:
    """Mark the messages of a turn that was appended before as taken.

    If they waited for another turn than that which takes them, they get its number and refs: what was said has one
    row, whoever takes it.
    """
    if turn.is_committed:
        return
    span = {"of_branch": place.branch_id, "first": turn.first, "last": turn.last}
    where = {"branch_id": place.branch_id, "first": turn.first, "last": turn.last}
    rows = [r for r in connection.execute(TAKEN, where) if not r.version and r.digest]
    both = zip(rows, messages, strict=False)
    moved = [(r, m) for r, m in both if r.turn != m.turn or r.ref != m.ref]
    for row, message in moved:
        given = {"of_row": row.id, "to_turn": message.turn, "to_ref": message.ref}
        connection.execute(_MOVE, given)
    if moved:
        _name_again(connection, place, turn, moved[0][1].turn)
    done = connection.execute(_MARK, {**span, "taken_by": version})
    if done.rowcount != len(turn.refs):
        raise ConflictError(
            "the turn is not in the journal any more",
            where=f"{place.head.thread}, branch {place.head.branch}",
            hint="append it again",
        )


def _name_again(connection: Connection, place: Place, turn: Appended, number: int) -> None:
    """Let the turns of a span be found by another number, too: refs name it, and a repeated step names the old one."""
    own = (
        (TURNS.c.branch_id == place.branch_id)
        & (TURNS.c.first_seq >= turn.first) & (TURNS.c.last_seq <= turn.last)
    )  # fmt: skip
    rows = connection.execute(select(TURNS).where(own)).mappings().all()
    known = {row["identity"] for row in rows if row["number"] == number}
    new = {r["identity"]: {**r, "number": number} for r in rows if r["identity"] not in known}
    if new:
        connection.execute(TURNS.insert(), list(new.values()))


_LEFT = select(MESSAGES.c.id).join(
    TURNS,
    (TURNS.c.branch_id == MESSAGES.c.branch_id)
    & (TURNS.c.first_seq <= MESSAGES.c.seq) & (TURNS.c.last_seq >= MESSAGES.c.seq),
).where(
    MESSAGES.c.branch_id == bindparam("of_branch"), MESSAGES.c.seq > bindparam("after"),
    MESSAGES.c.seq < bindparam("last"), MESSAGES.c.version == 0, MESSAGES.c.digest != "",
    func.substr(TURNS.c.identity, 1, len(RECORD)) == RECORD,
).limit(1)  # fmt: skip


class Overtaken(ConflictError):
    """Words were recorded after the step had read what waits. They belong to it: it has to be made again."""


def _leave_no_record(connection: Connection, place: Place, turn: Appended) -> None:
    """Raise `Overtaken` if recorded words lie before the end of a turn that does not hold them."""
    where = {"of_branch": place.branch_id, "after": place.head.seq, "last": turn.last}
    if connection.execute(_LEFT, where).first() is not None:
        raise Overtaken(
            "words were recorded while the step was made",
            where=f"{place.head.thread}, branch {place.head.branch}",
            hint="repeat the step with the same state and turn: it takes them along",
        )


_HEAD = (
    HEADS.update()
    .where(HEADS.c.branch_id == bindparam("of_branch"), HEADS.c.hash == bindparam("old"))
    .values(hash=bindparam("new"), version=bindparam("to"), seq=bindparam("up_to"))
)
_KEEP_POLICY = text(
    "INSERT INTO policies (fingerprint, body) VALUES (:fingerprint, :body) ON CONFLICT DO NOTHING"
)
_POLICY = select(POLICIES.c.fingerprint).where(POLICIES.c.fingerprint == bindparam("fingerprint"))


def _write(
    connection: Connection,
    desk: Desk,
    place: Place,
    entries: Sequence[Entry[Any]],
    turn: Appended | None,
) -> Head:
    head = place.head
    before = desk.recent.get(head.hash) or _read_head(connection, place)
    seq = head.seq if turn is None else turn.last
    rows = []
    for number, entry in enumerate(entries):
        state = entry.commit.state
        body = state.canonical()
        data = as_bytes(body)
        is_whole = not before or entry.kind != "step" or state.version % WHOLE_EVERY == 1
        own = turn if number == 0 else None
        rows.append(
            {
                **commit_row(place, body, entry.kind, desk.now),
                "epoch": head.epoch, "first_seq": own.first if own else 0, "seq": seq,
                "last_seq": own.last if own else 0, "is_whole": int(is_whole),
                "record": packed(record_of(entry)),
                "state": squeezed(data, b"" if is_whole else before),
            }
        )  # fmt: skip
        desk.recent.put(state, data)
        before = data
        keep_policy(connection, entry)
    connection.execute(ADD_COMMIT, rows)
    last = entries[-1].commit.state
    return move_head(connection, place, last.hash, last.version, seq)


def keep_policy(connection: Connection, entry: Entry[Any]) -> None:
    """Keep the numbers of a policy that is not known yet."""
    fingerprint = {"fingerprint": entry.policy.fingerprint}
    if connection.execute(_POLICY, fingerprint).first() is None:
        connection.execute(_KEEP_POLICY, {**fingerprint, "body": policy_body(entry.policy)})


def commit_row(place: Place, body: Mapping[str, Any], kind: str, now: str) -> dict[str, Any]:
    """Return a row of commits for a state; without messages, record and body."""
    return {
        "branch_id": place.branch_id, "version": body.get("version", 0), "kind": kind,
        "parent": body.get("parent", ""), "hash": body["hash"], "policy": body.get("policy", ""),
        "epoch": place.head.epoch, "turn": body.get("turn", 0), "first_seq": 0, "last_seq": 0,
        "seq": place.head.seq, "at": now, "is_whole": 1,
    }  # fmt: skip


def _read_head(connection: Connection, place: Place) -> bytes:
    if not place.is_begun:
        return b""
    return read_state(connection, place.branch_id, place.head.version) or b""


def move_head(connection: Connection, place: Place, to: str, version: int, seq: int) -> Head:
    head = place.head
    if not place.is_begun:
        row = {
            "branch_id": place.branch_id,
            "hash": to,
            "version": version,
            "epoch": head.epoch,
            "seq": seq,
        }
        connection.execute(HEADS.insert(), row)
    else:
        moved = {
            "of_branch": place.branch_id,
            "old": head.hash,
            "new": to,
            "to": version,
            "up_to": seq,
        }
        if connection.execute(_HEAD, moved).rowcount != 1:  # on a database that locks rows only
            raise conflict(connection, place, head.hash)
    return Head(head.thread, head.branch, to, version, head.epoch, seq)

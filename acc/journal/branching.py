"""Fork a branch, take one over, and commit states that are made without their class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from acc.errors import ConflictError, StateError
from acc.journal import places
from acc.journal.appending import Desk
from acc.journal.committing import ADD_COMMIT, commit_row, move_head
from acc.journal.names import MAIN, Appended, Head, ThreadKey
from acc.journal.places import Place
from acc.journal.record import packed
from acc.journal.states import body_of, read_state
from acc.journal.tables import HEADS
from acc.text.lines import sha256_of


def append_body(
    connection: Connection,
    desk: Desk,
    place: Place,
    body: Mapping[str, Any],
    kind: str,
    turn: Appended | None = None,
) -> Head:
    """Append a state that was made without its class, as of a fork, an erasure or documents."""
    row = {**commit_row(place, body, kind, desk.now), "record": packed({}), "state": packed(body)}
    seq = place.head.seq
    if turn is not None:
        row |= {"first_seq": turn.first, "last_seq": turn.last, "seq": turn.last}
        seq = turn.last
    connection.execute(ADD_COMMIT, row)
    return move_head(connection, place, body["hash"], body["version"], seq)


def successor(body: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the state after ``body`` with some fields changed, sealed."""
    made = {k: v for k, v in body.items() if k != "hash"}
    made |= {"version": body.get("version", 0) + 1, "parent": body["hash"], **changes}
    made = {key: value for key, value in made.items() if value not in ([], "", 0, None)}
    return {"hash": sha256_of(made), **made}


def fork(connection: Connection, desk: Desk, key: ThreadKey, at: str, branch: str) -> Head:
    """Begin a branch after the commit with the hash ``at``."""
    main = places.found(connection, key, MAIN, desk.digest_key)
    if places.find(connection, key, branch) is not None:
        raise ConflictError(
            f"branch {branch} is there already", where=str(key), hint="give it another name"
        )
    names = places.branch_names(connection, main.thread_id)
    row = places.commit_with(connection, names, at)
    data = row and read_state(connection, row.branch_id, row.version)
    if row is not None and not data:
        raise StateError(
            "this state was erased", where=str(key),
            hint="delete the thread's checkpoints; give None to go on from what is left",
        )  # fmt: skip
    if row is None or not data:
        raise StateError(
            f"the journal does not hold the state {at[:16]}", where=str(key),
            hint="fork from a commit that acc show lists",
        )  # fmt: skip
    parent = places.found(connection, key, names[row.branch_id], desk.digest_key)
    ancestry = ((row.branch_id, row.seq), *parent.ancestry)
    made = places.add_branch(connection, key, main.thread_id, branch, ancestry, desk.now)
    head = Head(key, branch, seq=row.seq)
    place = Place(made.thread_id, made.branch_id, ancestry, head, is_begun=False)
    return append_body(connection, desk, place, successor(body_of(data), branch=branch), "fork")


def take_over(connection: Connection, desk: Desk, key: ThreadKey, branch: str) -> Head:
    """Raise the epoch of a branch."""
    place = places.found(connection, key, branch, desk.digest_key)
    connection.execute(
        HEADS.update().where(HEADS.c.branch_id == place.branch_id).values(epoch=HEADS.c.epoch + 1)
    )
    return places.found(connection, key, branch, desk.digest_key).head

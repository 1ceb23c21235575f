"""Documents in the journal: messages of a thread of their own, whose states say nothing.

A document is no turn of a conversation: no compressor reads it, and it stands in no tail. Its commits only number its
parts, so that a branch's chain, digests and index hold for it as for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from acc.errors import InputError
from acc.journal import appending, places
from acc.journal.appending import Desk
from acc.journal.branching import append_body, successor
from acc.journal.names import MAIN, Appended, ThreadKey
from acc.journal.tables import MESSAGES
from acc.state.model import CompressedCognitiveState
from acc.tail import Message


def ingest(
    connection: Connection, desk: Desk, key: ThreadKey, messages: Sequence[Message]
) -> Appended:
    """Write the parts of documents that are not there, and commit them."""
    place = places.find(connection, key)
    there = _there(connection, place, [m.ref for m in messages]) if place else set()
    new = [message for message in messages if message.ref not in there]
    head = place.head if place else None
    if head is not None and messages and not new:
        refs = tuple(message.ref for message in messages)
        return Appended(head, 0, 0, refs, False, True, b"")
    if not new:
        raise InputError("there is nothing to ingest", where=str(key), hint="give parts with refs")
    version = (head.version if head else 0) + 1
    turn, place = appending.append(
        connection, desk, key, MAIN, new, head.hash if head else "", version=version
    )
    body = CompressedCognitiveState.empty().canonical()
    made = {**body, "hash": place.head.hash or body["hash"], "version": version - 1}
    made = successor(made, turn=version)
    done = append_body(connection, desk, place, made, "ingest", turn)
    return Appended(done, turn.first, turn.last, turn.refs, True, True, turn.identity)


def _there(connection: Connection, place: places.Place, refs: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(refs), 500):
        statement = select(MESSAGES.c.ref).where(
            MESSAGES.c.branch_id == place.branch_id, MESSAGES.c.digest != "",
            MESSAGES.c.ref.in_(refs[start : start + 500]),
        )  # fmt: skip
        found |= {row.ref for row in connection.execute(statement)}
    return found

"""Rows of messages and commits as the journal gives them out."""

from __future__ import annotations

import json
import zlib
from typing import Any

from sqlalchemy import Row

from acc.journal.faults import damaged
from acc.journal.names import StoredCommit
from acc.journal.record import unsqueezed
from acc.tail import Message
from acc.turn.observations import Channel, Observation


def message_of(row: Row[Any]) -> Message:
    """Return the message of a row.

    Raises:
        AuditError: It holds what no message can.
    """
    try:
        seen = Observation(
            channel=Channel(row.channel), text=row.text, name=row.name, call_id=row.call_id,
            ref=row.ref, left_out=row.left_out, message=row.message_id, at=row.at,
        ).as_split()  # fmt: skip
    except ValueError as error:
        what = f"row {row.id} of the messages was changed: {error}"
        raise damaged(what, f"message {row.ref}") from error
    return Message(seen, row.turn, row.at)


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

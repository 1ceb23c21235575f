"""Messages, states and records as the rows of the tables hold them."""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, bindparam

from acc.journal.database import damaged
from acc.journal.names import StoredCommit
from acc.journal.tables import COMMITS, WHOLE_COMMITS
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

S = TypeVar("S", bound=CompressedCognitiveState)

MOST_RECENT = 64

_STATE = WHOLE_COMMITS.where(
    COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.version == bindparam("version")
)
_DAMAGED = (zlib.error, ValueError, TypeError)


class Recent:
    """The last states that were committed, by hash, for all threads of a journal.

    A hash names its state, so that nothing in here is ever out of date.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[str, CompressedCognitiveState] = OrderedDict()

    def get(self, digest: str, schema: type[S]) -> S | None:
        """Return the state with this hash, if it is of this class."""
        found = self._held.get(digest)
        return found if found is not None and type(found) is schema else None

    def put(self, state: CompressedCognitiveState) -> None:
        """Keep a state, and let go of the oldest."""
        self._held[state.hash] = state
        if len(self._held) > MOST_RECENT:
            with suppress(KeyError):
                self._held.popitem(last=False)

    def clear(self) -> None:
        """Forget every state: something was erased."""
        self._held.clear()


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


def commit_of(row: Row[Any], branch: str) -> StoredCommit:
    """Return the commit of a row; a damaged one says so."""
    record = state = None
    problem = ""
    try:
        record, state = unpacked(row.record), _state_of(row)
    except _DAMAGED as error:
        problem = f"the row is damaged: {error}"
    return StoredCommit(
        branch, row.version, row.kind, row.parent, row.hash, row.policy, row.turn,
        (row.first_seq, row.last_seq), row.seq, row.at, record, state, row.id, problem,
    )  # fmt: skip


def read_state(connection: Connection, branch_id: int, version: int) -> Mapping[str, Any]:
    """Return a state's canonical form.

    Raises:
        AuditError: Its row is damaged or missing.
    """
    given = {"branch_id": branch_id, "version": version}
    row = connection.execute(_STATE, given).first()
    if row is None:
        raise damaged(f"version {version} is missing", f"branch row {branch_id}")
    try:
        return _state_of(row)
    except _DAMAGED as error:
        what = f"the state of row {row.id} in commits is damaged"
        raise damaged(what, f"branch row {branch_id}") from error


def _state_of(row: Row[Any]) -> Mapping[str, Any]:
    return unpacked(row.state, row.whole if row.base else b"")


def packed(body: Any, whole: bytes = b"") -> bytes:
    """Return compressed JSON, written against another that was packed whole, if one is given.

    It is in ASCII: any text goes through it, lone surrogates of a model's answer, too.
    """
    data = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    machine = zlib.compressobj(zdict=_shared(whole)) if whole else zlib.compressobj()
    return machine.compress(data) + machine.flush()


def unpacked(data: bytes, whole: bytes = b"") -> Mapping[str, Any]:
    """Return what `packed` was given; raise one of `_DAMAGED` if it cannot be read."""
    machine = zlib.decompressobj(zdict=_shared(whole)) if whole else zlib.decompressobj()
    body: Mapping[str, Any] = json.loads(machine.decompress(data) + machine.flush())
    return body


def _shared(whole: bytes) -> bytes:
    """Return the last 32 KB of what was packed whole: more does not fit into the window of the compression."""
    return zlib.decompress(whole)[-32_768:]

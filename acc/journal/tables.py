"""The tables as SQLAlchemy Core sees them, and messages, states and records as their rows hold them.

The migrations make the tables (`acc.journal.connecting.migrate`). A state of 12 KB differs from the one before by a few
hundred bytes: each is written against the one before, and whole every few commits. To read one takes at most
`WHOLE_EVERY` rows, however long the thread is.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    text,
)

from acc.journal.database import damaged
from acc.journal.names import StoredCommit
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

S = TypeVar("S", bound=CompressedCognitiveState)

METADATA = MetaData()


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _number(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


FORMAT = Table(
    "format", METADATA, Column("number", Integer, primary_key=True), *_text("written_by", "at")
)

THREADS = Table(
    "threads", METADATA, _id(), *_text("tenant", "user", "agent", "thread", "created")
)  # fmt: skip

BRANCHES = Table(
    "branches", METADATA, _id(), *_number("thread_id"), *_text("name", "ancestry", "created")
)

HEADS = Table(
    "heads", METADATA, Column("branch_id", Integer, primary_key=True),
    *_text("hash"), *_number("version", "epoch", "seq"),
)  # fmt: skip

TURNS = Table(
    "turns", METADATA, Column("branch_id", Integer, primary_key=True),
    Column("number", Integer, primary_key=True), Column("identity", LargeBinary, primary_key=True),
    *_number("first_seq", "last_seq"),
)  # fmt: skip

MESSAGES = Table(
    "messages", METADATA, _id(), *_number("branch_id", "seq", "version", "turn"),
    *_text("ref", "channel", "name", "call_id", "message_id", "text"), *_number("left_out"),
    *_text("at", "digest"),
)  # fmt: skip

COMMITS = Table(
    "commits", METADATA, _id(), *_number("branch_id", "version"),
    *_text("kind", "parent", "hash", "policy"),
    *_number("epoch", "turn", "first_seq", "last_seq", "seq"), *_text("at"), *_number("is_whole"),
    Column("record", LargeBinary), Column("state", LargeBinary),
)  # fmt: skip

POLICIES = Table(
    "policies", METADATA, Column("fingerprint", Text, primary_key=True), *_text("body")
)

TOMBSTONES = Table(
    "tombstones", METADATA, _id(), *_number("branch_id", "seq"),
    *_text("ref", "message_id", "digest", "at", "why"),
)  # fmt: skip

HOLDS = Table("holds", METADATA, _id(), *_number("thread_id"), *_text("ref", "reason", "at"))

FEEDBACK = Table(
    "feedback", METADATA, _id(), *_number("thread_id"), *_text("branch"), *_number("turn"),
    *_text("ref"), Column("utility", Float, nullable=False), *_text("at"),
)  # fmt: skip

COPIES = Table("copies", METADATA, _id(), *_text("path", "what", "at"))

KEYS = Table(
    "keys", METADATA, Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)  # fmt: skip

INDEXES = Table("indexes", METADATA, Column("place", Text, primary_key=True))

OF_A_THREAD = (HOLDS, FEEDBACK)
"""The tables whose rows belong to one thread."""

OF_A_BRANCH = (HEADS, TURNS, MESSAGES, COMMITS, TOMBSTONES)
"""The tables whose rows belong to one branch."""

WHOLE_EVERY = 32

MOST_RECENT = 64

_CHAIN = text(
    "SELECT version, is_whole, state, id FROM commits WHERE branch_id = :branch_id AND version <= :version"
    f" ORDER BY version DESC LIMIT {WHOLE_EVERY}"
)


class Recent:
    """The last states by hash, for all threads of a journal: as bytes, and as the values that were committed.

    A hash names its state, so that nothing in here is ever out of date.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[str, tuple[bytes, CompressedCognitiveState]] = OrderedDict()

    def get(self, digest: str) -> bytes | None:
        """Return the state with this hash as bytes."""
        found = self._held.get(digest)
        return found[0] if found else None

    def value(self, digest: str, schema: type[S]) -> S | None:
        """Return the state with this hash, if it is of this class."""
        found = self._held.get(digest)
        return found[1] if found and type(found[1]) is schema else None

    def put(self, state: CompressedCognitiveState, data: bytes) -> None:
        """Keep a state, and let go of the oldest."""
        self._held[state.hash] = data, state
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


def read_state(connection: Connection, branch_id: int, version: int) -> bytes | None:
    """Return a state as it was written; None where an erasure blanked it.

    Raises:
        AuditError: Rows of it are damaged or missing.
    """
    rows = connection.execute(_CHAIN, {"branch_id": branch_id, "version": version}).all()
    if rows and rows[0].version == version and rows[0].state is None:
        return None
    needed = []
    for row in rows:
        needed.append(row)
        if row.is_whole:
            break
    is_chain = [row.version for row in needed] == [version - n for n in range(len(needed))]
    if not needed or not needed[-1].is_whole or not is_chain:
        raise damaged(f"rows before version {version} are missing", f"branch row {branch_id}")
    data = b""
    for row in reversed(needed):
        try:
            data = unsqueezed(row.state, data)
        except (zlib.error, TypeError) as error:
            what = f"the state of row {row.id} in commits is damaged"
            raise damaged(what, f"branch row {branch_id}") from error
    return data


def body_of(data: bytes) -> Mapping[str, Any]:
    """Return a state's canonical form."""
    body: Mapping[str, Any] = json.loads(data)
    return body


def packed(body: Any, before: bytes = b"") -> bytes:
    """Return compressed JSON, written against ``before``: what both share takes no room."""
    return squeezed(as_bytes(body), before)


def squeezed(data: bytes, before: bytes = b"") -> bytes:
    """Return ``data`` compressed."""
    if not before:
        return zlib.compress(data)
    machine = zlib.compressobj(zdict=before[-32_768:])
    return machine.compress(data) + machine.flush()


def unsqueezed(data: bytes, before: bytes = b"") -> bytes:
    """Return what `squeezed` was given.

    Raises:
        zlib.error: The data is damaged, or was written against something else.
    """
    if not before:
        return zlib.decompress(data)
    machine = zlib.decompressobj(zdict=before[-32_768:])
    return machine.decompress(data) + machine.flush()


def as_bytes(body: Any) -> bytes:
    """Return JSON in ASCII: any text goes through it unchanged, lone surrogates of a model's answer, too."""
    return json.dumps(body, separators=(",", ":"), sort_keys=True).encode()

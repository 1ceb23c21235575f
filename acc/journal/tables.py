"""The tables of a journal, and what their rows hold of messages and commits."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    inspect,
    select,
)

from acc.errors import InputError, StoreError
from acc.journal.database import Database, damaged, told
from acc.journal.names import StoredCommit
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

METADATA = MetaData()

_DAMAGED = (zlib.error, ValueError, TypeError)

_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _number(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


def _id() -> Column[int]:
    return Column("id", _NUMBER, primary_key=True)


def _of(name: str, table: str, *, is_key: bool = False) -> Column[int]:
    """Return the column that names the thread or branch which a row belongs to."""
    return Column(name, _NUMBER, ForeignKey(f"{table}.id"), primary_key=is_key, nullable=False)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


FORMAT = Table(
    "format",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    *_text("at"),
)

THREADS = Table(
    "threads", METADATA, _id(), *_text("tenant", "user", "agent", "thread", "created"),
    UniqueConstraint("tenant", "user", "agent", "thread"), sqlite_autoincrement=True,
)  # fmt: skip
"""A conversation, by the names that its application gave. No number is given again."""

NAMES = THREADS.c.thread, THREADS.c.tenant, THREADS.c.user, THREADS.c.agent
"""The names of a thread, as a `acc.journal.names.ThreadKey` takes them."""

BRANCHES = Table(
    "branches", METADATA, _id(), _of("thread_id", "threads"), *_text("name", "ancestry", "created"),
    UniqueConstraint("thread_id", "name"), sqlite_autoincrement=True,
)  # fmt: skip
"""A line of commits. ``ancestry`` is a JSON list of [branch, up to seq], the nearest first: what it sees of others."""

HEADS = Table(
    "heads", METADATA, _of("branch_id", "branches", is_key=True),
    *_text("hash"), *_number("version", "epoch", "seq"),
)  # fmt: skip
"""The last commit of each branch. The only row that a commit overwrites, by compare-and-swap."""

TURNS = Table(
    "turns", METADATA, _of("branch_id", "branches", is_key=True),
    Column("number", BigInteger, primary_key=True), Column("identity", LargeBinary, primary_key=True),
    *_number("first_seq", "last_seq"), sqlite_with_rowid=False,
)  # fmt: skip
"""A turn as it was appended, by a digest of its messages and of the head that it followed."""

MESSAGES = Table(
    "messages", METADATA, _id(), _of("branch_id", "branches"), *_number("seq", "version", "turn"),
    *_text("ref", "channel", "name", "call_id", "message_id", "text"), *_number("left_out"),
    *_text("at", "digest"), UniqueConstraint("branch_id", "seq"),
    Index("messages_by_ref", "branch_id", "ref"),
)  # fmt: skip
"""What was said. ``version`` is that of the commit that took the message; 0 while none has."""

COMMITS = Table(
    "commits", METADATA, _id(), _of("branch_id", "branches"), *_number("version"),
    *_text("kind", "parent", "hash", "policy"),
    *_number("turn", "first_seq", "last_seq", "seq"), *_text("at"),
    _bytes("record"), _bytes("state"), *_number("base"), UniqueConstraint("branch_id", "version"),
)  # fmt: skip
"""What a commit made, and of what. ``record`` and ``state`` are compressed JSON; a state is written against that of the
version ``base``, unless it is 0: what both share takes no room."""

_BASE = COMMITS.alias("base")
_ON_BASE = (_BASE.c.branch_id == COMMITS.c.branch_id) & (_BASE.c.version == COMMITS.c.base)

WHOLE_COMMITS = select(COMMITS, _BASE.c.state.label("whole")).join(_BASE, _ON_BASE, isouter=True)
"""Commits with what their states are written against."""

_STATE = WHOLE_COMMITS.where(
    COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.version == bindparam("version")
)

POLICIES = Table(
    "policies", METADATA, Column("fingerprint", Text, primary_key=True), *_text("body")
)
"""The numbers of each policy that commits name by fingerprint, as JSON."""

TOMBSTONES = Table(
    "tombstones", METADATA, _id(), *_number("branch_id", "seq"),
    *_text("ref", "message_id"), Column("digest", Text, nullable=False, index=True), *_text("at"),
)  # fmt: skip
"""What an erasure blanked. A state that it took away has a row with its hash, no ref and number 0; a thread that was
deleted, a row of branch 0 with a digest of its names. A row of branch -1 says what the index has yet to lose."""

HOLDS = Table(
    "holds", METADATA, _id(), _of("thread_id", "threads"), *_text("ref", "reason", "at"),
    UniqueConstraint("thread_id", "ref"),
)  # fmt: skip
"""What no deletion may touch: a message, or with an empty ref the whole thread."""

FEEDBACK = Table(
    "feedback", METADATA, _id(), _of("thread_id", "threads"), *_text("branch"), *_number("turn"),
    Column("utility", Double, nullable=False), *_text("at"),
)  # fmt: skip
"""How useful the evidence was that a turn admitted."""

KEYS = Table("keys", METADATA, Column("name", Text, primary_key=True), _bytes("value"))
"""Keys of the memory's own, made on first use: of the placeholders of secrets, and of marks."""

INDEXES = Table("indexes", METADATA, Column("place", Text, primary_key=True))
"""Where the memory's artifacts were ever indexed: an erasure has to reach all of it."""

FORMAT_NUMBER = 1
"""The format that this version writes."""

OF_A_THREAD = (HOLDS, FEEDBACK)
"""The tables whose rows belong to one thread."""

OF_A_BRANCH = (HEADS, TURNS, MESSAGES, COMMITS, TOMBSTONES)
"""The tables whose rows belong to one branch."""


def prepare(database: Database, now: str, *, reads_only: bool = False) -> None:
    """Make the tables if there are none.

    Raises:
        StoreError: A newer version wrote the journal, or the database holds something else.
        InputError: Nothing may be written, and there is no journal.
    """

    def make(connection: Connection) -> None:
        if not _is_made(connection, database.where):  # nobody was faster
            METADATA.create_all(connection)
            connection.execute(FORMAT.insert(), {"number": FORMAT_NUMBER, "at": now})

    with told(database.where), database.read() as connection:
        is_made = _is_made(connection, database.where)
    if not is_made and reads_only:
        raise InputError(
            "there is no memory",
            where=database.where, hint="open it to write once: MemoryController.open",
        )  # fmt: skip
    if not is_made:
        database.write(make)


def _is_made(connection: Connection, where: str) -> bool:
    """Whether the database has a journal; raise `StoreError` for one that this version cannot use."""
    names = set(inspect(connection).get_table_names())
    own = names & METADATA.tables.keys()
    # beside tables of others a server's database may begin a journal, a file may not
    if not (own if connection.dialect.name == "postgresql" else names):
        return False
    if not {"format", "heads"} <= own:
        raise StoreError(
            "the database holds no journal, but other tables", where=where,
            hint="name another folder, or a schema of its own: ?options=-csearch_path=acc",
        )  # fmt: skip
    number = connection.execute(select(func.max(FORMAT.c.number))).scalar() or 0
    if number > FORMAT_NUMBER:
        raise StoreError(
            f"the journal has format {number}, this version writes {FORMAT_NUMBER}",
            where=where, hint="update the package",
        )  # fmt: skip
    return True


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

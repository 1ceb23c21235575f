"""The tables, and messages, states and records as their rows hold them.

SQLAlchemy makes the tables from here, in SQLite as in PostgreSQL (`prepare`).
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
    inspect,
    select,
    text,
)

from acc.errors import InputError, StoreError
from acc.journal.database import Database, damaged, told
from acc.journal.names import StoredCommit
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

S = TypeVar("S", bound=CompressedCognitiveState)

METADATA = MetaData()

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
    _bytes("record"), _bytes("state"), UniqueConstraint("branch_id", "version"),
)  # fmt: skip
"""What a commit made, and of what. ``record`` and ``state`` are compressed JSON."""

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

COPIES = Table("copies", METADATA, _id(), *_text("path", "what", "at"))
"""Files to which the journal or a part of it was copied. An erasure names them."""

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

MOST_RECENT = 64

_STATE = text("SELECT id, state FROM commits WHERE branch_id = :branch_id AND version = :version")
_DAMAGED = (zlib.error, ValueError, TypeError)


def prepare(database: Database, now: str, *, reads_only: bool = False) -> None:
    """Make the tables if there are none.

    Raises:
        StoreError: A newer version wrote the journal, or the database holds something else.
        InputError: Nothing may be written, and there is no journal.
    """

    def make(connection: Connection) -> None:
        if not _found(connection, database.where):  # nobody was faster
            METADATA.create_all(connection)
            row = {"number": FORMAT_NUMBER, "at": now}
            connection.execute(FORMAT.insert(), row)

    with told(database.where), database.read() as connection:
        found = _found(connection, database.where)
    if found:
        return
    if reads_only:
        raise InputError(
            "there is no memory",
            where=database.where, hint="open it to write once: MemoryController.open",
        )  # fmt: skip
    database.write(make)


def _found(connection: Connection, where: str) -> int:
    """Return the number of the format that the database has; 0 if it has none."""
    names = set(inspect(connection).get_table_names())
    own = names & METADATA.tables.keys()
    # beside tables of others a server's database may begin a journal, a file may not
    if not (own if connection.dialect.name == "postgresql" else names):
        return 0
    if not {"format", "heads"} <= own:
        raise StoreError(
            "the database holds no journal, but other tables", where=where,
            hint="name another folder, or a schema of its own: ?options=-csearch_path=acc",
        )  # fmt: skip
    number = max((row[0] for row in connection.execute(select(FORMAT.c.number))), default=0)
    if number > FORMAT_NUMBER:
        raise StoreError(
            f"the journal has format {number}, this version writes {FORMAT_NUMBER}",
            where=where,
            hint="update the package",
        )
    return number


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
        record, state = unpacked(row.record), unpacked(row.state)
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
        return unpacked(row.state)
    except _DAMAGED as error:
        what = f"the state of row {row.id} in commits is damaged"
        raise damaged(what, f"branch row {branch_id}") from error


def packed(body: Any) -> bytes:
    """Return compressed JSON, in ASCII: any text goes through it, lone surrogates of a model's answer, too."""
    return zlib.compress(json.dumps(body, separators=(",", ":"), sort_keys=True).encode())


def unpacked(data: bytes) -> Mapping[str, Any]:
    """Return what `packed` was given; raise one of `_DAMAGED` if it cannot be read."""
    body: Mapping[str, Any] = json.loads(zlib.decompress(data))
    return body

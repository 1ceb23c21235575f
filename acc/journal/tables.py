"""The tables of a journal."""

from __future__ import annotations

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
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
)

from acc.errors import InputError, StoreError
from acc.journal.database import Database, told

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
    _bytes("record"), _bytes("state"), *_number("base"), UniqueConstraint("branch_id", "version"),
)  # fmt: skip
"""What a commit made, and of what. ``record`` and ``state`` are compressed JSON; a state is written against that of the
version ``base``, unless it is 0: what both share takes no room."""

BASE = COMMITS.alias("base")
"""The commits that others are written against."""

ON_BASE = (BASE.c.branch_id == COMMITS.c.branch_id) & (BASE.c.version == COMMITS.c.base)

WHOLE_COMMITS = select(COMMITS, BASE.c.state.label("whole")).join(BASE, ON_BASE, isouter=True)
"""Commits with what their states are written against."""

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

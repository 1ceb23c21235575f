"""The tables as SQLAlchemy Core sees them. The migrations make them (`acc.journal.migrate`)."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, Table, Text

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

"""The journal: threads, turns, commits and heads in one transactional database."""

from acc.journal.journal import Journal, Latest
from acc.journal.keeping import Feedback, Hold, Tombstone
from acc.journal.names import (
    Appended,
    Damage,
    Head,
    Report,
    StoredCommit,
    StoredMessage,
    ThreadKey,
)
from acc.journal.record import Entry

__all__ = [
    "Appended",
    "Damage",
    "Entry",
    "Feedback",
    "Head",
    "Hold",
    "Journal",
    "Latest",
    "Report",
    "StoredCommit",
    "StoredMessage",
    "ThreadKey",
    "Tombstone",
]

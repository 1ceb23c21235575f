"""The journal: threads, turns, commits and heads in one transactional database."""

from acc.journal.aio import AsyncJournal
from acc.journal.erasing import Blanked
from acc.journal.journal import Journal, Latest
from acc.journal.keeping import Feedback, Hold, Tombstone
from acc.journal.names import Appended, Head, StoredMessage, ThreadKey
from acc.journal.reading import StoredCommit
from acc.journal.record import Entry
from acc.journal.verify import Damage, Report

__all__ = [
    "Appended",
    "AsyncJournal",
    "Blanked",
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

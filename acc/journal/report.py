"""What `verify` tells: what it counted, and what is not as it was written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from acc.journal.names import ThreadKey


@dataclass(frozen=True)
class Damage:
    """Something that is not as it was written.

    Attributes:
        thread: The thread.
        branch: Its branch.
        table: The table of the row.
        row: The row's id; 0 if rows are missing.
        what: What is wrong.
    """

    thread: ThreadKey
    branch: str
    table: str
    row: int
    what: str

    def __str__(self) -> str:
        return f"{self.thread}, branch {self.branch}: {self.table} row {self.row}: {self.what}"


@dataclass
class Report:
    """What `verify` found in some threads.

    Attributes:
        threads: Number of threads.
        messages: Messages whose digest was checked.
        recomputed: Commits that came out the same.
        reasons: Why others could not be recomputed, each with the number of commits.
        damages: What is wrong.
    """

    threads: int = 0
    messages: int = 0
    recomputed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)

    @property
    def unexplained(self) -> int:
        """How many commits could not be recomputed, without being damaged."""
        return self.reasons.total()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damages

    def add(self, other: Report) -> None:
        """Add what was found in other threads."""
        self.threads += other.threads
        self.messages += other.messages
        self.recomputed += other.recomputed
        self.reasons += other.reasons
        self.damages += other.damages

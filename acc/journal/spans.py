"""What turns and commits say of a branch's messages: which there are, and which commit took each.

Nothing recomputes a message that waits, or one of documents. These rows tell of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import select

from acc.journal.names import StoredMessage
from acc.journal.opened import Opened
from acc.journal.places import Place
from acc.journal.tables import COMMITS, TURNS

Span = tuple[int, int]
"""Numbers of the first and the last message."""


@dataclass
class Spans:
    """The spans of a branch's turns and commits at one moment.

    Attributes:
        of_turns: Spans by the number of the turn. One that was appended twice has several.
        of_commits: Spans by version, of the commits that took messages.
        found: The same as the rows of messages have it, as far as they were read.
        blanked: Numbers of messages that an erasure blanked.
        last: Number of the last message.
        later: The last version that is told of and was not there yet.
    """

    of_turns: dict[int, list[Span]] = field(default_factory=dict)
    of_commits: dict[int, Span] = field(default_factory=dict)
    found: dict[int, Span] = field(default_factory=dict)
    blanked: set[int] = field(default_factory=set)
    last: int = 0
    later: int = 0

    @classmethod
    def read(cls, journal: Opened, place: Place) -> Spans:
        """Return the spans of a branch."""
        spans = cls()
        turns = select(TURNS.c.number, TURNS.c.first_seq, TURNS.c.last_seq)
        for number, *span in journal._execute(turns.where(TURNS.c.branch_id == place.branch_id)):
            spans.of_turns.setdefault(number, []).append((span[0], span[1]))
            spans.last = max(spans.last, span[1])
        commits = select(COMMITS.c.version, COMMITS.c.first_seq, COMMITS.c.last_seq).where(
            COMMITS.c.branch_id == place.branch_id, COMMITS.c.last_seq > 0
        )
        for version, first, last in journal._execute(commits):
            spans.of_commits[version] = first, last
        return spans

    def problem(self, each: StoredMessage, version: int) -> str:
        """Return how a message's row contradicts turns and commits; empty if it does not.

        ``version``: that of the head. What a later commit took was taken since.
        """
        turns = self.of_turns.get(each.message.turn, ())
        if not any(first <= each.seq <= last for first, last in turns):
            return f"its turn {each.message.turn} does not hold the message {each.message.ref}"
        if not each.digest:  # nothing may be made of it any more
            self.blanked.add(each.seq)
        if each.version > version:
            self.later = max(self.later, each.version)
            return ""
        if not each.version:
            return ""
        first, last = self.of_commits.get(each.version, (0, 0))
        if not first <= each.seq <= last:
            return f"version {each.version} did not take the message {each.message.ref}"
        begun, _ = self.found.get(each.version, (each.seq, 0))
        self.found[each.version] = begun, each.seq
        return ""

    def missing(self) -> Iterator[str]:
        """Yield what commits tell of and no row of messages did."""
        for version, span in self.of_commits.items():
            ends = zip(span, self.found.get(version, (0, 0)), strict=True)
            if any(told != found and told not in self.blanked for told, found in ends):
                yield f"messages that version {version} took, {span[0]} to {span[1]}, are missing"

"""A sentence or clause with what stands around it."""

from __future__ import annotations

from typing import NamedTuple

from acc.compressors.rules.sentences import plain


class Spoken(NamedTuple):
    """A sentence or clause where it stands.

    Attributes:
        words: As they were said, or with straight apostrophes.
        before: The sentence or clause before it in the same message; or empty.
        after: The one after it.
    """

    words: str
    before: str = ""
    after: str = ""

    @property
    def plain(self) -> Spoken:
        """The same with straight apostrophes, which the cues are written in."""
        return Spoken(*(plain(text) for text in self))

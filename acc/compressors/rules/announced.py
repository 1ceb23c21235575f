"""Which cue tables match a sentence: features of `acc.compressors.rules.acts`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.compressors.rules import goal_cues, lifting, lookalikes, step_cues

_TABLES = {
    "hearsay": lookalikes.HEARSAY,
    "past": lookalikes.PAST,
    "fancy": lookalikes.FANCY,
    "joke": lookalikes.JOKE,
    "disclaimer": lookalikes.DISCLAIMER,
    "passing": lookalikes.PASSING,
    "happened": lookalikes.HAPPENED,
    "goal": goal_cues.GOALS,
    "small": goal_cues.SMALL,
    "done": goal_cues.DONE,
    "cancelled": goal_cues.CANCELLED,
    "lifted": lifting.LIFTED,
    "ended": lifting.ENDED,
    "swapped": lifting.SWAPPED,
    "changed": lifting.CHANGED,
    "open": step_cues.OPEN,
    "next": step_cues.NEXT,
}
_LETTER = re.compile(r"\\.|\(\?P[<=]\w+|[A-Z]")
"""A capital, where what is escaped and the names of groups come first."""


def _small(table: re.Pattern[str]) -> re.Pattern[str]:
    """What matches the texts in small letters that ``table`` does, which folds case: twice as fast."""
    return re.compile(_LETTER.sub(lambda m: m[0] if m[0][1:] else m[0].lower(), table.pattern))


_SMALL = {name: _small(table) for name, table in _TABLES.items()}


def announced(words: str, after: str) -> Iterator[str]:
    """Names of the tables with a cue in ``words``; and of what takes them back in ``after``."""
    small = words.lower()
    yield from (name for name, table in _SMALL.items() if table.search(small))
    if lookalikes.is_question(words, words.rstrip().endswith("?")):
        yield "question"
    if lookalikes.DISCLAIMER.search(after) or lookalikes.JOKE.match(after):
        yield "taken back"

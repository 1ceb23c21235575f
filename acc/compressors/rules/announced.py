"""Which cue tables match a sentence: features of `acc.compressors.rules.acts`."""

from __future__ import annotations

from collections.abc import Iterator

from acc.compressors.rules import goal_cues, lifting, lookalikes, trace

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
    "open": trace.OPEN,
    "next": trace.NEXT,
}


def announced(words: str, after: str) -> Iterator[str]:
    """Names of the tables with a cue in ``words``; and of what takes them back in ``after``."""
    yield from (name for name, pattern in _TABLES.items() if pattern.search(words))
    if lookalikes.is_question(words, words.rstrip().endswith("?")):
        yield "question"
    if lookalikes.DISCLAIMER.search(after) or lookalikes.JOKE.match(after):
        yield "taken back"

"""Turns of the usual size in words that are spread as those of natural text."""

from __future__ import annotations

import random
from itertools import accumulate

from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
_VOCABULARY = [a + b + c for a in _SYLLABLES for b in _SYLLABLES[::5] for c in _SYLLABLES[::14]]
_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(_VOCABULARY) + 1)))
"""Zipf's law: a few words everywhere, most words rare."""


def text(size: int, rng: random.Random) -> str:
    """Return some ``size`` characters of text; each tenth word is an identifier."""
    words: list[str] = []
    while sum(map(len, words)) + len(words) < size:
        word = rng.choices(_VOCABULARY, cum_weights=_WEIGHTS)[0]
        words.append(f"{word}-{rng.randrange(9999)}" if rng.random() < 0.1 else word)
    return " ".join(words)


def observed(number: int, rng: random.Random) -> Turn:
    """Return a turn: 300 bytes of the user, two tools of 1.5 KB, an answer of 600 bytes."""
    user = Observation(channel=Channel.USER, text=f"turn {number}: {text(300, rng)}")
    tools = [
        Observation(
            channel=Channel.TOOL, name=name, call_id=f"{name}{number}", text=text(1500, rng)
        )
        for name in ("logs", "metrics")
    ]
    return Turn(
        observations=(user, *tools, Observation(channel=Channel.AGENT, text=text(600, rng)))
    )

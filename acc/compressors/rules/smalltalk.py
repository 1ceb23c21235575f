"""Courtesies and chatter: nothing in the state makes room for them."""

from __future__ import annotations

from acc.compressors.rules.acts import acts
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.replies import agreed
from acc.compressors.rules.words import any_of, one_of
from acc.wording import marks

_COURTESY = any_of(
    r"^\W*" + one_of(
        """thanks, thank you, cheers, ta, good (?:morning|afternoon|evening|night), morning, hello, hi, hey,
        sounds good, looks good, great(?: job| work| stuff)?, nice(?: one| job| work)?, well done, perfect, lovely,
        brilliant, excellent, awesome, wonderful, you're (?:a star|welcome|the best|great), you rock, no worries,
        no problem, my pleasure, congrat\\w*, bravo, bye, goodbye, take care, sleep well, see you, enjoy,
        have a (?:good|nice|great|lovely)"""
    ) + r"\b(?!,? (?:but|and|so|now|can|could|please|then)\b)[^\d?]{0,60}$",
    r"^\W*(?:how are you|how's (?:it going|life)|any plans|what about you|and you|did you sleep)\b[^\d]{0,40}$",
)  # fmt: skip
"""A sentence that only greets, thanks, praises or chats."""

CHATTER = 0.75
"""Probability of an act that asks, states and lays down nothing, from which a sentence is chatter."""


def is_courtesy(said: Said) -> bool:
    """Whether a sentence only greets, thanks, praises or chats."""
    if _COURTESY.search(said.words):
        return True
    odds = acts(said.spoken)
    return not said.asks and not marks(said.words) and odds["other"] + odds["joke"] >= CHATTER


def is_chatter(reading: Reading) -> bool:
    """Whether nothing but courtesies is said in a turn, and nothing is done in it."""
    spoken = bool(reading.user) and not (reading.tools or reading.pasted or reading.foreign)
    return spoken and all(map(is_courtesy, reading.user)) and agreed(reading) is None

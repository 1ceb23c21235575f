"""Whether a text asks, and whether it only repeats what the turn says."""

from __future__ import annotations

import re

from acc.wording import same_polarity, stems

_ASKS = re.compile(
    r"\?\W*\Z|\A\W*(?:(?:and|but|so|or|then)\W+)?(?:what|which|who|whom|whose|where|when|why|how)\b",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Whether ``text`` ends in a question mark, or begins as questions do."""
    return _ASKS.search(text) is not None


def only_repeats(text: str, said: str) -> bool:
    """Whether ``text`` tells nobody who says ``said`` anything: all its content words are in it.

    What states, where ``said`` asks, is an answer ("yes, it is so") and no repetition.
    """
    if len(text) > 4 * len(said) + 80:
        return False
    own, theirs = stems(text), stems(said)
    if not own or not own <= theirs:
        return False
    if asks(text):
        return True
    return own == theirs and not asks(said) and same_polarity(text, said)

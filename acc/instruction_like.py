"""Text of tools and documents that speaks like an instruction: counted, and never decisive.

What a text may do follows from its channel (law 6). The words are a sign for people to look at.
"""

from __future__ import annotations

import re
from functools import lru_cache

from acc.turn import Trust

_PATTERN = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instruction|rule|polic|previous|above|limit)"
    r"|\b(?:system|assistant|ai agent|automated agents?|agents?)\s*[:,]\s"
    r"|\byou (?:must|should|are now|have to)\b|\b(?:has|is|are) (?:pre-?)?(?:approved|lifted|waived)\b"
    r"|\b(?:assistants?|agents?) (?:must|should|shall|may|are to)\b",
    re.IGNORECASE,
)

_NEEDED = (
    "ignore", "disregard", "forget", "overrid", "system", "assistant", "agent", "you ",
    "approved", "lifted", "waived",
)  # fmt: skip
"""One of these is in whatever the pattern matches, and looking for them is cheap."""


def instruction_like(text: str, trust: Trust) -> str:
    """The first words of ``text`` that sound like an instruction; empty if there are none, or
    if it is trusted as much as an agent's."""
    return _first(text) if trust < Trust.AGENT else ""


@lru_cache(maxsize=2048)
def _first(text: str) -> str:
    lowered = text.lower()
    if not any(word in lowered for word in _NEEDED):
        return ""
    found = _PATTERN.search(text)
    return " ".join(found.group(0).split())[:80] if found else ""

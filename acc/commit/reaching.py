"""Law 7: decides whether words say that a goal was reached, or agree to an offer to close it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.commit.about import about, content
from acc.commit.lifting import NOT_YET, POINTS, REACHED
from acc.state.items import Item
from acc.text.clauses import sentences, subordinates, takes_back
from acc.text.wording import is_assent

_CLOSES = re.compile(
    r"\b(?:closed?|tick(?:ed)?|(?:check|strike|cross)(?:ed)? (?:\w+ ){0,4}?(?:off|out)|"
    r"(?:mark(?:ed)?|count|consider) (?:\w+ ){0,8}?(?:as|done|completed?|closed|finished|reached|settled))\b",
    re.I,
)
_STATES_DONE = re.compile(r"\b(?:done|finished|completed?|reached|achieved)\b", re.I)
"""What an answer must say that names no goal itself: "I have asked Kim" reaches nothing."""


def reaches(
    said: str, reply: str, goal: Item, others: Sequence[Item] = (), *, is_users: bool
) -> bool:
    """Whether ``said`` states that ``goal`` was reached and names what the goal is about.

    ``reply`` is the message before. The user's words may also share two content words with the goal, or close it
    (`closes`). The agent's words may answer a question of the user's that names the goal.
    """
    if is_users and _assents(said):
        return closes(said, reply, goal, others)
    own = about(goal)
    asked = [] if is_users else [s for s in sentences(reply) if s.rstrip().endswith("?")]
    states = REACHED if content(said) & own else _STATES_DONE
    named = (content(said) | content(" ".join(asked))) & own
    stated = [s for s in sentences(said) if not NOT_YET.search(s)]
    return any(
        (states.search(s) and named) or (is_users and len(content(s) & own) > 1) for s in stated
    )


def closes(said: str, reply: str, goal: Item, others: Sequence[Item] = ()) -> bool:
    """Whether ``said`` is a plain yes to the agent's offer in ``reply`` to close ``goal``.

    An offer is a question, or any sentence about closing if the user says so too ("Yes, close it."). An offer that
    points to what it closes, in a reply that names none of the goals, ``others`` included, may mean any of them.
    """
    offers = [s for s in sentences(reply) if _CLOSES.search(s)]
    asked = any(s.rstrip().endswith("?") for s in offers) or (offers and _CLOSES.search(said))
    if not asked or not _assents(said):
        return False
    words = content(reply)
    if words & about(goal):
        return True
    return any(map(POINTS.search, offers)) and not any(words & about(other) for other in others)


def _assents(said: str) -> bool:
    first, *rest = sentences(said) or [said]
    is_limited = any(takes_back(s) or (subordinates(s) and "," not in s) for s in rest[:1])
    is_plain = _CLOSES.search(first) or not any(map(NOT_YET.search, rest))
    return is_assent(said) or (is_assent(first) and bool(is_plain) and not is_limited)

"""The user's goals beyond the turn, and when they are done."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from acc.keyless.acts import acts
from acc.keyless.lookalikes import is_hearsay, is_imagined, is_past_or_fancy, is_question
from acc.keyless.reading import Said, text_of
from acc.keyless.words import NEW_TOPIC
from acc.state.items import Item
from acc.text.patterns import any_of, one_of
from acc.text.wording import stems

LONGEST_GOAL = 160
"""Maximum characters of a goal and of a step. A goal's quote has the full words."""

_DONE = any_of(
    r"(?:\b(?:is|are|that's|all|was|were|has been|have been|be|now)|'s) (?:now |all |finally )?"
    + one_of(
        """done, closed, completed?, finished, sorted, delivered, wrapped up, ticked off,
        accomplished, settled, off the list, fully \\w+ed"""
    ),
    r"^\W*(?:all )?(?:(?:done|completed|finished|closed)\b|(?:complete|set)(?=\W*$|[,.;:!]))",
    r"\b(?:close|tick off|wrap up) (?:it|that|this|the)\b",
    r"\b(?:has|have) (?:all )?(?:been )?(?:completed|gone live|gone out|shipped|landed)\b",
)
_CANCELLED = any_of(
    r"\b(?:scrap|forget|drop|cancel|ditch|never ?mind) (?:about )?(?:the|that|our|my|this)\b",
    r"(?:\b(?:is|are|was|has been|have been)|'s) (?:cancelled|canceled|called off|off the table)\b",
    r"\bno longer (?:needed|necessary|wanted)\b",
)
"""Cues that a goal is cancelled."""

_UNDONE = re.compile(
    r"n't\b|\b" + one_of(
        """not, until, once, when, before, if, as soon as, almost, nearly, half, will be, to be,
        never"""
    ),
    re.I,
)  # fmt: skip
_NOT = re.compile(r"n't\b|\b(?:not|never|almost|nearly|half)\b", re.I)
_TASK = re.compile(r"\b(?:task|goal|job|item)\b", re.I)

_BESIDE = re.compile(r"[,;:.!–—]\s*|\b(?:and|but|so)\s+(?=(?:I|we|it|you|this|that|sorry)\b)", re.I)
_ABOUT_SELF = re.compile(
    r"^\W*(?:and |but |so )*(?:I|I'm|I am|we|it|it's|this|that|that's|sorry|now|ok|okay)\b", re.I
)


def is_bare_turn(words: str) -> bool:
    """Whether a sentence only announces another topic and does not name it."""
    found = NEW_TOPIC.search(words)
    if found is None:
        return False
    rest = words[: found.start()] + ", " + words[found.end() :]
    return not any(stems(p) for p in _BESIDE.split(rest) if not _ABOUT_SELF.match(p))


SURE = 0.15
"""Minimum probability for a sentence to set a goal."""

ASKED = 0.5
"""Probability of a question from which a sentence sets no goal."""

FIRST = 0.04
"""The same if there is no goal yet: the first request is usually the purpose of the conversation.
"""


def is_goal(said: Said, first: bool = False) -> bool:
    """Whether a sentence of the user's asks for something beyond this turn.

    Args:
        said: The sentence.
        first: Whether there is no goal yet, which lowers the minimum probability.
    """
    odds = acts(said.spoken)
    if odds["question"] >= ASKED:
        return False
    if first and odds["ask"] + odds["goal"] >= 0.5:
        return odds["goal"] >= FIRST
    return odds["goal"] >= SURE


def is_cancelling(said: Said) -> bool:
    """Whether the user cancels something."""
    if not _CANCELLED.search(said.words) or is_question(said.words, said.asks):
        return False
    return not is_past_or_fancy(said.words) and not is_hearsay(said.words)


ACHIEVED = 0.5
"""Minimum probability for a user's sentence to say that something was achieved."""


def is_done(said: Said, by_user: bool) -> bool:
    """Whether a sentence says that a goal was achieved, rather than planned or a rule."""
    if is_imagined(said.words):
        return False
    if by_user and acts(said.spoken)["done"] >= ACHIEVED and not _NOT.search(said.words):
        return True
    found = _DONE.search(said.words)
    if found is None or _UNDONE.search(said.words[max(0, found.start() - 40) : found.end()]):
        return False
    odds = acts(said.spoken)
    return odds["lift"] < max(odds["done"], 0.5)


def done_by(words: str, around: str, goals: Sequence[Item], by_user: bool) -> Item | None:
    """The one of ``goals`` that a sentence reports as done; None if unclear.

    Args:
        words: The sentence.
        around: The sentence with its context.
        goals: Active goals.
        by_user: Whether the user says it. The agent must name the goal, or call it a task.
    """
    loose = by_user or _TASK.search(words) is not None
    said = stems(_DONE.sub(" ", around if loose else words))
    return clearest(said, goals, lambda about: 1 if loose else max(2, about / 2))


def clearest(
    said: frozenset[str], goals: Sequence[Item], least: Callable[[int], float]
) -> Item | None:
    """The goal that shares most words with ``said``; None if there is no single best one.

    Args:
        said: Stems.
        goals: Active goals.
        least: The minimum number of shared words for a goal with a given number of words.
    """
    ranked: list[tuple[int, Item | None]] = [(0, None), (0, None)]
    for goal in goals:
        about = stems(text_of(goal))
        shared = len(said & about)
        if shared >= least(len(about)):
            ranked.append((shared, goal))
    ranked.sort(key=lambda pair: -pair[0])
    return ranked[0][1] if ranked[0][0] > ranked[1][0] else None

"""What the user wants achieved beyond the turn, when it is done, and what it is all about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.compressors.words import any_of
from acc.compressors.lookalikes import FANCY, JOKE, PAST, is_hearsay, is_question
from acc.compressors.reading import Said
from acc.items import Item
from acc.wording import stems

_DEADLINE = (
    r"\bby (?:the )?(?:end of |close of |start of |next |this |noon|tonight|tomorrow|monday|"
    r"tuesday|wednesday|thursday|friday|"
    r"saturday|sunday|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|\d)"
)
_WORK = (
    r"(?:get|prepare|organi[sz]e|plan|arrange|collect|gather|reconcile|migrate|build|set up|put "
    r"together|work out|work through|"
    r"find|produce|compile|deliver|complete|finish|finali[sz]e|clear|clean up|review|investigate|"
    r"resolve|fix|roll out|"
    r"launch|coordinate|run|draw up|write up|sort out|hire|negotiate|audit|assess|translate|"
    r"onboard)\b"
)
_LARGE = (
    r"(?:organi[sz]e|plan|arrange|migrate|build|set up|put together|prepare|roll out|launch|"
    r"coordinate|reconcile|translate|"
    r"onboard|negotiate|work out|draw up|sort out)\b"
)
GOALS = any_of(
    r"\b(?:I'd|I would|we'd|we would) (?:like|love|want) (?:you to|to (?:have|get|see)|an? |the |"
    r"that |this |all )",
    r"\b(?:I|we) (?:need|want|have) (?:you to|us to|to (?:have|get) )|\b(?:I|we) need (?:you "
    rf")?(?:to )?{_WORK}",
    r"\b(?:I|we) need (?:an?|the|this|that|all|our|my|one|two|three|some|every)\b.{3,}",
    r"\b(?:your|the|our|my) (?:task|job|goal|aim|objective|mission|assignment|target|brief)(?: "
    r"here| now| today)? "
    r"(?:is|will be|would be)\b(?! (?:fine|ok|done|clear))",
    rf"^\W*(?:can|could|would|will) you (?:please )?{_LARGE}",
    rf"\bhelp (?:me|us) (?:to )?{_WORK}",
    rf"\bplease (?:\w+ )?{_WORK}.{{0,120}}?(?:{_DEADLINE}|\btogether\b|\bready\b|\bunder way\b)",
    rf"(?:^|[,:]\s|\bplease |\band |\bto ){_WORK}.{{3,80}}?\b(?:together|ready|done|sorted|"
    r"finished|cleared)\b",
    rf"^(?:please |can you |could you )?(?:\w+ )?{_WORK}.{{3,120}}?{_DEADLINE}",
    r"\bwe(?:'re| are) (?:planning|trying|aiming) to\b|\bthe (?:plan|idea) is to\b|\bby the end "
    r"of\b.{0,60}\bwe\b",
)
"""Asks for something to be achieved."""

SMALL = any_of(
    r"\b(?:a|one|two|three|\d) (?:quick )?(?:sentences?|lines?|words?|minutes?|moment|sec|second|"
    r"hand|break|coffee|sandwich|"
    r"look|favou?r|nap|holiday|hint|reminder|word)\b",
    r"\b(?:I|we) need (?:an?|the|some|this|that|all) (?:\w+ )?(?:answer|number|numbers|figure|"
    r"figures|time|rest|help|idea)\b",
    r"\b(?:right now|straight away|immediately|quickly|asap)\b",
    r"\bI'd (?:like|love) to (?:know|hear|think|say|ask|understand|see)\b|\bI want to (?:know|"
    r"see|hear|say|be)\b|\bI need to\b",
)
"""Over with the turn."""

DONE = any_of(
    r"\b(?:is|are|'s|that's|all|was|were|has been|have been|be|now) (?:now |all |finally "
    r")?(?:done|closed|complete|completed|"
    r"finished|sorted|delivered|wrapped up|ticked off|over and done|accomplished|settled|off the "
    r"list|fully \w+ed)\b",
    r"^\W*(?:done|complete|completed|finished|closed|all done|all set)\b|\b(?:close|tick off|"
    r"wrap up) (?:it|that|this|the)\b",
    r"\b(?:task|goal|item|job|one) (?:can be|is|may be) (?:closed|ticked off|done|dropped)\b|"
    r"\bmission accomplished\b|"
    r"\b(?:has|have) (?:all )?(?:been )?(?:completed|gone live|gone out|shipped|landed)\b",
)
"""Says that something was achieved."""

_TASK = re.compile(r"\b(?:task|goal|job|item)\b", re.I)
_UNDONE = re.compile(r"\b(?:not|n't|until|once|when|before|if|as soon as|almost|nearly|half|will be|to be|isn't|never)\b", re.I)

NEW_TOPIC = any_of(
    r"^\W*(?:new|next|another|different) (?:topic|subject|matter|thing|project|case|patient|"
    r"client|ticket|question)\b",
    r"\b(?:switching|moving on|turning|let's (?:move|turn|switch|get on)) to\b|\bchange of "
    r"(?:plan|topic|subject)\b",
    r"\b(?:forget|leave) (?:all )?that(?: for now)?,|\b(?:on|to) (?:another|a different) "
    r"(?:topic|note|subject|matter)\b",
)
"""Announces that the talk turns to something else."""


_COULD_YOU = re.compile(rf"^\W*(?:can|could|would|will) you (?:please )?{_LARGE}", re.I)


def is_goal(said: Said) -> bool:
    """Whether a sentence of the user's asks for something beyond this turn."""
    asks = is_question(said.words, said.asks) and not _COULD_YOU.match(said.words)
    if asks or not GOALS.search(said.words) or len(said.words.split()) < 4:
        return False
    if PAST.search(said.words) or FANCY.search(said.words) or JOKE.search(said.words):
        return False
    return not SMALL.search(said.words) and not is_hearsay(said.words, len(said.words))


def is_done(words: str) -> bool:
    """Whether ``words`` say that something was achieved, not that it will be."""
    found = DONE.search(words)
    return found is not None and not _UNDONE.search(words[max(0, found.start() - 40) : found.end()])


def done_by(words: str, around: str, goals: Sequence[Item], by_user: bool) -> Item | None:
    """The one among ``goals`` that is said to be done, or None where it is not clear.

    Args:
        words: The sentence that says so.
        around: The sentence with what it answers.
        goals: Active goals.
        by_user: Whether the user says it; the agent has to name the goal or call it a task.
    """
    loose = by_user or _TASK.search(words)
    said = stems(around if loose else words)
    ranked = []
    for goal in goals:
        about = stems(str(getattr(goal, "text", "")))
        shared = len(said & about)
        enough = shared >= 1 if loose else shared >= max(2, len(about) / 2)
        ranked.append((shared if enough else 0, goal))
    ranked.sort(key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] == 0:
        return None
    return ranked[0][1] if len(ranked) == 1 or ranked[0][0] > ranked[1][0] else None

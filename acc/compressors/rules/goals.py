"""What the user wants achieved beyond the turn, and when it is done."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.compressors.rules.lookalikes import FANCY, JOKE, PAST, is_hearsay, is_question, is_told
from acc.compressors.rules.reading import Said
from acc.compressors.rules.words import any_of, one_of
from acc.items import Item
from acc.wording import stems

LONGEST_GOAL = 160
"""Characters of a goal, of a topic and of a step; the words in full stand in a goal's quote."""

_DEADLINE = (
    r"\b(?:by (?:the )?"
    + one_of(
        """end of, close of, start of, next, this, noon, tonight, tomorrow, \\w+day, january, february,
    march, april, may, june, july, august, september, october, november, december, \\d+"""
    )
    + r"|before (?:he|she|they|we|I|the|noon|lunch|tomorrow|\w+day)\b)"
)
_LARGE = one_of(
    """organi[sz]e, plan, arrange, migrate, build, set up, put together, prepare, roll out, launch,
    coordinate, reconcile, translate, onboard, negotiate, work out, draw up, sort out"""
)
_WORK = one_of(
    """get, collect, gather, work through, find, produce, compile, deliver, complete, finish,
    finali[sz]e, write, draft, clear, clean up, review, investigate, resolve, fix, run, write up, hire, audit,
    assess"""
)
_WORK = rf"(?:{_LARGE}|{_WORK})"
_FIX = one_of(
    """fix, repair, resolve, solve, investigate, diagnose, debug, troubleshoot, refactor, implement,
    track down, get to the bottom of"""
)
_FATHOM = one_of("find out, figure out, work out, establish, investigate, determine")
_THING = one_of("the, this, that, these, those, our, my, why, a, an, \\w+'s") + (
    r" \w(?!.*\b(?:within|every|each|always|never|at most)\b)"
)
_COULD_YOU = rf"^\W*(?:can|could|would|will) you (?:please )?{_LARGE}"

GOALS = any_of(
    r"\b(?:I'd|I would|we'd|we would) (?:like|love|want) "
    r"(?:you to|to (?:have|get|see)|an? |the |that |this |all )",
    r"\b(?:I|we) (?:need|want|have) (?:you to|us to|to (?:have|get) )",
    rf"\b(?:I|we) need (?:you )?(?:to )?{_WORK}|\bI want to know why\b",
    r"\bI want (?:the|this|that|our|my) .{3,}",
    r"\bI(?:'ll| will) (?:want|need|expect) (?:an?|the|your)\b",
    r"\b(?:I|we) need (?:an?|the|this|that|all|our|my|one|two|three|some|every)\b.{3,}",
    r"\b(?:your|the|our|my) (?:task|job|goal|aim|objective|mission|assignment|target|brief)"
    r"(?: here| now| today)? (?:is|will be|would be)\b(?! (?:fine|ok|done|clear))",
    _COULD_YOU,
    rf"^\W*help (?:me|us) (?:to )?{_WORK}",
    rf"\bplease (?:\w+ )?{_WORK}.{{0,120}}?(?:{_DEADLINE}|\btogether\b|\bready\b|\bunder way\b)",
    rf"(?:^|[,:]\s|\bplease |\band |\bto ){_WORK}.{{3,80}}?"
    r"\b(?:together|ready|done|sorted|finished|cleared)\b",
    rf"^\W*(?:(?:and|then|please|also|now) )*{_WORK}.{{3,120}}?{_DEADLINE}",
    rf"^\W*(?:(?:and|then|please|also|now) )*(?:{_FIX} {_THING}|{_FATHOM} (?:why|how|what|where|who)\b)",
    r"\bwe(?:'re| are) (?:planning|trying|aiming) to\b|\bthe (?:plan|idea) is to\b|"
    r"\bby the end of\b.{0,60}\bwe\b",
)
"""Asks for something to be achieved."""

_SMALL = any_of(
    r"\b(?:a|one|two|three|\d) (?:quick )?" + one_of(
        """sentences?, lines?, words?, minutes?, moment, second, hand, break, coffee, look,
        favou?r, holiday, hint, reminder"""
    ),
    r"\b(?:I|we) need (?:an?|the|some|this|that|all) (?:\w+ )?" + one_of(
        "answer, numbers?, figures?, time, rest, help, idea"
    ),
    r"\b(?:right now|straight away|immediately|quickly|asap)\b|\bI need to\b",
    r"\bI'd (?:like|love) to (?:know|hear|think|say|ask|understand|see)\b",
    r"\bI want to (?:see|hear|say|be)\b",
)  # fmt: skip
"""Over with the turn."""

_DONE = any_of(
    r"(?:\b(?:is|are|that's|all|was|were|has been|have been|be|now)|'s) (?:now |all |finally )?"
    + one_of(
        """done, closed, completed?, finished, sorted, delivered, wrapped up, ticked off,
        accomplished, settled, off the list, fully \\w+ed"""
    ),
    r"^\W*(?:all )?(?:done|completed?|finished|closed|set)\b",
    r"\b(?:close|tick off|wrap up) (?:it|that|this|the)\b",
    r"\b(?:has|have) (?:all )?(?:been )?(?:completed|gone live|gone out|shipped|landed)\b",
)
_CANCELLED = any_of(
    r"\b(?:scrap|forget|drop|cancel|ditch|never ?mind) (?:about )?(?:the|that|our|my|this)\b",
    r"(?:\b(?:is|are|was|has been|have been)|'s) (?:cancelled|canceled|called off|off the table)\b",
    r"\bno longer (?:needed|necessary|wanted)\b",
)
"""Says that something is not to be achieved any more."""

_UNDONE = re.compile(
    r"n't\b|\b" + one_of(
        """not, until, once, when, before, if, as soon as, almost, nearly, half, will be, to be,
        never"""
    ),
    re.I,
)  # fmt: skip
_TASK = re.compile(r"\b(?:task|goal|job|item)\b", re.I)

NEW_TOPIC = any_of(
    r"^\W*(?:new|next|another|different) " + one_of(
        "topic, subject, matter, thing, project, case, patient, client, ticket, question"
    ),
    r"\b(?:switching|moving on|turning|let's (?:move|turn|switch|get on)) to\b",
    r"\bchange of (?:topic|subject)\b|\b(?:forget|leave) (?:all )?that(?: for now)?,",
    r"\b(?:on|to) (?:another|a different) (?:topic|note|subject|matter)\b",
)  # fmt: skip
"""Announces that the talk turns to something else."""


_BESIDE = re.compile(r"[,;:.!–—]\s*|\b(?:and|but|so)\s+(?=(?:I|we|it|you|this|that|sorry)\b)", re.I)
_ABOUT_SELF = re.compile(
    r"^\W*(?:and |but |so )*(?:I|I'm|I am|we|it|it's|this|that|that's|sorry|now|ok|okay)\b", re.I
)


def is_bare_turn(words: str) -> bool:
    """Whether a sentence only announces another topic, and does not name it."""
    found = NEW_TOPIC.search(words)
    if found is None:
        return False
    rest = words[: found.start()] + ", " + words[found.end() :]
    return not any(stems(p) for p in _BESIDE.split(rest) if not _ABOUT_SELF.match(p))


def is_goal(said: Said) -> bool:
    """Whether a sentence of the user's asks for something beyond this turn."""
    words = said.words
    if is_question(words, said.asks) and not re.match(_COULD_YOU, words, re.I):
        return False
    if not GOALS.search(words) or len(words.split()) < 4 or _SMALL.search(words):
        return False
    told = PAST.search(words) or FANCY.search(words) or JOKE.search(words)
    return not told and not is_hearsay(words, len(words))


def is_cancelling(said: Said) -> bool:
    """Whether the user says that something is not to be achieved any more."""
    if not _CANCELLED.search(said.words) or is_question(said.words, said.asks):
        return False
    return not is_told(said.words) and not is_hearsay(said.words, len(said.words))


def is_done(words: str) -> bool:
    """Whether ``words`` say that something was achieved, not that it will be."""
    found = _DONE.search(words)
    if found is None:
        return False
    return not _UNDONE.search(words[max(0, found.start() - 40) : found.end()])


def done_by(words: str, around: str, goals: Sequence[Item], by_user: bool) -> Item | None:
    """The one among ``goals`` that is said to be done, or None where it is not clear.

    Args:
        words: The sentence that says so.
        around: The sentence with what it answers.
        goals: Active goals.
        by_user: Whether the user says it; the agent has to name the goal, or call it a task.
    """
    loose = by_user or _TASK.search(words) is not None
    said = stems(_DONE.sub(" ", around if loose else words))
    ranked: list[tuple[int, Item | None]] = [(0, None), (0, None)]
    for goal in goals:
        about = stems(str(getattr(goal, "text", "")))
        shared = len(said & about)
        if shared >= (1 if loose else max(2, len(about) / 2)):
            ranked.append((shared, goal))
    ranked.sort(key=lambda pair: -pair[0])
    return ranked[0][1] if ranked[0][0] > ranked[1][0] else None

"""What bars a clause from ending a rule, however surely it sounds like it.

Tables of what is taken back, told, denied, limited, about something else or of others; the odds are those
of `acc.keyless.effects`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.keyless.acts import acts
from acc.keyless.bearing import BACKWARD, Heard, content, figures_of
from acc.keyless.contrary import happened_again, is_barred, is_limited, is_of_others, is_told
from acc.keyless.lifting import ENDED, LIFTED, changed_by, lifted_by
from acc.keyless.lookalikes import DISCLAIMER, concluded
from acc.keyless.objects import concerns, permits_same_of_another, shares_verb_alone
from acc.keyless.reading import text_of
from acc.keyless.weights import Trees
from acc.keyless.words import one_of
from acc.state.items import Item
from acc.text.wording import marks

ALONE, TOGETHER = "effects.npz", "gathered.npz"
"""The weights of the two stages."""

Floats = NDArray[np.float64]


class Bearing(NamedTuple):
    """How a message bears on one rule.

    Attributes:
        rule: The rule.
        clause: The place of the clause that speaks of it most surely.
        figures: What is known of that clause beside the rule.
        odds: The probability that the message lifts or changes the rule.
    """

    rule: Item
    clause: int
    figures: Mapping[str, float]
    odds: float


def bearings(message: Sequence[Heard], rules: Sequence[Item], able: Sequence[int]) -> list[Bearing]:
    """How a message bears on each of ``rules``, by the surest of its ``able`` clauses.

    Args:
        message: Its clauses, in order.
        rules: The rules that stand; at least one.
        able: The places of the clauses that may end one; at least one.
    """
    rows = [list(figures_of(heard, rules)) for heard in message]
    figures = np.array([[list(row.values()) for row in of_clause] for of_clause in rows])
    odds = pair_odds(Trees.read(ALONE), figures)
    clauses = [able[place] for place in odds[able].argmax(axis=0).tolist()]
    sure = Trees.read(TOGETHER).odds(gathered(odds, figures[..., kept(rows[0][0])], clauses))
    return [
        Bearing(rule, clause, rows[clause][at], float(sure[at]))
        for at, (rule, clause) in enumerate(zip(rules, clauses, strict=True))
    ]


def pair_odds(trees: Trees, figures: Floats) -> Floats:
    """The odds of every pair, clauses by rules, from their figures: clauses by rules by figures."""
    clauses, rules, _ = figures.shape
    return trees.odds(figures.reshape(clauses * rules, -1)).reshape(clauses, rules)


def kept(names: Mapping[str, float]) -> list[int]:
    """The places of the figures that the second stage looks at: no products of two."""
    return [at for at, name in enumerate(names) if " x " not in name]


def gathered(odds: Floats, figures: Floats, clauses: Sequence[int]) -> Floats:
    """What the second stage looks at, a row for each rule.

    Args:
        odds: Of the first stage, clauses by rules.
        figures: Clauses by rules by figures.
        clauses: For each rule the place of the clause that speaks of it most surely.
    """
    rules = np.arange(odds.shape[1])
    surest, any_of_them = odds[clauses, rules], 1 - np.prod(1 - odds, axis=0)
    second = np.sort(odds, axis=0)[-2] if len(odds) > 1 else np.zeros(len(rules))
    nothing = np.zeros((1, *figures.shape[1:]))
    beside = np.concatenate([nothing, figures, nothing])
    at = np.asarray(clauses)
    rows: Floats = np.column_stack(
        [
            surest, any_of_them, second, _ahead(surest), _ahead(any_of_them),
            figures[at, rules], figures.max(axis=0), beside[at, rules], beside[at + 2, rules],
        ]
    )  # fmt: skip
    return rows


def _ahead(odds: Floats) -> Floats:
    """How far each rule is before the best of the others; alone, as far as its odds go."""
    if len(odds) == 1:
        return odds
    best = odds.argmax()
    others = np.full(len(odds), odds[best])
    others[best] = np.sort(odds)[-2]
    ahead: Floats = odds - others
    return ahead


MOVING = 0.6
"""Probability of a lifting or a change from which a clause surely does one of them."""

BOLD = 0.85
"""Odds from which a clause surely bears on the rule, whatever its words are."""

NEARLY = 0.6
"""The same where it surely lifts something."""

SURELY = 0.9
"""Probability of a lifting from which there is no doubt that a clause lifts something."""


def is_taken_back(heard: Heard) -> bool:
    """Whether a clause takes itself back, or nothing could be ended by it."""
    words = heard.spoken.words
    if _TAKEN_BACK.search(words) or DISCLAIMER.search(heard.spoken.after):
        return True
    return bool(_NEVER_MIND.match(heard.message) or _FOR_ONCE.search(words))


_TAKEN_BACK = re.compile(r"\b(?:scratch that|no,? wait|wait,? no)\W*$", re.I)
"""Takes back the clause that it ends; at its beginning it may name what goes: "Scratch that rule"."""


_NEVER_MIND = re.compile(
    r"\W*(?:(?:oh|ok|okay|no|just|then|well|please|actually)\W+){0,3}"
    r"(?:forget (?:about )?(?:it|that|this)|never mind(?: it| that)?)\W*\Z",
    re.I,
)
"""A whole message that names nothing: what the agent spoke of last is no rule to be ended by it."""


_FOR_ONCE = re.compile(
    r"(?<!from )(?<!starting )(?<!as of )\b(?:tonight|(?:just|only) today|today only|this once|this one time"
    r"|(?:just|only) this time|for once|one last time)\b",
    re.I,
)
"""Lets something pass once, whatever figure it names: "tonight 70 is ok"."""


def is_only_told(words: str) -> bool:
    """Whether a clause is only asked or told; or what it concludes, a permission, is denied."""
    end = concluded(words)
    if any(is_told(_RECENT.sub(" ", text)) for text in (words, end)):
        return True
    first, *rest = _PART.split(end)
    goes_on = [part for part in rest if _TAKES_BACK.match(part) or _permits(part)]
    end = first if _permits(first) else end
    return _permits(end) and any(map(is_barred, (end, *goes_on)))


def _permits(words: str) -> bool:
    """Whether a text has a cue of a lifting, an end or a permission."""
    return any(cue.search(words) for cue in (LIFTED, ENDED, _PERMITS))


_PERMITS = re.compile(
    r"\b(?:can|may|could|might|allowed|free|no need to|needn't|need not|(?:don't|do not) (?:have|need) to)\b",
    re.I,
)

_RECENT = re.compile(r"\b(?:last night|yesterday)\b(?!'s)", re.I)
"""When what ends a rule came about. Of a permission it still tells the past: "Yesterday you could"."""

_PART = re.compile(r",\s+")
_TAKES_BACK = re.compile(
    one_of(
        """but, though, although, except, only, not, no, never, unless, if, when, once, wait, actually,
        don't, do not, scratch that"""
    ),
    re.I,
)
"""What stands behind a permission and takes part of it back; a reason does not."""


def is_ended(heard: Heard, bearing: Bearing) -> bool:
    """Whether a clause speaks of the rule, and of no other thing: the odds alone do not say so."""
    words, row, odds = heard.spoken.words, bearing.figures, bearing.odds
    if odds < BOLD and _is_innocent(words, text_of(bearing.rule), row):
        return False
    if _is_elsewhere(words, _in_full(bearing.rule), row, sure=_is_sure(odds, row)):
        return False
    return not _is_of_its_own(heard, row)


def _is_sure(odds: float, row: Mapping[str, float]) -> bool:
    """Whether a clause is sure to bear on a rule: by the odds alone, or as it surely lifts something."""
    return odds >= BOLD or (odds >= NEARLY and row["act lift"] >= SURELY)


def _in_full(rule: Item) -> str:
    """What a rule says, and the words that made it: they tell its reason, which may end."""
    return f"{text_of(rule)}. {getattr(rule, 'quote', '')}"


def _is_elsewhere(words: str, text: str, row: Mapping[str, float], *, sure: bool) -> bool:
    """Whether words that permit are about another thing than the rule, or only for a time.

    What ends a rule without permitting anything ("Harrow is settled") is left to the trees.
    """
    end = concluded(words)
    words = end if LIFTED.search(end) or ENDED.search(end) else words
    cue = LIFTED.search(words) or ENDED.search(words)
    if cue is None:
        return permits_same_of_another(words, text)
    # A time or figure that changes the rule's own is no other thing's, and ends no permission.
    bounds = row["near figure"] or (sure and row["act change"] >= MOVING)
    limited = is_limited(words, text) and not bounds
    if _PERMITS.search(words) and (limited or not concerns(words, text, cue, sure=sure)):
        return True
    own, named = marks(text), marks(words)
    return bool(own and named) and not own & named and not bounds


def _is_innocent(words: str, rule: str, row: Mapping[str, float]) -> bool:
    """Whether a clause without any permission only has words of the rule, and does nothing to it."""
    if _permits(words) or row["near figure"]:
        return False
    return happened_again(words) or shares_verb_alone(words, rule)


def _is_of_its_own(heard: Heard, row: Mapping[str, float]) -> bool:
    """Whether a clause names what it is about, and only the agent's reply leads from it to the rule."""
    if row["shared"] or row["share of message"] or row["near figure"] or row["tie shared"]:
        return False
    own = content(heard.spoken.words) - content(heard.reply)
    return len(own) >= NAMES_ITS_OWN and row["like best word"] < KINDRED


NAMES_ITS_OWN, KINDRED = 3, 0.5
"""Content words that neither rule nor reply has, and the likeness of a word to one of the rule's."""


Op = Literal["lift", "change"]


class Effect(NamedTuple):
    """What a clause does to a standing rule, and how sure that is, 0 to 1."""

    item: Item
    op: Op
    odds: float


def effects(
    message: Sequence[Heard], rules: Sequence[Item], least: float
) -> list[tuple[Effect, ...]]:
    """For each clause of a message the rules that it lifts or changes, the surest first.

    Rule: what the tables are sure of counts at once; of the rest, the clause that speaks of a rule
    most surely ends it where the whole message does with odds of at least ``least``.
    """
    if not rules:
        return [()] * len(message)
    meant = [at for at, heard in enumerate(message) if not is_taken_back(heard)]
    cued = {at: effect for at in meant if (effect := _cued(message[at], rules)) is not None}
    able = [at for at in meant if at not in cued and _is_able(message[at])]
    weighed = bearings(message, rules, able) if able else []
    return [
        (cued[at],) if at in cued else _ended(heard, [b for b in weighed if b.clause == at], least)
        for at, heard in enumerate(message)
    ]


def _is_able(heard: Heard) -> bool:
    """Whether a clause may lift or change something at all."""
    return _moving(heard) >= UNLIKELY and not is_only_told(heard.spoken.words)


def _moving(heard: Heard) -> float:
    odds = acts(heard.spoken)
    return odds["lift"] + odds["change"]


def _ended(heard: Heard, found: Sequence[Bearing], least: float) -> tuple[Effect, ...]:
    """Those of the rules that a clause speaks of which it ends."""
    odds = acts(heard.spoken)
    op: Op = "lift" if odds["lift"] > LIFTS * odds["change"] else "change"
    ended = [
        Effect(bearing.rule, op, bearing.odds)
        for bearing in found
        if bearing.odds >= _bar(heard, bearing, least) and is_ended(heard, bearing)
    ]
    return tuple(sorted(ended, key=lambda effect: -effect.odds))


def _bar(heard: Heard, bearing: Bearing, least: float) -> float:
    """The odds from which a clause ends a rule, where ``least`` is what they have to be as a rule."""
    if bearing.figures["tie shared"] and len(heard.spoken.words.split()) <= EVENT:
        return min(least, TIED)
    return min(least, MOVED) if _moving(heard) >= MOVES else least


def _cued(heard: Heard, rules: Sequence[Item]) -> Effect | None:
    """What the tables are sure of; a pronoun stands for what the message names."""
    words = heard.spoken.words
    if is_of_others(words):
        return None
    points_back = _moving(heard) >= MOVING and BACKWARD.search(words) and not is_barred(words)
    for around in (words, heard.message) if points_back else (words,):
        if (changed := changed_by(words, around, rules)) is not None:
            return Effect(changed, "change", 1.0)
        if (lifted := lifted_by(words, around, rules)) is not None:
            return Effect(lifted, "lift", 1.0)
    return None


UNLIKELY = 0.2
"""Probability of a lifting or a change under which no rule is looked for."""

MOVES, MOVED = 0.7, 0.42
"""Probability of a lifting or a change from which the odds of a rule need only be these."""

EVENT, TIED = 6, 0.28
"""A clause of so few words that tells of what a rule is tied to ("while the audit runs") ends it from
these odds: it is about nothing else."""

LIFTS = 2.0
"""How much likelier a lifting has to be than a change: a rule in new bounds still binds."""

"""Decides which rules a message ends.

The odds come from classifiers. Tables veto clauses that are taken back, reported, denied, limited,
or about another thing or person.
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
    """The relation of a message to one rule.

    Attributes:
        rule: The rule.
        clause: Index of the clause that most probably refers to the rule.
        figures: The features of that clause with the rule.
        odds: The probability that the message lifts or changes the rule.
    """

    rule: Item
    clause: int
    figures: Mapping[str, float]
    odds: float


def bearings(message: Sequence[Heard], rules: Sequence[Item], able: Sequence[int]) -> list[Bearing]:
    """The relation of a message to each of ``rules``, by the most probable of its ``able`` clauses.

    Args:
        message: Its clauses, in order.
        rules: The rules in force; at least one.
        able: Indexes of the clauses that may end a rule; at least one.
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
    """The odds of every pair of clause and rule. ``figures`` has the axes clause, rule, feature."""
    clauses, rules, _ = figures.shape
    return trees.odds(figures.reshape(clauses * rules, -1)).reshape(clauses, rules)


def kept(names: Mapping[str, float]) -> list[int]:
    """Indexes of the features of the second stage, which excludes products of two."""
    return [at for at, name in enumerate(names) if " x " not in name]


def gathered(odds: Floats, figures: Floats, clauses: Sequence[int]) -> Floats:
    """The inputs of the second stage, one row per rule.

    Args:
        odds: Odds of the first stage, clauses by rules.
        figures: Clauses by rules by features.
        clauses: For each rule, the index of its most probable clause.
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
    """The lead of each rule over the best other rule; the odds themselves for a single rule."""
    if len(odds) == 1:
        return odds
    best = odds.argmax()
    others = np.full(len(odds), odds[best])
    others[best] = np.sort(odds)[-2]
    ahead: Floats = odds - others
    return ahead


MOVING = 0.6
"""Probability of a lifting or a change from which a clause certainly is one of them."""

BOLD = 0.85
"""Odds from which a clause certainly refers to the rule, whatever its words are."""

NEARLY = 0.6
"""The same for a clause that certainly lifts something."""

SURELY = 0.9
"""Probability of a lifting from which a clause certainly lifts something."""


def is_taken_back(heard: Heard) -> bool:
    """Whether a clause takes itself back, or cannot end anything."""
    words = heard.spoken.words
    if _TAKEN_BACK.search(words) or DISCLAIMER.search(heard.spoken.after):
        return True
    return bool(_NEVER_MIND.match(heard.message) or _FOR_ONCE.search(words))


_TAKEN_BACK = re.compile(r"\b(?:scratch that|no,? wait|wait,? no)\W*$", re.I)
"""Takes back the clause that it ends. At the beginning it may name its object: "Scratch that rule".
"""


_NEVER_MIND = re.compile(
    r"\W*(?:(?:oh|ok|okay|no|just|then|well|please|actually)\W+){0,3}"
    r"(?:forget (?:about )?(?:it|that|this)|never mind(?: it| that)?)\W*\Z",
    re.I,
)
"""A whole message that names nothing. The agent's last subject is no rule for it to end."""


_FOR_ONCE = re.compile(
    r"(?<!from )(?<!starting )(?<!as of )\b(?:tonight|(?:just|only) today|today only|this once|this one time"
    r"|(?:just|only) this time|for once|one last time)\b",
    re.I,
)
"""Allows something once, whatever figure it names: "tonight 70 is ok"."""


def is_only_told(words: str) -> bool:
    """Whether a clause only asks or reports, or its concluding permission is denied."""
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
"""The time at which a rule ended. With a permission it reports the past: "Yesterday you could"."""

_PART = re.compile(r",\s+")
_TAKES_BACK = re.compile(
    one_of(
        """but, though, although, except, only, not, no, never, unless, if, when, once, wait, actually,
        don't, do not, scratch that"""
    ),
    re.I,
)
"""Follows a permission and takes part of it back; a reason does not."""


def is_ended(heard: Heard, bearing: Bearing) -> bool:
    """Whether a clause is about the rule and nothing else. The odds alone do not decide this."""
    words, row, odds = heard.spoken.words, bearing.figures, bearing.odds
    if odds < BOLD and _is_innocent(words, text_of(bearing.rule), row):
        return False
    if _is_elsewhere(words, _in_full(bearing.rule), row, sure=_is_sure(odds, row)):
        return False
    return not _is_of_its_own(heard, row)


def _is_sure(odds: float, row: Mapping[str, float]) -> bool:
    """Whether a clause certainly refers to a rule: by the odds, or because it certainly lifts one."""
    return odds >= BOLD or (odds >= NEARLY and row["act lift"] >= SURELY)


def _in_full(rule: Item) -> str:
    """The text of a rule and the words that created it: they give its reason, which may end."""
    return f"{text_of(rule)}. {getattr(rule, 'quote', '')}"


def _is_elsewhere(words: str, text: str, row: Mapping[str, float], *, sure: bool) -> bool:
    """Whether a permission is about another thing than the rule, or temporary.

    The classifier decides about clauses that end a rule without a permission ("Harrow is settled").
    """
    end = concluded(words)
    words = end if LIFTED.search(end) or ENDED.search(end) else words
    cue = LIFTED.search(words) or ENDED.search(words)
    if cue is None:
        return permits_same_of_another(words, text)
    # A time or figure that changes the rule's own does not make it another thing.
    bounds = row["near figure"] or (sure and row["act change"] >= MOVING)
    limited = is_limited(words, text) and not bounds
    if _PERMITS.search(words) and (limited or not concerns(words, text, cue, sure=sure)):
        return True
    own, named = marks(text), marks(words)
    return bool(own and named) and not own & named and not bounds


def _is_innocent(words: str, rule: str, row: Mapping[str, float]) -> bool:
    """Whether a clause without a permission only shares words with the rule and does not affect it."""
    if _permits(words) or row["near figure"]:
        return False
    return happened_again(words) or shares_verb_alone(words, rule)


def _is_of_its_own(heard: Heard, row: Mapping[str, float]) -> bool:
    """Whether a clause names its own subject and is related to the rule only by the agent's reply."""
    if row["shared"] or row["share of message"] or row["near figure"] or row["tie shared"]:
        return False
    own = content(heard.spoken.words) - content(heard.reply)
    return len(own) >= NAMES_ITS_OWN and row["like best word"] < KINDRED


NAMES_ITS_OWN, KINDRED = 3, 0.5
"""Minimum content words that neither rule nor reply has, and minimum similarity of a word to one of
the rule's.
"""


Op = Literal["lift", "change"]


class Effect(NamedTuple):
    """The effect of a clause on a standing rule, with its odds, 0 to 1."""

    item: Item
    op: Op
    odds: float


def effects(
    message: Sequence[Heard], rules: Sequence[Item], least: float
) -> list[tuple[Effect, ...]]:
    """For each clause of a message, the rules that it lifts or changes, most probable first.

    A match of the tables decides at once. Otherwise, the clause that most probably refers to a rule
    ends it if the odds of the whole message are at least ``least``.
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
    """Whether a clause may lift or change anything."""
    return _moving(heard) >= UNLIKELY and not is_only_told(heard.spoken.words)


def _moving(heard: Heard) -> float:
    odds = acts(heard.spoken)
    return odds["lift"] + odds["change"]


def _ended(heard: Heard, found: Sequence[Bearing], least: float) -> tuple[Effect, ...]:
    """The rules that a clause refers to and ends."""
    odds = acts(heard.spoken)
    op: Op = "lift" if odds["lift"] > LIFTS * odds["change"] else "change"
    ended = [
        Effect(bearing.rule, op, bearing.odds)
        for bearing in found
        if bearing.odds >= _bar(heard, bearing, least) and is_ended(heard, bearing)
    ]
    return tuple(sorted(ended, key=lambda effect: -effect.odds))


def _bar(heard: Heard, bearing: Bearing, least: float) -> float:
    """The minimum odds for a clause to end a rule; at most ``least``."""
    if bearing.figures["tie shared"] and len(heard.spoken.words.split()) <= EVENT:
        return min(least, TIED)
    return min(least, MOVED) if _moving(heard) >= MOVES else least


def _cued(heard: Heard, rules: Sequence[Item]) -> Effect | None:
    """The effect that the tables find. A pronoun refers to the subject of the message."""
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
"""Probability of a lifting or a change below which no rule is searched."""

MOVES, MOVED = 0.7, 0.42
"""Probability of a lifting or a change that lowers the minimum odds of a rule, and that minimum."""

EVENT, TIED = 6, 0.28
"""Maximum words of a clause about the event that a rule is tied to ("while the audit runs"), and
the minimum odds for it to end the rule. Such a clause is about nothing else.
"""

LIFTS = 2.0
"""Minimum ratio of the probability of a lifting to that of a change. A rule with new limits still
binds.
"""

"""Which standing rules a user's words lift or change: every clause is weighed against every rule.

Boosted trees over a few dozen figures for the pair: what the clause does
(`acc.compressors.rules.acts`), what it shares with the rule and with the other rules, which
figure could stand for which, and what the tables of `lifting.py` and `contrary.py` say. Trained on
messages of many trades: ``python benchmarks/keyless/train_effects.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from acc.compressors.rules.acts import acts
from acc.compressors.rules.bearing import BACKWARD, Heard, content, figures_of, text_of
from acc.compressors.rules.contrary import (
    happened_again,
    is_barred,
    is_limited,
    is_of_others,
    is_told,
)
from acc.compressors.rules.lifting import ENDED, LIFTED, NAME, changed_by, lifted_by
from acc.compressors.rules.lookalikes import DISCLAIMER, concluded
from acc.compressors.rules.objects import (
    concerns,
    permits_same_of_another,
    shares_verb_alone,
)
from acc.compressors.rules.trees import Trees
from acc.compressors.rules.words import one_of
from acc.items import Item
from acc.wording import marks, stems

WEIGHTS = "effects.npz"

Op = Literal["lift", "change"]


class Effect(NamedTuple):
    """What a clause does to a standing rule, and how sure that is, 0 to 1."""

    item: Item
    op: Op
    odds: float


def effects(heard: Heard, rules: Sequence[Item], least: float) -> list[Effect]:
    """The rules that a clause lifts or changes with odds of at least ``least``, the surest first."""
    if not rules:
        return []
    words = heard.spoken.words
    if _TAKEN_BACK.search(words) or DISCLAIMER.search(heard.spoken.after):
        return []
    if _NEVER_MIND.match(heard.message) or _FOR_ONCE.search(words):
        return []
    odds = acts(heard.spoken)
    moving = odds["lift"] + odds["change"]
    cued = _cued(heard, moving, rules)
    if cued is not None:
        return [cued]
    if moving < UNLIKELY or _is_barred(words):
        return []
    least = max(least, RATHER) if moving < LEAST_MOVING else least
    op: Op = "lift" if odds["lift"] > LIFTS * odds["change"] else "change"
    rows = list(figures_of(heard, rules))
    sure = _model().odds(np.array([list(row.values()) for row in rows]))
    if odds["lift"] >= SURELY:
        least = min(least, _lonely(sure.tolist()))
    found = [
        Effect(rule, op, float(p))
        for rule, row, p in zip(rules, rows, sure, strict=True)
        if p >= least
        and (p >= BOLD or _is_tied(words, text_of(rule), row, float(p)))
        and (p >= BOLD or not _is_innocent(words, text_of(rule), row))
        and not _is_elsewhere(words, _in_full(rule), row, sure=_is_sure(float(p), row))
        and not _is_of_its_own(heard, row)
    ]
    return sorted(found, key=lambda effect: -effect.odds)


def _is_sure(odds: float, row: Mapping[str, float]) -> bool:
    """Whether a clause is sure to bear on a rule: by the odds alone, or as it surely lifts something."""
    return odds >= BOLD or (odds >= NEARLY and row["act lift"] >= SURELY)


def _lonely(sure: Sequence[float]) -> float:
    """The highest of the odds, if no other comes near it; else 1."""
    best, *others = sorted(sure, reverse=True)
    return best if best >= ALONE and best >= AHEAD * max(others, default=0.0) else 1.0


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


def _is_barred(words: str) -> bool:
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


_PERMITS = re.compile(r"\b(?:can|may|could|might|allowed|free)\b", re.I)

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


def _cued(heard: Heard, moving: float, rules: Sequence[Item]) -> Effect | None:
    """What the tables are sure of; a pronoun stands for what the message names."""
    words = heard.spoken.words
    if is_of_others(words):
        return None
    points_back = moving >= MOVING and BACKWARD.search(words) and not is_barred(words)
    for around in (words, heard.message) if points_back else (words,):
        if (changed := changed_by(words, around, rules)) is not None:
            return Effect(changed, "change", 1.0)
        if (lifted := lifted_by(words, around, rules)) is not None:
            return Effect(lifted, "lift", 1.0)
    return None


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
    if limited or not concerns(words, text, cue, sure=sure):
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


def _is_tied(words: str, text: str, row: Mapping[str, float], sure: float) -> bool:
    """Whether anything but the sound of the clause speaks for this very rule."""
    if row["near figure"] and sure >= NEARLY:
        return True
    shared = content(words) & content(text)
    if shared and all(stem.isdigit() for stem in shared):
        return False  # the number of another thing
    names = stems(" ".join(NAME.findall(text)))
    if shared and shared <= names and row["act lift"] + row["act change"] < PLAINLY:
        return False  # "Kim is back": who is named by a rule does other things too
    # What the agent said before ties a clause to a rule only where the clause surely ends one.
    tied = row["tie shared"] and (row["shared"] or row["act lift"] >= MOVING)
    own = row["share"] >= LEAST_SHARE or row["named"] or tied
    around = max(row["share of message"], row["share with reply"]) >= LEAST_AROUND
    return bool(
        own
        or row["names its figure"]
        or row["only near figure"]
        or (row["backward"] and around and not _NAMED.search(words))
    )


_NAMED = re.compile(r"\b[A-Z][a-z]+\b.*\b(?:him|her|he|she)\b")
"""A pronoun that stands for somebody named before it in the clause: it points back no further."""


MOVING = 0.6
"""Probability of a lifting or a change from which a pronoun is looked up in the message."""

PLAINLY = 0.75
"""The same where a clause shares nothing but a name with the rule."""

LEAST_MOVING, RATHER = 0.3, 0.65
"""Probability of a lifting or a change under which the odds of the rule have to be these."""

UNLIKELY = 0.2
"""The same under which no rule is looked for."""

LIFTS = 2.0
"""How much likelier a lifting has to be than a change: a rule in new bounds still binds."""

BOLD = 0.85
"""Odds from which a clause need share nothing with the rule."""

NEARLY = 0.6
"""The same where it sets a figure like the rule's own."""

SURELY, ALONE, AHEAD = 0.9, 0.15, 3.0
"""A clause that lifts something with these odds lifts what it most likely speaks of: a rule of odds
of its own from the second on, that are so many times the next one's."""

LEAST_SHARE = 0.12
LEAST_AROUND = 0.25


@cache
def _model() -> Trees:
    return Trees.read(WEIGHTS)

"""What bars a clause from ending a rule, however surely it sounds like it.

Tables of what is taken back, told, denied, limited, about something else or of others; the odds are those
of `acc.compressors.rules.gathering`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from acc.compressors.rules.bearing import Heard, content
from acc.compressors.rules.contrary import happened_again, is_barred, is_limited, is_told
from acc.compressors.rules.fields import text_of
from acc.compressors.rules.gathering import Bearing
from acc.compressors.rules.lifting import ENDED, LIFTED
from acc.compressors.rules.lookalikes import DISCLAIMER, concluded
from acc.compressors.rules.objects import concerns, permits_same_of_another, shares_verb_alone
from acc.compressors.rules.words import one_of
from acc.items import Item
from acc.wording import marks

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

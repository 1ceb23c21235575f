"""Standing rules in the user's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.compressors.rules.acts import acts
from acc.compressors.rules.entities import SO, surely_named
from acc.compressors.rules.fields import text_of
from acc.compressors.rules.figures import MONTHS, quantities
from acc.compressors.rules.goals import is_goal
from acc.compressors.rules.lookalikes import DISCLAIMER, FEELING, JOKE, is_hearsay, is_question
from acc.compressors.rules.reading import Said
from acc.compressors.rules.sentences import clauses, plain, tidy
from acc.compressors.rules.shortening import shortened
from acc.compressors.rules.spoken import Spoken
from acc.compressors.rules.words import FORM, SIZE, one_of
from acc.items import Item, Kind
from acc.same_words import same_words
from acc.wording import is_negative, marks, stems

_FORMAT = re.compile(rf"\b(?:{FORM}|{SIZE})", re.I)
_RATHER = re.compile(r"\b(?:I|we)(?:'d| would)? (?:rather|prefer|like|love|hate)\b", re.I)
_WISH = re.compile(r"\b(?:rather|prefer\w*|like|love|hate|nicer|favou?rite|please)\b", re.I)
_PLACE = re.compile(r"\b(?:in|at|from|near|of|on) $", re.I)
OPENING, SUBJECT = 8, 12
"""Words of a rule among which a pronoun for what was named before it stands; or "they", which is its subject."""
_PERSON = re.compile(r"\b(?:him|his|her|he|she)\b", re.I)
_SEVERAL = re.compile(rf"\bthey\b|^(?:\S+ ){{0,{OPENING - 1}}}them\b", re.I)


_THERE = re.compile(
    r"(?<!\bin )(?<!\bout )(?<!\bover )(?<!\bup )\bthere\b(?!'| "
    + one_of("is, are, was, were, will, has, have, must, should, can, may")
    + ")",
    re.I,
)


class Rule(NamedTuple):
    """A standing rule.

    Attributes:
        text: What it says.
        kind: Its kind.
        quote: The verbatim words that made it.
        amends: Id of the rule that it is with another figure; or empty.
    """

    text: str
    kind: Kind
    quote: str
    amends: str = ""


SURE = 0.7
"""Probability from which a clause makes a rule."""

CERTAIN = 0.8
"""The same for a clause that has the words of a report: "whatever the vendor says, never ..."."""

PLAINLY = 0.3
"""The same for a clause that opens as a rule does."""

_PLAIN = re.compile(
    r"^\W*(?:(?:and|also|but|please|so|then)\W+)*(?:" + one_of(
        r"""don't, do not, dont, never, always, keep, leave, stay, only, answer, from now on,
        whenever, under no circumstances, no(?!\x2c), could you always, can you always,
        let's (?:not|keep|leave|stay|hold|only|never|always),
        (?:[\w-]+ ){0,2}(?:freeze|embargo|moratorium|blackout|curfew|lockdown) (?:until|till|from|on|for)"""
    ) + ")",
    re.I,
)  # fmt: skip

AGAIN = 0.2
"""The same for a clause that is said to hold from then on."""

_EVER = re.compile(
    r"^\W*" + one_of(
        """always, every time, each time, every single time, no exceptions?, without exceptions?,
        from now on, from here on, until further notice"""
    ) + r"\W*$",
    re.I,
)  # fmt: skip
"""Says of the sentence before it that it holds from then on: "Always."."""

ASKED = 0.3
"""Probability of a goal or an order from which a clause is not looked at part by part."""

MOVING, CHANGES = 0.65, 0.35
"""Probability of a rule or a change of one, and of a change alone, from which a clause makes a rule
although it is not clear which one it changes: "the call is at 23:30 now"."""


_BARE = stems("never ever always only just nope nothing none yes sure exactly please")
"""Words that alone lay nothing down: "No, never!"."""


def rules_in(said: Said) -> list[Rule]:
    """The standing rules in a sentence, clause by clause; none where it only looks like one."""
    return [rule for spoken in spoken_in(said) if (rule := rule_of(spoken)) is not None]


def spoken_in(said: Said) -> list[Spoken]:
    """The clauses of a sentence, each with its neighbours; verbatim."""
    parts = clauses(said.text)
    around = [said.before, *(plain(part) for part in parts), said.after]
    return [Spoken(part, around[i], around[i + 2]) for i, part in enumerate(parts)]


@lru_cache(maxsize=512)
def rule_of(spoken: Spoken) -> Rule | None:
    """The rule that a clause makes, or None."""
    words = plain(spoken.words)
    odds = acts(spoken.plain)
    sure, least = odds["rule"], SURE
    if _PLAIN.match(words):
        # What follows a comma may state a fact; the order before it is one all the same.
        order = spoken.plain._replace(words=words.split(",")[0])
        sure, least = max(sure, acts(order)["rule"]), PLAINLY
    elif PLAINLY <= sure < SURE and odds["goal"] + odds["ask"] < ASKED and not JOKE.search(words):
        sure = max(sure, _in_a_part(words))
    if _EVER.match(plain(spoken.after)):
        least = min(least, AGAIN)
    changes = odds["change"] >= CHANGES and odds["rule"] + odds["change"] >= MOVING
    if (sure < least and not changes) or not stems(words) - _BARE:
        return None
    if is_question(words, words.rstrip().endswith("?")) or FEELING.search(words):
        return None
    if DISCLAIMER.search(spoken.after):
        return None
    if is_hearsay(words) and odds["rule"] < CERTAIN:
        return None
    return Rule(shortened(tidy(spoken.words)), kind_of(plain(spoken.words)), spoken.words)


def _in_a_part(words: str) -> float:
    """How surely a part that restricts makes a rule: reasons and asides around it speak of facts."""
    parts = [part for part in _PART.split(words) if len(part.split()) >= 3 and is_negative(part)]
    sure = max((acts(Spoken(part))["rule"] for part in parts if part != words), default=0.0)
    return sure if sure >= CERTAIN else 0.0


_PART = re.compile(r"(?:,|\s[-–—])\s+(?:so |and |but |then )?|;\s+|:\s+")


def kind_of(words: str) -> Kind:
    """The kind of a rule, by its words."""
    if _FORMAT.search(words):
        return "format"
    if quantities(words):
        return "limit"
    if is_negative(words) and not _RATHER.search(words):
        return "prohibition"
    return "preference" if _WISH.search(words) else "requirement"


def makes_rule(said: Said, rules: Sequence[Rule]) -> bool:
    """Whether a sentence makes a rule rather than a goal."""
    odds = acts(said.spoken)
    return bool(rules) and not (is_goal(said) and odds["goal"] > odds["rule"])


def with_name(text: str, said: Said) -> str:
    """``text`` with the name that its pronoun or "there" stands for, where the sentence before has one."""
    opening = " ".join(text.split()[:OPENING])
    own = {named.name for named in surely_named(text)}
    somewhere, several = _THERE.search(opening), _SEVERAL.search(" ".join(text.split()[:SUBJECT]))
    if not (somewhere or several or (_PERSON.search(opening) and not own)):
        return text
    names = {
        named.name
        for named in surely_named(said.before)
        if somewhere or not _PLACE.search(f"{SO}{said.before}"[: named.start])
    }
    return f"{names.pop()}: {text}" if len(names) == 1 and not names & own else text


def restates(text: str, item: Item) -> bool:
    """Whether a rule sets another figure for what ``item`` set one for, in otherwise the same words."""
    held = text_of(item)
    old, new = marks(held), marks(text)
    told = (f for f in (*quantities(held), *quantities(text)) if f.unit not in MONTHS)
    # "server 2" is another thing than "server 1", and 19 May another day than 12 May.
    measured = marks("; ".join(figure.text for figure in told))
    if not old or not new or old == new or not old ^ new <= measured:
        return False
    return same_words(_FIGURE.sub("0", held), _FIGURE.sub("0", text))


_FIGURE = re.compile(r"[£€$]?\d[\d.,]*")

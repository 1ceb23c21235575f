"""Standing rules in the user's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from acc.compressors.rules.cues import RULES
from acc.compressors.rules.entities import PROPER, named_in
from acc.compressors.rules.figures import quantities
from acc.compressors.rules.goals import is_goal
from acc.compressors.rules.lookalikes import (
    DISCLAIMER,
    HAPPENED,
    JOKE,
    PASSING,
    is_fancy,
    is_hearsay,
    is_past,
    is_question,
    tells_of_self,
)
from acc.compressors.rules.reading import Said
from acc.compressors.rules.sentences import clauses, plain, tidy
from acc.items import Item, Kind
from acc.wording import marks, overlap, stems

MEASURES = ("format", "limit", "preference")
"""Kinds that a goal may bring along, as its measure."""

_PLACE = re.compile(r"\b(?:in|at|from|near|of|on) $", re.I)
_NEEDLESS = re.compile(
    r"(?:\bno longer|\bnot|n't) (?:need|have) to\b|\bno need to\b|\bneed(?:n't| not)\b",
    re.I,
)
"""Before a cue: what is not needed is no rule."""
_PERSON = re.compile(r"\b(?:him|his|her|he|she|them|they)\b", re.I)


class Rule(NamedTuple):
    """A standing rule: what it says, its kind, and the verbatim words that made it."""

    text: str
    kind: Kind
    quote: str


def rules_in(said: Said) -> list[Rule]:
    """The standing rules in a sentence, clause by clause; none where it only looks like one."""
    if is_no_rule(said):
        return []
    found = []
    for clause in clauses(said.text):
        kind = kind_of(plain(clause), said.words)
        if kind is not None:
            found.append(Rule(tidy(clause), kind, clause))
    return found


def kind_of(words: str, sentence: str = "") -> Kind | None:
    """The kind of rule that a clause states, or None."""
    if PASSING.search(words):
        return None
    for kind, _, pattern in RULES:
        match = pattern.search(words)
        if match is None or (kind == "limit" and HAPPENED.search(words)):
            continue
        if tells_of_self(words, match.start()) or _NEEDLESS.search(words[: match.end()]):
            continue
        whole = sentence or words
        place = max(whole.find(words), 0) + match.end()
        return None if is_hearsay(whole, place) or is_past(whole, place) else kind
    return None


def is_no_rule(said: Said) -> bool:
    """Whether a sentence asks, supposes or jests, and so makes, lifts and changes no rule."""
    if is_question(said.words, said.asks) or is_fancy(said.words):
        return True
    return bool(DISCLAIMER.search(said.after) or JOKE.match(said.after))


def makes_rule(said: Said, rules: Sequence[Rule]) -> bool:
    """Whether a sentence makes a rule: "I'd like two pages on it" is the measure of a goal."""
    return any(rule.kind not in MEASURES for rule in rules) or bool(rules and not is_goal(said))


def with_name(text: str, said: Said) -> str:
    """``text`` with the name that its pronoun stands for, where the sentence before has one."""
    opening = " ".join(text.split()[:8])
    if not _PERSON.search(opening) or named_in(f"so {text}"):
        return text
    people = (n for n in named_in(f"so {said.before}") if n.type in PROPER)
    names = {n.name for n in people if not _PLACE.search(said.before[: max(0, n.start - 3)])}
    return f"{names.pop()}: {text}" if len(names) == 1 else text


def is_same(text: str, item: Item) -> bool:
    """Whether ``item`` says what ``text`` says, in nearly the same words."""
    held = str(getattr(item, "text", ""))
    return marks(held) == marks(text) and overlap(stems(held), stems(text)) >= 0.75


def restates(text: str, item: Item) -> bool:
    """Whether a rule sets another figure for what ``item`` set one for, in much the same words."""
    held = str(getattr(item, "text", ""))
    figures, new = marks(held), marks(text)
    if not figures or not new or figures == new:
        return False
    measured = marks("; ".join(f.text for f in (*quantities(held), *quantities(text))))
    if not figures ^ new <= measured:
        return False  # "server 2" is another thing than "server 1"
    return overlap(stems(held) - figures, stems(text) - new) >= 0.75

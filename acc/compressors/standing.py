"""Standing rules in the user's own words."""

from __future__ import annotations

import re
from typing import NamedTuple

from acc.compressors.cues import RULES
from acc.compressors.lookalikes import (
    DISCLAIMER,
    HAPPENED,
    JOKE,
    PASSING,
    is_hearsay,
    is_question,
    is_told,
    tells_of_self,
)
from acc.compressors.reading import Said
from acc.compressors.sentences import clauses, plain, tidy
from acc.items import Kind


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
        if tells_of_self(words, match.start()):
            continue
        offset = max(sentence.find(words), 0)
        return None if is_hearsay(sentence or words, offset + match.end()) else kind
    return None


def is_no_rule(said: Said) -> bool:
    """Whether a sentence asks, tells or jests, and so makes, lifts and changes no rule."""
    if is_question(said.words, said.asks) or is_told(said.words):
        return True
    return bool(DISCLAIMER.search(said.after) or JOKE.match(said.after))

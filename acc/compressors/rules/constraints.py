"""The constraints of the next state: what the user lays down, and what of the prior they end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from acc.compressors.rules.bearing import Heard
from acc.compressors.rules.effects import Effect, effects
from acc.compressors.rules.figures import figures
from acc.compressors.rules.handed import is_handed, is_text_of_others
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.room import Room
from acc.compressors.rules.sentences import RESERVED, plain, tidy
from acc.compressors.rules.spoken import Spoken
from acc.compressors.rules.standing import (
    Rule,
    restates,
    rule_of,
    spoken_in,
    with_name,
)
from acc.compressors.rules.words import one_of
from acc.items import Kind
from acc.wording import stems

LEAST = 0.55
"""Odds from which a clause is taken to lift or change a rule."""


def constrain(reading: Reading, room: Room) -> None:
    """New rules; of the prior ones, what the user lifts or changes."""
    reply = " ".join(said.words for said in reading.reply)
    pasted = frozenset().union(*(stems(text) for text in reading.pasted))
    standing = room.open("constraints")
    for ref, told in groupby(_own(reading), lambda said: said.ref):
        message = " ".join(said.words for said in reading.user if said.ref == ref)
        parts = [(said, spoken) for said in told for spoken in spoken_in(said)]
        parts = [part for part in parts if not _is_of(part[1].words, pasted)]
        # Rules that the message ended already are weighed too: its clauses are often about one.
        heard = [Heard(spoken.plain, message, reply) for _, spoken in parts]
        for (said, spoken), found in zip(parts, effects(heard, standing, LEAST), strict=True):
            if not _goes_on(spoken.words, message, ref, room):
                _constrain(next(iter(found), None), spoken, said, room)


def _own(reading: Reading) -> Iterator[Said]:
    """What the user says themselves: up to a text that they hand over to be read."""
    handed = set()
    for said in reading.user:
        if said.ref not in handed and not is_handed(said):
            yield said
        if is_text_of_others(said.words):
            handed.add(said.ref)


PASTED = 0.5
"""Share of a clause's words that stand in a text pasted beside it: it speaks of that text."""


def _is_of(words: str, pasted: frozenset[str]) -> bool:
    own = stems(words)
    if _FORBIDS.match(words) and not own <= pasted:
        return False
    return len(own & pasted) > 1 and len(own & pasted) >= PASTED * len(own)


_FORBIDS = re.compile(
    r"^\W*(?:please |and |so |but )?(?:never|don't|do not|no|nothing|always)\b", re.I
)
"""An order of the user's, whose words a text beside it may have too, if not all."""


_TAIL = re.compile(
    r"^\W*(?!(?:all|any|each|every|both) [\w-]+ (?:at|by|for|from|in|on|to|with)\b)" + one_of(
        """every, each, all, any, anything, anyone, anybody, both, none, same, in, at, on, for, from, to,
        with, without, only, except, including, even, also, plus"""
    ) + r"(?:\W+[\w'/%.:-]+){1,3}\W*$",
    re.I,
)  # fmt: skip
_NOT_EVEN = re.compile(
    r"^\W*(?:always|every time|no exceptions?|(?:and )?(?:not (?:even )?|nor )"
    r"(?:for|if|when|by|to|with|in|on|at|from|the|an?)\b[^.!?;]{1,60})\W*$",
    re.I,
)
"""Goes on with a rule: "Not for the mayor, not if he begs", "Always."."""


def _goes_on(words: str, message: str, ref: str, room: Room) -> bool:
    """Join a few words without a verb to the rule said right before them: "In full, every time."."""
    if not (_TAIL.match(words) or _NOT_EVEN.match(words)):
        return False
    for item in room.new():
        quote = f"{item.fields.get('quote')} {words}"
        if item.slot == "constraints" and quote in message:
            longer = f"{item.fields['text']}. {tidy(words)}"
            room.drop(item)
            joined = {**item.fields, "text": longer, "quote": quote}
            if not room.add("constraints", [ref], **joined):
                room.add("constraints", [ref], **item.fields)
            return True
    return False


def _constrain(effect: Effect | None, spoken: Spoken, said: Said, room: Room) -> None:
    rule = rule_of(spoken)
    if effect is None and rule is not None:
        held = room.open("constraints")
        again = next((item for item in held if restates(rule.text, item)), None)
        effect = Effect(again, "change", 1.0) if again is not None else None
    if effect is not None:
        room.retire(effect.item, said.ref, spoken.words)
        binds = effect.op == "change" or _RESERVES.search(plain(spoken.words))
        rule = _changed(effect, spoken, rule) if binds else None
    if rule is not None:
        _add(rule, said, room)


_RESERVES = re.compile(rf"(?:,|\s[-–—]|\bbut|\band)\s+(?:but |and )?{RESERVED}", re.I)
"""Takes a part of a permission back, which binds as the rule did: "..., but not at night"."""


def _changed(effect: Effect, spoken: Spoken, rule: Rule | None) -> Rule:
    """What stands in a changed rule's place: its words with the new figure, or the user's."""
    old = str(getattr(effect.item, "text", ""))
    before, after = figures(old), figures(plain(spoken.words))
    kind: Kind = rule.kind if rule else getattr(effect.item, "kind", "limit")
    if len(before) == len(after) == 1 and len(spoken.words.split()) <= SHORT:
        return Rule(old.replace(before[0].text, after[0].text, 1), kind, spoken.words)
    return Rule(tidy(spoken.words), kind, spoken.words)


SHORT = 6
"""Words up to which a change says no more than its figure: "make that 300"."""


def _add(rule: Rule, said: Said, room: Room) -> None:
    text = with_name(rule.text, said)
    room.add("constraints", [said.ref], text=text, kind=rule.kind, quote=rule.quote)

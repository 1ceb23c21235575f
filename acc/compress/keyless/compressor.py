"""A compressor without a model: English, offline, deterministic, in linear time.

Small classifiers decide what a sentence does and how long it will be needed. Rules, goals and later words are whole
sentences of the user's; facts are whole sentences of anybody. What it does not read stands in the tail, and a note
says so.

    reading.py    the messages by channel, sentence by sentence; which are English
    acts.py       what a clause does, by two classifiers
    rules.py      rules, goals, goals that are done; the second reading of claims that a rule ended
    lifting.py    later words: which rule a clause is about
    facts.py      facts and their worth
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from acc.compress.keyless.acts import one_thread
from acc.compress.keyless.facts import FactCandidate, replaced_by, told_in, worth_of
from acc.compress.keyless.lifting import ENDS, SHOWN, Standing, later_in
from acc.compress.keyless.reading import HeardClauses, SaidSentence, heard
from acc.compress.keyless.rules import done_in, is_goal, is_rule
from acc.compress.keyless.words import plain
from acc.state.items import Goal, Pinned, Record, Rule
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import (
    Proposal,
    ProposedLater,
    ProposedPin,
    ProposedRecord,
)
from acc.state.reading import Reading
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.text.quoting import same_words

SPARE = 0.02
"""Share of the bound that stays free for what commit adds."""

FADING = 0.02
"""Worth that a fact loses with each turn in which nobody speaks of it."""

FLAT, POWER = 40, 0.5
"""The rank of a fact is its worth by ``(tokens + FLAT) ** POWER``: very short ones say little by themselves."""

BESIDE = ' LATER 2026-01-01: ""'
HEADINGS = "Facts:\nFacts by tool:\n"


class Room:
    """The tokens that are left while a proposal is made."""

    def __init__(self, state: CompressedCognitiveState, policy: Policy) -> None:
        own = {
            name: getattr(state, name)
            for name, slot in type(state).slots().items()
            if slot.is_pinned
        }
        self._counter: Callable[[str], int] = policy.counter
        self._used = policy.counter(render(type(state)(**own), policy.style))
        self._pinned = policy.pinned_tokens
        self._most = int(policy.max_tokens * (1 - SPARE))

    def takes(self, text: str, *, is_beside: bool = False, share: float = 1.0) -> bool:
        """Return whether a goal or later word fits into ``share`` of the room of rules; take its tokens if so."""
        cost = self._counter(f"{BESIDE}{text}" if is_beside else f'- "{text}"\n')
        if self._used + cost > share * self._pinned:
            return False
        self._used += cost
        return True

    def needs(self, text: str) -> None:
        """Take the tokens of a rule, which is proposed in any case: commit says loudly if it does not fit."""
        self._used += self._counter(f'- "{text}"\n')

    def kept(self, found: Sequence[FactCandidate]) -> list[FactCandidate]:
        """Return the facts that fit, those most worth their tokens first."""
        left = self._most - self._used - self._counter(HEADINGS)
        kept: list[FactCandidate] = []
        for each in sorted(found, key=self._rank, reverse=True):
            cost = self._counter(f"- {each.text}\n")
            if cost <= left:
                left -= cost
                kept.append(each)
        return kept

    def _rank(self, each: FactCandidate) -> float:
        return float(
            (each.worth - FADING * each.age) / (self._counter(f"- {each.text}\n") + FLAT) ** POWER
        )


FACTS = "relational_map"

PLENTY = 0.8
"""Share of the room of rules and goals up to which later words stand beside a rule that they are unlikely about."""


def compress(reading: Reading) -> Proposal:
    """Propose what the messages of ``reading`` change. Never raises, for any text; equal input, equal proposal."""
    with one_thread():
        return _Reader(reading).proposal()


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._heard: HeardClauses = heard(reading)
        self._room = Room(reading.state, reading.policy)
        self._rules: list[ProposedPin] = []
        self._goals: list[ProposedPin] = []
        self._laid: dict[int, Standing] = {}
        self._taken: set[int] = set()

    def proposal(self) -> Proposal:
        """Read rules, goals, later words and facts, in this order."""
        for place, said in enumerate(self._heard.user):
            self._pin(place, said)
        later = list(self._later())
        # A later word must not be missing for want of room; a goal that finds none stands in the tail.
        goals = [pin for pin in self._goals if self._room.takes(pin.quote)]
        done = done_in(self._heard, self._held(Goal))
        records, drop = self._facts()
        detail = "a sentence is not English, or is too long: its rules and facts are not read"
        unread = [Note(reason=Reason.UNREAD, ref=ref, detail=detail) for ref in self._heard.unread]
        return Proposal(
            rules=tuple(self._rules), goals=tuple(goals), later=tuple(later), done=tuple(done),
            records=tuple(records), drop=tuple(drop), author="keyless", notes=tuple(unread),
        )  # fmt: skip

    def _later(self) -> Iterator[ProposedLater]:
        """Yield the later words that have room: unlikely ones only while there is plenty, sure ones in any case."""
        held = [Standing(r.id, plain(r.text_of), len(r.later)) for r in self._held(Rule)]
        standing = [*held, *self._laid.values()]
        for later, odds in later_in(self._heard, standing, self._laid.keys()):
            share = PLENTY if odds < SHOWN else 1.0
            if self._room.takes(later.quote, is_beside=True, share=share) or odds >= ENDS:
                yield later

    def _pin(self, place: int, said: SaidSentence) -> None:
        is_first = not self._goals and not any(goal.done is None for goal in self._held(Goal))
        if is_rule(said):
            self._taken.add(place)
            if not self._stands(said, self._held(Rule)):
                pin = ProposedPin(said.text, said.ref, id=f"rule{place}")
                self._laid[place] = Standing(pin.id, said.words, since=place)
                self._rules.append(pin)
                self._room.needs(said.text)
        elif is_goal(said, is_first=is_first) and not self._stands(said, self._held(Goal)):
            self._taken.add(place)
            self._goals.append(ProposedPin(said.text, said.ref))

    def _held(self, kind: type[Any]) -> list[Any]:
        return [item for _, item in self._reading.state.items() if isinstance(item, kind)]

    def _stands(self, said: SaidSentence, held: Sequence[Pinned]) -> bool:
        """Return whether the state holds the sentence already, with nothing that speaks against it."""
        return any(same_words(item.words.text, said.text) and item.ending is None for item in held)

    def _facts(self) -> tuple[list[ProposedRecord], list[str]]:
        held = [item for item in getattr(self._reading.state, FACTS) if isinstance(item, Record)]
        found: dict[str, FactCandidate] = {}
        for new in told_in(self._heard, self._taken):
            old = replaced_by(new, [item for item in held if item.id not in found])
            key = old.id if old else f"new{len(found)}"
            found[key] = FactCandidate(new.text, new.ref, new.worth, 0, old.id if old else "")
        for item in held:
            if item.id not in found:
                age = max(0, self._reading.number - item.touched)
                found[item.id] = FactCandidate(
                    item.text_of, "", worth_of(plain(item.text_of)), age, item.id
                )
        kept = self._room.kept(list(found.values()))
        stays = {each.replaces for each in kept}
        records = [
            ProposedRecord(FACTS, {"text": each.text}, (each.ref,), each.replaces)
            for each in kept
            if each.ref
        ]
        return records, [item.id for item in held if item.id not in stays]

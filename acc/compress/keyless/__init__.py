"""A compressor without a model: English, offline, deterministic, in linear time.

Small classifiers decide what a sentence does and how long it will be needed. Rules, goals and later words are whole
sentences of the user's; facts are whole sentences of anybody. What it does not read stands in the tail, and a note
says so.

    hearing.py    the messages by channel, sentence by sentence; which are English
    acts.py       what a clause does, by two classifiers
    rules.py      rules, goals, goals that are done; the second reading of claims that a rule ended
    lifting.py    later words: which rule a clause is about
    facts.py      facts and their worth
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acc.compress.keyless.acts import one_thread
from acc.compress.keyless.facts import FactCandidate, replaced_by, told_in, worth_of
from acc.compress.keyless.hearing import SaidSentence, heard
from acc.compress.keyless.lifting import ENDS, SHOWN, Standing, later_in
from acc.compress.keyless.rules import done_in, is_goal, is_rule
from acc.compress.keyless.words import plain
from acc.state.items import Goal, Pinned, Record, Rule
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


FACTS = "relational_map"

PLENTY = 0.8
"""Share of the room of rules and goals up to which later words stand beside a rule that they are unlikely about."""


def compress(reading: Reading) -> Proposal:
    """Propose what the messages of ``reading`` change. Never raises, for any text; equal input, equal proposal."""
    with one_thread():
        return _Reader(reading).proposal()


class _Reader:
    def __init__(self, reading: Reading) -> None:
        state, policy = reading.state, reading.policy
        slots = type(state).slots().items()
        pinned = {name: getattr(state, name) for name, slot in slots if slot.is_pinned}
        items = [item for _, item in state.items()]
        self._reading = reading
        self._heard = heard(reading)
        self._held_rules = [item for item in items if isinstance(item, Rule)]
        self._held_goals = [item for item in items if isinstance(item, Goal)]
        self._counter: Callable[[str], int] = policy.counter
        self._used = policy.counter(render(type(state)(**pinned), policy.style))
        self._rules: list[ProposedPin] = []
        self._goals: list[ProposedPin] = []
        self._laid: dict[int, Standing] = {}  # rules by the places of their sentences
        self._taken: set[int] = set()  # places of the sentences that are rules or goals

    def proposal(self) -> Proposal:
        """Read rules, goals, later words and facts, in this order."""
        for place, said in enumerate(self._heard.user):
            self._pin(place, said)
        later = list(self._later())
        # A later word must not be missing for want of room; a goal that finds none stands in the tail.
        goals = [pin for pin in self._goals if self._fits(_pinned_line(pin.quote))]
        records, drop = self._facts()
        detail = "a sentence is not English, or is too long: its rules and facts are not read"
        unread = [Note(reason=Reason.UNREAD, ref=ref, detail=detail) for ref in self._heard.unread]
        return Proposal(
            rules=tuple(self._rules), goals=tuple(goals), later=tuple(later),
            done=tuple(done_in(self._heard, self._held_goals)),
            records=tuple(records), drop=tuple(drop), author="keyless", notes=tuple(unread),
        )  # fmt: skip

    def _fits(self, line: str, share: float = 1.0) -> bool:
        """Whether a line fits into ``share`` of the room of rules; if so, its tokens are taken."""
        cost = self._counter(line)
        fits = self._used + cost <= share * self._reading.policy.pinned_tokens
        self._used += cost if fits else 0
        return fits

    def _later(self) -> Iterator[ProposedLater]:
        """Yield the later words that have room: unlikely ones only while there is plenty, sure ones in any case."""
        held = [Standing(r.id, plain(r.text_of), len(r.later)) for r in self._held_rules]
        standing = [*held, *self._laid.values()]
        for later, odds in later_in(self._heard, standing, self._laid.keys()):
            share = PLENTY if odds < SHOWN else 1.0
            if self._fits(f"{BESIDE}{later.quote}", share) or odds >= ENDS:
                yield later

    def _pin(self, place: int, said: SaidSentence) -> None:
        is_first = not self._goals and all(goal.done for goal in self._held_goals)
        if is_rule(said):
            self._taken.add(place)
            if not _stands(said, self._held_rules):
                pin = ProposedPin(said.text, said.ref, id=f"rule{place}")
                self._laid[place] = Standing(pin.id, said.words, since=place)
                self._rules.append(pin)
                # It is proposed in any case: commit says loudly if it does not fit.
                self._used += self._counter(_pinned_line(said.text))
        elif is_goal(said, is_first=is_first) and not _stands(said, self._held_goals):
            self._taken.add(place)
            self._goals.append(ProposedPin(said.text, said.ref))

    def _facts(self) -> tuple[list[ProposedRecord], list[str]]:
        """Return the facts to write and the held ones to drop: those most worth their tokens stay."""
        held = {
            item.id: item
            for item in getattr(self._reading.state, FACTS)
            if isinstance(item, Record)
        }
        found: dict[str, FactCandidate] = {}
        for new in told_in(self._heard, self._taken):
            old = replaced_by(new, [item for item in held.values() if item.id not in found])
            found[old.id if old else f"new{len(found)}"] = new
        for item in held.values():
            if item.id not in found:
                age = max(0, self._reading.number - item.touched)
                worth = worth_of(plain(item.text_of))
                found[item.id] = FactCandidate(item.text_of, "", worth, age)
        costs = {key: self._counter(f"- {each.text}\n") for key, each in found.items()}

        def rank(key: str) -> float:
            each = found[key]
            return float((each.worth - FADING * each.age) / (costs[key] + FLAT) ** POWER)

        left = int(self._reading.policy.max_tokens * (1 - SPARE)) - self._used
        left -= self._counter(HEADINGS)
        records: list[ProposedRecord] = []
        drop = set(held)
        for key in sorted(found, key=rank, reverse=True):
            if costs[key] > left:
                continue
            left -= costs[key]
            drop.discard(key)
            if ref := found[key].ref:
                replaced = key if key in held else ""
                records.append(ProposedRecord(FACTS, {"text": found[key].text}, (ref,), replaced))
        return records, [key for key in held if key in drop]


def _pinned_line(text: str) -> str:
    return f'- "{text}"\n'


def _stands(said: SaidSentence, held: Sequence[Pinned]) -> bool:
    """Whether the state holds the sentence already, with nothing that speaks against it."""
    return any(same_words(item.words.text, said.text) and item.ending is None for item in held)

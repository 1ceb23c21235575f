"""A conversation with its truth, and a model that compresses it as well as it is told to.

The mix of a turn is that of the recorded proposals of a strong model: a new fact, 0.7 changed
ones and one that ends, a rule now and then. What is true at any time fits the bounds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from acc.state.items import Constraint, Item, Relation
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Mode, Proposal
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

MOST_FACTS, MOST_RULES = 16, 6
RULE_EVERY = 25
STANDING = 3
"""Rules of the first turns, which hold to the end."""

Key = tuple[str, str]
_PREDICATES = ("runs on", "is owned by", "has version", "listens on")


@dataclass
class Said:
    """What one turn says: new facts, changed ones, keys that end, a rule, and one that is lifted."""

    turn: Turn
    new: dict[Key, str] = field(default_factory=dict)
    changed: dict[Key, str] = field(default_factory=dict)
    over: list[Key] = field(default_factory=list)
    rule: str = ""
    lifted: str = ""


@dataclass
class World:
    """The conversation, and what is true in it.

    Attributes:
        facts: Values by subject and predicate.
        rules: Rules that hold.
    """

    rng: random.Random
    facts: dict[Key, str] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)

    def turns(self, count: int) -> Iterator[Said]:
        """The turns; ``facts`` and ``rules`` are those after the turn that is yielded."""
        for number in range(1, count + 1):
            said = Said(Turn(observations=()))
            lines = [*self._facts(number, said), *self._rules(number, said)]
            user = Observation(channel=Channel.USER, text=" ".join(lines))
            reply = Observation(channel=Channel.AGENT, text=f"Noted as item {number}.")
            said.turn = Turn(observations=(user, reply)).numbered(number)
            yield said

    def _facts(self, number: int, said: Said) -> Iterator[str]:
        if len(self.facts) >= MOST_FACTS:
            ended = self.rng.choice(list(self.facts))
            del self.facts[ended]
            said.over.append(ended)
            yield f"What {ended[0]} {ended[1]} is over."
        if self.facts and self.rng.random() < 0.7:
            key = self.rng.choice(list(self.facts))
            self.facts[key] = said.changed[key] = f"node-{self.rng.randrange(10_000)}"
            yield f"{key[0]} now {key[1]} {self.facts[key]}."
        key = (f"svc-{number}", self.rng.choice(_PREDICATES))
        self.facts[key] = said.new[key] = f"node-{self.rng.randrange(10_000)}"
        yield f"{key[0]} {key[1]} {self.facts[key]}."

    def _rules(self, number: int, said: Said) -> Iterator[str]:
        if number > STANDING and number % RULE_EVERY:
            return
        if len(self.rules) >= MOST_RULES:
            said.lifted = self.rules.pop(STANDING)
            yield f"The rule is lifted: {said.lifted}."
        said.rule = f"Never restart db-{number} during backups"
        self.rules.append(said.rule)
        yield f"{said.rule}."


@dataclass
class Model:
    """Writes what was said onto the wire.

    Attributes:
        mode: ``revise`` or ``rewrite``.
        rng: Decides on errors.
        miss: Share of additions that it leaves out.
        stray: Spurious retirements and updates, for each retirement and update that is due.
        forget: Share of the carried items that it leaves out of a rewrite.
        quotes: Whether a spurious retirement quotes words that the user did say in this turn, about
            something else; without it the quote is invented.
    """

    mode: Mode
    rng: random.Random
    miss: float = 0.0
    stray: float = 0.0
    forget: float = 0.0
    quotes: bool = False

    def wire(self, said: Said, state: CompressedCognitiveState) -> dict[str, Any]:
        """The wire object, with every slot."""
        user, reply = (o.ref for o in said.turn.observations)
        wire: dict[str, Any] = {name: [] for name in (*type(state).slots(), "retire")}
        event = {"text": f"facts noted in turn {said.turn.number}", "cites": [reply], "id": ""}
        wire["episodic_trace"].append(event)
        held = {(i.subject, i.predicate): i for i in state.relational_map}
        for key, value in {**said.changed, **said.new}.items():
            if key in held:
                wire["relational_map"].append(_fact(key, value, user, held[key].id))
            elif self.rng.random() >= self.miss:
                wire["relational_map"].append(_fact(key, value, user))
        ended: list[Item] = [held[key] for key in said.over if key in held]
        ended += [rule for rule in state.constraints if rule.text == said.lifted]
        for item in ended:
            wire["retire"].append(_end(item, user, said.lifted))
        if said.rule and self.rng.random() >= self.miss:
            rule = {"text": said.rule, "kind": "prohibition", "quote": said.rule}
            wire["constraints"].append({**rule, "cites": [user], "id": ""})
        self._stray(wire, state, said, due=len(said.changed) + len(ended))
        if self.mode == "rewrite":
            self._carry(wire, state)
        return wire

    def proposal(self, said: Said, state: CompressedCognitiveState) -> Proposal:
        """What it proposes."""
        return Proposal.from_wire(self.wire(said, state), type(state), mode=self.mode)

    def _stray(
        self, wire: dict[str, Any], state: CompressedCognitiveState, said: Said, due: int
    ) -> None:
        """Ends, or changes, what it has no reason to."""
        items = [*state.relational_map, *state.constraints]
        user = said.turn.observations[0]
        for _ in range(due):
            if not items or self.rng.random() >= self.stray:
                continue
            item = self.rng.choice(items)
            if isinstance(item, Relation) and self.rng.random() < 0.5:
                key = (item.subject, item.predicate)
                wire["relational_map"].append(_fact(key, "node-wrong", user.ref, item.id))
            else:
                quote = user.text[:80] if self.quotes else "That rule is not needed any more."
                wire["retire"].append(_end(item, user.ref, quote))

    def _carry(self, wire: dict[str, Any], state: CompressedCognitiveState) -> None:
        """Writes again what the rest of the proposal does not speak of."""
        spoken = {entry["id"] for entries in wire.values() for entry in entries}
        for slot, item in state.items():
            carried = not slot.rules.ephemeral and item.id not in spoken
            if carried and self.rng.random() >= self.forget:
                fields = {name: getattr(item, name) for name in slot.item.wire_fields()}
                wire[slot.name].append({**fields, "cites": [item.id], "id": item.id})


def _fact(key: Key, value: str, cite: str, item_id: str = "") -> dict[str, Any]:
    says = {"subject": key[0], "predicate": key[1], "object": value, "status": "stated"}
    return {**says, "cites": [cite], "id": item_id}


def _end(item: Item, cite: str, quote: str) -> dict[str, Any]:
    return {"id": item.id, "cites": [cite], "quote": quote if isinstance(item, Constraint) else ""}

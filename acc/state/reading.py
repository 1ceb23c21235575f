"""What a compressor and a judge read and say: reading and proposal, claim and judgement."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from acc.state.items import Part, Pinned, Verdict
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.slots import is_flat
from acc.state.tail import Message
from acc.turn.observations import Evidence


@dataclass(frozen=True)
class Reading:
    """The input of a compressor.

    Attributes:
        messages: The messages to read, oldest first. Those of status ``"read"`` are in the state already.
        state: CCS_t-1.
        evidence: What the gate admitted.
        number: Number of the turn.
        at: When the turn happened, in ISO 8601; empty if unknown.
    """

    messages: tuple[Message, ...]
    state: CompressedCognitiveState
    evidence: tuple[Evidence, ...]
    policy: Policy
    number: int
    at: str = ""


Compressor = Callable[[Reading], Proposal]
"""Reads, and proposes what changes. Whatever it raises is a failed compression: the tail carries the agent (law 9)."""


@dataclass(frozen=True)
class Claim:
    """A claim that a rule ended, as a second reading gets it.

    Attributes:
        item: The rule with later words and ending.
        messages: The message that holds the words in question, with the agent's message before it, as far as the
            step has their texts.
        today: When the turn happens, in ISO 8601; empty if unknown.
    """

    item: Pinned
    messages: tuple[Message, ...] = ()
    today: str = ""


class Judgement(Part):
    """What a second reading said of the claim with a digest (`claim_digest`)."""

    digest: str
    verdict: Verdict


def claim_digest(item: Pinned) -> str:
    """Return what names a claim: the rule's words and the words that are said to end it."""
    ending = item.ending
    by = ending.words.text if ending and ending.words else ""
    kind = ending.kind if ending else ""
    body = "\x00".join((kind, item.words.ref, item.words.text, by))
    return hashlib.sha256(body.encode()).hexdigest()[:32]


Judge = Callable[[Sequence[Claim]], Sequence[Judgement]]
"""A second reading without a model. It returns a judgement for each claim that it can decide."""


MOST_PROPOSED = 1_000
"""Elements of one list that a compressor of anybody's may propose. Of a model's answer fewer are read, with a note."""


def problem_of(proposal: object, schema: type[CompressedCognitiveState]) -> str:
    """Return why commit cannot take what a compressor of anybody's returned; empty if it can."""
    if not isinstance(proposal, Proposal):
        return f"it is a {type(proposal).__name__}"
    if proposal.author == "operator":
        return "a compressor is no operator"
    for each in (*proposal.rules, *proposal.goals, *proposal.next, *proposal.later, *proposal.done):
        if not all(isinstance(value, str | bool) for value in vars(each).values()):
            return f"{each} holds something else than strings"
    slots = {slot.name for slot in schema.slots().values() if slot.is_record}
    for record in proposal.records:
        if record.slot not in slots or not isinstance(record.fields, Mapping):
            return f"{record} is of no record slot, or has no fields"
        if not is_flat(record.fields):
            return f"a record of {record.slot} is nested too deeply"
    lists = [value for value in vars(proposal).values() if isinstance(value, tuple)]
    lists += [record.refs for record in proposal.records]
    if max(map(len, lists)) > MOST_PROPOSED:
        return f"a list has more than {MOST_PROPOSED:,} elements"
    return ""

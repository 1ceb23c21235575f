"""A state in which a fact needs a system of record or a person behind it, and a compressor that reads those.

The generic schema holds what documents and the agent say, and marks it. Here that alone does not persist: a report of
the agent on a web page is the web's word. What is refused stays in the journal, with the reason, and can be recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import model_validator

from acc.commit.sources import trust_of
from acc.compress.keyless import compress as keyless
from acc.state.items import Entity, Fact, Record
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.reading import Reading
from acc.state.slots import Slot
from acc.turn.observations import Channel, Trust

CONFIRMING = frozenset({Trust.TOOL, Trust.USER, Trust.OPERATOR})


class Confirmed(Record):
    """A record with a tool, the user or the operator among its sources."""

    @model_validator(mode="after")
    def _is_confirmed(self) -> Self:
        if CONFIRMING.isdisjoint(map(trust_of, self.sources)):
            raise ValueError("no system of record and no person says so")
        return self


class ConfirmedFact(Confirmed, Fact):
    """A fact that somebody else than a document or the agent states."""


class ConfirmedEntity(Confirmed, Entity):
    """A thing or person that somebody else than a document or the agent names."""


def _rules(slot: str) -> Slot:
    return CompressedCognitiveState.slots()[slot].rules


class ValidatedState(CompressedCognitiveState):
    """The nine slots, two of them closed to what documents and the agent alone say."""

    relational_map: Annotated[tuple[ConfirmedFact, ...], _rules("relational_map")] = ()
    focal_entities: Annotated[tuple[ConfirmedEntity, ...], _rules("focal_entities")] = ()


def compress(reading: Reading) -> Proposal:
    """Propose what the keyless rules do, and the lines of systems of record, which no model is here to read."""
    proposal = keyless(reading)
    told = tuple(
        ProposedRecord(
            "relational_map", {"text": f"{message.observation.name}: {line}"}, (message.ref,)
        )
        for message in reading.messages
        if message.channel is Channel.TOOL and message.status != "read"
        for line in message.text.splitlines()
        if line.strip()
    )
    return replace(proposal, records=(*proposal.records, *told))


SETTINGS: Mapping[str, Any] = {"policy": Policy(schema=ValidatedState), "model": compress}
"""What `acc.controller.MemoryController.open` takes."""

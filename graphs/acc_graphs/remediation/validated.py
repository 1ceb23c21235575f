"""A state in which what is a document's word alone does not persist.

The generic schema holds it and marks it ``document``. Here an item needs a tool, the agent or the
user behind it, and the agent's retelling of a document is a document's word. What is refused stays
in the store, with the reason in the audit record, and can be recalled.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from acc import CompressedCognitiveState, Item, Policy, Slot, Trust
from acc.state import ArtifactReference, Entity, Event, Relation


def _confirmed(item: Item) -> Item:
    if item.trust < Trust.TOOL:
        raise ValueError("a document's word alone")
    return item


class ConfirmedEvent(Event):
    """An event that somebody else than a document tells of."""

    _rule = model_validator(mode="after")(_confirmed)


class ConfirmedEntity(Entity):
    """A thing or person that somebody else than a document names."""

    _rule = model_validator(mode="after")(_confirmed)


class ConfirmedRelation(Relation):
    """A fact that somebody else than a document states."""

    _rule = model_validator(mode="after")(_confirmed)


class ConfirmedReference(ArtifactReference):
    """A reference to evidence that is no document; its label would be the document's words."""

    _rule = model_validator(mode="after")(_confirmed)


def _rules(slot: str) -> Slot:
    return CompressedCognitiveState.slots()[slot].rules


class ValidatedState(CompressedCognitiveState):
    """The nine slots, four of them closed to what a document alone says."""

    episodic_trace: Annotated[tuple[ConfirmedEvent, ...], _rules("episodic_trace")] = ()
    focal_entities: Annotated[tuple[ConfirmedEntity, ...], _rules("focal_entities")] = ()
    relational_map: Annotated[tuple[ConfirmedRelation, ...], _rules("relational_map")] = ()
    retrieved_artifacts: Annotated[
        tuple[ConfirmedReference, ...], _rules("retrieved_artifacts")
    ] = ()


POLICY = Policy(schema=ValidatedState)

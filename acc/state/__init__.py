"""The state: typed items in slots, under a policy; proposals, and migrations of stored states."""

from acc.state.items import (
    ArtifactReference,
    Constraint,
    Cue,
    Entity,
    Event,
    Gist,
    Goal,
    Item,
    Relation,
    Uncertainty,
)
from acc.state.migrations import Migration, Migrations, Stored
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem, Retirement
from acc.state.slots import Example, Slot
from acc.text.lines import Line, Name, OptionalLine, OptionalName

__all__ = [
    "ArtifactReference",
    "CompressedCognitiveState",
    "Constraint",
    "Cue",
    "Entity",
    "Event",
    "Example",
    "Gist",
    "Goal",
    "Item",
    "Line",
    "Migration",
    "Migrations",
    "Name",
    "OptionalLine",
    "OptionalName",
    "Policy",
    "Proposal",
    "ProposedItem",
    "Relation",
    "Retirement",
    "Slot",
    "Stored",
    "Uncertainty",
]

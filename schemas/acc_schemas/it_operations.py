"""IT operations: what an on-call agent carries through an incident."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.items import Item, Line, Name
from acc.slots import Slot
from acc.state import CompressedCognitiveState


class AffectedService(Item):
    """A service and how it is doing; a later health replaces an earlier one."""

    key = ("service",)
    head = "service"
    service: Name
    health: Literal["down", "degraded", "at_risk", "recovered"]
    symptom: Line


class Change(Item):
    """A change to a production system, by its number, with the window it may run in."""

    key = ("change",)
    head = "change"
    change: Name
    window: Name
    stage: Literal["proposed", "approved", "running", "done", "rolled_back"]


class ITOperationsState(CompressedCognitiveState):
    """The generic state, with the services affected and the changes under way."""

    max_tokens: ClassVar[int] = 1000

    affected_services: Annotated[
        tuple[AffectedService, ...],
        Slot(
            places=8, evict=55, letter="v", guidance="services known to be affected, by their name"
        ),
    ]
    changes: Annotated[
        tuple[Change, ...],
        Slot(places=6, evict=58, letter="h", guidance="production changes, by change number"),
    ]

"""A small team: a planner and an analyst of one schema, and an engineer with a schema of its own."""

from __future__ import annotations

from typing import Annotated, Any

from acc import (
    CompressedCognitiveState,
    Item,
    MemoryController,
    Policy,
    Role,
    RoleMemory,
    Settings,
    Slot,
    Trust,
)
from acc.state import Example, Name, OptionalLine
from acc.stores.in_memory import InMemoryStore
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn


class Decision(Item):
    key = ("what",)
    head = "what"
    what: Name
    why: OptionalLine = ""


class Risk(Item):
    key = ("risk",)
    head = "risk"
    risk: Name


class Service(Item):
    key = ("service",)
    head = "service"
    service: Name


class TeamState(CompressedCognitiveState):
    """A team that designs a pipeline."""

    decisions: Annotated[
        tuple[Decision, ...],
        Slot(
            max_items=6, id_prefix="h", min_trust=Trust.AGENT, guidance="what was decided, and why",
            examples=(Example("We use Kinesis because it scales", what="Kinesis", why="it scales"),),
            roles=("planner",),
        ),
    ]  # fmt: skip
    risks: Annotated[
        tuple[Risk, ...],
        Slot(
            max_items=6, id_prefix="k", min_trust=Trust.AGENT, guidance="what may go wrong",
            examples=(Example("A risk is cold starts", risk="cold starts"),), roles=("analyst",),
        ),
    ]  # fmt: skip


class EngineerState(CompressedCognitiveState):
    """An engineer."""

    max_tokens = 400  # type: ignore[misc]

    services: Annotated[
        tuple[Service, ...],
        Slot(
            max_items=4, id_prefix="v", min_trust=Trust.AGENT, guidance="services to run",
            examples=(Example("The service is ingest-api", service="ingest-api"),),
        ),
    ]  # fmt: skip


PLANNER = Role("planner", "You plan the pipeline.")
ANALYST = Role("analyst", "You look for risks.")
ENGINEER = Role("engineer", "You run the services.", schema=EngineerState)


def memory(store: Any = None, **settings: Any) -> MemoryController:
    return MemoryController(
        store or InMemoryStore(), settings=Settings(policy=Policy(schema=TeamState), **settings)
    )


def team(*roles: Role, **settings: Any) -> RoleMemory:
    return RoleMemory(
        memory(), roles or (PLANNER, ANALYST, ENGINEER), thread="pipeline", **settings
    )


def said(channel: Channel, text: str, name: str = "") -> Observation:
    return Observation(channel=channel, text=text, name=name)


def turn(*observations: Observation) -> Turn:
    return Turn(observations=observations)

"""Three agents with a memory each, one board, one conversation: what each of them reads before it speaks.

The planner and the analyst have slots of one schema (`Slot(roles=...)`), the engineer has a schema of its own. The
answers are scripted; with models, each `answer` is what the model said to `team.context(...)`.
"""

from typing import Annotated

from acc import (
    Channel,
    CompressedCognitiveState,
    InMemoryStore,
    Item,
    MemoryController,
    Observation,
    Policy,
    Role,
    RoleMemory,
    Settings,
    Slot,
    Trust,
    Turn,
)
from acc.board import Board
from acc.state import Example, Name, OptionalLine


class Decision(Item):
    """What was decided, and why."""

    key = ("what",)
    head = "what"
    what: Name
    why: OptionalLine = ""


class Risk(Item):
    """What may go wrong."""

    key = ("risk",)
    head = "risk"
    risk: Name


class Service(Item):
    """A service that the engineer runs."""

    key = ("service",)
    head = "service"
    service: Name


class TeamState(CompressedCognitiveState):
    """A team that designs a data pipeline."""

    decisions: Annotated[
        tuple[Decision, ...],
        Slot(
            max_items=8, id_prefix="h", min_trust=Trust.AGENT, guidance="what was decided, and why", roles=("planner",),
            examples=(Example("We use Kinesis because it scales", what="Kinesis", why="it scales"),),
        ),
    ]  # fmt: skip
    risks: Annotated[
        tuple[Risk, ...],
        Slot(
            max_items=8, id_prefix="k", min_trust=Trust.AGENT, guidance="what may go wrong", roles=("analyst",),
            examples=(Example("A risk is cold starts", risk="cold starts"),),
        ),
    ]  # fmt: skip


class EngineerState(CompressedCognitiveState):
    """An engineer."""

    services: Annotated[
        tuple[Service, ...],
        Slot(
            max_items=8, id_prefix="v", min_trust=Trust.AGENT, guidance="services to run",
            examples=(Example("The service is ingest-api", service="ingest-api"),),
        ),
    ]  # fmt: skip


ROLES = [
    Role("planner", "You plan the data pipeline."),
    Role("analyst", "You look for risks.", shares=frozenset({Channel.TOOL})),
    Role("engineer", "You run the services.", schema=EngineerState),
]
TASK = "Design a data pipeline for 6 cameras, 1 lidar and 5 radars on AWS."
SAID = [
    # role, the user's words to it, a tool's result, its answer
    ("planner", "Never store images outside eu-west-1.", "", "We use Kinesis because it scales."),
    ("analyst", "", "quota of shards in eu-west-1: 500", "A risk is throttling at the end of a quarter."),
    ("engineer", "", "", "The service is ingest-api. It runs on 3 nodes in eu-west-1."),
    ("planner", "The region rule no longer applies: images may be stored outside eu-west-1.", "", "Understood."),
]  # fmt: skip


def main() -> None:
    """Four turns of three roles, then what each role reads."""
    settings = Settings(policy=Policy(schema=TeamState))
    with MemoryController(InMemoryStore(), settings=settings) as memory:
        team = RoleMemory(
            memory, ROLES, thread="pipeline", board=Board("pipeline"), update_from="turn"
        )
        history: list[str] = []
        for role, user, tool, answer in SAID:
            heard = [
                (Channel.USER, "", user),
                (Channel.TOOL, "aws", tool),
                (Channel.AGENT, "", answer),
            ]
            observations = [
                Observation(channel=c, name=name, text=text) for c, name, text in heard if text
            ]
            step = team.update(role, Turn(observations=tuple(observations)))
            history += [f"user to {role}: {user}"] if user else []
            history.append(f"{role}: {answer}")
            rules = [rule.text for rule in step.board.state.constraints] if step.board else []
            print(f"{role} has spoken; rules on the board: {rules}")
        for role in team.roles:
            print(f"\n=== {role} ===")
            print("\n---\n".join(team.context(role, TASK, history, max_tokens=260)))
        quota = f"{team.thread('analyst').key[:8]}/t1"
        print(
            f"\nthe engineer opens {quota}, which the analyst shares: {team.open_evidence('engineer', quota)}"
        )


if __name__ == "__main__":
    main()

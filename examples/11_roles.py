"""Three agents with a memory each, one board, one conversation: what each of them reads before it speaks.

Each role has a schema of its own. The compressor is scripted; with a model, it fills each role's slots by their
guidance.
"""

import tempfile
from typing import Annotated, Any

from acc.board.board import Board
from acc.board.roles import Role, RoleMemory
from acc.compress.keyless import compress
from acc.controller.controller import MemoryController
from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.reading import Reading
from acc.state.slots import Slot
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn


class Decision(Record):
    """What was decided, and why."""

    key = ("what",)
    what: Name
    why: Text = ""


class Risk(Record):
    """What may go wrong."""

    key = ("risk",)
    risk: Name


class Service(Record):
    """A service that the engineer runs."""

    key = ("service",)
    service: Name
    where: Text = ""


class PlannerState(CompressedCognitiveState):
    """A planner of data pipelines."""

    decisions: Annotated[
        tuple[Decision, ...],
        Slot(
            "decisions", "h", "Decisions", places=8, least=Trust.AGENT,
            guidance="what was decided, and why",
        ),
    ] = ()  # fmt: skip


class AnalystState(CompressedCognitiveState):
    """An analyst of risks."""

    risks: Annotated[
        tuple[Risk, ...],
        Slot("risks", "x", "Risks", places=8, least=Trust.AGENT, guidance="what may go wrong"),
    ] = ()


class EngineerState(CompressedCognitiveState):
    """An engineer."""

    services: Annotated[
        tuple[Service, ...],
        Slot("services", "v", "Services", places=8, least=Trust.AGENT, guidance="services to run"),
    ] = ()


ROLES = [
    Role("planner", "You plan the data pipeline.", schema=PlannerState),
    Role("analyst", "You look for risks.", schema=AnalystState),
    Role("engineer", "You run the services.", schema=EngineerState),
]
TASK = "Design a data pipeline for 6 cameras, 1 lidar and 5 radars on AWS."
Fields = tuple[str, dict[str, str]]
SAID: list[tuple[str, str, str, str, Fields]] = [
    # role, the user's words to it, a tool's result, its answer, and what a model would file of it
    ("planner", "Never store images outside eu-west-1.", "", "We use Kinesis because it scales.",
     ("decisions", {"what": "Kinesis", "why": "it scales"})),
    ("analyst", "", "quota of shards in eu-west-1: 500", "A risk is throttling at the end of a quarter.",
     ("risks", {"risk": "throttling at the end of a quarter"})),
    ("engineer", "", "", "ingest-api runs on 3 nodes in eu-west-1.",
     ("services", {"service": "ingest-api", "where": "3 nodes in eu-west-1"})),
]  # fmt: skip


def filing(reading: Reading) -> Proposal:
    """A stand-in for a model: the keyless rules, and the record that belongs to an answer."""
    proposal = compress(reading)
    filed = tuple(
        ProposedRecord(slot, fields, (message.ref,))
        for message in reading.messages
        for _, _, _, answer, (slot, fields) in SAID
        if message.text == answer and slot in reading.policy.schema.slots()
    )
    return Proposal(
        rules=proposal.rules, later=proposal.later, records=filed or proposal.records,
        author="keyless",
    )  # fmt: skip


def turn_of(*heard: tuple[Channel, str, str]) -> Turn:
    """Return a turn of channel, name and text, without empty texts."""
    return Turn(
        observations=tuple(Observation(channel=c, name=n, text=t) for c, n, t in heard if t)
    )


def main() -> None:
    """A turn of each role, then what each of them reads."""
    settings: Any = {"model": filing}
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, **settings) as memory,
    ):
        team = RoleMemory(memory, ROLES, thread="pipeline", board=Board("pipeline"))
        history: list[str] = []
        for role, user, tool, answer, _ in SAID:
            turn = turn_of(
                (Channel.USER, "", user), (Channel.TOOL, "aws", tool), (Channel.AGENT, "", answer)
            )
            team.update(role, turn)
            history += [f"user to {role}: {user}"] if user else []
            history.append(f"{role}: {answer}")
        for role in team.roles:
            print(f"\n=== {role} ===")
            print("\n---\n".join(team.context(role, TASK, history, max_tokens=2_000)))


if __name__ == "__main__":
    main()

"""A memory for each role of a team: a thread of its own, a board between, and what each one reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from helpers_board import RULE, said, takes_all

from acc.board.board import Board
from acc.board.roles import Role, RoleMemory
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, InputError
from acc.journal import ThreadKey
from acc.journal.boards import AGENT, BoardState
from acc.models.protocol import Completion, Usage
from acc.state.items import Fact
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.slots import Slot
from acc.turn.turn import Turn

ROLES = (Role("planner", "You plan."), Role("engineer", "You run it."))


class TeamState(CompressedCognitiveState):
    """Costs are for all."""

    costs: Annotated[tuple[Fact, ...], Slot("costs", "l", "Costs", places=8, guidance="costs")] = ()


class PlannerState(TeamState):
    """Risks are the planner's alone."""

    risks: Annotated[tuple[Fact, ...], Slot("risks", "j", "Risks", places=8, guidance="risks")] = ()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryController[Any]]:
    with MemoryController.open(tmp_path, store="none", model=takes_all) as opened:
        yield opened


def _team(memory: MemoryController[Any], **given: Any) -> RoleMemory:
    return RoleMemory(memory, ROLES, thread="pipeline", **{"board": Board("pipeline"), **given})


def test_what_the_user_says_in_the_conversation_reaches_all_roles(
    memory: MemoryController[Any],
) -> None:
    team = _team(memory)
    team.update("planner", said(("user", RULE), ("agent", "The cluster has 3 nodes.")))
    assert RULE in team.reads("engineer")
    assert "3 nodes" in team.reads("planner")
    assert "3 nodes" not in team.reads("engineer")


def test_what_the_user_says_to_one_role_stays_with_it(memory: MemoryController[Any]) -> None:
    team = _team(memory)
    team.update("planner", Turn.said(RULE), to="")
    assert RULE in team.reads("planner")
    assert RULE not in team.reads("engineer")


def test_the_context_is_task_memory_and_the_newest_turns(memory: MemoryController[Any]) -> None:
    team = _team(memory)
    team.update("planner", "The cluster has 3 nodes.")
    task, reads, *turns = team.context("planner", "Design it.", ["old " * 600, "new"], 400)
    assert (task, turns) == ("Design it.", ["new"])
    assert reads == team.reads("planner")
    with pytest.raises(ConfigurationError):
        team.context("planner", "Design it.", [], 1)


def test_an_update_reads_the_output_or_a_whole_turn(memory: MemoryController[Any]) -> None:
    team = _team(memory)
    step = team.update("planner", said(("user", RULE), ("tool", "port: 8080")), to="")
    with pytest.raises(InputError):
        team.update("planner", 3)  # type: ignore[arg-type]
    assert [rule.words.text for rule in step.state.constraints] == [RULE]
    assert [fact.text for fact in step.state.relational_map] == ["port: 8080"]


def test_a_team_goes_on_in_another_process(tmp_path: Path) -> None:
    for number in range(2):
        with MemoryController.open(tmp_path, store="none", model=takes_all) as memory:
            step = _team(memory).update("planner", f"Node {number} runs.")
            assert step.state.turn == number + 1
            assert _team(memory).state("engineer") is None
            assert _team(memory).state("planner") == step.state


def test_each_role_is_an_agent_of_the_conversation(memory: MemoryController[Any]) -> None:
    team = RoleMemory(memory, ROLES, thread=ThreadKey("t", "acme", "ann", "crew"))
    assert team.thread("planner") == ThreadKey("t", "acme", "ann", "crew/planner")
    team.update("planner", "Node 1 runs.")
    assert list(memory.threads()) == [team.thread("planner")]
    assert team.memory("planner").last_state(team.thread("planner")) == team.state("planner")
    for call in (team.thread, team.memory, team.state, team.reads):
        with pytest.raises(InputError, match="no role"):
            call("boss")


def test_bounds_and_schemas_are_the_roles_own(memory: MemoryController[Any]) -> None:
    roles = (
        Role("a", max_tokens=200),
        Role("b", schema=TeamState, max_tokens=300),
        Role("planner", schema=BoardState),
    )
    team = RoleMemory(memory, roles, thread="t")
    bounds = [team.memory(role.name).policy.max_tokens for role in roles]
    assert bounds == [200, 300, BoardState.max_tokens]
    assert team.memory("a").policy.schema is CompressedCognitiveState
    assert team.memory("b").policy.schema is TeamState


def test_a_role_writes_and_reads_the_slots_for_all_and_its_own(tmp_path: Path) -> None:
    def compressor(reading: Any) -> Proposal:
        slots = [s for s in ("risks", "costs") if s in reading.policy.schema.slots()]
        refs = (reading.messages[-1].ref,)
        return Proposal(
            records=tuple(ProposedRecord(s, {"text": f"{s}: high"}, refs) for s in slots)
        )

    with MemoryController.open(
        tmp_path, store="none", model=compressor, policy=Policy(schema=TeamState)
    ) as memory:
        roles = (Role("planner", schema=PlannerState), Role("engineer"))
        team = RoleMemory(memory, roles, thread="t")
        for role, reads in (
            ("planner", ["risks: high", "costs: high"]),
            ("engineer", ["costs: high"]),
        ):
            team.update(role, "Well.")
            assert [
                line for line in ("risks: high", "costs: high") if line in team.reads(role)
            ] == reads
        policies = [team.memory(role).policy for role in ("planner", "engineer")]
        assert memory.journal.verify(policies).is_clean


@pytest.mark.parametrize("name", ["", " a", "a/b", AGENT, "Board", 3])
def test_a_role_needs_a_name_that_can_be_one(name: Any) -> None:
    with pytest.raises(ConfigurationError):
        Role(name)


@pytest.mark.parametrize(
    "roles",
    [(), (Role("a"), Role("A"))],
)
def test_a_team_that_cannot_be(memory: MemoryController[Any], roles: Any) -> None:
    with pytest.raises(ConfigurationError):
        RoleMemory(memory, roles, thread="t")


class Model:
    """Remembers what it was asked."""

    name = "scripted"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, messages: Any, *_: Any, **__: Any) -> Completion:
        self.asked.append(messages[0].content)
        return Completion("{}", Usage(), self.name)

    acomplete = complete


def test_a_model_is_told_the_role_whose_memory_it_maintains(tmp_path: Path) -> None:
    model: Any = Model()
    with MemoryController.open(
        tmp_path, store="none", model=model, policy=Policy(cadence=Cadence())
    ) as memory:
        _team(memory).update("planner", "Node 1 runs.")
    assert len(model.asked) == 1
    assert "working as planner in a multi-agent conversation. You plan." in model.asked[0]


def test_what_runs_behind_the_roles_is_their_memorys(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, behind=True, model=takes_all) as memory:
        team = RoleMemory(memory, ROLES, thread="pipeline")
        team.update("planner", said(("user", RULE), ("agent", "Good.")))
        assert memory.settle()
        store = memory.index.store
        assert store is not None
        assert store.count(team.thread("planner")) == 2


def test_async_roles_share_a_board(tmp_path: Path) -> None:
    async def run() -> None:
        opened = AsyncMemoryController.open(tmp_path, store="none", model=takes_all)
        async with opened as memory:
            team = RoleMemory(memory, ROLES, thread="pipeline", board=Board("pipeline"))
            await asyncio.gather(
                team.update("planner", said(("user", RULE), ("agent", "Node 1 runs."))),
                team.update("engineer", "Node 2 runs."),
            )
            reads = await asyncio.to_thread(team.reads, "engineer")
            assert RULE in reads
            assert "Node 2 runs." in reads
            assert "Node 1 runs." not in reads
            alone = RoleMemory(memory, ROLES, thread="other")
            assert (await alone.update("planner", "Node 3 runs.")).state.relational_map

    asyncio.run(run())

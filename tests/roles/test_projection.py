"""`Slot(roles=...)`: what a role sees of one schema. Slots without roles are as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from role_team import ANALYST, PLANNER, Decision, TeamState, said, turn

from acc import (
    Channel,
    CompressedCognitiveState,
    MemoryController,
    Policy,
    RoleMemory,
    Slot,
    Trust,
    Turn,
    update_state,
)
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.compress.protocol import wire_schema
from acc.errors import SchemaError, StateError
from acc.schema.catalog import schema_named, state_document
from acc.state import Example
from acc.state.migrations import Migration, Migrations, Stored
from acc.state.slots import describe
from acc.testing import ScriptedCompressor

GENERIC = list(CompressedCognitiveState.slots())


def test_a_role_sees_the_slots_for_all_and_its_own() -> None:
    assert list(TeamState.slots()) == [*GENERIC, "decisions", "risks"]
    assert list(TeamState.for_role("planner").slots()) == [*GENERIC, "decisions"]
    assert list(TeamState.for_role("analyst").slots()) == [*GENERIC, "risks"]
    assert list(TeamState.for_role("somebody").slots()) == GENERIC


def test_a_projection_is_one_class_and_a_role_that_sees_everything_needs_none() -> None:
    planner = TeamState.for_role("planner")
    assert planner is TeamState.for_role("planner") is planner.for_role("planner")
    assert issubclass(planner, TeamState)
    assert CompressedCognitiveState.for_role("planner") is CompressedCognitiveState
    with pytest.raises(SchemaError, match="project the class that declares the slots"):
        planner.for_role("analyst")


def test_fingerprints_change_for_slots_with_roles_alone() -> None:
    described = {entry["slot"]: entry for entry in describe(TeamState.slots())}
    assert "roles" not in described["constraints"]
    assert described["risks"]["roles"] == ["analyst"]
    prints = {
        Policy(schema=TeamState.for_role(role)).fingerprint for role in ("planner", "analyst")
    }
    assert len({*prints, Policy(schema=TeamState).fingerprint}) == 3


def test_a_model_is_asked_for_the_roles_slots_alone() -> None:
    asked = wire_schema(TeamState.for_role("analyst"))["properties"]
    assert "risks" in asked
    assert "decisions" not in asked


def test_a_stored_state_loads_under_its_own_projection_alone() -> None:
    planner, analyst = TeamState.for_role("planner"), TeamState.for_role("analyst")
    made = turn(said(Channel.AGENT, "We use Kinesis because it scales."))
    state = update_state(None, made, policy=Policy(schema=planner)).state
    assert state.decisions[0].what == "Kinesis"
    assert planner.load(state.canonical()) == state
    with pytest.raises(StateError, match=r"TeamState\[planner\]"):
        analyst.load(state.canonical())


@pytest.mark.parametrize("before", ["whole", "projection"])
def test_a_state_goes_on_when_its_class_gets_roles_or_loses_them(before: str) -> None:
    planner = TeamState.for_role("planner")
    first, then = (TeamState, planner) if before == "whole" else (planner, TeamState)
    made = turn(said(Channel.AGENT, "We use Kinesis because it scales."))
    state = update_state(None, made, policy=Policy(schema=first)).state
    loaded = then.load(state.canonical())
    assert (loaded.parent, loaded.decisions) == (state.hash, state.decisions)
    assert then.load(loaded.canonical()) == loaded
    if before == "whole":
        with pytest.raises(StateError, match="'analyst' has no slot 'decisions' any more"):
            TeamState.for_role("analyst").load(state.canonical())


class Earlier:
    """The class before its slots were divided among roles."""

    class TeamState(CompressedCognitiveState):
        decisions: Annotated[
            tuple[Decision, ...],
            Slot(
                max_items=6,
                id_prefix="h",
                min_trust=Trust.AGENT,
                examples=(
                    Example("We use Kinesis because it scales", what="Kinesis", why="it scales"),
                ),
            ),
        ]


def test_a_role_memory_goes_on_when_its_class_gets_roles(tmp_path: Path) -> None:
    def of(memory: MemoryController) -> RoleMemory:
        return RoleMemory(memory, [PLANNER, ANALYST], thread="t")

    with MemoryController.open(tmp_path, schema=Earlier.TeamState) as memory:
        team = of(memory)
        for name in [
            "Kinesis",
            "Lambda",
            "Glue",
            "Athena",
            "Redshift",
            "Fargate",
            "Aurora",
            "Neptune",
        ]:  # 8 for 6 places
            team.update("planner", f"We use {name} because it scales.")
        before = len(team.state("planner").decisions)
    with MemoryController.open(tmp_path, schema=TeamState) as memory:
        team = of(memory)
        assert len(team.state("planner").decisions) == before > 0
        step = team.update("planner", "We use Kinesis because it scales.")
        assert (step.state.turn, step.state.schema_name) == (9, "TeamState[planner]")
        policies = [Policy(schema=Earlier.TeamState), team.memory("planner").settings.policy]
    log = AuditLog.of(tmp_path / "audit", team.thread("planner"))
    assert verify(log, {policy.fingerprint: policy for policy in policies}) == 9


def test_an_item_in_a_slot_that_the_role_has_no_more_is_not_hidden() -> None:
    analyst = TeamState.for_role("analyst")
    made = turn(said(Channel.AGENT, "We use Kinesis because it scales."))
    planners = update_state(None, made, policy=Policy(schema=TeamState.for_role("planner"))).state
    moved = {**analyst.empty().canonical(), "decisions": planners.canonical()["decisions"]}
    forged = analyst.model_validate(moved).sealed().canonical()
    with pytest.raises(StateError, match="'analyst' has no slot 'decisions' any more"):
        analyst.load(forged)


def _named(stored: Stored) -> Stored:
    decisions = [{"id": d["id"], "what": d["what"].upper()} for d in stored["decisions"]]
    return {**stored, "decisions": decisions, "notes": stored["notes"]}


class Versioned(CompressedCognitiveState):
    schema_version: ClassVar[int] = 2
    migrations: ClassVar[Migrations] = {1: Migration(_named, rewrites=("decisions.what",))}

    decisions: Annotated[
        tuple[Decision, ...],
        Slot(max_items=4, id_prefix="h", min_trust=Trust.AGENT, roles=("planner",)),
    ]
    notes: Annotated[tuple[Decision, ...], Slot(max_items=4, id_prefix="n", roles=("analyst",))]


@pytest.mark.parametrize("role", ["planner", "analyst"])
def test_a_migration_of_the_whole_schema_converts_a_projections_states(role: str) -> None:
    schema = Versioned.for_role(role)
    slot = next(name for name in schema.slots() if name not in GENERIC)
    proposal = {slot: [{"what": "kinesis", "cites": ["a1"]}]}
    state = update_state(
        None, turn(said(Channel.AGENT, "kinesis")), policy=Policy(schema=schema),
        compressor=ScriptedCompressor([proposal]),
    ).state  # fmt: skip
    before = state.model_copy(update={"schema_name": f"Versioned[{role}]/Versioned"}).sealed()
    loaded = schema.load(before.canonical())
    assert [item.what for item in getattr(loaded, slot)] == [
        "KINESIS" if role == "planner" else "kinesis"
    ]
    assert loaded.parent == before.hash


def test_the_catalog_finds_a_projection_by_its_recorded_name() -> None:
    planner = schema_named("role_team:TeamState[planner]")
    assert planner is TeamState.for_role("planner")
    assert (
        schema_named(f"{Path(__file__).with_name('role_team.py')}:TeamState[analyst]").projected_for
        == "analyst"
    )
    assert state_document(TeamState)["properties"]["risks"]["x-acc"]["roles"] == ["analyst"]
    with pytest.raises(SchemaError, match="cannot name a role"):
        schema_named("role_team:TeamState[../x]")


def test_a_role_memorys_audit_log_verifies_by_the_recorded_name(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, schema=TeamState) as memory:
        of = RoleMemory(memory, [PLANNER, ANALYST], thread="t")
        for output in ("We use Kinesis because it scales.", "We use Lambda because it is cheap."):
            of.update("planner", output)
    log = AuditLog.of(tmp_path / "audit", of.thread("planner"))
    made = log.last()["policy"]
    assert made["schema"] == "role_team:TeamState[planner]"
    policy = Policy(schema=schema_named(made["schema"]), max_tokens=made["max_tokens"])
    assert verify(log, {made["fingerprint"]: policy}) == 2


@pytest.mark.parametrize("roles", ["planner", ["planner"], (1,), ("",), ("a/b",)])
def test_roles_that_are_no_tuple_of_names(roles: Any) -> None:
    slot = Slot(max_items=2, id_prefix="h", roles=roles)
    annotations = {"things": Annotated[tuple[Decision, ...], slot]}
    body = {"__module__": __name__, "__annotations__": annotations, "things": ()}
    with pytest.raises(SchemaError, match=r'for one role write roles=\("planner",\)'):
        type(TeamState)("Declared", (CompressedCognitiveState,), body)


def test_a_subclass_cannot_change_for_whom_a_slot_is() -> None:
    with pytest.raises(SchemaError, match="loosens roles of the slot it inherits"):

        class Other(TeamState):
            risks: Annotated[
                tuple[Decision, ...],
                Slot(max_items=6, id_prefix="k", min_trust=Trust.AGENT, roles=("planner",)),
            ]


def test_a_name_that_no_role_can_have() -> None:
    with pytest.raises(SchemaError, match="cannot name a role"):
        TeamState.for_role("a]/b")


def test_a_turn_of_the_user_is_committed_under_a_projection() -> None:
    done = update_state(
        None, Turn.said("Never use Lambda."), policy=Policy(schema=TeamState.for_role("planner"))
    )
    assert [rule.text for rule in done.state.constraints] == ["Never use Lambda"]

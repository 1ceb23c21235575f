"""One memory for each role: its own schema, state and thread, updated from its own output or the whole turn."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import openai
import pytest
from role_team import ANALYST, ENGINEER, PLANNER, EngineerState, TeamState, memory, said, team, turn

from acc import (
    AsyncMemoryController,
    AsyncRoleMemory,
    Channel,
    MemoryController,
    Policy,
    Role,
    RoleMemory,
    Settings,
    Thread,
    Trust,
)  # fmt: skip
from acc.board import Board
from acc.compress.openai import OpenAICompressor
from acc.errors import AccError, ConfigurationError, ConflictError, InputError
from acc.state.render import LEGEND
from acc.stores.in_memory import InMemoryStore
from acc.testing import ModelServer, ScriptedCompressor

OUTPUT = "We use Kinesis because it scales. A risk is cold starts. The service is ingest-api."


def test_each_role_keeps_what_its_own_schema_has_a_place_for() -> None:
    of = team()
    for role in of.roles:
        of.update(role, OUTPUT)
    planner, analyst, engineer = (of.state(role) for role in ("planner", "analyst", "engineer"))
    assert [item.what for item in planner.decisions] == ["Kinesis"]
    assert not planner.risks
    assert [item.risk for item in analyst.risks] == ["cold starts"]
    assert not analyst.decisions
    assert [item.service for item in engineer.services] == ["ingest-api"]
    assert type(engineer) is EngineerState
    assert isinstance(planner, TeamState)


def test_only_the_speakers_memory_is_updated() -> None:
    of = team()
    of.update("planner", OUTPUT)
    assert of.state("analyst") is None
    assert of.reads("analyst") == "You look for risks."
    of.update("analyst", "A risk is cold starts.")
    assert of.state("planner").turn == of.state("analyst").turn == 1
    assert of.state("planner").bound_to != of.state("analyst").bound_to


def test_a_role_reads_its_description_then_the_legend_and_its_own_slots() -> None:
    of = team()
    of.update("analyst", OUTPUT)
    read = of.reads("analyst")
    assert read.startswith(f"You look for risks.\n\n{LEGEND}\n")
    assert "risks[1]{risk}:\n  cold starts" in read
    assert "decisions" not in read


def test_the_context_is_task_memory_and_the_newest_turns() -> None:
    of = team()
    of.update("planner", OUTPUT)
    history = [f"turn {n}: {'words ' * 40}" for n in range(20)]
    made = of.context("planner", "Design a pipeline.", history, 400)
    assert made[0] == "Design a pipeline."
    assert made[1] == of.reads("planner")
    assert made[2:] == history[-len(made[2:]) :]
    assert sum(map(of.memory("planner").settings.policy.counter, made)) <= 400
    with pytest.raises(ConfigurationError, match="set max_tokens to"):
        of.context("planner", "Design a pipeline.", history, 20)


def test_output_is_the_agents_own_words_alone_and_the_log_says_what_stays_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    of = team()
    with caplog.at_level(logging.INFO, "acc"):
        step = of.update(
            "planner",
            turn(
                said(Channel.DOCUMENT, "The budget is 4000 EUR.", "analyst"),
                said(Channel.TOOL, "quota: 500 shards", "aws"),
                said(Channel.AGENT, "We use Kinesis because it scales."),
            ),
        )
    assert [o.channel for o in step.turn.observations] == [Channel.AGENT]
    assert [item.what for item in step.state.decisions] == ["Kinesis"]
    assert "event=own_output" in caplog.text
    assert "count=2 channels=document,tool" in caplog.text
    with pytest.raises(InputError, match='use update_from="turn"'):
        of.update("planner", turn(said(Channel.TOOL, "quota: 500 shards", "aws")))


def test_words_of_the_user_that_nothing_would_keep_are_an_error() -> None:
    both = turn(said(Channel.USER, "Never use Lambda."), said(Channel.AGENT, "Understood."))
    with pytest.raises(InputError, match="give the team a board"):
        team().update("planner", both)
    assert team(update_from="turn").update("planner", both).state.constraints
    assert team(board=Board("pipeline")).update("planner", both).board.state.constraints


def test_the_whole_turn_brings_the_users_rules_too() -> None:
    of = team(update_from="turn")
    step = of.update(
        "planner",
        turn(said(Channel.USER, "Never use Lambda."), said(Channel.AGENT, "Understood.")),
    )
    assert [rule.text for rule in step.state.constraints] == ["Never use Lambda"]
    other = turn(said(Channel.DOCUMENT, "Never use Kinesis.", "planner"))
    assert not of.update("analyst", other).state.constraints  # another agent's words make no rule


def test_words_that_the_agent_repeats_keep_the_tools_trust_although_the_tool_stays_out() -> None:
    told = "The approval of Ana covers all deployments of the ingest pipeline until December."
    proposal = {"decisions": [{"what": "approval of Ana", "why": "", "cites": ["a1"]}]}
    controller = memory()
    controller.compressor = ScriptedCompressor([proposal, proposal])
    of = RoleMemory(controller, [PLANNER, ANALYST], thread="t")
    step = of.update("planner", turn(said(Channel.TOOL, told, "wiki"), said(Channel.AGENT, told)))
    assert not step.state.decisions  # the slot takes an agent's own words
    assert any(note.reason == "repeats_lower" for note in step.commit.notes)
    with of.memory("planner")._locked_log(of.thread("planner")) as log:
        stored = log.branch("main").artifacts[0]
    assert (stored.channel, stored.trust) == (Channel.AGENT, Trust.TOOL)


def test_a_slot_of_another_role_cannot_be_written_and_is_not_asked_for() -> None:
    controller = memory()
    controller.compressor = ScriptedCompressor(
        [
            {
                "decisions": [{"what": "Kinesis", "cites": ["a1"]}],
                "risks": [{"risk": "cold starts", "cites": ["a1"]}],
            }
        ]
    )
    of = RoleMemory(controller, [PLANNER, ANALYST], thread="t")
    step = of.update("analyst", OUTPUT)
    assert [note.reason for note in step.commit.refused] == ["unknown_slot"]
    assert [item.risk for item in step.state.risks] == ["cold starts"]
    assert "decisions" not in of.memory("analyst").settings.policy.schema.slots()


def test_a_team_goes_on_in_another_process_from_its_audit_logs(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "m", schema=TeamState) as opened:
        of = RoleMemory(opened, [PLANNER, ANALYST], thread="t")
        of.update("planner", OUTPUT)
        of.update("analyst", OUTPUT)
    with MemoryController.open(tmp_path / "m", schema=TeamState) as opened:
        again = RoleMemory(opened, [PLANNER, ANALYST], thread="t")
        assert [item.what for item in again.state("planner").decisions] == ["Kinesis"]
        step = again.update("planner", "We use Lambda because it is cheap.")
        assert step.state.turn == 2
        assert step.state.branch == "main"


def test_without_audit_logs_given_states_are_gone_on_from() -> None:
    store = InMemoryStore()
    of = RoleMemory(memory(store), [PLANNER, ANALYST], thread="t")
    state = of.update("planner", OUTPUT).state
    stored = json.loads(json.dumps(state.canonical()))
    again = RoleMemory(memory(store), [PLANNER, ANALYST], thread="t", states={"planner": stored})
    assert again.state("planner") == state
    assert again.update("planner", "We use Lambda because it is cheap.").state.turn == 2
    with pytest.raises(InputError, match="there is no role 'nobody'"):
        RoleMemory(memory(), [PLANNER, ANALYST], thread="t", states={"nobody": stored})


def test_states_beside_audit_logs_would_be_two_truths(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="leave states out"):
        RoleMemory(memory(audit=tmp_path), [PLANNER, ANALYST], thread="t", states={"planner": None})


def test_two_objects_on_one_logged_memory_lose_no_update(tmp_path: Path) -> None:
    controller = memory(audit=tmp_path / "audit")
    one, two = (RoleMemory(controller, [PLANNER, ANALYST], thread="t") for _ in range(2))
    one.update("planner", "We use Kinesis because it scales.")
    two.update("planner", "We use Lambda because it is cheap.")
    step = one.update("planner", "We use Glue because it is durable.")
    assert {item.what for item in step.state.decisions} == {"Kinesis", "Lambda", "Glue"}
    assert step.state.branch == "main"


def test_an_update_on_a_state_that_another_process_has_passed_is_repeated_on_the_newest(
    tmp_path: Path,
) -> None:
    controller = memory(audit=tmp_path / "audit")
    one, two = (RoleMemory(controller, [PLANNER, ANALYST], thread="t") for _ in range(2))
    stale = one.update("planner", "We use Kinesis because it scales.").state
    two.update("planner", "We use Lambda because it is cheap.")
    one._newest = lambda _: stale  # what was read before the other's commit
    step = one.update("planner", "We use Glue because it is durable.")
    assert (step.state.branch, step.state.turn) == ("main", 3)
    assert {item.what for item in two.state("planner").decisions} == {"Kinesis", "Lambda", "Glue"}


def test_many_teams_on_one_memory_lose_no_update_of_one_role(tmp_path: Path) -> None:
    controller = memory(audit=tmp_path / "audit")
    teams = [RoleMemory(controller, [PLANNER, ANALYST], thread="t") for _ in range(3)]

    def work(n: int) -> None:
        for k in range(4):
            done = False
            while not done:
                with suppress(ConflictError):  # another team's update of the role is running
                    teams[n].update("planner", f"The host worker-{n}-{k} has {k + 1} cores.")
                    done = True

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    state = teams[0].state("planner")
    assert (state.turn, state.branch) == (12, "main")
    said = {teams[0].open_evidence("planner", f"a{turn}") for turn in range(1, 13)}
    assert said == {
        f"The host worker-{n}-{k} has {k + 1} cores." for n in range(3) for k in range(4)
    }


def test_what_an_operator_retires_is_gone_from_the_role() -> None:
    of = team(update_from="turn")
    rule = of.update("planner", turn(said(Channel.USER, "Never use Lambda."))).state.constraints[0]
    of.memory("planner").retire([rule.id], thread=of.thread("planner"), state=of.state("planner"))
    assert not of.state("planner").constraints
    assert not of.update("planner", "Noted.").state.constraints


def test_bounds_are_the_roles_own() -> None:
    of = RoleMemory(
        MemoryController(
            InMemoryStore(), settings=Settings(policy=Policy(schema=TeamState, max_tokens=900))
        ),
        [PLANNER, Role("analyst", max_tokens=300), ENGINEER],
        thread="t",
    )
    bounds = {role: of.memory(role).settings.policy.max_tokens for role in of.roles}
    assert bounds == {"planner": 900, "analyst": 300, "engineer": 400}


def test_async_updates_are_the_same_as_sync_ones() -> None:
    settings = Settings(policy=Policy(schema=TeamState))
    of = AsyncRoleMemory(
        AsyncMemoryController(InMemoryStore(), settings=settings),
        [PLANNER, ANALYST, ENGINEER],
        thread="pipeline",
    )

    async def run() -> None:
        await asyncio.gather(*(of.update(role, OUTPUT) for role in of.roles))
        await of.update("planner", "We use Lambda because it is cheap.")

    asyncio.run(run())
    same = team()
    for role in same.roles:
        same.update(role, OUTPUT)
    same.update("planner", "We use Lambda because it is cheap.")
    for role in of.roles:
        assert of.state(role).hash == same.state(role).hash
        assert of.reads(role) == same.reads(role)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "default",
        "a/b",
        "a#b",
        "a:b",
        "a[b]",
        "a@2",
        "../x",
        "x\ny",
        "\ud800",
        " a",
        "a ",
        "-",
        "x" * 65,
        7,
    ],
)
def test_a_role_needs_a_name_that_can_be_one(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a role cannot have the name"):
        Role(name)


@pytest.mark.parametrize("other", ["Planner", "planner", "ｐlanner", "PLANNER"])
def test_names_that_look_alike_collide(other: str) -> None:
    with pytest.raises(ConfigurationError, match="two roles have the name"):
        RoleMemory(memory(), [PLANNER, ANALYST, Role(other)], thread="t")


@pytest.mark.parametrize("name", ["планировщик", "計画", "data engineer", "L2.support_eu-west"])
def test_names_of_any_script_work(name: str) -> None:
    of = RoleMemory(memory(), [PLANNER, ANALYST, Role(name)], thread="t")
    of.update(name, "The quota is 500 shards.")
    assert of.state(name).turn == 1


def test_a_slot_for_a_role_that_the_team_lacks_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="slot 'risks' is for the role 'analyst'"):
        RoleMemory(memory(), [PLANNER], thread="t")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"roles": []}, "give roles"),
        ({"roles": ["planner"]}, "give roles"),
        ({"update_from": "outputs"}, '"output" or "turn"'),
        ({"memory": "memory"}, "give a controller"),
        ({"thread": ""}, "name the conversation"),
    ],
)
def test_a_wrong_argument_says_what_to_give(given: dict[str, object], match: str) -> None:
    whole = {"memory": memory(), "roles": [PLANNER, ANALYST], "thread": "t", **given}
    with pytest.raises(AccError, match=match):
        RoleMemory(whole.pop("memory"), whole.pop("roles"), **whole)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"text": None}, {"schema": dict}, {"shares": "tool"}, {"shares": {"tools"}}, {"shares": 3}],
)
def test_a_wrong_attribute_of_a_role_is_named(given: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(given))):
        Role("planner", **given)  # type: ignore[arg-type]


def test_an_update_that_is_no_output() -> None:
    with pytest.raises(InputError, match="pass the agent's output as text, or a Turn"):
        team().update("planner", ["We use Kinesis"])  # type: ignore[arg-type]


def test_a_team_of_a_named_agent_keeps_its_roles_under_it() -> None:
    one = RoleMemory(
        memory(), [PLANNER, ANALYST], thread=Thread(thread="t", user="ana", agent="pipeline")
    )
    assert one.thread("planner") == Thread(thread="t", user="ana", agent="pipeline/planner")
    assert team().thread("planner") == Thread(thread="pipeline", agent="planner")


def test_a_model_is_told_the_role_whose_memory_it_maintains() -> None:
    with ModelServer(lambda _: {}) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="key", max_retries=0)
        controller = memory()
        controller.compressor = OpenAICompressor("model", client=client, guidance="Be brief.")
        of = RoleMemory(controller, [PLANNER, ANALYST], thread="t")
        for role in of.roles:
            of.update(role, OUTPUT)
        told = [request.messages[0].text for request in server.requests]
    for role, text in zip((PLANNER, ANALYST), (told[0], told[-1]), strict=True):
        assert f"an agent working as {role.name} in a multi-agent conversation. {role.text}" in text
        assert "Be brief." in text
    assert "what may go wrong" in told[-1]
    assert "what was decided, and why" not in told[-1]


@pytest.mark.parametrize("role", [None, ["planner"], "Planner", "", 3])
def test_a_role_that_is_not_there(role: str) -> None:
    of = team()
    acts = (
        of.state,
        of.reads,
        of.thread,
        of.memory,
        lambda r: of.update(r, "x"),
        lambda r: of.open_evidence(r, "u1"),
    )
    for act in acts:
        with pytest.raises(InputError, match="use one of 'planner', 'analyst', 'engineer'"):
            act(role)

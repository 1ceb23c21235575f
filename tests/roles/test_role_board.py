"""A board beside role memories: the user's rules reach every role, and are lifted for all; the rest is a role's own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from role_team import ANALYST, ENGINEER, PLANNER, TeamState, memory, said, team, turn
from strategies import hostile_texts

from acc import (
    AsyncMemoryController,
    AsyncRoleMemory,
    Channel,
    InMemoryStore,
    MemoryController,
    Policy,
    Role,
    RoleMemory,
    Settings,
    Thread,
)
from acc.board import Board, BoardState
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.state.render import LEGEND
from acc.turn.observations import Observation, Trust

RULE = "Never use Lambda in production."
GIVEN = turn(said(Channel.USER, RULE), said(Channel.AGENT, "We use Kinesis because it scales."))
BOARD = Board("pipeline")


def test_a_rule_given_to_one_role_is_read_by_all_with_their_next_turn() -> None:
    of = team(board=BOARD)
    of.update("planner", GIVEN)
    for role in of.roles:
        assert "Never use Lambda in production" in of.context(role, "task", [], 2_000)[1]
    assert not of.state("planner").constraints  # on the board alone
    assert [item.what for item in of.state("planner").decisions] == ["Kinesis"]
    assert "Kinesis" not in of.reads("analyst")


def test_a_rule_that_is_lifted_by_any_role_is_lifted_for_all() -> None:
    of = team(board=BOARD)
    of.update("planner", GIVEN)
    lifted = "The rule on Lambda in production no longer applies; Lambda in production is allowed."
    step = of.update(
        "engineer", turn(said(Channel.USER, lifted), said(Channel.AGENT, "Understood."))
    )
    assert step.board is not None
    assert not step.board.state.constraints
    for role in of.roles:
        assert f"constraints[1]{{text}}:\n  {RULE[:-1]}" not in of.reads(role)


def test_what_is_read_is_the_role_the_legend_the_board_and_the_own_state_within_both_bounds() -> (
    None
):
    of = team(board=BOARD)
    of.update("planner", GIVEN)
    read = of.reads("planner")
    places = [
        read.index(part)
        for part in ("You plan the pipeline.", LEGEND, "Never use Lambda", "Kinesis,it scales")
    ]
    assert places == sorted(places)
    assert of.memory("planner").settings.policy.counter(read) <= of.bound("planner")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["planner", "analyst", "engineer"]), hostile_texts, hostile_texts
        ),
        max_size=6,
    )
)
def test_no_words_make_a_role_read_more_than_its_bound(said_by: list[tuple[str, str, str]]) -> None:
    of = team(board=BOARD)
    for role, user, answer in said_by:
        with suppress(PinnedOverflow):
            of.update(role, turn(said(Channel.USER, user * 40), said(Channel.AGENT, answer * 40)))
    for role in of.roles:
        count = of.memory(role).settings.policy.counter
        assert count(of.reads(role)) <= of.bound(role)
        made = of.context(role, "task", [answer for _, _, answer in said_by], of.bound(role) + 1)
        assert sum(map(count, made)) <= of.bound(role) + 1


def test_a_limit_that_the_memory_may_outgrow_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    of = team(board=BOARD)
    for _ in range(2):
        of.context("planner", "task", [], of.bound("planner"))
    of.context("analyst", "task", [], of.bound("analyst") + 1)
    (record,) = caplog.records
    assert "event=context_may_overflow" in record.getMessage()
    assert record.acc["role"] == "planner"


@pytest.mark.parametrize("asked", [[], [said(Channel.USER, "Who approves deployments?")]])
def test_what_an_answer_repeats_of_a_tool_is_stored_with_the_tools_trust(
    asked: list[Observation],
) -> None:
    told = "The approval of Ana covers all deployments of the ingest pipeline until December."
    of = team(board=BOARD)
    of.update("planner", turn(*asked, said(Channel.TOOL, told, "wiki"), said(Channel.AGENT, told)))
    with of.memory("planner")._locked_log(of.thread("planner")) as log:
        stored = [(a.channel, a.trust) for a in log.branch("main").artifacts if a.ref == "a1"]
    assert stored == [(Channel.AGENT, Trust.TOOL)]


def test_a_role_without_a_turn_yet_reads_the_board() -> None:
    of = team(board=BOARD)
    assert of.reads("analyst") == "You look for risks."
    of.update("planner", GIVEN)
    assert RULE[:-1] in of.reads("analyst")
    assert of.state("analyst") is None


def test_an_agents_words_make_no_rule_on_the_board() -> None:
    of = team(board=BOARD)
    of.update("planner", "The user said: never use Kinesis. Always ask me before any deployment.")
    of.update(
        "planner",
        turn(
            said(Channel.DOCUMENT, "Never use Kinesis.", "analyst"), said(Channel.AGENT, "Noted.")
        ),
    )
    for role in of.roles:
        assert "constraints[" not in of.reads(role)


def test_a_roles_evidence_stays_private_beside_a_board() -> None:
    of = team(board=BOARD, update_from="turn")
    of.update(
        "planner", turn(said(Channel.USER, RULE), said(Channel.TOOL, "The price is 31 EUR.", "erp"))
    )
    key = of.thread("planner").key
    for ref in ("t1", f"{key[:8]}/t1", f"{key}.main:1", f"{key}/t1"):
        with pytest.raises(InputError):
            of.open_evidence("analyst", ref)
    assert "31 EUR" not in of.reads("analyst")


def test_roles_in_parallel_threads_lose_no_rule() -> None:
    roles = [Role(f"worker {n}") for n in range(4)]
    of = RoleMemory(MemoryController(InMemoryStore()), roles, thread="t", board=BOARD)

    def work(role: Role) -> None:
        for n in range(3):
            rule = f"Never restart host-{role.name[-1]}{n} without approval."
            of.update(
                role.name, turn(said(Channel.USER, rule), said(Channel.AGENT, f"Understood, {n}."))
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, roles))
    for role in roles:
        read = of.reads(role.name)
        assert all(
            f"Never restart host-{w}{n} without approval" in read
            for w in range(4)
            for n in range(3)
        )
        assert of.state(role.name).turn == 3


def test_async_roles_share_a_board_too() -> None:
    async def run() -> None:
        given = Settings(policy=Policy(schema=TeamState))
        controller = AsyncMemoryController(InMemoryStore(), settings=given)
        of = AsyncRoleMemory(controller, [PLANNER, ANALYST, ENGINEER], thread="t", board=BOARD)
        await asyncio.gather(*(of.update(role, GIVEN) for role in of.roles))
        for role in of.roles:
            made = await asyncio.to_thread(of.context, role, "task", [], 2_000)
            assert f"constraints[1]{{text}}:\n  {RULE[:-1]}\n" in made[1]

    asyncio.run(run())


def test_a_team_with_a_board_goes_on_after_a_restart(tmp_path: Path) -> None:
    for turns in (1, 2):
        with MemoryController.open(tmp_path, schema=TeamState) as opened:
            of = RoleMemory(
                opened, [PLANNER, ANALYST], thread=Thread(thread="t", user="ana"), board=BOARD
            )
            assert of.update("planner", GIVEN).state.turn == turns
            assert RULE[:-1] in of.reads("analyst")


def test_rules_alone_can_be_shared() -> None:
    of = team(board=Board("pipeline", share="rules"), update_from="turn")
    goal = turn(
        said(Channel.USER, f"{RULE} I want to design the ingest pipeline."),
        said(Channel.AGENT, "Understood."),
    )
    of.update("planner", goal)
    assert RULE[:-1] in of.reads("analyst")
    assert "ingest pipeline" not in of.reads("analyst")


def test_a_board_that_fits_no_role_says_so() -> None:
    shared = Board("pipeline", share={"nothing": "constraints"}, policy=Policy(schema=BoardState))
    with pytest.raises(ConfigurationError, match="there is no"):
        team(board=shared).update("planner", GIVEN)
    with pytest.raises(ConfigurationError, match="board is 'pipeline'"):
        RoleMemory(memory(), [PLANNER, ANALYST], thread="t", board="pipeline")  # type: ignore[arg-type]

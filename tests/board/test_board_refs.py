"""Refs of a board, as an agent reads them: they name the board, and the agent can open them."""

from __future__ import annotations

import re

import pytest
from strategies import agent, fact, user
from team import Team, decision

from acc import Policy, Proposal
from acc.board import Board, BoardState
from acc.errors import InputError

SMALL = Board("small", policy=Policy(schema=BoardState, max_tokens=400))


def full(team: Team) -> str:
    """Fill the board until decisions leave it; return what an agent reads of it."""
    for number in range(20):
        said = f"I decided that the region of service {number} is eu-west-{number}."
        item = decision(f"region of service {number}", f"eu-west-{number}", f"a{number + 1}")
        team.step("a", user("?"), agent(said), proposal=Proposal(items=(item,)))
    return SMALL.text(team.head())


def test_what_left_the_board_is_named_by_refs_that_open_it() -> None:
    team = Team.on(board=SMALL)
    text = full(team)
    refs = re.findall(r"[0-9a-f]{8}/a\d+", text)
    assert refs
    assert SMALL.policy.counter(text) <= SMALL.policy.max_tokens
    step = team.step("b", user("Where are we?"))
    thread = team.thread("b")
    for ref in refs:
        opened = team.memory.open_evidence(ref, step.state, thread=thread, board=SMALL)
        number = int(ref.rpartition("/a")[2]) - 1
        assert opened == f"I decided that the region of service {number} is eu-west-{number}."
    for board in (None, Board("another")):
        with pytest.raises(InputError):
            team.memory.open_evidence(refs[0], step.state, thread=thread, board=board)
    with pytest.raises(InputError):
        team.memory.open_evidence(
            f"{team.place.key[:8]}/a99", step.state, thread=thread, board=SMALL
        )


def test_an_agents_item_that_rests_on_the_board_is_opened_there() -> None:
    team = Team.on(board=SMALL)
    full(team)
    held = next(i for i in team.head().decisions)  # type: ignore[attr-defined]
    cites = fact(held.subject, held.predicate, held.object, f"B{held.id}")
    step = team.step("b", user("So?"), proposal=Proposal(items=(cites,)))
    (item,) = step.state.relational_map
    opened = team.memory.open_evidence(
        item.sources[0], step.state, thread=team.thread("b"), board=SMALL
    )
    assert held.object in opened

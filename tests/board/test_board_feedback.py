"""A model is told, with the next turn, what the board did not take of its proposal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from strategies import agent, end, rule, tool, user
from team import Team, decision

from acc import Proposal
from acc.board import Board
from acc.compress.prompt import Reading, material
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Account, Outcome, ProposedItem, Retirement
from acc.turn.turn import Turn

MODEL = Account(outcome=Outcome.OK)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = Team.on(tmp_path)
    with made.memory:
        yield made


def models(items: tuple[ProposedItem, ...] = (), retire: tuple[Retirement, ...] = ()) -> Proposal:
    return Proposal(items=items, retire=retire, account=MODEL)


def region(team: Team) -> None:
    """The board's item z1."""
    talk = (user("Which region?"), agent("I decided that the region is eu-west."))
    team.step("other", *talk, proposal=models((decision("region", "eu-west", "a1"),)))


def test_what_the_board_refuses_stands_in_the_next_prompt_once(team: Team) -> None:
    refused = models((decision("disk", "93% full", "t1"),))
    step = team.step("a", user("look"), tool("disk is 93% full"), proposal=refused)
    assert step.board is not None
    assert [note.reason.value for note in step.board.notes] == ["untrusted"]
    told = 'untrusted: decisions "disk is 93% full decided" "needs agent"'
    assert step.state.feedback == (told,)
    assert step.commit.notes == ()  # of the agent's own half nothing was refused
    team.step("a", user("And now?"), proposal=models())
    seen = team.script.seen
    assert seen is not None
    policy = team.memory.settings.policy
    assert f"- {told}" in material(Reading(Turn.said("And now?"), seen, (), policy, "revise"))
    assert team.states["a"].feedback == ()
    assert team.verified("a") == 2


def test_a_compressor_that_is_no_model_is_told_nothing(team: Team) -> None:
    refused = Proposal(items=(decision("disk", "93% full", "t1"),))
    step = team.step("a", user("look"), tool("disk is 93% full"), proposal=refused)
    assert step.board is not None
    assert step.board.notes
    assert step.state.feedback == ()


def test_items_of_the_board_are_named_as_the_model_knows_them() -> None:
    team = Team.on(board=Board("b", share={"constraints": "constraints"}))
    team.step("a", user("Never page me."), proposal=models((rule("Never page me", "u1"),)))
    gone = end("Bc1", "u1", quote="The weather is fine.")
    step = team.step("b", user("The weather is fine."), proposal=models(retire=(gone,)))
    (told,) = step.state.feedback
    assert told == 'lifting_doubted: Bc1 "Never page me" "retire: u1: The weather is fine"'
    assert step.board is not None
    assert step.board.notes == ()  # the board's own commit has the note


def test_what_the_board_rewords_is_told(team: Team) -> None:
    said = "Never restart db-2 without asking me."
    reworded = rule("no restarts of db-2, ever", "u1", quote="Never restart db-2 without asking me")
    step = team.step("a", user(said), proposal=models((reworded,)))
    (told,) = step.state.feedback
    assert told.startswith("users_words: constraints ")
    assert step.board is not None
    assert step.board.commit is not None


def test_an_item_that_ends_without_anybodys_words_is_refused_and_told(team: Team) -> None:
    region(team)
    step = team.step("a", user("hi"), proposal=models(retire=(end("Bz1"),)))
    assert step.board is not None
    assert [(n.reason.value, n.item) for n in step.board.notes] == [("uncited", "z1")]
    assert step.state.feedback == (
        'uncited: Bz1 "region is eu-west decided" "an item of all agents ends by cited words"',
    )


def test_a_conflict_that_comes_with_the_write_is_told_too(team: Team) -> None:
    talk = (user("?"), agent("I decided that the region is us-east."))

    def propose(_: CompressedCognitiveState) -> Proposal:
        region(team)
        return models((decision("region", "us-east", "a1"),))

    step = team.step("a", *talk, proposal=propose)
    (told,) = step.state.feedback
    assert told.startswith('board_conflict: decisions "region is us-east')
    assert "beside as a hypothesis: Bz1 region is eu-west" in told
    last = team.memory.last_state(team.thread("a"))
    assert last is not None
    assert last.feedback == step.state.feedback
    assert team.verified("a") == 1

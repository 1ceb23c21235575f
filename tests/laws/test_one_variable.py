"""Law 1, one variable: nothing else persists in what the agent reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import Conversation, conversations, event, fact, rule, tool, user

from acc.commit.commit import commit
from acc.state.model import CompressedCognitiveState
from acc.state.render import Style


@pytest.mark.parametrize("style", ["toon", "predicates"])
def test_what_the_agent_reads_is_a_function_of_the_state_alone(style: Style) -> None:
    talk = Conversation()
    talk.take(user("Never restart nginx."), rule("Never restart nginx", "u1"))
    talk.take(tool("depth 40"), fact("queue", "depth", "40", "t2"))
    again = CompressedCognitiveState.load(talk.state.canonical())
    assert again.render(style) == talk.state.render(style)


def test_a_turn_that_nothing_was_taken_from_leaves_no_word_behind() -> None:
    talk = Conversation()
    talk.take(user("a secret word: abracadabra"), tool("and another: sesame"), event("hello", "u1"))
    talk.take(user("next"))
    assert "abracadabra" not in talk.state.render()
    assert "sesame" not in str(talk.state.canonical())


@given(conversations(most_steps=5))
def test_the_same_state_goes_on_in_the_same_way_whatever_its_past(talk: Conversation) -> None:
    for step in talk.steps:
        if step.done is not None:
            stranger = type(step.before).load(step.before.canonical())
            again = commit(stranger, step.proposal, step.turn, step.evidence, step.policy)
            assert again == step.done

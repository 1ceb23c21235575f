"""Law 6, of what users paste: whatever it says, and however it tries to get out, it is nobody's rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from pastes import CANARY, CLOSED, INJECTED, LED, OPEN, RULE, every_marked_paste, pastes

from acc.keyless.compressor import RuleCompressor
from acc.pipeline.update import update_state
from acc.turn.observations import Channel, Observation, as_observations
from acc.turn.turn import Turn, normalize

RULES = RuleCompressor()
BEFORE = update_state(None, Turn.said(RULE), compressor=RULES).state


@given(pastes({**CLOSED, **OPEN, **LED}))
def test_nothing_of_a_marked_paste_is_the_users(message: str) -> None:
    turn = Turn.said(message)
    assert CANARY not in turn.user_words
    assert any(o.channel is Channel.DOCUMENT and CANARY in o.text for o in turn.observations)


@pytest.mark.slow
def test_nothing_of_any_two_marks_in_one_another_is_the_users() -> None:
    """The same of each combination: 54,834 messages."""
    messages = list(every_marked_paste())
    assert len(messages) == 54_834
    assert not [message for message in messages if CANARY in Turn.said(message).user_words]


@given(pastes({**CLOSED, **OPEN, **LED}))
def test_a_marked_paste_makes_changes_and_lifts_no_rule(message: str) -> None:
    state = update_state(BEFORE, Turn.said(message), compressor=RULES).state
    assert [rule.text for rule in state.constraints] == [rule.text for rule in BEFORE.constraints]
    assert not state.lifted


@given(pastes({**CLOSED, **OPEN, **LED}))
def test_a_paste_is_a_few_documents_however_it_is_made(message: str) -> None:
    turn = Turn.said(message)
    by_hand = Turn(observations=(Observation(channel=Channel.USER, text=message),))
    once = normalize(by_hand, "t")
    assert once == turn
    assert normalize(once, "t") is once
    assert as_observations(as_observations(by_hand.observations)) == turn.observations
    assert len(turn.observations) < 10


@pytest.mark.parametrize("sentence", INJECTED)
def test_the_sentences_would_act_if_the_user_said_them(sentence: str) -> None:
    """Else nothing above is tested: without marks they are the user's."""
    assert CANARY in Turn.said(sentence).user_words


def test_some_sentences_make_and_lift_rules_if_the_user_says_them() -> None:
    states = [update_state(BEFORE, Turn.said(s), compressor=RULES).state for s in INJECTED]
    assert sum(len(state.constraints) > len(BEFORE.constraints) for state in states) > 2
    assert any(state.lifted for state in states)
    assert sum(bool(state.lifted or state.doubted) for state in states) > 1

"""Law 6, of what users paste: whatever it says, and however it tries to get out, it is nobody's rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from pastes import CANARY, CLOSED, INJECTED, OPEN, RULE, every_marked_paste, pastes

from acc.state.model import CompressedCognitiveState
from acc.step.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn, normalize

BEFORE = update_state(None, Turn.said(RULE))


def after(message: str) -> CompressedCognitiveState:
    """The state after the rule and a message, without a model."""
    return update_state(BEFORE.state, Turn.said(message), tail=BEFORE.tail).state


def changed(state: CompressedCognitiveState) -> bool:
    """Whether the message stands beside the rule or took it away."""
    return any(rule.later or rule.ending for rule in state.constraints) or not state.constraints


@given(pastes({**CLOSED, **OPEN}))
def test_nothing_of_a_marked_paste_is_the_users(message: str) -> None:
    turn = Turn.said(message)
    assert CANARY not in turn.user_words
    assert any(o.channel is Channel.DOCUMENT and CANARY in o.text for o in turn.observations)


@pytest.mark.slow
def test_nothing_of_any_two_marks_in_one_another_is_the_users() -> None:
    """The same of each combination: 52,022 messages."""
    messages = list(every_marked_paste())
    assert len(messages) == 52_022
    assert not [message for message in messages if CANARY in Turn.said(message).user_words]


@given(pastes({**CLOSED, **OPEN}))
def test_a_marked_paste_makes_changes_and_lifts_no_rule(message: str) -> None:
    """What stands outside of the marks is the user's, and may become a rule."""
    (rule,) = BEFORE.state.constraints
    held = after(message).constraints
    assert held[0] == rule
    outside = Turn.said(message).user_words
    assert all(other.words.text in outside for other in held[1:])


@given(pastes({**CLOSED, **OPEN}))
def test_a_paste_is_a_few_documents_however_it_is_made(message: str) -> None:
    turn = Turn.said(message)
    by_hand = Turn(observations=(Observation(channel=Channel.USER, text=message),))
    once = normalize(by_hand, "t")
    assert once == turn
    assert normalize(once, "t") is once
    assert len(turn.observations) < 10


@pytest.mark.parametrize("sentence", INJECTED)
def test_the_sentences_would_act_if_the_user_said_them(sentence: str) -> None:
    """Else nothing above is tested: without marks they are the user's."""
    assert CANARY in Turn.said(sentence).user_words


def test_some_sentences_make_and_change_rules_if_the_user_says_them() -> None:
    states = [after(sentence) for sentence in INJECTED]
    assert sum(len(state.constraints) > 1 for state in states) > 2
    assert any(map(changed, states))


INVISIBLE = (
    "\u00ad\u061c\u115f\u180e\u200b\u200e\u202a\u202c\u2060\u2063\u2066\u3164\ufe0f\ufeff\U000e0020"
)
IN_FRONT = [*INVISIBLE, "\u00a0", "\u3000", "\x1f", "• ", "| ", "❯ ", "- ", "\u202b• \u2069"]
"""What mail, chat and attackers put in front of a line."""


@pytest.mark.parametrize("mark", [*CLOSED, *OPEN])
def test_a_mark_is_found_whatever_stands_in_front_of_its_line(mark: str) -> None:
    marked = {**CLOSED, **OPEN}[mark](INJECTED[0])
    for front in IN_FRONT:
        message = "\n".join(f"{front}{line}" for line in marked.splitlines())
        assert CANARY not in Turn.said(f"See this.\n{message}").user_words, repr(front)


WIDE = {ord(sign): ord(sign) + 0xFEE0 for sign in '<>:"`~=-[]{}/'}
INSIDE = {
    "full-width signs": lambda text: text.translate(WIDE),
    "an invisible character behind each sign": lambda text: "".join(
        char if char.isalnum() or char.isspace() else f"{char}\u2060" for char in text
    ),
    "other line breaks": lambda text: text.replace("\n", "\x85"),
    "old line breaks": lambda text: text.replace("\n", "\r"),
}


@pytest.mark.parametrize("how", INSIDE)
@pytest.mark.parametrize("mark", [*CLOSED, *OPEN])
def test_a_mark_is_found_however_its_signs_are_written(mark: str, how: str) -> None:
    marked = INSIDE[how]({**CLOSED, **OPEN}[mark](INJECTED[0]))
    assert CANARY not in Turn.said(f"See this.\n{marked}").user_words

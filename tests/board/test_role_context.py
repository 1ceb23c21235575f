"""Algorithm 1 of arXiv 2508.08997, held to the lines of the paper. Lines are numbered as it prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.board.roles import construct_context
from acc.errors import ConfigurationError
from acc.text.tokens import utf8_quarter


class Words:
    """Counts words, so that a test can say how many tokens a text has."""

    name = "words"

    def __call__(self, text: str) -> int:
        return len(text.split())


def algorithm_1(
    conversation_history: Sequence[str],
    agent_memory: str,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> list[str]:
    """The paper's listing, copied. ``count_tokens(context)`` is the sum over the list."""
    context = []  # line 2
    context.append(conversation_history[0])  # line 5
    context.append(agent_memory)  # line 6
    remaining_tokens = max_tokens - sum(map(count_tokens, context))  # line 9
    recent_turns: list[str] = []  # line 10
    for turn in reversed(conversation_history[1:]):  # line 12
        turn_tokens = count_tokens(turn)  # line 13
        if turn_tokens <= remaining_tokens:  # line 14
            recent_turns.insert(0, turn)  # line 15
            remaining_tokens -= turn_tokens  # line 16
        else:  # line 17
            break  # line 18
    context.extend(recent_turns)  # line 20
    return context  # line 21


HOSTILE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", "\n", "\x00", "\ud800", "🏳️‍🌈" * 9, "x" * 5_000, "<|endoftext|>", "\u202eevil"]
    ),
)


@given(
    task=HOSTILE,
    memory=HOSTILE,
    history=st.lists(HOSTILE, max_size=12),
    max_tokens=st.integers(0, 2_000),
)
def test_it_is_the_papers_listing_wherever_task_and_memory_fit(
    task: str, memory: str, history: list[str], max_tokens: int
) -> None:
    if utf8_quarter(task) + utf8_quarter(memory) > max_tokens:
        with pytest.raises(ConfigurationError, match="To fix: set max_tokens to"):
            construct_context(task, memory, history, max_tokens)
        return
    made = construct_context(task, memory, history, max_tokens)
    assert made == algorithm_1([task, *history], memory, max_tokens, utf8_quarter)
    assert sum(map(utf8_quarter, made)) <= max_tokens
    assert made[:2] == [task, memory]
    turns = len(made) - 2
    assert made[2:] == history[len(history) - turns :]  # the newest, without a gap


def test_line_9_has_no_check_here_it_is_an_error_that_says_how_much_is_needed() -> None:
    with pytest.raises(ConfigurationError) as found:
        construct_context("a long task", "and a memory", ["turn"], 5, counter=Words())
    assert found.value.what == "the task takes 3 tokens and the memory 3, of 5"
    assert "max_tokens to 6 or more" in found.value.hint


@pytest.mark.parametrize(
    "wrong",
    [{"max_tokens": -1}, {"max_tokens": "100"}, {"memory": {"a": 1}}, {"history": "user: one"}],
)
def test_what_is_of_another_type_is_told(wrong: dict[str, Any]) -> None:
    given_: dict[str, Any] = {"task": "t", "memory": "m", "history": [], "max_tokens": 100}
    with pytest.raises(ConfigurationError):
        construct_context(**{**given_, **wrong})

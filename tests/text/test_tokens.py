"""A token counter is somebody else's code: whatever it does with a text, the turn commits."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.errors import ConfigurationError
from acc.state.policy import Policy
from acc.state.render import render
from acc.step.update import update_state
from acc.text.tokens import Utf8Quarter, guarded, utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

SPECIAL = "<|endoftext|>"


class PanicException(BaseException):
    """As a counter that is written in Rust panics."""


class Counter:
    """A counter under test: ``rule`` is what it makes of a text."""

    def __init__(self, rule: Callable[[str], Any], name: Any = "under-test/1") -> None:
        self.rule = rule
        self.name = name

    def __call__(self, text: str) -> Any:
        return self.rule(text)


def raising(error: BaseException) -> Callable[[str], Any]:
    def rule(_: str) -> int:
        raise error

    return rule


def strict(text: str) -> int:
    if SPECIAL in text:
        raise ValueError(f"the text {text!r} has a disallowed special token")
    return len(text)


class Index:
    """As numpy's integers."""

    def __index__(self) -> int:
        return 7


class Odd:
    """As a tensor of several numbers: it looks like one number, and is none."""

    def __repr__(self) -> str:
        raise ValueError

    def __index__(self) -> int:
        raise ValueError


BAD: dict[str, Callable[[str], Any]] = {
    "refuses a text": strict,
    "raises": raising(RuntimeError("no vocabulary")),
    "panics": raising(PanicException("StackOverflow")),
    "recursion": raising(RecursionError()),
    "negative": lambda _: -1,
    "very negative": lambda _: -(10**5000),
    "nan": lambda _: math.nan,
    "infinite": lambda _: math.inf,
    "float": lambda text: len(text) / 3,
    "bool": lambda _: True,
    "none": lambda _: None,
    "text": lambda text: str(len(text)),
    "odd": lambda _: Odd(),
    "by turns": lambda text: len(text) // 4 if len(text) % 2 else None,
}


@pytest.mark.parametrize("rule", BAD.values(), ids=BAD)
@pytest.mark.parametrize("channel", [Channel.USER, Channel.TOOL])
def test_the_turn_commits_within_its_bound(rule: Callable[[str], Any], channel: Channel) -> None:
    policy = Policy(counter=Counter(rule))
    step = update_state(None, Turn.said("Never deploy on a Friday."), policy=policy)
    said = Turn(
        observations=(
            Observation(channel=Channel.USER, text="Which token ends a document?"),
            Observation(channel=channel, text=f"{SPECIAL} is token 50256 of gpt-2", name="look"),
        )
    )
    for turn in (said, Turn.said("What is open?")):
        step = update_state(step.state, turn, tail=step.tail, policy=policy)
        assert step.failure == ""
        assert policy.counter(render(step.state, policy.style)) <= policy.max_tokens
    assert [rule.text_of for rule in step.state.constraints] == ["Never deploy on a Friday."]


@given(st.text(max_size=60), st.sampled_from(sorted(BAD)))
def test_a_count_is_always_a_whole_number(text: str, name: str) -> None:
    tokens = guarded(Counter(BAD[name]))(text)
    assert type(tokens) is int
    assert tokens >= 0


def test_a_sound_count_is_the_counters_own() -> None:
    assert guarded(Counter(len))("abcdef") == 6
    assert guarded(Counter(lambda _: Index()))("abcdef") == 7
    assert guarded(utf8_quarter) is utf8_quarter
    assert Policy().counter is utf8_quarter
    once = guarded(Counter(len))
    assert guarded(once) is once


def test_what_is_not_counted_is_estimated() -> None:
    text = f"{SPECIAL} ends it"
    assert guarded(Counter(raising(ValueError())))(text) == utf8_quarter(text)
    assert guarded(Counter(strict))(text) == utf8_quarter(text)
    assert guarded(Counter(lambda _: 12.5))("abcd") == 13
    assert guarded(Counter(lambda _: 0.5))("a" * 40) == 10


def test_the_log_tells_it_once_and_never_the_text(caplog: pytest.LogCaptureFixture) -> None:
    count = guarded(Counter(strict))
    with caplog.at_level(logging.WARNING, "acc.text.tokens"):
        count(f"secret {SPECIAL}")
        count(f"secret {SPECIAL} once more")
    (told,) = [record.getMessage() for record in caplog.records]
    assert "under-test/1" in told
    assert "ValueError" in told
    assert "secret" not in told


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_whoever_ends_the_program_ends_it(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guarded(Counter(raising(error)))("a")


def test_policies_are_equal_and_named_by_what_they_were_given() -> None:
    counter = Counter(len)
    policy = Policy(counter=counter)
    assert policy == Policy(counter=counter)
    assert policy != Policy(counter=Counter(len))
    assert hash(policy.counter) == hash(Policy(counter=counter).counter)
    assert policy.counter.name == "under-test/1"
    assert Policy().fingerprint == Policy(counter=Utf8Quarter()).fingerprint
    assert policy.fingerprint == Policy(counter=Counter(strict)).fingerprint


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_counter_without_a_name_is_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="counter"):
        Policy(counter=Counter(len, name))

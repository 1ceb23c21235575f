"""The keyless compressor computes on one thread, and leaves the process's setting as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from speaking import State, turn
from threadpoolctl import ThreadpoolController

from acc.compressors.rules import RuleCompressor
from acc.compressors.rules.one_thread import one_thread

FOUND = 2


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """As on a machine with two processors."""
    with ThreadpoolController().limit(limits=FOUND, user_api="blas"):
        yield


def threads() -> set[int]:
    return {found["num_threads"] for found in ThreadpoolController().select(user_api="blas").info()}


def test_one_thread_within_and_what_was_before_behind() -> None:
    with one_thread():
        assert threads() == {1}
    assert threads() == {FOUND}


def test_an_error_within_restores_it_too() -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {FOUND}


def test_the_last_to_leave_restores_what_the_first_found() -> None:
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {FOUND}


def test_a_turn_is_read_on_one_thread() -> None:
    seen: list[set[int]] = []

    def counter(text: str) -> int:
        seen.append(threads())
        return len(text) // 4

    RuleCompressor(counter=counter)(turn("Never restart db-1."), State.empty(), ())
    assert seen
    assert all(found == {1} for found in seen)
    assert threads() == {FOUND}

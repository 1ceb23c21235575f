"""The keyless compressor computes on one thread, and leaves the process's setting as it was."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from speaking import State, turn
from threadpoolctl import ThreadpoolController

from acc.keyless.classifiers import one_thread
from acc.keyless.compressor import RuleCompressor

FOUND = 2


@pytest.fixture
def two_threads() -> Iterator[None]:
    """As on a machine with two processors."""
    with ThreadpoolController().limit(limits=FOUND, user_api="blas"):
        yield


def threads() -> set[int]:
    """Numpy's, which the compressor uses: another test may have loaded a library of SciPy's since."""
    found = ThreadpoolController().select(user_api="blas").info()
    return {each["num_threads"] for each in found if "numpy" in each["filepath"]}


@pytest.mark.usefixtures("two_threads")
def test_one_thread_within_and_what_was_before_behind() -> None:
    with one_thread():
        assert threads() == {1}
    assert threads() == {FOUND}


@pytest.mark.usefixtures("two_threads")
def test_an_error_within_restores_it_too() -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {FOUND}


@pytest.mark.usefixtures("two_threads")
def test_one_within_another_ends_with_the_outer_one() -> None:
    with one_thread():
        with one_thread():
            pass
        assert threads() == {1}
    assert threads() == {FOUND}


def test_threads_that_begin_at_once_leave_what_the_first_found() -> None:
    found, together = threads(), Barrier(8)

    def within() -> set[int]:
        together.wait()
        with one_thread():
            return threads()

    with ThreadPoolExecutor(8) as workers:
        seen = [worker.result() for worker in [workers.submit(within) for _ in range(8)]]
    assert seen == [{1}] * 8
    assert threads() == found


@pytest.mark.usefixtures("two_threads")
def test_a_turn_is_read_on_one_thread() -> None:
    seen: list[set[int]] = []

    def counter(text: str) -> int:
        seen.append(threads())
        return len(text) // 4

    counter.name = "bytes/4"  # type: ignore[attr-defined]
    RuleCompressor(counter=counter)(turn("Never restart db-1."), State.empty(), ())
    assert seen
    assert all(found == {1} for found in seen)
    assert threads() == {FOUND}

"""A cache of functions of texts: bounded by the size of the texts, not by their number."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

import acc.text.caching
from acc.text.caching import MOST_CHARS, cached_by_text
from acc.text.ranking import terms


def test_a_call_is_made_once_while_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acc.text.caching, "MOST_CHARS", 4_000)
    made: list[str] = []

    @cached_by_text
    def doubled(text: str, times: int = 2) -> str:
        made.append(text)
        return text * times

    for n in range(200):
        assert doubled("often") == "oftenoften"
        assert doubled(f"once {n}") == f"once {n}" * 2
    assert made.count("often") == 1
    assert len(made) == 201
    assert doubled("often", 3) == "often" * 3
    assert doubled("often", times=3) == "often" * 3


def test_a_call_that_nobody_uses_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acc.text.caching, "MOST_CHARS", 4_000)
    made: list[tuple[str, ...]] = []

    @cached_by_text
    def count(texts: tuple[str, ...]) -> int:
        made.append(texts)
        return len(texts)

    first = ("a" * 600, "b")
    for _ in range(2):
        assert count(first) == 2
    for n in range(8):
        count((str(n) * 600,))
    assert count(first) == 2
    assert made.count(first) == 2


def test_an_error_is_not_kept() -> None:
    @cached_by_text
    def fails(text: str) -> str:
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            fails("x")


@pytest.mark.slow
def test_long_texts_do_not_take_more_memory_than_short_ones() -> None:
    def taken(texts: int, words: int) -> int:
        gc.collect()
        tracemalloc.start()
        for n in range(texts):
            text = " ".join(f"w{n}x{k}" for k in range(words))
            terms(text)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    assert taken(200, 1_500) < 40 * MOST_CHARS

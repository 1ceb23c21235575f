"""The stored vector: stable, of length 1, cheap, and never in the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from acc.stores import embedding
from acc.stores.embedding import DIMENSION, embed, fingerprint, probe_sha

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def cosine(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(embed(one), embed(other), strict=True))


@given(ANY_TEXT)
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    vector = embed(text)
    assert len(vector) == DIMENSION
    assert math.isclose(math.sqrt(sum(value * value for value in vector)), 1, abs_tol=1e-6)


def test_stored_vectors_never_change() -> None:
    # Whoever changes these also raises EMBEDDING_VERSION: stores hold vectors for years.
    assert probe_sha().startswith("7f4b54755f28")
    assert fingerprint().startswith("782be4968b80")


def test_another_process_makes_the_same_vector(output: Callable[..., str]) -> None:
    program = "import acc.stores.embedding as e; print(e.probe_sha(), e.fingerprint())"
    assert output(program).split() == [probe_sha(), fingerprint()]


def test_words_in_another_form_are_alike() -> None:
    assert cosine("The invoices were refunded", "refunding an INVOICE") > 0.99
    assert cosine("The invoices were refunded", "Restart the database tonight") < 0.1


def test_repeats_count_less_and_less() -> None:
    shares = [cosine("invoice", "invoice " * times + "refund") for times in (1, 2, 20)]
    assert shares == sorted(shares)
    assert shares[2] - shares[1] < shares[1] - shares[0]


def test_a_text_without_words_is_like_no_other() -> None:
    assert embed("") == embed("... the of !?") == embed("\ud800")
    assert cosine("", "invoice") <= 0


def test_a_long_text_is_cheap() -> None:
    text = " ".join(f"word{number:05d} and" for number in range(1_142))
    best = min(_seconds(lambda: embed(text)) for _ in range(5))
    assert len(text) > 15_900
    assert best < 0.01, "some 1 ms where nothing else runs"


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_cut_into_the_words_of_any_text(text: str) -> None:
    beyond = embedding.cut_words(f"{text} é")
    assert embedding.cut_words(text) == beyond - embedding.cut_words("é")

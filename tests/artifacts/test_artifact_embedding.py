"""Embedders: the offline one's bits, and what a foreign one may do wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from acc.artifacts.embedding import (
    HASHED_WORDS,
    Embedder,
    embedded,
)
from acc.errors import StoreError

PROBE = (
    "Never restart billing-db-7 before 06:00 UTC: invoice 4711. Größe, naïve, 東京; naïve again."
)


def test_hashed_words_are_the_same_bits_for_ever() -> None:
    bits = np.round(HASHED_WORDS.embed([PROBE])[0], 5).astype("<f4").tobytes()
    assert hashlib.sha256(bits).hexdigest()[:16] == "66c6584a7b78b49d"


def test_vectors_are_of_length_one_even_without_words() -> None:
    found = embedded(HASHED_WORDS, [PROBE, "", "the of and"])
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert found[0] @ found[1] <= 0
    one, two = embedded(HASHED_WORDS, ["the rollouts begin", "rollout beginning"])
    assert one @ two == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("wrong", [[], [[1.0]], [[1.0, float("nan")]], "text", None])
def test_what_is_no_vector_is_refused(wrong: Any) -> None:
    with pytest.raises(StoreError, match="odd"):
        embedded(Embedder("odd", 2, lambda _: wrong), ["text"])


def test_a_function_embeds_and_may_read_questions_differently() -> None:
    def embed(texts: Sequence[str]) -> Any:
        return [[float(len(text)), 1.0] for text in texts]

    given = Embedder("lengths", 2, embed, lambda texts: embed([f"q: {t}" for t in texts]))
    for asks, length in ((False, 2), (True, 5)):
        found = embedded(given, ["ab"], asks=asks)[0]
        assert found[0] / found[1] == pytest.approx(length)
    plain = Embedder("lengths", 2, embed)
    assert embedded(plain, ["ab"], asks=True).tolist() == embedded(plain, ["ab"]).tolist()


def test_one_that_fails_is_a_named_error() -> None:
    def embed(_: Sequence[str]) -> Any:
        raise ConnectionError("away")

    with pytest.raises(StoreError, match="the embedder failed: ConnectionError"):
        embedded(Embedder("far", 2, embed), ["text"])

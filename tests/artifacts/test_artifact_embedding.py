"""Embedders: the offline one's bits, OpenAI's API on a loopback, and what a foreign one may do wrong."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from acc.artifacts.embedding import (
    HashedWords,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    embedded,
)
from acc.errors import ConfigurationError, StoreError

PROBE = (
    "Never restart billing-db-7 before 06:00 UTC: invoice 4711. Größe, naïve, 東京; naïve again."
)


def test_hashed_words_are_the_same_bits_for_ever() -> None:
    bits = np.round(HashedWords().embed([PROBE])[0], 5).astype("<f4").tobytes()
    assert hashlib.sha256(bits).hexdigest()[:16] == "66c6584a7b78b49d"


def test_vectors_are_of_length_one_even_without_words() -> None:
    found = embedded(HashedWords(), [PROBE, "", "the of and"])
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert found[0] @ found[1] <= 0
    one, two = embedded(HashedWords(), ["the rollouts begin", "rollout beginning"])
    assert one @ two == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("wrong", [[], [[1.0]], [[1.0, float("nan")]], "text", None])
def test_what_is_no_vector_is_refused(wrong: Any) -> None:
    class Odd:
        name, dimension = "odd", 2

        def embed(self, texts: Sequence[str]) -> Any:
            return wrong

    with pytest.raises(StoreError, match="odd"):
        embedded(Odd(), ["text"])


def test_openais_api_is_asked_in_one_call_and_its_order_is_kept() -> None:
    asked: list[dict[str, Any]] = []

    def create(**given: Any) -> Any:
        asked.append(given)
        vectors = [SimpleNamespace(index=n, embedding=[float(n + 1), 0.0]) for n in range(2)]
        return SimpleNamespace(data=vectors[::-1])

    client: Any = SimpleNamespace(embeddings=SimpleNamespace(create=create))
    embedder = OpenAIEmbedder("a-model", 2, cut=True, client=client)
    assert embedder.embed(["one", " "]) == [[1.0, 0.0], [2.0, 0.0]]
    assert asked == [
        {"model": "a-model", "input": ["one", "."], "encoding_format": "float", "dimensions": 2}
    ]
    assert embedder.name == "openai:a-model"


def test_openai_without_a_key_and_an_endpoint_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="api_key="):
        OpenAIEmbedder()
    there = OpenAIEmbedder(base_url="http://127.0.0.1:9", api_key="x", max_retries=0)
    with pytest.raises(StoreError, match="the embedder failed: APIConnectionError"):
        embedded(there, ["text"])


def test_a_model_of_sentence_transformers_reads_questions_with_their_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Model:
        def __init__(self, model: str) -> None:
            if model == "absent":
                raise OSError("no such model")

        def encode(self, texts: list[str], *, show_progress_bar: bool) -> Any:
            return np.array([[float(len(text))] for text in texts])

    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    embedder = SentenceTransformerEmbedder("/somewhere/e5/model", question_prefix="query: ")
    assert embedder.embed(["ab"]).tolist() == [[2.0]]
    assert embedder.embed_questions(["ab"]).tolist() == [[9.0]]
    assert (embedder.name, embedder.dimension) == ("sentence-transformers:e5/model", 1)
    with pytest.raises(ConfigurationError, match=r"no such model.*\[dense\]"):
        SentenceTransformerEmbedder("absent")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match="pip install"):
        SentenceTransformerEmbedder("any")

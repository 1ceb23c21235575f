"""Embedders: texts to vectors. They are ours, never Chroma's default, which downloads a model on first use."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from acc.errors import AccError, ConfigurationError, StoreError
from acc.text.ranking import WORD

if TYPE_CHECKING:
    from openai import OpenAI

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Embeds texts. Another name or dimension is another embedder: what was embedded by one, no other reads."""

    @property
    def name(self) -> str:
        """The model's name with its version."""
        ...

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """Return one vector for each text: an array or lists of finite numbers."""
        ...


def embedded(embedder: Embedder, texts: Sequence[str], *, asks: bool = False) -> Vectors:
    """Return the unit vectors of ``texts``; if they ask, by the embedder's ``embed_questions`` where it has one.

    Raises:
        StoreError: The embedder fails, or returned something else than a finite vector for each text.
    """
    embed = getattr(embedder, "embed_questions", embedder.embed) if asks else embedder.embed
    try:
        found = np.asarray(embed(texts), np.float32)
    except AccError:
        raise
    except Exception as error:  # an embedder is foreign code and may raise anything
        said = f"the embedder failed: {type(error).__name__}: {error}"[:300]
        raise StoreError(said, where=embedder.name, hint="read the cause") from error
    if found.shape != (len(texts), embedder.dimension) or not np.isfinite(found).all():
        raise StoreError(
            f"the embedder returned an array of shape {found.shape} for {len(texts)} texts",
            where=embedder.name,
            hint=f"return {embedder.dimension} finite numbers for each text",
        )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    # A text without words has no direction. Chroma measures angles and wants one: one far from all words'.
    lone = np.zeros_like(found)
    lone[:, 0] = -1
    return np.where(lengths > 0, found / np.where(lengths > 0, lengths, 1), lone)


class HashedWords:
    """Hashed BM25 without a model or a download: 512 buckets of words cut to four letters.

    It finds what shares words, and is the default. Vectors are stored for good: the bits depend on nothing that
    a release changes. A change of this class has to raise the version in its name.
    """

    name = "acc-hashed-words-2"
    dimension = 512

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; all zeros where a text has no words."""
        return np.array([self._vector(text) for text in texts], np.float32)

    def _vector(self, text: str) -> array[float]:
        vector = array("f", bytes(4 * self.dimension))
        words = [word[:4] for word in WORD.findall(text.lower()) if word not in _STOPWORDS]
        for word, count in Counter(words).items():
            vector[_bucket(word, self.dimension)] += count * 2.2 / (count + 1.2)
        length = math.sqrt(math.fsum(value * value for value in vector))
        return array("f", [value / length for value in vector]) if length else vector


@lru_cache(maxsize=1 << 14)
def _bucket(word: str, count: int) -> int:
    return crc32(word.encode()) % count


_FUNCTION_WORDS = """
    a about after all am an and any are as at be because been before being both but by can could did do does
    for from had has have he her here him his how i if in into is it its just me more my no not now of off on only
    or other our out over own she should so some such than that the their them then there these they this those
    through to too under until up very was we were what when where which while who why will with would you
    your
"""
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())


class OpenAIEmbedder:
    """Embeds by OpenAI's API, or any endpoint that speaks it.

    Args:
        model: The model's name.
        dimension: Length of its vectors; it is asked for if ``cut`` is set.
        cut: Whether the endpoint is to cut vectors to ``dimension``; not every endpoint can.
        client: A client that is set up; otherwise one is made from ``settings``, such as ``base_url=``.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimension: int = 1536,
        *,
        cut: bool = False,
        client: OpenAI | None = None,
        **settings: Any,
    ) -> None:
        from openai import OpenAI, OpenAIError

        self.name, self.dimension = f"openai:{model}", dimension
        self._more: dict[str, Any] = {"dimensions": dimension} if cut else {}
        self._model = model
        try:
            self._client = client if client is not None else OpenAI(**settings)
        except OpenAIError as error:
            said = f"the embedder cannot be set up: {error}"
            raise ConfigurationError(said, where=model, hint="pass api_key= or client=") from error

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text. A blank text is embedded as a dot: endpoints refuse it."""
        given = [text if text.strip() else "." for text in texts]
        answer = self._client.embeddings.create(
            model=self._model, input=given, encoding_format="float", **self._more
        )
        return [each.embedding for each in sorted(answer.data, key=lambda each: each.index)]


class SentenceTransformerEmbedder:
    """Embeds in this process by a model of sentence-transformers: a name of their hub, or a folder.

    Args:
        model: The model.
        text_prefix: What stands before each text, as ``"passage: "`` for E5.
        question_prefix: What stands before each question, as ``"query: "``.
        settings: Of ``sentence_transformers.SentenceTransformer``.

    Raises:
        ConfigurationError: sentence-transformers is not installed (the extra ``dense``), or the model does not load.
    """

    def __init__(
        self, model: str, *, text_prefix: str = "", question_prefix: str = "", **settings: Any
    ) -> None:
        hint = "pip install 'agent-cognitive-compressor[dense]', and name a model or a folder"
        try:
            from sentence_transformers import SentenceTransformer

            self._model: Any = SentenceTransformer(model, **settings)
        except Exception as error:  # whatever hub, disk and torch raise: the model is not there
            said = f"the embedder does not load: {type(error).__name__}: {error}"[:300]
            raise ConfigurationError(said, where=model, hint=hint) from error
        self._prefixes = text_prefix, question_prefix
        title = "/".join(Path(model).parts[-2:])  # a folder may be moved
        self.name, self.dimension = f"sentence-transformers:{title}", len(self.embed(["."])[0])

    def embed(self, texts: Sequence[str]) -> Any:
        """Return a vector for each text."""
        return self._encoded(self._prefixes[0], texts)

    def embed_questions(self, texts: Sequence[str]) -> Any:
        """Return a vector for each question: models such as E5 and BGE read questions and texts differently."""
        return self._encoded(self._prefixes[1], texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> Any:
        return self._model.encode([prefix + text for text in texts], show_progress_bar=False)

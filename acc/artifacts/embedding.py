"""Embedders: texts to vectors. They are ours, never Chroma's default, which downloads a model on first use."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from acc.errors import AccError, StoreError
from acc.text.ranking import WORD

Vectors = NDArray[np.float32]


Embed = Callable[[Sequence[str]], Any]
"""Returns one vector for each text: an array or lists of finite numbers."""


@dataclass(frozen=True)
class Embedder:
    """Embeds texts by a function, such as one of `chromadb.utils.embedding_functions`.

    Another name or dimension is another embedder: what was embedded by one, no other reads.

    Attributes:
        name: The model's name with its version.
        dimension: Length of its vectors.
        embed_questions: Embeds questions: models such as E5 and BGE read them differently. None: ``embed``.
    """

    name: str
    dimension: int
    embed: Embed
    embed_questions: Embed | None = None


def embedded(embedder: Embedder, texts: Sequence[str], *, asks: bool = False) -> Vectors:
    """Return the unit vectors of ``texts``; if they ask, by its ``embed_questions``."""
    embed = (asks and embedder.embed_questions) or embedder.embed
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


_BUCKETS = 512


def hashed_words(texts: Sequence[str]) -> Vectors:
    """Return hashed BM25 without a model or a download: 512 buckets of words cut to four letters.

    A text without words gets all zeros. Vectors are stored for good: the bits depend on nothing that a release changes.
    A change of this function has to raise the version in the name of `HASHED_WORDS`.
    """
    return np.array([_hashed(text) for text in texts], np.float32)


HASHED_WORDS = Embedder("acc-hashed-words-2", _BUCKETS, hashed_words)
"""The default. It finds what shares words."""


def _hashed(text: str) -> array[float]:
    vector = array("f", bytes(4 * _BUCKETS))
    words = [word[:4] for word in WORD.findall(text.lower()) if word not in _STOPWORDS]
    for word, count in Counter(words).items():
        vector[_bucket(word)] += count * 2.2 / (count + 1.2)
    length = math.sqrt(math.fsum(value * value for value in vector))
    return array("f", [value / length for value in vector]) if length else vector


@lru_cache(maxsize=1 << 14)
def _bucket(word: str) -> int:
    return crc32(word.encode()) % _BUCKETS


_FUNCTION_WORDS = """
    a about after all am an and any are as at be because been before being both but by can could did do does
    for from had has have he her here him his how i if in into is it its just me more my no not now of off on only
    or other our out over own she should so some such than that the their them then there these they this those
    through to too under until up very was we were what when where which while who why will with would you
    your
"""
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())

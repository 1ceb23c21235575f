"""The lexical vector stored with each record: hashed BM25, without a model or a download.

A text's terms are hashed into `DIMENSION` buckets, each weighted by term frequency with BM25
saturation. Document vectors carry no inverse document frequency, because it would require new
embeddings as the collection grows; a query weights its own terms by it instead. The vectors serve
to find candidates (on LoCoMo the best hundred of a conversation hold 0.77 of the evidence), which
`acc.text.ranking` then orders exactly.

Vectors are stored permanently. The output must therefore not depend on anything that a release
changes: terms are cut, not stemmed, and a text gives the same bits on every platform.
Any change to this file's output must raise `EMBEDDING_VERSION`.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from functools import cache, lru_cache
from zlib import crc32

EMBEDDING_ID = "acc-hashed-bm25"
EMBEDDING_VERSION = 1
DIMENSION = 512

_SATURATION = 1.2
_CUT = 4
"""Letters kept of each word: joins word forms nearly as well as stemming (0.77 to 0.78)."""

_WORD = re.compile(r"[^\W_]+")

_FUNCTION_WORDS = """
    a about above after again against all am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further
    had has have having he her here hers herself him himself his how i if in into is it its itself
    just me more most my myself no nor not now of off on once only or other our ours ourselves out
    over own same she should so some such than that the their theirs them themselves then there
    these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your yours yourself yourselves
"""
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())

_PROBE = (
    "Never restart billing-db-7 before 06:00 UTC: the invoices of March, invoice 4711 "
    "and 4711's refund were running late. Größe, naïve, 東京; naïve again."
)


def embed(text: str) -> array[float]:
    """Return the vector of ``text``: `DIMENSION` float32 values, of length 1.

    The vector of a text without terms has a cosine of 0 or less with any query. Never raises;
    time is linear in the text.
    """
    weights: dict[int, float] = {}
    for term, count in cut_words(text).items():
        bucket = _bucket(term)
        weights[bucket] = weights.get(bucket, 0.0) + _gain(count)
    # fsum: the rounding of sum() differs between Python versions.
    length = math.sqrt(math.fsum([weight * weight for weight in weights.values()]))
    vector = array("f", bytes(4 * DIMENSION))
    for bucket, weight in weights.items():
        vector[bucket] = weight / length
    if not weights:
        vector[0] = -1.0
    return vector


@cache
def probe_sha() -> str:
    """Return the SHA-256 of a fixed text's vector; it distinguishes embedders of one name."""
    return hashlib.sha256(repr(embed(_PROBE).tolist()).encode()).hexdigest()


@cache
def fingerprint() -> str:
    """Return the SHA-256 of this embedder's name, version, dimension and probe."""
    parts = (EMBEDDING_ID, str(EMBEDDING_VERSION), str(DIMENSION), probe_sha())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@lru_cache(maxsize=1 << 14)
def _bucket(term: str) -> int:
    return crc32(term.encode()) % DIMENSION


@lru_cache(maxsize=1 << 10)
def _gain(count: int) -> float:
    return count * (_SATURATION + 1) / (count + _SATURATION)


_SPACED = "".join(chr(c).lower() if chr(c).isalnum() else " " for c in range(128))
"""Translation of each ASCII character for a fast word split, equivalent to `_WORD`."""


def cut_words(text: str) -> Counter[str]:
    """Count the words of ``text`` without function words, in lower case and cut to `_CUT` letters."""
    ascii_ = text.isascii()
    words = text.translate(_SPACED).split() if ascii_ else _WORD.findall(text.lower())
    return Counter([word[:_CUT] for word in words if word not in _STOPWORDS])

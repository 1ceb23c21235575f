"""Lexical ranking of one thread's artifacts: exact, incremental, deterministic, keyless.

A document's score is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
and Beyond", 2009), summed over the distinct terms t of the query:

    bm25(d) = sum of  idf(t) * tf(t, d) * (k1 + 1) / (tf(t, d) + k1 * (1 - b + b * |d| / avg|d|))
    idf(t)  = ln(1 + (N - df(t) + 1/2) / (df(t) + 1/2))

The 1 in idf, as in Lucene, keeps the score above 0 for a term that most documents contain.

In a conversation, the topic of an utterance is often in a nearby one. tf therefore also counts
the terms of the predecessor, with a lower weight and before saturation (BM25F, same source). A
matching document also gets a share of the scores around it, which decays with distance
(`LexicalIndex.in_context`):

    score(d) = bm25(d) + share * sum over other matching e of  decay ** |d - e| * bm25(e)

`terms` defines a term.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from threading import local

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer

LONGEST = 128
"""Maximum length of a term in characters. Longer words are cut; longer identifiers are indexed
by their parts only.
"""

_NAME = re.compile(r"[^\W_]+(?:[-._:/@][^\W_]+)*")
WORD = re.compile(r"[^\W_]+")

_FUNCTION_WORDS = """
    a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can could couldn d did didn do does doesn doing don down during
    each few for from further had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just ll m me more most mustn my myself no nor
    not now of off on once only or other our ours ourselves out over own re s same shan she should
    shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while
    who whom why will with would wouldn you your yours yourself yourselves
"""
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())

# The stemmer cuts endings, so it cannot see that "went" is "go". First form: the base.
_IRREGULAR = """
    become became, begin began begun, break broke broken, bring brought, build built, burn burnt,
    buy bought, catch caught, choose chose chosen, come came, deal dealt, draw drew drawn,
    drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
    fight fought, find found, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
    freeze froze frozen, get got gotten, give gave given, go goes went gone, grow grew grown,
    hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led, learn learnt,
    leave left, light lit, lose lost, make made, mean meant, meet met, pay paid, prove proven,
    ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,
    seek sought, sell sold, send sent, shoot shot, show shown, sing sang sung, sit sat,
    sleep slept, speak spoke spoken, spend spent, stand stood, strike struck, swim swam swum,
    take took taken, teach taught, tell told, think thought, throw threw thrown,
    understand understood, wake woke woken, wear wore worn, win won, withdraw withdrew withdrawn,
    write wrote written, child children, foot feet, man men, person people, woman women
"""
_FAMILIES = [family.split() for family in _IRREGULAR.split(",")]
_BASE = {form: base for base, *forms in _FAMILIES for form in forms}


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    stem: str = _own.stemmer.stemWord(word)
    base = _BASE.get(word) or _BASE.get(stem)  # the stem keeps "thoughts" with "thought"
    return _own.stemmer.stemWord(base) if base else stem


class _OfThread(local):
    """A stemmer per thread: it stores the word in itself, so threads cannot share one."""

    def __init__(self) -> None:
        self.stemmer = Stemmer("english", 0)


_own = _OfThread()


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of ``text``, in order and with repeats: lower case, stemmed, no stopwords.

    An identifier (words joined by ``- . _ : / @``) yields itself, then its parts: ``ORA-00942`` yields
    ``ora-00942``, ``ora``, ``00942``. Only alphabetic words are stemmed. Never raises; time is linear in the
    text.
    """
    return (_of_short if len(text) <= SHORT else _of_long)(text)


def _terms(text: str) -> tuple[str, ...]:
    names = _NAME.findall(text.lower())
    # Caching names of any length would keep whole documents in memory.
    short = max(map(len, names), default=0) <= LONGEST
    each = map(_remembered if short else _terms_of, names)
    return tuple(chain.from_iterable(each))


def _terms_of(name: str) -> tuple[str, ...]:
    words = [name] if name.isalnum() else WORD.findall(name)
    whole = [name] if len(words) > 1 and len(name) <= LONGEST else []
    kept = (word[:LONGEST] for word in words if word not in _STOPWORDS)
    return (*whole, *(_stem(word) if word.isalpha() else word for word in kept))


SHORT = 1_000
"""Characters of a text up to which the terms of many texts are remembered, and beyond which those of few are."""

_remembered = lru_cache(maxsize=1 << 15)(_terms_of)
_of_short, _of_long = lru_cache(maxsize=1 << 12)(_terms), lru_cache(maxsize=1 << 6)(_terms)


HEAD = 160
"""Terms of a predecessor that are indexed with its successor: about a thousand characters."""


K1, B = 0.9, 0.4
"""Saturation, and length normalization: common values for short passages."""

PREDECESSOR, SHARE, DECAY = 0.3, 0.3, 0.8
"""What weighs the context: a term's occurrence in the predecessor (one in the document counts 1), the share of the
scores around it, and its decay per position.

Tuned on one half of the LoCoMo conversations, they reach R@16 of 0.763 and 0.788 on the two halves; without context
R@16 is 0.666.
"""

NEAR = 2
"""Difference of the rows of documents that follow each other: between them, the call of a tool is left out."""

_REACH = 48  # DECAY to this power is 0.00002

Numbers = NDArray[np.float64]


class LexicalIndex:
    """Documents of a thread, added in any order, each with its row; scored by words. Not thread-safe.

    Scores are in the order of adding.
    """

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._holders: dict[str, array[int]] = {}
        self._lengths: array[float] = array("d")
        self._rows = array("q")
        self._total = 0.0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, text: str, predecessor: str = "", row: int | None = None) -> int:
        """Add a document with the first terms of its ``predecessor``; return its position, from 0.

        Its row is its position if none is given. Takes time linear in the two texts.
        """
        position = len(self)
        own = Counter(terms(text))
        for term in own:
            self._holders.setdefault(term, array("i")).append(position)
        counts: dict[str, float] = dict(own)
        for term in terms(predecessor)[:HEAD]:
            counts[term] = counts.get(term, 0.0) + PREDECESSOR
        for term, count in counts.items():
            places, frequencies = self._postings.setdefault(term, (array("i"), array("f")))
            places.append(position)
            frequencies.append(count)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        self._rows.append(position if row is None else row)
        return position

    def bm25(self, query: str) -> Numbers:
        """Return the BM25 score of each document, without the scores around it."""
        count = len(self)
        asked = dict.fromkeys(terms(query))
        found = [self._postings[term] for term in asked if term in self._postings]
        if not found:
            return np.zeros(count)
        lengths = np.frombuffer(self._lengths)
        scale = K1 * (1 - B) + K1 * B * count / (self._total or 1.0) * lengths
        # One operation over all postings; one operation per query term takes twice as long.
        places = np.concatenate([np.frombuffer(places, np.int32) for places, _ in found])
        tf = np.concatenate([np.frombuffer(tf, np.float32) for _, tf in found])
        gains = tf / (scale[places] + tf)
        held = [len(places) for places, _ in found]
        gains *= np.repeat([_idf(count, df) * (K1 + 1) for df in held], held)
        return np.bincount(places, weights=gains, minlength=count).astype(np.float64, copy=False)

    def in_context(self, own: Numbers) -> Numbers:
        """Return scores with their share of those around them, in the order of the rows."""
        rows = np.array(self._rows)
        order = np.argsort(rows, kind="stable")
        scores, rows, spread = own[order], rows[order], np.zeros(len(own))
        for step in range(1, min(_REACH, len(own))):
            is_near = rows[step:] - rows[:-step] <= NEAR * step
            faded = DECAY**step * is_near
            spread[step:] += faded * scores[:-step]
            spread[:-step] += faded * scores[step:]
        found = np.zeros(len(own))
        found[order] = np.where(scores > 0, scores + SHARE * spread, 0)
        return found

    def best(self, scores: Numbers, limit: int) -> list[int]:
        """Return the positions of the highest scores above 0, the best first; the later row wins ties."""
        order = np.lexsort((-np.arange(len(self)), -np.array(self._rows), -scores))[:limit].tolist()
        return [position for position in order if scores[position] > 0]

    def rarity(self, term: str) -> float:
        """Return idf(t) among the documents that hold a term themselves."""
        return _idf(len(self), len(self._holders.get(term, ())))

    def worths(self, weights: Mapping[str, float]) -> Numbers:
        """Return for each document the weights together of those terms that it holds itself."""
        found = np.zeros(len(self))
        for term, weight in weights.items():
            found[np.array(self._holders.get(term, ()), int)] += weight
        return found


def _idf(count: int, df: int) -> float:
    return math.log1p((count - df + 0.5) / (df + 0.5))

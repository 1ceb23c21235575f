"""Lexical ranking of one thread's artifacts: exact, incremental, deterministic, keyless.

A document scores by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework:
BM25 and Beyond", 2009), summed over the distinct terms t of the query:

    bm25(d) = sum of  idf(t) * tf(t, d) * (k1 + 1) / (tf(t, d) + k1 * (1 - b + b * |d| / avg|d|))
    idf(t)  = ln(1 + (N - df(t) + 1/2) / (df(t) + 1/2))

The 1 in idf, as Lucene has it, keeps the score of a term that most documents hold above 0.

A thread is a conversation, and what an utterance is about often stands in the one before or
near it. So tf counts a term of the predecessor too, at a lower weight and before saturation
(BM25F, in the same work), and a matching document takes a share of the scores around it,
which fades with distance:

    score(d) = bm25(d) + share * sum over other matching e of  decay ** |d - e| * bm25(e)

What a term is, `acc.text.ranking` says.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from threading import local

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer

LONGEST = 128
"""Characters of the longest term: longer words are cut, longer identifiers found by part."""

_NAME = re.compile(r"[^\W_]+(?:[-._:/@][^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")

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
    base = _BASE.get(word) or _BASE.get(stem)  # the latter so that "thoughts" stays with "thought"
    return _own.stemmer.stemWord(base) if base else stem


class _OfThread(local):
    """A stemmer for each thread: it keeps the word in itself, so threads cannot share one."""

    def __init__(self) -> None:
        self.stemmer = Stemmer("english", 0)


_own = _OfThread()


@lru_cache(maxsize=2048)
def terms(text: str) -> tuple[str, ...]:
    """The terms of ``text``, in order and with repeats: lower case, stemmed, no stopwords.

    An identifier (words joined by ``- . _ : / @``) gives itself whole, then its parts:
    ``ORA-00942`` gives ``ora-00942``, ``ora``, ``00942``. Only words of letters are stemmed.
    Never raises; time is linear in the text.
    """
    names = _NAME.findall(text.lower())
    # Remembering a name of any length would hold on to whole documents.
    short = max(map(len, names), default=0) <= LONGEST
    each = map(_remembered if short else _terms_of, names)
    return tuple(chain.from_iterable(each))


def _terms_of(name: str) -> tuple[str, ...]:
    words = [name] if name.isalnum() else _WORD.findall(name)
    whole = [name] if len(words) > 1 and len(name) <= LONGEST else []
    kept = (word[:LONGEST] for word in words if word not in _STOPWORDS)
    return (*whole, *(_stem(word) if word.isalpha() else word for word in kept))


_remembered = lru_cache(maxsize=1 << 15)(_terms_of)


HEAD = 160
"""Terms of a predecessor that are indexed with its successor: some thousand characters."""

REACH = 64
"""Places within which a neighbour's score is felt, a power of 2: 0.8 to this power is a millionth."""

_NOWHERE = (array("i"), array("f"))


@dataclass(frozen=True)
class Weights:
    """How much each part of a score counts.

    ``k1`` and ``b`` are the usual ones for short passages. The other three weigh the thread's
    context. Chosen on one half of the LoCoMo conversations, they reach an R@16 of 0.763 and
    0.778 on the other (0.3, 0.3, 0.8 and 0.5, 0.45, 0.7), and the defaults 0.763 and 0.788;
    without context it is 0.666: ``python benchmarks/locomo_recall.py locomo10.json --folds``.
    """

    k1: float = 0.9
    """Saturation: how soon further occurrences of a term stop to matter."""
    b: float = 0.4
    """Length normalisation, from 0 (none) to 1 (full)."""
    predecessor: float = 0.3
    """What an occurrence in the predecessor counts; one in the document itself counts 1."""
    share: float = 0.3
    """The share of its neighbours' scores that a document takes; 0 for none."""
    decay: float = 0.8
    """What each place of distance leaves of that share; below 1."""


def saturation(weights: Weights, lengths: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """What is added to tf in the divisor, for documents of these lengths, ``total`` together."""
    k1, b = weights.k1, weights.b
    scale: NDArray[np.float64] = k1 * (1 - b) + k1 * b * len(lengths) / (total or 1.0) * lengths
    return scale


def rarity(weights: Weights, count: int, df: int) -> float:
    """idf(t) * (k1 + 1) of a term that ``df`` of ``count`` documents hold."""
    return math.log1p((count - df + 0.5) / (df + 0.5)) * (weights.k1 + 1)


class LexicalIndex:
    """Documents in the order of their thread, found by the words of a query.

    A document added without predecessor begins a new run: scores are shared within a run
    only, so that documents which do not belong together never lift each other.

    Adding and querying may alternate freely. Not for several threads at once.
    """

    def __init__(self, weights: Weights = Weights()) -> None:
        self._weights = weights
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._lengths: array[float] = array("d")
        self._total = 0.0
        self._runs: array[int] = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str, predecessor: str = "") -> int:
        """Append a document, indexed with the head of its ``predecessor``; its position, from 0.

        Costs time linear in the two texts, however many documents there are.
        """
        position = len(self)
        counts: dict[str, float] = dict(Counter(terms(text)))
        weight = self._weights.predecessor
        for term in terms(predecessor)[:HEAD] if weight else ():
            counts[term] = counts.get(term, 0.0) + weight
        for term, count in counts.items():
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = (array("i"), array("f"))
            postings[0].append(position)
            postings[1].append(count)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        last = self._runs[-1] if self._runs else 0
        self._runs.append(last if predecessor else last + 1)
        return position

    def in_context(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores ``own`` of the first documents, each with its share of those around it."""
        return np.where(own > 0, own + self._weights.share * self._around(own), 0.0)

    def scores(self, query: str) -> dict[int, float]:
        """Position to score, above 0, of the documents that share a term with ``query``."""
        scores = self.in_context(self.bm25(query))
        return {int(at): float(scores[at]) for at in np.flatnonzero(scores)}

    def best(
        self, query: str, k: int, keep: Callable[[int], bool] = lambda _: True
    ) -> list[tuple[int, float]]:
        """The ``k`` best positions with their scores, the later first where scores are equal.

        A position that ``keep`` refuses is left out, and still lends its score to its neighbours.
        """
        kept = ((score, at) for at, score in self.scores(query).items() if keep(at))
        return [(at, score) for score, at in nlargest(k, kept)]

    def bm25(self, query: str, first: int | None = None) -> NDArray[np.float64]:
        """The score of every position, or of the ``first`` alone, by its own words."""
        count = len(self) if first is None else min(first, len(self))
        found = list(self._found(query, count))
        if not found:
            return np.zeros(count)
        lengths = np.frombuffer(self._lengths)[:count]
        total = self._total if count == len(self) else float(lengths.sum())
        scale = saturation(self._weights, lengths, total)
        # All postings in one row: as many operations as the query has terms cost twice as much.
        places = np.concatenate([places for places, _ in found])
        tf = np.concatenate([tf for _, tf in found])
        gains = scale[places]
        gains += tf
        np.divide(tf, gains, out=gains)
        held = [len(places) for places, _ in found]
        idf = [rarity(self._weights, count, df) for df in held]
        gains *= np.repeat(idf, held)
        return np.bincount(places, weights=gains, minlength=count).astype(np.float64, copy=False)

    def shared(self, query: str, positions: Sequence[int]) -> list[frozenset[str]]:
        """The terms of ``query`` that each of ``positions`` was indexed with."""
        named = [t for t in dict.fromkeys(terms(query)) if t in self._postings]
        if not named:
            return [frozenset()] * len(positions)
        rows = [np.frombuffer(self._postings[term][0], np.int32) for term in named]
        places = np.concatenate(rows)
        wanted = np.zeros(len(self), bool)
        wanted[positions] = True
        hits = np.flatnonzero(wanted[places])
        ends = np.cumsum([len(row) for row in rows])
        found: dict[int, set[str]] = {at: set() for at in positions}
        at_rows = np.searchsorted(ends, hits, "right")
        for place, row in zip(places[hits].tolist(), at_rows.tolist(), strict=True):
            found[place].add(named[row])
        return [frozenset(found[at]) for at in positions]

    def _found(
        self, query: str, count: int
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """For each term that is there, the places below ``count`` that hold it, and how often."""
        for term in dict.fromkeys(terms(query)):
            places, frequencies = self._postings.get(term, _NOWHERE)
            if below := bisect_left(places, count):
                yield (
                    np.frombuffer(places, np.int32, below),
                    np.frombuffer(frequencies, np.float32, below),
                )

    def _around(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """What fades in from either side, within a run, as far as `REACH`."""
        if not len(own):
            return own
        runs = np.frombuffer(self._runs, np.int32)[: len(own)]
        before, after = own.copy(), own.copy()
        step = 1
        # Each pass doubles how far back `before` reaches: to step, then to twice that.
        while step < min(REACH, len(own)):
            faded = self._weights.decay**step * (runs[step:] == runs[:-step])
            before[step:] += faded * before[:-step]
            after[:-step] += faded * after[step:]
            step *= 2
        return before + after - 2 * own

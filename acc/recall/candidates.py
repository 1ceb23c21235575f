"""Recall of candidates: from the thread, from documents and from the user's other threads.

For the wider scope, the vectors in the store propose candidates (`acc.recall.vector_index`). BM25 over the texts
then ranks the best `CANDIDATES` exactly. With a dense embedder (`acc.recall.dense`), its best records are
candidates too, and the score is minmax(bm25) + weight * minmax(dense).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acc.recall.dense import Dense
from acc.recall.vector_index import KNOWN, VectorIndex, VectorIndexes, refresh
from acc.state.items import Cue, Entity, Uncertainty
from acc.state.model import CompressedCognitiveState
from acc.stores.directory import document_spaces, namespace_of
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.text.ranking import Weights, rarity, saturation, terms
from acc.text.wording import only_repeats
from acc.thread.branch import Branch
from acc.turn.observations import Trust
from acc.turn.turn import Turn

if TYPE_CHECKING:
    from acc.recall.dense import Vector


class WordCounts:
    """Cache of term counts of at most ``most`` recently ranked records; cleared when full."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[str, tuple[str, Counter[str], int]] = {}

    def bm25(self, query: str, artifacts: Sequence[Artifact]) -> NDArray[np.float64]:
        """Return the scores that `acc.text.ranking.LexicalIndex.bm25` gives for these records alone."""
        if len(self._of) + len(artifacts) > self._most:
            self._of = {}
        counted = [self._counted(artifact) for artifact in artifacts]
        weights, count = Weights(), len(counted)
        lengths = np.array([length for _, length in counted], np.float64)
        scale = saturation(weights, lengths, float(lengths.sum()))
        scores = np.zeros(count)
        for term in dict.fromkeys(terms(query)):
            tf = np.array([words.get(term, 0) for words, _ in counted], np.float64)
            if df := int(np.count_nonzero(tf)):
                scores += tf / (scale + tf) * rarity(weights, count, df)
        return scores

    def _counted(self, artifact: Artifact) -> tuple[Counter[str], int]:
        known = self._of.get(artifact.id)
        if known is None or known[0] != artifact.text:  # a tombstone may have replaced the record
            words = Counter(terms(artifact.text))
            known = self._of[artifact.id] = (artifact.text, words, words.total())
        return known[1], known[2]


CANDIDATES = 48
"""Records that the vectors propose for exact ranking. Reading and ranking them is the main cost."""

Found = list[tuple[Artifact, float]]
"""Records with scores relative to the best one, best first; the later record wins ties."""


class WideScope:
    """Searches the documents visible to a namespace and the records of all its threads.

    Callers that recall for a conversation must check `Thread.has_user` first: without a known user, other
    threads may belong to other people. The vectors propose ``candidates`` records for exact ranking; ``kept``
    and ``words`` cache vectors and term counts.
    """

    def __init__(
        self,
        store: ArtifactStore,
        space: Thread,
        candidates: int = CANDIDATES,
        dense: Dense | None = None,
        *,
        kept: VectorIndexes | None = None,
        words: WordCounts | None = None,
    ) -> None:
        self._candidates = candidates
        self._dense = dense
        self._words = words or WordCounts(KNOWN)
        indexes = kept or VectorIndexes()
        self._documents = [
            indexes.of(store, seen, "documents", dense) for seen in document_spaces(space)
        ]
        self._threads = indexes.of(store, namespace_of(space), "threads", dense)

    def recalled(
        self, query: str, documents: int, threads: int, without: Thread
    ) -> tuple[Found, Found]:
        """Return the best passages of documents and the best records of threads other than ``without``.

        Within each list, no two records have the same terms and none only repeats the query. A maximum of 0 skips
        a list.
        """
        near = self._documents if documents else []
        far = [self._threads] if threads else []
        if not query.strip():
            return [], []
        asked = self._asked(query, [*near, *far])
        found = self._ranked(query, near, asked, None)
        said = self._ranked(query, far, asked, f"{without.key}.")
        return _telling(query, found)[:documents], _telling(query, said)[:threads]

    def _asked(self, query: str, indexes: Sequence[VectorIndex]) -> Vector | None:
        """Bring the indexes up to date, then return the query's dense vector, if any."""
        refresh(indexes)
        return self._dense.asked(query) if self._dense is not None else None

    def _ranked(
        self, query: str, indexes: Sequence[VectorIndex], asked: Vector | None, without: str | None
    ) -> Found:
        keep = None if without is None else lambda name: not name.startswith(without)
        found = [
            a for index in indexes for a in index.proposed(query, asked, self._candidates, keep)
        ]
        if not found:
            return []
        found.sort(key=lambda a: (a.at, a.id))
        scores = self._scores(query, found, indexes, asked)
        order = sorted(range(len(found)), key=lambda at: (-scores[at], -at))
        best = scores[order[0]] or 1.0
        return [(found[at], float(scores[at] / best)) for at in order if scores[at] > 0]

    def _scores(
        self,
        query: str,
        found: Sequence[Artifact],
        indexes: Sequence[VectorIndex],
        asked: Vector | None,
    ) -> NDArray[np.float64]:
        lexical = self._words.bm25(query, found)
        if self._dense is None or asked is None:
            return lexical
        ids = [a.id for a in found]
        dense = sum((index.dense_scores(asked, ids) for index in indexes), np.zeros(len(ids)))
        return _minmax(lexical) + self._dense.weight * _minmax(dense)


def _minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    if high > low:
        return (scores - low) / (high - low)
    return np.full_like(scores, float(high > 0))  # all scores are equal: each counts as the best


def _telling(query: str, found: Found) -> Found:
    """Remove records that only repeat the query; of records with the same terms keep the best."""
    first: dict[tuple[str, ...], tuple[Artifact, float]] = {}
    for artifact, score in found:
        if not only_repeats(artifact.text, query):
            first.setdefault(terms(artifact.text), (artifact, score))
    best = max((score for _, score in first.values()), default=1.0)
    return [(artifact, score / best) for artifact, score in first.values()]


def each_ref(found: Found, space: Thread) -> Iterator[Artifact]:
    """Yield the artifacts with unique refs: a ref of another thread gets that thread's key as prefix."""
    for artifact, _ in found:
        own = artifact.kind == "document" or artifact.thread == space.key
        ref = artifact.ref if own else f"{artifact.thread[:8]}/{artifact.ref}"
        yield artifact.model_copy(update={"ref": ref, "turn": 0})


_REF = re.compile(r"[a-z](\d+)(?:\.\d+)?$")
"""A ref with its turn. Documents and other threads have none."""


@dataclass(frozen=True)
class Candidate:
    """A recalled artifact with its score relative to the best candidate, 0 to 1.

    ``by_turn`` is the share of the record's own score that comes from the user's words; ``shared`` are the
    terms of these words that matched, None if they were not computed.
    """

    artifact: Artifact
    score: float
    by_turn: float
    shared: frozenset[str] | None = None

    @property
    def trust(self) -> Trust:
        """The artifact's own trust if it has one, otherwise the trust of its channel."""
        return self.artifact.trust or self.artifact.channel.trust

    @cached_property
    def turn(self) -> int:
        """The turn in which it was said: of a former item that of its latest source, not the one in which it left."""
        if self.artifact.kind != "set_aside":
            return self.artifact.turn
        said = [int(found[1]) for found in map(_REF.match, self.artifact.sources) if found]
        return min(self.artifact.turn, max(said, default=self.artifact.turn))


@dataclass(frozen=True)
class Recall:
    """Recalls from the thread and from the documents visible to it, never from another thread.

    Attributes:
        limit: Maximum number of candidates from the thread.
        state_weight: Weight of the state's topics; the user's words weigh 1.
        documents: Maximum number of document passages, in addition to ``limit``; 0 for none.
        share: Score of the best passage relative to the thread's best candidate.
        dense: Dense embedder that also ranks the records from outside the thread.
    """

    limit: int = 16
    state_weight: float = 0.1
    documents: int = 4
    share: float = 0.9
    dense: Dense | None = None
    _kept: VectorIndexes = field(default_factory=VectorIndexes, compare=False, repr=False)
    _words: WordCounts = field(default_factory=lambda: WordCounts(KNOWN), compare=False, repr=False)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, branch: Branch
    ) -> list[Candidate]:
        """Return the candidates for this turn, best first. In a tie the thread's come first,
        then the later one.
        """
        near = self._near(turn, state, branch)
        far = self._far(turn.user_words, branch)
        return sorted([*near, *far], key=lambda candidate: -candidate.score)

    def _far(self, query: str, branch: Branch, threads: int = 0) -> Iterator[Candidate]:
        """Yield candidates from documents, and at most ``threads`` records of a known user's other threads."""
        threads = threads if branch.thread.has_user else 0
        if not self.documents and not threads:
            return
        space = namespace_of(branch.thread)
        scope = WideScope(branch.store, space, dense=self.dense, kept=self._kept, words=self._words)
        for found in scope.recalled(query, self.documents, threads, branch.thread):
            yield from self._as_candidates(found, space)

    def _as_candidates(self, found: Found, space: Thread) -> Iterator[Candidate]:
        for artifact, (_, score) in zip(each_ref(found, space), found, strict=True):
            yield Candidate(artifact=artifact, score=self.share * score, by_turn=1.0)

    def _near(self, turn: Turn, state: CompressedCognitiveState, branch: Branch) -> list[Candidate]:
        # Turns never decrease along a branch, so the records up to the state's turn come first.
        past = bisect_right(branch.turns, state.turn)
        asked = branch.index.bm25(turn.user_words, past)
        own = asked + self.state_weight * branch.index.bm25(self._about(state), past)
        total = branch.index.in_context(own)
        for observation in turn.readable:
            total[[at for at in branch.positions(observation.ref) if at < past]] = 0.0
        best = _best(total, self.limit)
        # An earlier copy of the question matches all its words, so it is no scale for the answers.
        answers = (
            at for at in best if not only_repeats(branch.artifacts[at].text, turn.user_words)
        )
        highest = float(total[next(answers, best[0])]) if best else 1.0
        shared = branch.index.shared(turn.user_words, best)
        return [
            Candidate(
                artifact=branch.artifacts[at],
                score=min(1.0, float(total[at]) / highest),
                by_turn=float(asked[at] / own[at]),
                shared=found_by,
            )
            for at, found_by in zip(best, shared, strict=True)
        ]

    def _about(self, state: CompressedCognitiveState) -> str:
        return " ".join(_about(state)) if self.state_weight else ""


def _best(scores: NDArray[np.float64], most: int) -> list[int]:
    """Positions of the ``most`` best scores above 0; the later position wins ties."""
    most = min(most, int(np.count_nonzero(scores)))
    if most < 1:
        return []
    least = np.partition(scores, -most)[-most]
    found = np.flatnonzero(scores >= least)
    return sorted((int(at) for at in found), key=lambda at: (-scores[at], -at))[:most]


def _about(state: CompressedCognitiveState) -> Iterator[str]:
    for _, item in state.items():
        if isinstance(item, Entity):
            yield item.name
        elif isinstance(item, Uncertainty):
            yield item.gap
        elif isinstance(item, Cue):
            yield item.text


@dataclass(frozen=True)
class WideRecall(Recall):
    """Extends `Recall` to the user's other threads with the same agent.

    Without a known user (`Thread.has_user`) it recalls nothing from other threads.

    Attributes:
        wide: Maximum number of candidates from other threads, in addition to the thread's and the documents'.
    """

    wide: int = 8

    def _far(self, query: str, branch: Branch, threads: int = 0) -> Iterator[Candidate]:
        return super()._far(query, branch, max(threads, self.wide))

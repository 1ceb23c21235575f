"""R_ACC: recall proposes a bounded set of candidates from the thread and from documents; it commits nothing.

Ranking is BM25 over the thread, by the user's words of this turn; what the state is about
(entities, gaps, cues) scores apart, at a low weight, because words concatenated into the
query halve recall. Candidates come from turns that the state has behind it, on its own
branch, and never include what the agent reads anyway. Passages of ingested documents come beside
them, if the thread may see any: without documents that costs one read by id, or none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from acc.asking import only_repeats
from acc.branch import Branch
from acc.evidence.dense import Dense
from acc.evidence.exact import WordCounts
from acc.evidence.holding import KNOWN, Holdings
from acc.evidence.shelf import namespace_of
from acc.evidence.wide import Found, WideScope, each_ref
from acc.items import Cue, Entity, Uncertainty
from acc.state import CompressedCognitiveState
from acc.store import Artifact, Thread
from acc.turn import Trust, Turn


@dataclass(frozen=True)
class Candidate:
    """A recalled artifact.

    Attributes:
        artifact: The record.
        score: Its score over the best candidate's, 0 to 1.
        by_turn: The share of its own score, without its neighbours', that the user's words gave.
        shared: Terms of the user's words that it was found by; None where nobody looked.
    """

    artifact: Artifact
    score: float
    by_turn: float
    shared: frozenset[str] | None = None

    @property
    def trust(self) -> Trust:
        """What its words are trusted: the artifact's own trust where it has one, else its channel's."""
        return self.artifact.trust or self.artifact.channel.trust


@dataclass(frozen=True)
class Recall:
    """Recalls from the thread, and from the documents that it may see; never from another thread.

    Attributes:
        most: Candidates of the thread at the most.
        state_weight: Weight of what the state is about, against 1 for the user's words.
        documents: Passages of documents at the most, beside the thread's; 0 looks at none.
        share: What the best passage scores against the thread's best.
        dense: Ranks by meaning too what does not come from the thread.
    """

    most: int = 16
    state_weight: float = 0.1
    documents: int = 4
    share: float = 0.9
    dense: Dense | None = None
    _kept: Holdings = field(default_factory=Holdings, compare=False, repr=False)
    _words: WordCounts = field(default_factory=lambda: WordCounts(KNOWN), compare=False, repr=False)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, branch: Branch
    ) -> list[Candidate]:
        """The candidates for this turn, best first; of equals the thread's, then the later one."""
        near = self._near(turn, state, branch)
        far = self._far(turn.user_words, branch)
        return sorted([*near, *far], key=lambda candidate: -candidate.score)

    def _far(self, query: str, branch: Branch, threads: int = 0) -> Iterator[Candidate]:
        """Candidates of documents, and of at most ``threads`` records of the user's other threads.

        Where no user is known, other threads may be other people's: nothing is proposed of them.
        """
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
        """The candidates of the thread."""
        # Turns never decrease along a branch, so what the state has behind it comes first.
        past = bisect_right(branch.turns, state.turn)
        asked = branch.index.bm25(turn.user_words, past)
        own = asked + self.state_weight * branch.index.bm25(self._about(state), past)
        total = branch.index.in_context(own)
        for observation in turn.readable:
            total[[at for at in branch.positions(observation.ref) if at < past]] = 0.0
        best = _best(total, self.most)
        # The same question, asked before, has all of the words; it is no measure for what answers it.
        told = (at for at in best if not only_repeats(branch.artifacts[at].text, turn.user_words))
        highest = float(total[next(told, best[0])]) if best else 1.0
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
    """Positions of the ``most`` best scores above 0, the later first where scores are equal."""
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

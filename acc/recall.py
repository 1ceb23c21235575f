"""R_ACC: recall proposes a bounded set of candidates from the thread; it commits nothing.

Ranking is BM25 over the thread, by the user's words of this turn; what the state is about
(entities, gaps, cues) scores apart, at a low weight, because words concatenated into the
query halve recall. Candidates come from turns that the state has behind it, on its own
branch, and never include what the agent reads anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acc.items import Cue, Entity, Uncertainty
from acc.log import Branch
from acc.state import CompressedCognitiveState
from acc.store import Artifact
from acc.turn import Turn


@dataclass(frozen=True)
class Candidate:
    """A recalled artifact.

    Attributes:
        artifact: The record.
        score: Its score over the best candidate's, 0 to 1.
        by_turn: The share of ``score`` that the user's words gave.
    """

    artifact: Artifact
    score: float
    by_turn: float


@dataclass(frozen=True)
class Recall:
    """Recalls at most ``most`` candidates.

    Attributes:
        most: Candidates at the most; the bound on A_t.
        state_weight: Weight of what the state is about, against 1 for the user's words.
    """

    most: int = 16
    state_weight: float = 0.1

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, branch: Branch
    ) -> list[Candidate]:
        """The candidates for this turn, best first; ties go to the later artifact."""
        read = {o.ref for o in turn.readable}
        seen = branch.artifacts

        def keep(position: int) -> bool:
            artifact = seen[position]
            return artifact.turn <= state.turn and artifact.ref not in read

        asked = branch.index.scores(turn.user_words)
        about = self._about_state(branch, state)
        total = {
            position: asked.get(position, 0.0) + about.get(position, 0.0)
            for position in asked.keys() | about.keys()
            if keep(position)
        }
        best = sorted(total, key=lambda position: (-total[position], -position))[: self.most]
        top = max((total[position] for position in best), default=0.0)
        return [
            Candidate(seen[p], total[p] / top, asked.get(p, 0.0) / total[p]) for p in best if top > 0
        ]

    def _about_state(self, branch: Branch, state: CompressedCognitiveState) -> dict[int, float]:
        if not self.state_weight:
            return {}
        query = " ".join(_about(state))
        scores = branch.index.scores(query) if query else {}
        return {position: self.state_weight * score for position, score in scores.items()}


def _about(state: CompressedCognitiveState) -> Iterator[str]:
    for _, item in state.items():
        if isinstance(item, Entity):
            yield item.name
        elif isinstance(item, Uncertainty):
            yield item.gap
        elif isinstance(item, Cue):
            yield item.text

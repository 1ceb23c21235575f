"""Recall over the thread and, beside it, over what else the user has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from acc.branch import Branch
from acc.evidence.dense import Dense
from acc.evidence.shelf import namespace_of
from acc.evidence.wide import WideScope, each_ref, scopes
from acc.recall import Candidate, Recall
from acc.state import CompressedCognitiveState
from acc.turn import Turn


@dataclass(frozen=True)
class WideRecall(Recall):
    """Recalls from the thread, as `Recall` does, and from the user's documents and other threads.

    Attributes:
        wide: Candidates of the wider scope at the most, beside those of the thread.
        share: What the wider scope's best candidate scores against the thread's best.
        dense: Ranks the wider scope beside BM25.
    """

    wide: int = 8
    share: float = 0.9
    dense: Dense | None = None
    _scopes: Callable[[WideScope], WideScope] = field(default_factory=scopes, compare=False)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, branch: Branch
    ) -> list[Candidate]:
        """The candidates of both, best first; of equals the thread's."""
        near = super().__call__(turn, state, branch)
        space = namespace_of(branch.thread)
        scope = self._scopes(WideScope(branch.store, space, dense=self.dense))
        found = scope.search(turn.user_words, self.wide, without=branch.thread)
        far = [
            Candidate(artifact=artifact, score=self.share * score, by_turn=1.0)
            for artifact, (_, score) in zip(each_ref(found, space), found, strict=True)
        ]
        return sorted([*near, *far], key=lambda candidate: -candidate.score)

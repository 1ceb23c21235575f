"""Recall over the thread and documents and, beside it, over the user's other threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acc.branch import Branch
from acc.recall import Candidate, Recall


@dataclass(frozen=True)
class WideRecall(Recall):
    """Recalls as `Recall` does, and from the user's other threads with the same agent.

    Nothing crosses threads where no user is known (`Thread.has_user`): then it is `Recall`.

    Attributes:
        wide: Candidates of other threads at the most, beside those of the thread and of documents.
    """

    wide: int = 8

    def _far(self, query: str, branch: Branch, threads: int = 0) -> Iterator[Candidate]:
        return super()._far(query, branch, max(threads, self.wide))

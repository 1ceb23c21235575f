"""Experience memory: tasks and their executions, shown again for similar tasks.

It stands beside the state, and no law covers it: a wrong execution teaches the next one to be wrong. What is added
and deleted are therefore policies, and the similarity of tasks and of executions is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from acc.evidence.policies import Deletion, RecordUse

from .addition import Addition, Judgement
from .vectors import Likeness, Rows, Vectoriser, cosine, lexical, texts_alike


@dataclass(frozen=True)
class Experience:
    """A task (the paper's q) and its execution (e)."""

    ref: str
    task: str
    execution: str
    judgement: Judgement


class Demonstration(NamedTuple):
    """An experience found for a task, and the similarity of the two tasks."""

    experience: Experience
    similarity: float


@dataclass(frozen=True)
class Finished:
    """The result of finishing an execution.

    Attributes:
        judgement: The evaluator's judgement.
        ref: Name of the experience in memory; empty if it was refused.
        deleted: Reason of each deletion by the deletion policy, by ref.
        input_similarity: Similarity of the task to the most similar one shown; -1 if none was.
        output_similarity: Similarity of the two executions.
    """

    judgement: Judgement
    ref: str = ""
    deleted: Mapping[str, str] = field(default_factory=dict)
    input_similarity: float = -1.0
    output_similarity: float = -1.0


@dataclass(frozen=True)
class Retrieval:
    """Settings for finding demonstrations.

    Attributes:
        k: The paper's K.
        chars: Characters of all demonstrations together at most; the least similar are dropped first. A demonstration
            that exceeds it alone is never shown.
        least: Minimum similarity of a demonstration.
        vector: Converts a task to a vector.
        likeness: Compares two vectors.
        outputs_alike: Compares two executions.
    """

    k: int = 4
    chars: int = 16_000
    least: float = 0.0
    vector: Vectoriser = lexical
    likeness: Likeness = cosine
    outputs_alike: Callable[[str, str], float] = texts_alike


def render_demonstrations(shown: Sequence[Demonstration]) -> str:
    """Render demonstrations for the agent, the most similar last, next to the task."""
    return "\n\n".join(
        f"Task: {d.experience.task}\nExecution: {d.experience.execution}" for d in reversed(shown)
    )


@dataclass
class _Use:
    added: int
    order: int
    retrieved: list[int] = field(default_factory=list)
    utilities: list[float] = field(default_factory=list)


class ExperienceMemory:
    """The experiences of one run.

    Attributes:
        t: Number of executions so far: the paper's t.
        retrieval: Settings for finding demonstrations.
    """

    def __init__(
        self, addition: Addition, deletion: Deletion, retrieval: Retrieval | None = None
    ) -> None:
        self.t = 0
        self.retrieval = retrieval or Retrieval()
        self._addition, self._deletion = addition, deletion
        self._known: dict[str, Experience] = {}
        self._uses: dict[str, _Use] = {}
        self._rows = Rows()
        self._count = 0

    def __len__(self) -> int:
        return len(self._known)

    def experiences(self) -> list[Experience]:
        """Return all experiences, oldest first."""
        return list(self._known.values())

    def retrieve(self, task: str) -> list[Demonstration]:
        """Return the most similar experiences, best first, ties by the latest."""
        how = self.retrieval
        found: list[Demonstration] = []
        room = how.chars
        for ref, score in self._rows.best(how.vector(task), how.k, how.likeness):
            experience = self._known[ref]
            size = len(experience.task) + len(experience.execution)
            if size > how.chars:
                continue
            room -= size
            if room < 0 or score < how.least:
                break
            found.append(Demonstration(experience, score))
        return found

    def finish(self, task: str, execution: str, shown: Sequence[Demonstration] = ()) -> Finished:
        """Judge a finished execution, count its demonstrations, keep it, apply deletion."""
        judgement = self._addition.judge(task, execution)
        alike = self._alike(execution, shown)
        self.t += 1
        for demonstration in shown:
            use = self._uses[demonstration.experience.ref]
            use.retrieved.append(self.t)
            use.utilities += [] if judgement.utility is None else [judgement.utility]
        ref = self._keep(task, execution, judgement) if judgement.admitted else ""
        return Finished(judgement, ref, self._delete(), *alike)

    def seed(self, task: str, execution: str, judgement: Judgement) -> str:
        """Add an experience that nobody judges, such as an expert's; return its ref."""
        return self._keep(task, execution, judgement)

    def usages(self) -> list[RecordUse]:
        """Return the usage of each experience. Until it was shown, its own utility counts."""
        return [self._usage(ref, use) for ref, use in self._uses.items()]

    def _usage(self, ref: str, use: _Use) -> RecordUse:
        prior = self._known[ref].judgement.utility
        utilities = use.utilities or ([] if prior is None else [prior])
        return RecordUse(ref, use.added, use.retrieved, utilities, use.order)

    def _alike(self, execution: str, shown: Sequence[Demonstration]) -> tuple[float, float]:
        if not shown:
            return -1.0, -1.0
        best = max(shown, key=lambda d: d.similarity)
        alike = self.retrieval.outputs_alike(execution, best.experience.execution)
        return best.similarity, float(alike)

    def _keep(self, task: str, execution: str, judgement: Judgement) -> str:
        ref = f"exp.{self._count}"
        self._known[ref] = Experience(ref, task, execution, replace(judgement, admitted=True))
        self._uses[ref] = _Use(self.t, self._count)
        self._rows.add(ref, self.retrieval.vector(task))
        self._count += 1
        return ref

    def _delete(self) -> Mapping[str, str]:
        gone = self._deletion(self.usages(), self.t)
        for ref in gone:
            del self._known[ref], self._uses[ref]
        if gone:
            self._rows.remove(gone)
        return gone

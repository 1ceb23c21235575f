"""Experiences as they are found and shown, and what comes of an execution."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from acc.evidence.addition import Judgement
from acc.evidence.similarity import Likeness, Vectoriser, cosine, lexical, texts_alike
from acc.store import Artifact


@dataclass(frozen=True)
class Experience:
    """A task and what was done about it.

    Attributes:
        ref: What it is called in its namespace.
        task: The paper's q.
        execution: The paper's e.
        judgement: What the evaluator said of it.
    """

    ref: str
    task: str
    execution: str
    judgement: Judgement


class Demonstration(NamedTuple):
    """An experience found for a task, and how like the task its own was."""

    experience: Experience
    similarity: float


@dataclass(frozen=True)
class Finished:
    """What came of an execution.

    Attributes:
        judgement: What the evaluator said.
        ref: What it is called in memory; empty where it was refused.
        deleted: Why each that the deletion policy took is gone, by ref.
        input_similarity: Of the task to the most similar one shown; -1 if none was shown.
        output_similarity: Of the execution to that one's.
    """

    judgement: Judgement
    ref: str = ""
    deleted: dict[str, str] = field(default_factory=dict)
    input_similarity: float = -1.0
    output_similarity: float = -1.0


@dataclass(frozen=True)
class Retrieval:
    """How demonstrations are found.

    Attributes:
        k: The paper's K.
        chars: Characters of all demonstrations together at the most; the least similar go first. One
            that is longer by itself is never shown.
        least: Similarity below which nothing is shown.
        vector: A task as numbers.
        likeness: Compares them.
        outputs_alike: Compares two executions.
    """

    k: int = 4
    chars: int = 16_000
    least: float = 0.0
    vector: Vectoriser = lexical
    likeness: Likeness = cosine
    outputs_alike: Callable[[str, str], float] = texts_alike


def told_as_demonstrations(shown: Sequence[Demonstration]) -> str:
    """What the agent reads: each task with its execution, the most similar last, next to the task."""
    return "\n\n".join(
        f"Task: {d.experience.task}\nExecution: {d.experience.execution}" for d in reversed(shown)
    )


def written(task: str, execution: str, t: int) -> str:
    """An experience as the text of its records."""
    return json.dumps({"task": task, "execution": execution, "t": t}, ensure_ascii=False)


def read_back(parts: Sequence[Artifact]) -> tuple[Experience, int]:
    """The experience that all its records tell, and the time at which it came."""
    ordered = sorted(parts, key=lambda part: part.part)
    said = json.loads("".join(part.text for part in ordered))
    judgement = Judgement.model_validate_json(ordered[0].reason)
    return Experience(ordered[0].ref, said["task"], said["execution"], judgement), said["t"]

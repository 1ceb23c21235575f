"""The memories that are compared. Each reads completed turns and holds at most so many tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from acc import CompressedCognitiveState, Settings
from acc.compress.endpoint import Endpoint
from acc.compress.model import ModelCompressor
from acc.compress.protocol import Compressor
from acc.evaluation.memories.baselines import (
    RecentWindow,
    RollingSummary,
    TranscriptReplay,
    messages_of,
    reading_of,
)
from acc.evaluation.memories.protocol import EvaluatedMemory, Reading
from acc.evaluation.memories.specs import ControlledMemory
from acc.state.policy import Policy
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn
from acc_schemas.planning import PlanningState

from .joined import JoinedState, JoiningCompressor
from .schema import WorldCompressor, WorldState
from .tasks import Task

Factory = Callable[[Task, int], EvaluatedMemory]
"""Makes the memory of a task, of at most so many tokens."""


class _Messages:
    """What memories of whole messages share: they read the same for any question."""

    has_slots = False

    def __init__(self, tokens: int = 0) -> None:
        self.max_tokens = tokens
        self._messages: list[str] = []

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages."""
        self._messages += messages_of(turn)

    def held(self) -> Reading:
        """Nothing."""
        return reading_of([])

    def read(self, question: str) -> Reading:
        """The same for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


class Beginning(_Messages):
    """The transcript cut after so many tokens."""

    def held(self) -> Reading:
        """The first messages that fit, and of the next one what fits."""
        whole = "\n\n".join(self._messages).encode()
        return reading_of([whole[: 4 * self.max_tokens].decode(errors="ignore")])


class TaskAndWindow(_Messages):
    """The paper's Algorithm 1 without an agent's memory: the first message, then the newest that fit.

    As in its released environment the first message is the task with the initial observation.
    """

    def held(self) -> Reading:
        """The task, and from the end the messages until one does not fit."""
        first, rest = self._messages[:2], self._messages[2:]
        left = self.max_tokens - utf8_quarter("\n\n".join(first))
        newest: list[str] = []
        for message in reversed(rest):
            left -= utf8_quarter(message + "\n\n")
            if left < 0:
                break
            newest.insert(0, message)
        return reading_of([*first, *newest])


class Recorded:
    """Hands an environment's answers to a memory as JSON records, as tools with structured output do."""

    def __init__(self, memory: EvaluatedMemory, task: Task) -> None:
        """Wrap ``memory``."""
        self._memory, self._task = memory, task
        self.has_slots = memory.has_slots

    def observe(self, turn: Turn) -> None:
        """Pass the turn on, the sentences of its observations as records."""
        seen = tuple(self._record(o) for o in turn.observations)
        self._memory.observe(turn.model_copy(update={"observations": seen}))

    def held(self) -> Reading:
        """What the memory holds."""
        return self._memory.held()

    def read(self, question: str) -> Reading:
        """What it holds for a question."""
        return self._memory.read(question)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def _record(self, seen: Observation) -> Observation:
        if seen.channel is not Channel.TOOL:
            return seen
        said = [self._task.wording.literal(one) for _, one in self._task.reader.literals(seen.text)]
        text = json.dumps([{"literal": text} for text in said]) if said else seen.text
        return seen.model_copy(update={"text": text})


def _acc(
    schema: type[CompressedCognitiveState], tokens: int, compressor: Compressor | None = None
) -> ControlledMemory:
    return ControlledMemory(
        compressor, Settings(policy=Policy(schema=schema, max_tokens=tokens)), conditioning="state"
    )


def _careful(task: Task, tokens: int) -> EvaluatedMemory:
    return _acc(WorldState, tokens, WorldCompressor(task))


def _joining(task: Task, tokens: int) -> EvaluatedMemory:
    return _acc(JoinedState, tokens, JoiningCompressor(task))


def _careless(task: Task, tokens: int) -> EvaluatedMemory:
    return _acc(WorldState, tokens, WorldCompressor(task, knows_effects=False))


MEMORIES: Mapping[str, Factory] = {
    "no memory": lambda _task, _tokens: _Messages(),
    "beginning": lambda _, tokens: Beginning(tokens),
    "window": lambda _, tokens: RecentWindow(tokens),
    "task and window": lambda _, tokens: TaskAndWindow(tokens),
    "summary, extractive": lambda _, tokens: RollingSummary(tokens),
    "ACC, keyless": lambda _, tokens: _acc(CompressedCognitiveState, tokens),
    "ACC planning, keyless": lambda _, tokens: _acc(PlanningState, tokens),
    "ACC world, keyless": lambda _, tokens: _acc(WorldState, tokens),
    "ACC world, keyless, records": lambda task, tokens: Recorded(_acc(WorldState, tokens), task),
    "ACC world, rule, no effects": _careless,
    "ACC world, rule": _careful,
    "ACC world, rule, joined": _joining,
    "transcript, no bound": lambda _task, _tokens: TranscriptReplay(),
}
"""The memories by name. All but the last hold at most the tokens they are given."""


def with_model(endpoint: Endpoint) -> Mapping[str, Factory]:
    """The memory that a model compresses, into the world's schema."""
    return {
        "ACC world, model": lambda _, tokens: _acc(WorldState, tokens, ModelCompressor(endpoint))
    }

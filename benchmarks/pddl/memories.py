"""The memories that are compared. Each reads completed turns and holds at most so many tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from acc.compress.compressor import AskingCompressor, ModelCompressor
from acc.models.protocol import ChatModel
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.reading import Compressor
from acc.state.render import render
from acc.step.update import Options, memory_of
from acc.text.tokens import utf8_quarter
from acc.turn.turn import Turn
from acc_eval.memories.acc import AccMemory
from acc_eval.memories.baselines import (
    RecentWindow,
    RollingSummary,
    TranscriptReplay,
    messages_of,
    reading_of,
)
from acc_eval.memories.protocol import EvaluatedMemory, Reading

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


class StateAlone(AccMemory):
    """What ACC holds without the tail: the last exchange stands beside the memory for all of them."""

    def held(self) -> Reading:
        """The state."""
        return replace(super().held(), text=render(self.state))


def _acc(
    schema: type[CompressedCognitiveState],
    tokens: int,
    compressor: Compressor | AskingCompressor | None = None,
) -> AccMemory:
    policy = Policy(schema=schema, max_tokens=tokens, cadence=Cadence())
    return StateAlone(memory_of(Options(model=compressor, policy=policy)), gate=None)


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
    "ACC world, rule, no effects": _careless,
    "ACC world, rule": _careful,
    "ACC world, rule, joined": _joining,
    "transcript, no bound": lambda _task, _tokens: TranscriptReplay(),
}
"""The memories by name. All but the last hold at most the tokens they are given."""


def with_model(model: ChatModel) -> Mapping[str, Factory]:
    """The memory that a model compresses, into the world's schema."""
    return {"ACC world, model": lambda _, tokens: _acc(WorldState, tokens, ModelCompressor(model))}

"""What each agent reads: the task and the last turn, a window, the whole transcript, or a memory of its role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from acc.board.roles import Role, RoleMemory, construct_context
from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError
from acc.models.protocol import ChatModel
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.text.tokens import utf8_quarter


class Context(NamedTuple):
    """What an agent reads beside its instructions.

    Attributes:
        task: The task.
        memory: Its rendered memory; None for agents without one.
        turns: Turns of the conversation, each with its speaker.
    """

    task: str
    memory: str | None
    turns: Sequence[str]


class Memory(Protocol):
    """The memory of one run's team."""

    def context(self, role: str, task: str, turns: Sequence[str]) -> Context:
        """What ``role`` reads before it speaks."""
        ...

    def spoke(self, role: str, text: str) -> None:
        """Take in what ``role`` said."""
        ...

    @property
    def failures(self) -> int:
        """Number of failed updates that the memory survived."""
        ...

    def close(self) -> None:
        """Release what the memory holds."""
        ...


class _Turns:
    """A memory that is nothing but turns."""

    failures = 0

    def context(self, role: str, task: str, turns: Sequence[str]) -> Context:
        """The task and some of the turns."""
        return Context(task, None, self.chosen(task, turns))

    def chosen(self, task: str, turns: Sequence[str]) -> Sequence[str]:
        """The turns to read."""
        raise NotImplementedError

    def spoke(self, role: str, text: str) -> None:
        """The turns are the conversation's own."""

    def close(self) -> None:
        """Nothing to release."""


class Nothing(_Turns):
    """Keeps nothing: the task and the last turn. The control that a judge has to tell from the others."""

    def chosen(self, task: str, turns: Sequence[str]) -> Sequence[str]:
        """The last turn."""
        return turns[-1:]


class Broadcast(_Turns):
    """Every turn to every agent, as AutoGen's group chat sends them, without a limit."""

    def chosen(self, task: str, turns: Sequence[str]) -> Sequence[str]:
        """All turns."""
        return turns


class Window(_Turns):
    """The newest turns that fit beside the task.

    This is the paper's baseline: conversation history alone, "limited to the most recent conversation turns".
    """

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def chosen(self, task: str, turns: Sequence[str]) -> Sequence[str]:
        """The newest turns that fit."""
        return construct_context(task, "", turns, self._tokens)[2:]


LEAST_MEMORY = 64
"""Tokens of the smallest memory."""


def memory_bound(task: str, tokens: int, most: int) -> int:
    """The limit of a role's memory: ``most``, but no more than half of what the task leaves of ``tokens``.

    Algorithm 1 puts the memory before the turns. A memory that took all would leave an agent deaf.

    Raises:
        ConfigurationError: No memory fits.
    """
    left = tokens - utf8_quarter(task)
    bound = min(most, left // 2)
    if bound < LEAST_MEMORY:
        needed = tokens - left + 2 * LEAST_MEMORY
        raise ConfigurationError(
            f"{tokens} tokens leave a role's memory {max(0, bound)}",
            where="--context",
            hint=f"set it to {needed} or more, and --memory-tokens to {LEAST_MEMORY} or more",
        )
    return bound


class RoleMemories:
    """`RoleMemory`: a state for each role, and before it speaks the task, its state and the newest turns that fit.

    Args:
        templates: The schema of each role.
        tokens: Limit of task, memory and turns together.
        memory_tokens: Limit of one role's state.
        model: Updates the memories; None for the keyless rules.
        hearing: Update every role from every turn. By default only the speaker's, as the paper's f_memory_update.
    """

    def __init__(
        self,
        templates: Mapping[str, type[CompressedCognitiveState]],
        tokens: int,
        memory_tokens: int,
        model: ChatModel | None = None,
        *,
        hearing: bool = False,
    ) -> None:
        self._tokens = tokens
        self._folder = TemporaryDirectory()
        self._controller: MemoryController[CompressedCognitiveState] = MemoryController.open(
            self._folder.name,
            model=model,
            policy=Policy(cadence=Cadence(compress_over=0)),
            store="none",
        )
        roles = [Role(name, schema=s, max_tokens=memory_tokens) for name, s in templates.items()]
        self._team = RoleMemory(self._controller, roles, thread="pipeline")
        self._hearing = hearing
        self.failures = 0

    def context(self, role: str, task: str, turns: Sequence[str]) -> Context:
        """The task, the role's memory, and the newest turns that fit beside both."""
        task, memory, *newest = self._team.context(role, task, turns, self._tokens)
        return Context(task, memory, newest)

    def spoke(self, role: str, text: str) -> None:
        """Update the speaker's memory, or every memory, from what was said."""
        for each in self._team.roles if self._hearing else (role,):
            self.failures += bool(self._team.update(each, text).step.failure)

    def close(self) -> None:
        """Close the memory, and delete it."""
        self._controller.close()
        self._folder.cleanup()

"""Role memories: a thread of the memory for each role of a team, a board between them.

The paper is *Intrinsic Memory Agents* (arXiv 2508.08997).

team = RoleMemory(memory, [Role("planner"), Role("engineer")], thread="pipeline")
reads = team.context("planner", task, history, max_tokens=4_000)
team.update("planner", answer)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from acc.board.board import Board, To
from acc.board.memory import AsyncBoardMemory, BoardMemory, Controller
from acc.compress.compressor import ModelCompressor
from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError, InputError, check_types
from acc.journal import ThreadKey
from acc.journal.boards import AGENT
from acc.journal.names import key_of
from acc.state.model import CompressedCognitiveState
from acc.text.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

_AS_ROLE = "You are maintaining the memory of an agent working as {0.name} in a multi-agent conversation. {0.text}"
"""What a model is told beside its instructions: the first words of the paper's Figure 2, and the role."""


@dataclass(frozen=True)
class Role:
    """One agent of a team.

    Attributes:
        name: Names the role. It is the agent of the role's thread.
        text: What the agent is for. It opens what the role reads.
        schema: State class of the role's memory; None for the memory's.
        max_tokens: Bound of the role's state; None for that of ``schema``, or of the memory.

    Raises:
        ConfigurationError: The name is empty, a board's, or holds a slash; or the schema is none.
    """

    name: str
    text: str = ""
    schema: type[CompressedCognitiveState] | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        name, schema = self.name, self.schema or CompressedCognitiveState
        is_name = isinstance(name, str) and name.strip() == name != "" and "/" not in name
        if (
            not is_name
            or name.casefold() == AGENT
            or not issubclass(schema, CompressedCognitiveState)
        ):
            raise ConfigurationError(
                f"a role cannot have the name {name!r} or the schema {schema!r}", where="Role",
                hint=f"give letters without a slash, and not {AGENT!r}; and a state class",
            )  # fmt: skip


class RoleMemory:
    """The memories of a team: a state and a thread for each role, views of one board, on one journal.

    On an `AsyncMemoryController`, `update` returns what is to be awaited; what blocks belongs into
    ``asyncio.to_thread``.
    """

    def __init__(
        self,
        memory: Controller,
        roles: Sequence[Role],
        *,
        thread: ThreadKey | str,
        board: Board | None = None,
    ) -> None:
        """Keep a memory for each role.

        Args:
            memory: The controller whose journal, compressor and settings the roles use. Close it when the team is done.
            roles: The roles.
            thread: The conversation. Each role is an agent of it.
            board: Rules that all roles read; by default of the conversation's name. What the user says in
                the conversation is said to all roles.

        Raises:
            ConfigurationError: Two roles have one name, or a value is invalid.
        """
        self.team = key_of(thread)
        self.roles = {role.name: role for role in roles}
        self.board = board or Board(self.team.thread)
        names = {name.casefold() for name in self.roles}
        if not names or len(names) < len(roles):
            raise ConfigurationError(
                f"the roles are {list(self.roles)}", where="RoleMemory",
                hint="give roles with different names",
            )  # fmt: skip
        kind: Any = BoardMemory if isinstance(memory, MemoryController) else AsyncBoardMemory
        self._views = {r.name: kind(self._memory_of(memory, r), self.board) for r in roles}

    def _memory_of(self, memory: Controller, role: Role) -> Any:
        """Return a controller on the same journal, with the role's schema and bound."""
        schema = role.schema or memory.policy.schema
        most = role.max_tokens or (schema.max_tokens if role.schema else memory.policy.max_tokens)
        policy = replace(memory.policy, schema=schema, max_tokens=most)
        given: dict[str, Any] = {"policy": policy, "store": "none"}
        own = memory.core
        if (
            isinstance(own.compressor, ModelCompressor)
            and own.compressor is not memory.settings.model
        ):
            given["model"] = ModelCompressor(own.compressor.model, guidance=_AS_ROLE.format(role))
            given["judge"] = own.judge
        made: Any = type(memory)(memory.journal, replace(memory.settings, **given))
        made.index = memory.index  # one fills it, for all
        return made

    def _view(self, role: str) -> Any:
        self.thread(role)
        return self._views[role]

    def thread(self, role: str) -> ThreadKey:
        """Return the thread of a role's memory.

        Raises:
            InputError: The team has no such role. Every method raises it.
        """
        if role not in self.roles:
            raise InputError(
                f"there is no role {role!r}",
                where=f"team {self.team}",
                hint=f"use one of {', '.join(self.roles)}",
            )
        return replace(self.team, agent="/".join(filter(None, (self.team.agent, role))))

    def memory(self, role: str) -> Any:
        """Return the controller of a role's memory, for nodes and tools; give it `thread`."""
        return self._view(role).memory

    def state(self, role: str) -> Any:
        """Return a role's newest state; None before its first update. It blocks."""
        memory = self.memory(role)
        return memory.journal.state(self.thread(role), schema=memory.policy.schema)

    def reads(self, role: str) -> str:
        """Return what a role reads of its memory: its description, the board, its own state. It blocks."""
        view = self._view(role)
        states = view.rendered(view._head(self.thread(role)), self.state(role))
        return "\n\n".join(filter(None, (self.roles[role].text, states)))

    def context(self, role: str, task: str, history: Sequence[str], max_tokens: int) -> list[str]:
        """Return what a role reads before it speaks: the task, `reads`, and the newest turns that fit."""
        counter = self.memory(role).policy.counter
        return construct_context(task, self.reads(role), history, max_tokens, counter=counter)

    def update(self, role: str, said: str | Turn, *, to: To = "all") -> Any:
        """Commit a role's next state: M = f(M, O), the paper's memory update function.

        Args:
            role: The role that spoke.
            said: Its output as text, as in the paper; or a whole turn. Other agents' words belong in a turn as
                documents with their names.
            to: ``""`` if the user speaks to this role alone.

        Returns:
            The `acc.board.board.SharedStep`.

        Raises:
            AccError: What `BoardMemory.step` raises.
        """
        if isinstance(said, str):
            said = Turn(observations=(Observation(channel=Channel.AGENT, text=said),))
        people = said.observations if isinstance(said, Turn) else ()
        has_people = any(each.trust >= Trust.USER for each in people)
        where = self.thread(role)
        return self._view(role).step(None, said, thread=where, to=to if has_people else "")


def construct_context(
    task: str,
    memory: str,
    history: Sequence[str],
    max_tokens: int,
    *,
    counter: TokenCounter = utf8_quarter,
) -> list[str]:
    """Return what an agent reads: the task, its memory, and the newest turns that fit (the paper's Algorithm 1).

    The paper passes the task as the first turn; here it is an argument. As there, the first turn that does not fit ends
    the search, so that the turns have no gap. There, a task and a memory beyond the limit give a longer context; here
    they are an error. What a model's API adds to each message is not counted.

    Args:
        task: The initial task description.
        memory: The agent's memory, rendered; it has its place if it is empty, too.
        history: The turns of the conversation after the task, oldest first.
        max_tokens: The limit on all parts together.
        counter: Counts tokens. If it fails, tokens are estimated.

    Raises:
        ConfigurationError: Task and memory alone exceed ``max_tokens``, or something has another type.
    """
    check_types(
        "construct_context", ("task", task, str), ("memory", memory, str),
        ("history", history, (list, tuple)), ("max_tokens", max_tokens, int),
    )  # fmt: skip
    count = guarded(counter)
    task_tokens, memory_tokens = count(task), count(memory)
    remaining = max_tokens - task_tokens - memory_tokens
    if remaining < 0:
        raise ConfigurationError(
            f"the task takes {task_tokens} tokens and the memory {memory_tokens}, of {max_tokens}",
            where="construct_context",
            hint=f"set max_tokens to {task_tokens + memory_tokens} or more, or shorten the task",
        )
    recent: list[str] = []
    for turn in reversed(history):
        remaining -= count(turn)
        if remaining < 0:
            break
        recent.append(turn)
    return [task, memory, *reversed(recent)]

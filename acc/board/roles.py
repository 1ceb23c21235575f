"""Role memories: a thread of the memory for each role of a team, a board between them.

The paper is *Intrinsic Memory Agents* (arXiv 2508.08997).

team = RoleMemory(memory, [Role("planner"), Role("engineer")], thread="pipeline", board=Board("pipeline"))
reads = team.context("planner", task, history, max_tokens=4_000)
team.update("planner", answer)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar

from acc.board.board import Board, Role, To, for_role
from acc.board.listener import ModelListener
from acc.board.memory import AsyncBoardMemory, BoardMemory, performed
from acc.board.sharing import SharedStep
from acc.compress.compressor import ModelCompressor
from acc.controller.controller import AsyncMemoryController, MemoryController, awaited
from acc.driving import Doing, Io, Own, aperform
from acc.errors import ConfigurationError, InputError
from acc.journal import ThreadKey
from acc.journal.opened import key_of
from acc.state.render import render
from acc.state.tail import Message
from acc.step.step import Step
from acc.text.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

UpdateFrom = Literal["output", "turn"]
"""What a role's memory is updated from: its agent's own output alone, as in the paper, or the whole turn."""

_AS_ROLE = "You are maintaining the memory of an agent working as {0.name} in a multi-agent conversation. {0.text}"
"""What a model is told beside its instructions: the first words of the paper's Figure 2, and the role."""

C = TypeVar("C", MemoryController[Any], AsyncMemoryController[Any])
T = TypeVar("T")


class _Roles(Generic[C]):
    """What both classes share."""

    def __init__(
        self,
        memory: C,
        roles: Sequence[Role],
        *,
        thread: ThreadKey | str,
        board: Board | None = None,
        update_from: UpdateFrom = "output",
    ) -> None:
        """Keep a memory for each role.

        Args:
            memory: The controller whose journal, compressor and settings the roles use. Close it when the team is done.
            roles: The roles.
            thread: The conversation. Each role is an agent of it.
            board: Rules and goals that all roles read. What the user says in the conversation is said to all roles.
            update_from: What an update reads of a turn.

        Raises:
            ConfigurationError: Two roles have one name, a slot names a role that is not there, or a value is invalid.
        """
        self.team = key_of(thread)
        self.roles = {role.name: role for role in roles}
        self.board, self.update_from = board, update_from
        names = {name.casefold() for name in self.roles}
        if not names or len(names) < len(roles) or update_from not in ("output", "turn"):
            raise ConfigurationError(
                f"the roles are {list(self.roles)}, update_from is {update_from!r}", where="RoleMemory",
                hint='give roles with different names, and "output" or "turn"',
            )  # fmt: skip
        self._memories: dict[str, C] = {r.name: self._memory_of(memory, r) for r in roles}
        self._boards: dict[str, Any] = {}
        if board is not None:
            kind = BoardMemory if isinstance(memory, MemoryController) else AsyncBoardMemory
            model = memory.settings.model
            listener = ModelListener(model) if model is not None else None
            for name, own in self._memories.items():
                self._boards[name] = kind(own, board, listener=listener)

    def _memory_of(self, memory: C, role: Role) -> C:
        """Return a controller on the same journal, with the role's schema and bound."""
        schema = role.schema or memory.policy.schema
        known = {n for s in schema.slots().values() for n in s.rules.roles} - set(self.roles)
        if known:
            raise ConfigurationError(
                f"a slot is for the role {min(known)!r}, which the team does not have",
                where=schema.__qualname__, hint="add the role, or name another in Slot.roles",
            )  # fmt: skip
        most = role.max_tokens or (schema.max_tokens if role.schema else memory.policy.max_tokens)
        policy = replace(memory.policy, schema=for_role(schema, role.name), max_tokens=most)
        given: dict[str, Any] = {"policy": policy, "store": memory.index.store}
        model = memory.settings.model
        if model is not None:
            compressor = ModelCompressor(model, guidance=_AS_ROLE.format(role))
            judge = memory.parts.memory.judge
            given |= {"model": None, "compressor": compressor, "judge": judge}
            given["cadence"] = memory.cadence
        return type(memory)(memory.journal, replace(memory.settings, **given))

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

    def memory(self, role: str) -> C:
        """Return the controller of a role's memory, for nodes and tools; give it `thread`."""
        self.thread(role)
        return self._memories[role]

    def state(self, role: str) -> Any:
        """Return a role's newest state; None before its first update. It blocks."""
        memory = self.memory(role)
        return memory.journal.state(self.thread(role), schema=memory.policy.schema)

    def reads(self, role: str) -> str:
        """Return what a role reads of its memory: its description, the board, its own state. It blocks."""
        own, policy = self.state(role), self.memory(role).policy
        if self.board is not None:
            shared = self._boards[role]
            states = shared.rendered(shared._head(self.thread(role)), own)
        else:
            states = render(own, policy.style) if own is not None else ""
        return "\n\n".join(filter(None, (self.roles[role].text, states)))

    def context(self, role: str, task: str, history: Sequence[str], max_tokens: int) -> list[str]:
        """Return what a role reads before it speaks: the task, `reads`, and the newest turns that fit."""
        counter = self.memory(role).policy.counter
        return construct_context(task, self.reads(role), history, max_tokens, counter=counter)

    def open_evidence(self, ref: str, role: str) -> Message:
        """Return a message of the role's, or of another role that shares its channel, as ``planner/t1``. It blocks.

        Raises:
            InputError: There is none, or it is private.
        """
        other, _, own = ref.rpartition("/")
        found = self.memory(role).journal.texts(self.thread(other or role), [own])
        is_own = other in ("", role)
        if not found or not (is_own or found[0].channel in self.roles[other].shares):
            raise InputError(
                f"no evidence {ref!r}", where=f"role {role!r}", hint="use a ref of its own"
            )
        return found[0]

    def _turn(self, role: str, said: str | Turn) -> Turn:
        """Return what an update reads of what was said."""
        if isinstance(said, str):
            return Turn(observations=(Observation(channel=Channel.AGENT, text=said),))
        if not isinstance(said, Turn):
            what = f"the update is {type(said).__name__}"
            raise InputError(what, where=f"role {role!r}", hint="give its output, or a Turn")
        if self.update_from == "turn":
            return said
        people = [o for o in said.observations if o.trust >= Trust.USER]
        own = [
            o
            for o in said.observations
            if o in people or (o.channel is Channel.AGENT and not o.is_call)
        ]
        if not own or (people and self.board is None):
            raise InputError(
                "the turn has no output of the agent, or words of the user, which nothing would keep",
                where=f"role {role!r}",
                hint='give its output as text, a board for the rules of the user, or update_from="turn"',
            )
        return said.model_copy(update={"observations": tuple(own)})

    def _update(self, role: str, said: str | Turn, *, to: To = "all") -> Doing[Step[Any]]:
        """Commit a role's next state: M = f(M, O), the paper's memory update function.

        Args:
            role: The role that spoke.
            said: Its output, or the turn. With ``update_from="output"`` only the agent's own words of a turn count, and
                with a board the user's. Other agents' words belong in a turn as documents with their names.
            to: ``""`` if the user speaks to this role alone.

        Raises:
            InputError: A turn without an output of the agent, or with words of the user that nothing would keep.
            AccError: What `MemoryController.step` raises.
        """
        where, turn = self.thread(role), self._turn(role, said)
        if self.board is None:
            return (yield Io(Own(self._memories[role].step, None, turn, thread=where)))  # type: ignore[no-any-return]
        has_people = any(o.trust >= Trust.USER for o in turn.observations)
        act = Own(self._boards[role].step, None, turn, thread=where, to=to if has_people else "")
        shared: SharedStep = yield Io(act)
        return shared.step


class RoleMemory(_Roles[MemoryController[Any]]):
    """The memories of a team: a state and a thread for each role, on one journal."""

    update = performed(_Roles._update)


class AsyncRoleMemory(_Roles[AsyncMemoryController[Any]]):
    """`RoleMemory` on an `AsyncMemoryController`. Pass what blocks to ``asyncio.to_thread``."""

    update = awaited(_Roles._update)

    async def carried_out(self, doing: Doing[T]) -> T:
        """Carry out a computation: all that it does is to be awaited."""
        return await aperform(doing, lambda act: act())


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
        ConfigurationError: Task and memory alone exceed ``max_tokens``, or it is not a number of tokens.
        InputError: The task, the memory or the history is not made of texts.
    """
    is_list = isinstance(history, Sequence) and not isinstance(history, str)
    if not is_list or not all(isinstance(each, str) for each in (task, memory, *history)):
        raise InputError(
            "the task, the memory or a turn of the history is no text", where="construct_context",
            hint="pass texts, and the history as a list of texts that name their speakers",
        )  # fmt: skip
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 0:
        raise ConfigurationError(
            f"max_tokens is {max_tokens!r}",
            where="construct_context",
            hint="give a number of tokens",
        )
    count = guarded(counter)
    task_tokens, memory_tokens = count(task), count(memory)
    remaining = max_tokens - task_tokens - memory_tokens
    if remaining < 0:
        raise ConfigurationError(
            f"the task takes {task_tokens} tokens and the memory {memory_tokens}, of {max_tokens}",
            where="construct_context",
            hint=f"set max_tokens to {task_tokens + memory_tokens} or more, shorten the task, or bound the memory "
            "by Policy(max_tokens=...)",
        )
    recent: list[str] = []
    for turn in reversed(history):
        remaining -= count(turn)
        if remaining < 0:
            break
        recent.append(turn)
    return [task, memory, *reversed(recent)]


__all__ = ["AsyncRoleMemory", "Role", "RoleMemory", "construct_context", "for_role"]

"""One memory for each role of a team of agents, beside one shared conversation.

    team = RoleMemory(MemoryController.open("memory"), [Role("planner"), Role("engineer")], thread="pipeline")
    reads = team.context("planner", task, history, max_tokens=4_000)
    team.update("planner", answer)

Each role is an agent with a thread, a state and an audit log of its own, and the controller's loop steps it. The two
classes differ in `RoleMemory.update` and `AsyncRoleMemory.update` alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, Generic, Literal, TypeVar, get_args
from weakref import WeakKeyDictionary

from acc.board.board import HEADING, OWN_HEADING, Board
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, ConflictError, InputError
from acc.logs import log_event
from acc.memory import Memory, whose
from acc.operators import with_operator_acts
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import Stored
from acc.roles.context import construct_context
from acc.roles.output import own_output, turn_of
from acc.roles.role import Role, check_slots, schema_of, team_of
from acc.roles.sharing import Peer, SharedRecall
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.policy import policy_with
from acc.state.render import LEGEND, with_legend
from acc.stores.protocol import Thread
from acc.thread.branch import Branch
from acc.thread.registry import ThreadRegistry
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)

UpdateFrom = Literal["output", "turn"]
"""What a role's memory is updated from: its agent's own output alone, as in the paper, or the whole turn."""

_AS_ROLE = "You are maintaining the memory of an agent working as {0.name} in a multi-agent conversation. {0.text}"
"""What a model compressor is told beside its instructions: the first words of the paper's Figure 2, and the role."""

C = TypeVar("C", MemoryController, AsyncMemoryController)


class _Roles(Generic[C]):
    """Everything that both classes share except the update.

    Attributes:
        roles: The roles by name.
        team: The conversation.
        board: The board that the roles share; None without one.
        update_from: What an update reads of a turn.
    """

    def __init__(
        self,
        memory: C,
        roles: Sequence[Role],
        *,
        thread: str | Thread,
        board: Board | None = None,
        update_from: UpdateFrom = "output",
        states: Mapping[str, Stored] | None = None,
    ) -> None:
        self._check(memory, board, update_from)
        self.roles = team_of(roles)
        self.team = whose(thread)
        self.board = board
        self.update_from = update_from
        settings = memory.settings
        check_slots(self.roles.values(), settings.policy.schema)
        self._memories: dict[str, C] = {
            name: self._memory_of(memory, role) for name, role in self.roles.items()
        }
        self._warned: set[str] = set()
        self._states: dict[str, CompressedCognitiveState] = {}
        if states and settings.audit is not None:
            raise ConfigurationError(
                "states are given, but the memory's audit logs have the newest ones",
                where="RoleMemory",
                hint="leave states out, or keep no audit logs",
            )
        for name, state in (states or {}).items():
            self._states[name] = self.memory(name).load(state)

    def thread(self, role: str) -> Thread:
        """Return the thread of a role's memory, for the controller, `acc show` and erasures.

        Raises:
            InputError: The team has no such role. Every method raises it.
        """
        return self._role(role).thread(self.team)

    def memory(self, role: str) -> C:
        """Return the controller of a role's memory, with its schema, for nodes and tools.

        Pass `thread` with it: ``evidence_tool(team.memory("planner"), identity=lambda _: team.thread("planner"))``.
        """
        return self._memories[self._role(role).name]

    def state(self, role: str) -> CompressedCognitiveState | None:
        """Return a role's newest state, without what operators have retired since; None before its first update.

        With audit logs it is the newest in the log, whichever process wrote it.

        Raises:
            AuditError, StoreError: The log or the store cannot be read.
        """
        state = self._newest(role)
        if state is None:
            return None
        return with_operator_acts(self.memory(role), state, self.thread(role))

    def reads(self, role: str) -> str:
        """Return what a role reads of its memory: its description, the legend, the board, and its own state.

        The board is its newest state, whoever wrote it. The bounds of the two states are separate.
        """
        memory, thread = self.memory(role), self.thread(role)
        policy = memory.settings.policy
        own = self.state(role) or policy.schema.empty()
        if self.board is None:
            states = policy.rendered(own)
        else:
            states = self.board.rendered(memory.read_board(self.board, thread=thread), own, policy)
        return "\n\n".join(filter(None, (self.roles[role].text, with_legend(states))))

    def bound(self, role: str) -> int:
        """Return the most tokens that `reads` ever has: the description, the legend, and the bounds of both states."""
        policy = self.memory(role).settings.policy
        parts = [self.roles[role].text, LEGEND, "\n\n\n\n"]
        tokens = policy.max_tokens
        if self.board is not None:
            parts += [HEADING, OWN_HEADING]
            tokens += self.board.policy.max_tokens
        return tokens + sum(map(policy.counter, parts))

    def context(self, role: str, task: str, history: Sequence[str], max_tokens: int) -> list[str]:
        """Return what a role reads before it speaks: the task, its memory, and the newest turns that fit.

        See `acc.roles.context.construct_context`; `reads` is the memory. If the memory may outgrow ``max_tokens``
        later, the log warns once for each role; `bound` tells how far it may grow.

        Args:
            role: The role that speaks.
            task: The initial task description.
            history: The turns of the shared conversation after the task, oldest first.
            max_tokens: The limit on all parts together.

        Raises:
            ConfigurationError: The task and the memory alone exceed ``max_tokens``.
            InputError: The task or a turn is not a text.
        """
        counter = self.memory(role).settings.policy.counter
        made = construct_context(task, self.reads(role), history, max_tokens, counter=counter)
        if (most := counter(task) + self.bound(role)) > max_tokens and role not in self._warned:
            self._warned.add(role)
            log_event(
                _LOG, logging.WARNING, "context_may_overflow",
                "the task and a role's memory may grow beyond max_tokens, which is an error; raise it, or bound "
                "the memory by Role(max_tokens=...)", role=role, tokens=most, max_tokens=max_tokens,
            )  # fmt: skip
        return made

    def open_evidence(self, role: str, ref: str) -> str:
        """Return the full text behind a reference that ``role`` may see.

        A role sees its own evidence, the documents of its namespace, and what other roles share (`Role.shares`).

        Raises:
            InputError: There is no such reference, or the role may not see it.
        """
        memory = self.memory(role)
        state = self._newest(role) or memory.settings.policy.schema.empty()
        return memory.open_evidence(ref, state, thread=self.thread(role), board=self.board)

    @staticmethod
    def _check(memory: Any, board: Any, update_from: Any) -> None:
        if not isinstance(memory, MemoryController | AsyncMemoryController):
            raise ConfigurationError(
                f"the memory is {type(memory).__name__}",
                where="RoleMemory",
                hint='give a controller: MemoryController.open("memory")',
            )
        if board is not None and not isinstance(board, Board):
            raise ConfigurationError(
                f"board is {board!r}", where="RoleMemory", hint='give a Board: Board("pipeline")'
            )
        if update_from not in get_args(UpdateFrom):
            raise ConfigurationError(
                f"update_from is {update_from!r}",
                where="RoleMemory",
                hint='give "output" or "turn"',
            )

    def _memory_of(self, memory: C, role: Role) -> C:
        """Return a controller on the same store with the role's schema, and a recall that sees what others share."""
        settings = memory.settings
        schema = schema_of(role, settings.policy.schema)
        policy = policy_with(
            settings.policy, None if schema is settings.policy.schema else schema, role.max_tokens
        )
        if role.schema is None and role.max_tokens is None:
            policy = replace(policy, max_tokens=settings.policy.max_tokens)
        peers = partial(self._peers, role.name)
        reader = role.thread(self.team)
        recall = SharedRecall(own=settings.recall, reader=reader, peers=peers)
        guided = getattr(memory.compressor, "guided", None)
        compressor = guided(_AS_ROLE.format(role)) if guided is not None else memory.compressor
        return type(memory)(
            memory.artifacts, compressor, replace(settings, policy=policy, recall=recall)
        )

    def _peers(self, role: str) -> list[Peer]:
        """Return the other roles that share anything."""
        others = (other for name, other in self.roles.items() if name != role and other.shares)
        return [Peer(o.name, o.shares, partial(self._branch, o.name)) for o in others]

    def _branch(self, role: str) -> Branch:
        """Return the branch of a role's newest state. The caller holds the lock."""
        state = self._states.get(role) or self._newest(role)
        log = self._memories[role]._log_of(self.thread(role))
        return log.branch(ROOT if state is None else state.branch)

    def _role(self, name: str) -> Role:
        if not isinstance(name, str) or name not in self.roles:
            raise InputError(
                f"there is no role {name!r}",
                where=f"team {self.team.thread!r}",
                hint=f"use one of {', '.join(map(repr, self.roles))}",
            )
        return self.roles[name]

    def _newest(self, role: str) -> CompressedCognitiveState | None:
        memory = self.memory(role)
        if memory.settings.audit is not None:
            logged = memory.last_state(self.thread(role))
            if logged is None:  # not begun, or erased
                self._states.pop(role, None)
            else:
                self._states[role] = logged
        return self._states.get(role)

    @contextmanager
    def _updating(self, role: str, said: str | Turn) -> Iterator[Turn]:
        """Yield the turn that an update of a role steps; only one update of a role may run at a time."""
        lock = _lock_of(self.memory(role), self.thread(role))
        turn = turn_of(said, role)
        if self.update_from == "output" and not isinstance(said, str):
            turn = own_output(turn, role, has_board=self.board is not None)
        if not lock.acquire(blocking=False):
            raise ConflictError(
                f"another update of {role!r} is running",
                where=f"team {self.team.thread!r}",
                hint="wait until it ends: a role speaks once at a time",
            )
        try:
            yield turn
        finally:
            lock.release()

    def _kept(self, role: str, prior: CompressedCognitiveState | None, step: Step) -> bool:
        """Keep the step's state; return False if the update has to be repeated.

        That is so if another process has committed to the role meanwhile: the step is on a branch of its own, which
        lacks that commit. Then the newest state of the role's branch is kept.
        """
        branch = ROOT if prior is None else prior.branch
        audit = self._memories[role]._audit_of(self.thread(role))
        newest = (
            audit.last_on(branch) if audit is not None and step.state.branch != branch else None
        )
        if newest is None:
            self._states[role] = step.state
            return True
        log_event(
            _LOG, logging.INFO, "role_update_repeated",
            "another process was faster: a role's update is repeated on its commit", role=role,
        )  # fmt: skip
        self._states[role] = self._memories[role]._from_log(newest)
        return False


_LOCKS: WeakKeyDictionary[ThreadRegistry, dict[str, Lock]] = WeakKeyDictionary()
_GUARD = Lock()


def _lock_of(memory: Memory, thread: Thread) -> Lock:
    """Return the lock of a role's updates, which all teams on the store share."""
    with _GUARD:
        return _LOCKS.setdefault(memory._threads, {}).setdefault(thread.key, Lock())


class RoleMemory(_Roles[MemoryController]):
    """The memories of a team: one state, thread and audit log for each role, on one store.

    Args:
        memory: The controller whose store, compressor and settings the roles use. Close it when the team is done.
        roles: The roles; each name is the agent of the role's thread.
        thread: The conversation.
        board: Rules, goals and decisions that all roles read and that any of them can bring (`acc.board.Board`). A
            rule that the user gives to one role is read by all from then on, and lifted for all.
        update_from: "output" updates a role's memory from its agent's own output alone, as the paper's memory
            update function does; "turn" from everything in the turn.
        states: States to go on from, by role, if the memory keeps no audit logs.

    Raises:
        ConfigurationError: Two roles have one name, a slot names a role that is not there, or a setting is invalid.
        StateError: A given state does not load.
    """

    def update(self, role: str, said: str | Turn) -> Step:
        """Commit a role's next state: M = f(M, O), the paper's memory update function.

        Args:
            role: The role that spoke.
            said: Its output, or the turn. With ``update_from="output"`` only the agent's own words of a turn count,
                and with a board the user's, which alone make and lift rules. Other agents' words belong in a turn as
                documents: ``Observation(channel=Channel.DOCUMENT, name="planner", text=...)``.

        Returns:
            The step of the role's thread.

        Raises:
            ConflictError: Another update of this role is running.
            InputError: There is no such role; or a turn without an output of the agent, or with words of the user
                that nothing would keep.
            PinnedOverflow, StateError, StoreError, ConfigurationError: See `acc.controller.MemoryController.step`.
        """
        with self._updating(role, said) as turn:
            memory, thread = self.memory(role), self.thread(role)
            prior = self.state(role)
            while True:
                step = memory.step(prior, turn, thread=thread, board=self.board)
                if self._kept(role, prior, step):
                    return step
                prior = self._states[role]


class AsyncRoleMemory(_Roles[AsyncMemoryController]):
    """`RoleMemory` for asynchronous agents, on an `AsyncMemoryController`.

    `context`, `reads`, `state` and `open_evidence` are synchronous: pass them to ``asyncio.to_thread``.
    """

    async def update(self, role: str, said: str | Turn) -> Step:
        """See `RoleMemory.update`."""
        with self._updating(role, said) as turn:
            memory, thread = self.memory(role), self.thread(role)
            newest = await asyncio.to_thread(self._newest, role)
            prior = await memory.with_operator_acts(newest, thread)
            while True:
                step = await memory.step(prior, turn, thread=thread, board=self.board)
                if await asyncio.to_thread(self._kept, role, prior, step):
                    return step
                prior = self._states[role]

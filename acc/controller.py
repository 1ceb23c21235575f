"""The loop: recall, qualify, compress, commit, store. One turn at a time, sync or async.

`MemoryController.step` and `AsyncMemoryController.step` are the same five verbs; what stands
behind each verb is in `acc.run`, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from acc.commit import commit
from acc.compress import Proposal, ProposedItem
from acc.errors import ConfigurationError, PinnedOverflow
from acc.laws.reasons import Reason
from acc.memory import Memory, whose
from acc.operators import make_room, retire, with_operator_acts
from acc.operators import retirement as retirement
from acc.policy import Policy
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Channel, Observation, Turn
from acc.updating import Stored as Stored
from acc.updating import aupdate_state as aupdate_state
from acc.updating import update_state as update_state


class MemoryController(Memory):
    """The memory in front of an agent.

    Open one with `open`, or give the parts: a store, a compressor, and what `Memory` takes.
    """

    def step(self, state: Stored, turn: Turn, *, thread: str | Thread) -> Step:
        """Take in a turn and replace the state.

        Args:
            state: CCS_t-1, or its canonical JSON; None for the thread's first.
            turn: What happened since.
            thread: The conversation; a `Thread` where tenants, users or agents are told apart.

        Returns:
            The commit with CCS_t, the verdicts, and what it cost.

        Raises:
            PinnedOverflow: Rules and goals alone exceed the bounds (law 7), and `Settings.on_overflow`
                made no room. ``state`` stands: the next turn goes on from it, without these words.
            ConflictError: Another step of this thread is under way.
            StateError: The state was edited, is not of this schema, or belongs to another thread; one
                of the same tenant, user and agent may seed a thread that is new.
            StoreError: The evidence cannot be written; nothing was committed.
            ConfigurationError: The compressor's model, key or address cannot work; the evidence
                is stored, and once that is mended the same step can be made again.
        """
        try:
            return self._step(state, turn, thread)
        except PinnedOverflow as overflow:
            room = make_room(self, overflow)
            if room is None:
                raise
        return self._step(room.state, turn, thread).model_copy(update={"room": room})

    def _step(self, state: Stored, turn: Turn, thread: str | Thread) -> Step:
        with self.running(state, turn, thread) as run:
            run.store()
            run.recall()
            run.qualify()
            run.compress()
            run.commit()
            run.keep()
        return run.step

    def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """Store the agent's answer, calls and results as soon as they exist; repeatable.

        They belong to the turn that follows ``state``; `step` finds them there.
        """
        self.recorded(decision, state, thread)

    def feedback(
        self, target: int | str, utility: float, *, thread: str | Thread
    ) -> tuple[str, ...]:
        """Say how good what came of a turn was: it is told of the evidence admitted in it.

        Args:
            target: The turn's number; or the ref of one piece of evidence.
            utility: Any finite number, higher is better (`acc.evidence.deletion` compares it).
            thread: The conversation.

        Returns:
            Keys of the evidence that it is about; none where the turn admitted nothing.

        Raises:
            InputError: No such turn or ref, or no number.
            StoreError: It cannot be written.
        """
        return self.told(target, utility, thread)

    def retire(
        self, ids: Sequence[str], reason: str = "", *, thread: str | Thread, state: Stored = None
    ) -> Step:
        """Take items out of a thread's state as its operator, in a turn of the operator's own.

        The compressor is not asked. What else was said and not committed yet stays pending, for the
        next turn to read. That the items are retired holds on every branch of the thread:
        `with_operator_acts`.

        Args:
            ids: Ids of rules, goals or other items, such as ``c17``.
            reason: Why, in at most 400 characters; the audit record and the agent's notice tell it.
            thread: The conversation.
            state: The state to take them out of; the thread's newest by the audit log if None.

        Returns:
            The step; `Step.state` is the state to go on from.

        Raises:
            InputError: No such item, or no state is given and no audit log tells of one.
            PinnedOverflow: What is left still exceeds the bounds; name more items.
            ConflictError: A step of this thread is under way.
            StateError: The state was edited, or belongs to another thread.
            StoreError: It cannot be written.
        """
        return retire(self, ids, reason, whose(thread), state)

    def with_operator_acts(self, state: Stored, thread: str | Thread) -> CompressedCognitiveState:
        """The state to step from: ``state`` without what operators retired in this thread since.

        For callers that keep states of their own, as a graph does in its checkpoints: call it before
        each step. Where nothing is to be done it returns the state as it is, and reads nothing from
        a store that no other process writes to. Otherwise it commits the operator's turn again: from
        the state that it was made from that is the very same commit; on another branch, a new one.
        What the user says again after a retirement is another item, and stays.

        Args:
            state: A state of the thread, or its canonical JSON; None for none yet.
            thread: The conversation.

        Returns:
            The state; with an empty one for None.

        Raises:
            PinnedOverflow, ConflictError, StateError, StoreError: As `retire`.
        """
        return with_operator_acts(self, state, whose(thread))

    def was_refused(self, turn: Turn, *, thread: str | Thread) -> bool:
        """Whether the user's words of ``turn`` found no room when they were last said in this thread.

        That is, whether the step that took them in ended in `PinnedOverflow`, from whichever state and
        in whichever process. A caller that keeps messages of its own skips such a one, rather than
        bring it along with what is said later.

        Raises:
            InputError: It is no turn.
            StoreError: The store cannot be read.
        """
        return self.refused_before(turn, thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncMemoryController(Memory):
    """`MemoryController` for asynchronous agents: its methods and closing work off the event loop.

    `open`, `last_state`, `open_evidence` and `history` are plain: give them to ``asyncio.to_thread``.
    """

    async def step(self, state: Stored, turn: Turn, *, thread: str | Thread) -> Step:
        """As `MemoryController.step`; the compressor is awaited where it offers ``acompress``."""
        try:
            return await self._step(state, turn, thread)
        except PinnedOverflow as overflow:
            room = await asyncio.to_thread(make_room, self, overflow)
            if room is None:
                raise
        step = await self._step(room.state, turn, thread)
        return step.model_copy(update={"room": room})

    async def _step(self, state: Stored, turn: Turn, thread: str | Thread) -> Step:
        with self.running(state, turn, thread) as run:
            await asyncio.to_thread(run.store)
            await asyncio.to_thread(run.recall)
            run.qualify()
            await run.acompress()
            run.commit()
            await asyncio.to_thread(run.keep)
        return run.step

    async def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """As `MemoryController.record`."""
        await asyncio.to_thread(self.recorded, decision, state, thread)

    async def feedback(
        self, target: int | str, utility: float, *, thread: str | Thread
    ) -> tuple[str, ...]:
        """As `MemoryController.feedback`."""
        return await asyncio.to_thread(self.told, target, utility, thread)

    async def retire(
        self, ids: Sequence[str], reason: str = "", *, thread: str | Thread, state: Stored = None
    ) -> Step:
        """As `MemoryController.retire`."""
        return await asyncio.to_thread(retire, self, ids, reason, whose(thread), state)

    async def with_operator_acts(
        self, state: Stored, thread: str | Thread
    ) -> CompressedCognitiveState:
        """As `MemoryController.with_operator_acts`."""
        return await asyncio.to_thread(with_operator_acts, self, state, whose(thread))

    async def was_refused(self, turn: Turn, *, thread: str | Thread) -> bool:
        """As `MemoryController.was_refused`."""
        return await asyncio.to_thread(self.refused_before, turn, thread)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)


def seed(
    rules: Sequence[str] = (),
    goals: Sequence[str] = (),
    *,
    policy: Policy | None = None,
) -> CompressedCognitiveState:
    """CCS_0 as the operator configures it: rules and goals at operator's trust, in the chain.

    Raises:
        PinnedOverflow: They do not fit the bounds.
        ConfigurationError: One cannot be held word for word.
    """
    policy = policy or Policy()
    said = [("constraints", text) for text in rules] + [
        ("goal_orientation", text) for text in goals
    ]
    words = tuple(Observation(channel=Channel.OPERATOR, text=text) for _, text in said)
    turn = Turn(observations=words).numbered(0)
    items = tuple(
        ProposedItem(slot=slot, fields={"text": text, "quote": text}, cites=(o.ref,))
        for (slot, text), o in zip(said, turn.observations, strict=True)
    )
    empty = policy.schema.empty()
    done = commit(empty, Proposal(items=items, author="operator"), turn, (), policy)
    lost = [note for note in done.notes if note.reason is not Reason.ADDED]
    if lost:
        raise ConfigurationError(
            f"a seeded rule or goal cannot be held as it is: {lost[0]}",
            where="seed",
            mend="give each once, in one line of at most 480 characters",
        )
    return done.state.vouched()

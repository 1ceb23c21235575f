"""The loop: recall, qualify, compress, commit, store. One turn at a time, sync or async.

`MemoryController.step` and `AsyncMemoryController.step` are the same five verbs; what stands
behind each verb is in `acc.pipeline.turn_pipeline`, once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from acc.compress.choosing import chosen
from acc.errors import InputError, PinnedOverflow
from acc.folders import expanded
from acc.memory import Memory, whose
from acc.operators import make_room, retire, with_operator_acts
from acc.pipeline.session import settings_with
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import Stored
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Observation
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


class _Controller(Memory):
    """What both controllers share beside the loop: opening, evidence by its ref, and feedback."""

    @classmethod
    def open(cls, path: str | Path, **changed: Any) -> Self:
        """Open the memory in a folder: embedded Chroma, and the audit logs beside it.

        Args:
            path: The folder; made if absent. One process at a time.
            changed: ``compressor``, or the ``model`` that one is to ask
                (`acc.compress.choosing.as_compressor`); ``settings``, and any field of `Settings`; the
                audit logs are kept beside the store unless ``audit=None`` says otherwise.

        Raises:
            ConfigurationError: No such setting or model, or a key is missing.
            StoreLockedError: Another process has it open.
            StoreMismatchError: It was written under another schema or embedder.
            StoreError: It cannot be opened.
        """
        from acc.stores.chroma.store import ChromaArtifactStore

        # One folder for both, also where the process goes elsewhere in between.
        folder = expanded(path).absolute()
        compressor = chosen(changed.pop("compressor", None), changed.pop("model", None))
        settings = settings_with(changed, changed.pop("settings", None))
        if settings.audit is None and "audit" not in changed:
            settings = replace(settings, audit=folder / "audit")
        store = ChromaArtifactStore.embedded(folder)
        try:
            memory = cls(store, compressor, settings)
            memory.resumed = resumed(memory)
        except BaseException:
            store.close()
            raise
        return memory

    def open_evidence(
        self, ref: str, state: CompressedCognitiveState, *, thread: str | Thread
    ) -> str:
        """The whole text behind a reference in ``state``.

        Of its thread's own evidence, of a document that the thread may see, and where a user is known
        of that user's other threads with the same agent.

        Raises:
            InputError: Nothing of that ref on the state's branch, or nothing that the thread may see.
        """
        from acc.evidence.feedback import opened

        who = whose(thread)
        with self.lock:
            branch = self.log_of(who).branch(state.branch)
            text = branch.text(ref) if branch.parts(ref) else opened(self.artifacts, who, ref)
        if not (text or branch.parts(ref)):
            raise InputError(
                f"no evidence {ref!r}",
                where=f"branch {state.branch}",
                hint="use a ref of the state",
            )
        return text

    def _feedback(self, target: int | str, utility: float, thread: str | Thread) -> tuple[str, ...]:
        """As `MemoryController.feedback`."""
        from acc.evidence.feedback import give_feedback

        who = whose(thread)
        with self.lock:
            log = self.audit_of(who)
            return give_feedback(
                self.artifacts, log, who, target, utility, self.now(), self.log_of(who)
            )


class MemoryController(_Controller):
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
            run.persist()
        return run.step

    def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """Store the agent's answer, calls and results as soon as they exist; repeatable.

        They belong to the turn that follows ``state``; `step` finds them there.
        """
        self.persist_decision(decision, state, thread)

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
        return self._feedback(target, utility, thread)

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


class AsyncMemoryController(_Controller):
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
            await asyncio.to_thread(run.persist)
        return run.step

    async def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """As `MemoryController.record`."""
        await asyncio.to_thread(self.persist_decision, decision, state, thread)

    async def feedback(
        self, target: int | str, utility: float, *, thread: str | Thread
    ) -> tuple[str, ...]:
        """As `MemoryController.feedback`."""
        return await asyncio.to_thread(self._feedback, target, utility, thread)

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


def resumed(memory: Memory) -> list[str]:
    """End or take back what a killed process had begun; the memory is closed if that fails."""
    from acc.evidence.upkeep import left_half_done, resume

    try:
        done = resume(memory) if left_half_done(memory) else []
    except BaseException:
        memory.close()
        raise
    for what in done:
        _LOG.info("%s", what)
    return done

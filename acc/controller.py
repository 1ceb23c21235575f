"""The memory loop: recall, qualify, compress, commit, persist. One turn at a time, sync or async.

A sixth stage, ``store``, comes before recall: it writes the turn's evidence before a compressor can fail.
`MemoryController.step` and `AsyncMemoryController.step` call the same stages in the same order.
`acc.pipeline.turn_pipeline` implements each stage once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from acc.audit.medium import AuditPlace
from acc.clock import Clock, SystemClock
from acc.compress.fallback import Fallback
from acc.compress.model import chosen
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.folders import expanded
from acc.gate.built_in import default_gate
from acc.gate.protocol import GateLike
from acc.logs import log_event
from acc.memory import Memory, Run, whose
from acc.operators import make_room, retire, with_operator_acts
from acc.pipeline.session import Durability, OnOverflow, Redactor, Settings, StateKey
from acc.pipeline.turn_pipeline import Step, TurnPipeline, refuse_words
from acc.pipeline.update import Stored
from acc.recall.candidates import Recall
from acc.recovery import adopt, recover
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy, policy_with
from acc.stores.protocol import Thread
from acc.telemetry.observer import Observer
from acc.turn.observations import Observation
from acc.turn.turn import Turn

if TYPE_CHECKING:
    from acc.board.board import Board
    from acc.board.writer import BoardMemory
    from acc.evidence.backup import Copied

_LOG = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MODEL_TOKENS = 1_600
"""Default bound of the state when a language model compresses: chosen by measurement, see docs/models.md."""


class _Controller(Memory):
    """Everything that both controllers share except the loop: opening, reading evidence, feedback."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        compressor: Compressor | None = None,
        model: Any = None,
        schema: type[CompressedCognitiveState] | None = None,
        max_tokens: int | None = None,
        policy: Policy | None = None,
        recall: Recall | None = None,
        gate: GateLike | None = None,
        floor: int = 0,
        fallback: Fallback = None,
        audit: AuditPlace | bool | None = True,
        input_chars: int = 16_000,
        clock: Clock | None = None,
        on_overflow: OnOverflow | None = None,
        state_key: StateKey = None,
        redact: Redactor = "secrets",
        durability: Durability = "power",
        fork: bool = True,
        telemetry: Observer | None = None,
    ) -> Self:
        """Open the memory in a folder: an embedded Chroma store and its audit logs.

        `Settings` describes the parameters that are not described here.

        Args:
            path: The folder; created if absent. Only one process can open it at a time.
            compressor: Proposes the next state; None, without ``model``, means the keyless rules.
            model: The language model that compresses (`acc.compress.as_compressor`): a name
                such as "openai:NAME" or "anthropic:NAME", a LangChain chat model, or a client and a name.
            schema: The state class; replaces the one in ``policy``.
            max_tokens: Token bound on the rendered state; replaces the one in ``policy``. By default the
                schema's; with a ``model`` and no policy at least `MODEL_TOKENS`, which holds most facts of
                a dense conversation.
            policy: Schema, bounds, token counter and notation of the state.
            audit: True writes the audit logs to the subfolder ``audit``, False or None writes none, a
                path names another folder, and "postgresql://..." a database.

        Raises:
            ConfigurationError: A setting or model is invalid, or a key is missing.
            StoreLockedError: Another process has the folder open.
            StoreMismatchError: The store was written under another schema or embedder.
            StoreError: The store cannot be opened.
        """
        from acc.stores.chroma.store import ChromaArtifactStore

        # An absolute path stays valid if the process changes its working directory.
        folder = expanded(path).absolute()
        if model is not None and policy is None and max_tokens is None:
            max_tokens = max(MODEL_TOKENS, (schema or CompressedCognitiveState).max_tokens)
        settings = Settings(
            policy=policy_with(policy, schema, max_tokens),
            recall=Recall() if recall is None else recall,
            gate=default_gate() if gate is None else gate,
            floor=floor,
            fallback=fallback,
            audit=folder / "audit" if audit is True else audit or None,
            input_chars=input_chars,
            clock=SystemClock() if clock is None else clock,
            on_overflow=on_overflow,
            state_key=state_key,
            redact=redact,
            durability=durability,
            fork=fork,
            telemetry=telemetry,
        )
        compressor = chosen(compressor, model)
        store = ChromaArtifactStore.embedded(folder)
        try:
            memory = cls(store, compressor, settings)
            memory.resumed = resumed(memory)
        except BaseException:
            store.close()
            raise
        return memory

    def board(self, board: Board) -> BoardMemory:
        """Return this memory for operators of a board: its newest state, evidence, history and retirements.

        Raises:
            ConfigurationError: This memory cannot keep a board; see `acc.board`.
        """
        from acc.board.writer import BoardMemory

        made: BoardMemory | None = self._boards.get(board.policy.fingerprint)
        if made is None:
            made = self._boards[board.policy.fingerprint] = BoardMemory(self, board)
        return made

    def read_board(self, board: Board, *, thread: str | Thread) -> CompressedCognitiveState:
        """Return the newest state of a board that the agent of ``thread`` shares; an empty one at first.

        Raises:
            ConfigurationError: This memory cannot keep a board; see `acc.board`.
            AuditError: The audit log cannot be read.
            StoreError: The store cannot be read.
        """
        return self.board(board).head(board.thread_of(whose(thread)))

    def _run(self, board: Board | None, instead_of: tuple[str, int] | None) -> Run:
        """Return what makes the pipeline of a turn, with or without a board; `TurnPipeline` says ``instead_of``."""

        def made(*given: Any) -> TurnPipeline:
            run = kind(*given)
            run.refuses = self.settings.on_overflow is None or instead_of is not None
            run.instead_of = instead_of
            return run

        kind: Run = TurnPipeline
        if board is not None:
            from acc.board.turn import SharedTurn

            kind = partial(SharedTurn, board=board, memory=self.board(board))
        return made

    def _room(
        self,
        overflow: PinnedOverflow,
        state: Stored,
        turn: Turn,
        thread: str | Thread,
        board: Board | None,
    ) -> tuple[Step, Stored] | None:
        """Make room as the operator, in the thread or on the board; return the step and the state to go on from.

        The turn's words are stored after that state, too: if the step ends here, as when it is cancelled, the next
        one reads them, whether it goes on from ``state`` or from the operator's. If no room is made they are refused.
        """
        who = whose(thread)
        is_boards = board is not None and overflow.thread == board.thread_of(who)
        memory = self.board(board) if board is not None and is_boards else self
        taken, room = self._normalize(turn, who), None
        claims = self._log_of(who).claims
        claims.held_back.update(
            overflow.places[:1]
        )  # the operator's turn does not take the words up
        try:
            room = make_room(memory, overflow, self.settings.on_overflow)
        finally:
            claims.held_back.clear()
            if room is None and self.settings.on_overflow is not None:
                with self._locked_log(who) as log:
                    refuse_words(log, taken, overflow.places)
        if room is None:
            return None
        if is_boards:
            return room, state
        said = [o.model_copy(update={"at": o.at or taken.at}) for o in taken.observations]
        with self._locked_log(who) as log, self._threads.intact(who):
            log.record(room.state, said)
        return room, room.state

    async def _astep(
        self, state: Stored, turn: Turn, thread: str | Thread, board: Board | None = None
    ) -> Step:
        """One step for asynchronous callers, on either controller."""
        key = whose(thread).key
        async with self._off_loop.resting(key):
            try:
                return await self._stages(state, turn, thread, board)
            except PinnedOverflow as overflow:
                room = partial(self._room, overflow, state, turn, thread, board)
                made = await self._off_loop.run(key, room)
                if made is None:
                    self._log_of(whose(thread)).claims.untold.clear()
                    raise
                place = next(iter(overflow.places), None)
            made_room, state = made
            step = await self._stages(state, turn, thread, board, place)
            return step.model_copy(update={"room": made_room})

    async def _stages(
        self, state: Stored, turn: Turn, thread: str | Thread, board: Board | None = None,
        instead_of: tuple[str, int] | None = None,
    ) -> Step:  # fmt: skip
        key = whose(thread).key
        await self._threads.after_cancelled(key)
        with self._running(state, turn, thread, self._run(board, instead_of)) as run:
            await self._off_loop.run(key, run.store)
            await self._off_loop.run(key, run.recall)
            await self._think(run)
            await self._off_loop.run(key, run.persist)
        return run.received()

    async def _think(self, run: TurnPipeline) -> None:
        """Run the stages that write nothing, without blocking the event loop for long."""
        raise NotImplementedError

    async def _beside(
        self, thread: str | Thread, act: Callable[P, T], /, *args: P.args, **named: P.kwargs
    ) -> T:
        """Run ``act`` for an asynchronous caller; it ends even if the caller is cancelled."""
        return await self._off_loop.complete(whose(thread).key, act, *args, **named)

    def open_evidence(
        self,
        ref: str,
        state: CompressedCognitiveState,
        *,
        thread: str | Thread,
        board: Board | None = None,
    ) -> str:
        """Return the full text behind a reference in ``state``, or in what the agent reads of its ``board``.

        The reference may name evidence of the thread itself or a document that the thread may see. If
        the user is known, it may also name evidence of that user's other threads with the same agent. A recall with a
        method ``text_behind(ref, thread)`` opens what it proposes from elsewhere (`acc.roles.sharing.SharedRecall`).

        Raises:
            InputError: The state's branch has no such reference, or the thread may not see it.
        """
        from acc.evidence.references import text_behind

        who = whose(thread)
        if board is not None and (own := board.own_ref(ref, who)):
            return self.board(board).open_evidence(own, thread=board.thread_of(who))
        with self._locked_log(who) as log:
            branch = log.branch(state.branch)
            text = branch.text(ref) if branch.parts(ref) else text_behind(self.artifacts, who, ref)
            shared = getattr(self.settings.recall, "text_behind", None)
            if not text and shared is not None:
                text = shared(ref, who)
        if not (text or branch.parts(ref)):
            raise InputError(
                f"no evidence {ref!r}",
                where=f"branch {state.branch}",
                hint="use a ref of the state",
            )
        return text

    def back_up(self, to: str | Path) -> Copied:
        """Copy the memory's folder to the new folder ``to``; see `acc.evidence.backup.back_up`.

        Other threads may go on: their steps wait for the copy. ``acc backup`` does the same from another
        process.

        Raises:
            ConfigurationError: The records are not in a folder of this memory; use the means of their database.
            InputError, ConflictError, StoreError: See `acc.evidence.backup.back_up`.
        """
        from acc.evidence.backup import back_up

        folder: Path | None = getattr(self.artifacts, "directory", None)
        if folder is None:
            raise ConfigurationError(
                "the records are not in a folder of this memory",
                where=type(self.artifacts).__name__,
                hint="back up the database by its own means, and then copy the audit folder",
            )
        return back_up(folder, self.settings.audit, expanded(to).absolute())

    def _feedback(self, target: int | str, utility: float, thread: str | Thread) -> tuple[str, ...]:
        """Implement `MemoryController.feedback`."""
        from acc.evidence.references import give_feedback

        who = whose(thread)
        with self._locked_log(who) as log:
            audit = self._audit_of(who)
            return give_feedback(self.artifacts, audit, who, target, utility, self._now(), log)


class MemoryController(_Controller):
    """The memory in front of an agent.

    Use `open` for a folder. For another store, pass the store, a compressor and `Settings`.
    """

    def step(
        self, state: Stored, turn: Turn, *, thread: str | Thread, board: Board | None = None
    ) -> Step:
        """Store a turn and commit the next state.

        Args:
            state: CCS_t-1, or its canonical JSON; None for the first turn of the thread.
            turn: The observations since the last commit.
            thread: The conversation. Pass a `Thread` to separate tenants, users or agents.
            board: A board that this agent shares with others (`acc.board`). `Step.board` has its state.

        Returns:
            The commit with CCS_t, the verdicts, and the cost.

        Raises:
            PinnedOverflow: Rules and goals alone exceed the bounds (law 7), and `Settings.on_overflow`
                made no room. ``state`` stays valid: continue from it, without this turn's words. On a board,
                `PinnedOverflow.thread` is the board's.
            ConflictError: Another step of this thread is running, or others write to the board all the time.
            StateError: The state was edited, has another schema, or belongs to another thread. A state
                of the same tenant, user and agent may seed a new thread.
            StoreError: The evidence cannot be written; nothing was committed.
            ConfigurationError: The compressor's model, key or address does not work. The evidence is
                stored; fix the setting and repeat the step.
        """
        try:
            return self._step(state, turn, thread, board)
        except PinnedOverflow as overflow:
            made = self._room(overflow, state, turn, thread, board)
            if made is None:
                self._log_of(whose(thread)).claims.untold.clear()
                raise
            place = next(iter(overflow.places), None)
        room, state = made
        return self._step(state, turn, thread, board, place).model_copy(update={"room": room})

    def _step(
        self, state: Stored, turn: Turn, thread: str | Thread, board: Board | None = None,
        instead_of: tuple[str, int] | None = None,
    ) -> Step:  # fmt: skip
        self._off_loop.settle(whose(thread).key)
        with self._running(state, turn, thread, self._run(board, instead_of)) as run:
            run.store()
            run.recall()
            run.think()
            run.persist()
        return run.received()

    async def _think(self, run: TurnPipeline) -> None:
        await asyncio.to_thread(run.think)

    def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """Store the agent's answer, calls and results as soon as they exist. Safe to repeat.

        They belong to the turn that follows ``state``. The next `step` from ``state`` reads them.
        """
        self._off_loop.settle(whose(thread).key)
        self._persist_decision(decision, state, thread)

    def feedback(
        self, target: int | str, utility: float, *, thread: str | Thread
    ) -> tuple[str, ...]:
        """Rate the outcome of a turn, and record the rating for the evidence that the turn admitted.

        Args:
            target: The turn's number, or the ref of one piece of evidence.
            utility: Any finite number; higher is better. `acc.evidence.deletion` compares these numbers.
            thread: The conversation.

        Returns:
            Keys of the rated evidence; empty if the turn admitted none.

        Raises:
            InputError: The turn or ref does not exist, or ``utility`` is not a finite number.
            StoreError: The rating cannot be written.
        """
        return self._feedback(target, utility, thread)

    def retire(
        self, ids: Sequence[str], reason: str = "", *, thread: str | Thread, state: Stored = None
    ) -> Step:
        """Retire items from a thread's state as its operator, in a separate turn.

        No compressor runs. Observations that no commit has read stay pending for the next turn.
        The retirement applies to every branch of the thread: see `with_operator_acts`.

        Args:
            ids: Ids of rules, goals or other items, such as ``c17``.
            reason: Why, in at most 400 characters. The audit record and the agent's notice show it.
            thread: The conversation.
            state: The state that holds the items; if None, the newest state in the audit log.

        Returns:
            The step. Continue from `Step.state`.

        Raises:
            InputError: An item does not exist, or ``state`` is None and no audit log has a state.
            PinnedOverflow: The remaining items still exceed the bounds; name more items.
            ConflictError: A step of this thread is running.
            StateError: The state was edited, or belongs to another thread.
            StoreError: The retirement cannot be written.
        """
        self._off_loop.settle(whose(thread).key)
        return retire(self, ids, reason, whose(thread), state)

    def adopt(self, state: Stored, *, thread: str | Thread) -> CompressedCognitiveState:
        """Accept ``state`` as the one to go on from, although the store or the audit log lacks its past.

        A step refuses to go on silently where the store was emptied, exchanged or damaged, or where the
        audit log is behind the store. After this call the next step from ``state`` goes on, in this
        process and in others, from this object and from the same state in a checkpoint. Evidence that
        the store lacks stays lost: the state's items stay, but their sources cannot be opened. The
        audit record of that step says that the state was adopted.

        Args:
            state: A state of this thread, intact; None to begin anew. `state_at` returns the states of
                the audit log.
            thread: The conversation.

        Returns:
            The state to continue from.

        Raises:
            StateError: The state was edited, or belongs to another thread.
            StoreError: The store cannot be read or written.
        """
        self._off_loop.settle(whose(thread).key)
        return adopt(self, state, whose(thread))

    def recover(self, thread: str | Thread) -> CompressedCognitiveState | None:
        """Commit the turns again that the store has and the audit log lacks, in order.

        The log may be behind after a restore from a backup, or after a loss of files. Each stored turn is
        compressed once more, after the newest state in the log, or from the beginning if the log is
        empty. The keyless rules propose what they proposed before; a model is asked, and paid, again.

        Returns:
            The newest state; None if the thread has no turn.

        Raises:
            AuditError: The log cannot be read, or the store has further branches that the log lacks.
            ConfigurationError: The memory keeps no audit logs, or the compressor does not work.
            PinnedOverflow: A turn does not fit. The turns before it are committed.
            ConflictError: A step of this thread is running.
            StoreError: The store cannot be read.
        """
        self._off_loop.settle(whose(thread).key)
        return recover(self, whose(thread))

    def with_operator_acts(self, state: Stored, thread: str | Thread) -> CompressedCognitiveState:
        """Return ``state`` without the items that operators have retired in this thread since.

        Call it before each step if you keep states yourself, as a graph does in its checkpoints. If
        nothing is to be retired, it returns the state unchanged. In that case it reads nothing from a
        store that no other process writes to. Otherwise it commits the operator's turn again: from the
        original prior state this yields the identical commit, on another branch a new commit. Words that
        the user repeats after a retirement become a new item, which stays.

        Args:
            state: A state of the thread, or its canonical JSON; None if there is none yet.
            thread: The conversation.

        Returns:
            The state; an empty one for None.

        Raises:
            PinnedOverflow, ConflictError, StateError, StoreError: See `retire`.
        """
        return with_operator_acts(self, state, whose(thread))

    def was_refused(self, turn: Turn, *, thread: str | Thread) -> bool:
        """Return whether the last step with these user's words in this thread ended in `PinnedOverflow`.

        The prior state and the process of that step do not matter. A caller that keeps its own messages
        uses this to skip a refused message instead of sending it again with later ones.

        Raises:
            InputError: ``turn`` is not a turn.
            StoreError: The store cannot be read.
        """
        return self._refused_before(turn, thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemoryController(_Controller):
    """`MemoryController` for asynchronous agents. Its methods and closing work off the event loop.

    `open`, `last_state`, `open_evidence` and `history` are synchronous: pass them to
    ``asyncio.to_thread``.
    """

    async def step(
        self, state: Stored, turn: Turn, *, thread: str | Thread, board: Board | None = None
    ) -> Step:
        """See `MemoryController.step`. A compressor with ``acompress`` is awaited.

        A cancelled step loses nothing that was said: what it was writing is written first, for which it
        waits a short while, and the next step from ``state`` reads it.
        """
        return await self._astep(state, turn, thread, board)

    async def _think(self, run: TurnPipeline) -> None:
        await run.athink()

    async def record(
        self, decision: Sequence[Observation], *, state: Stored, thread: str | Thread
    ) -> None:
        """See `MemoryController.record`."""
        await self._beside(thread, self._persist_decision, decision, state, thread)

    async def feedback(
        self, target: int | str, utility: float, *, thread: str | Thread
    ) -> tuple[str, ...]:
        """See `MemoryController.feedback`."""
        return await self._beside(thread, self._feedback, target, utility, thread)

    async def retire(
        self, ids: Sequence[str], reason: str = "", *, thread: str | Thread, state: Stored = None
    ) -> Step:
        """See `MemoryController.retire`."""
        return await self._beside(thread, retire, self, ids, reason, whose(thread), state)

    async def adopt(self, state: Stored, *, thread: str | Thread) -> CompressedCognitiveState:
        """See `MemoryController.adopt`."""
        return await self._beside(thread, adopt, self, state, whose(thread))

    async def recover(self, thread: str | Thread) -> CompressedCognitiveState | None:
        """See `MemoryController.recover`."""
        return await self._beside(thread, recover, self, whose(thread))

    async def with_operator_acts(
        self, state: Stored, thread: str | Thread
    ) -> CompressedCognitiveState:
        """See `MemoryController.with_operator_acts`."""
        return await self._beside(thread, with_operator_acts, self, state, whose(thread))

    async def was_refused(self, turn: Turn, *, thread: str | Thread) -> bool:
        """See `MemoryController.was_refused`."""
        return await self._beside(thread, self._refused_before, turn, thread)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)


def resumed(memory: Memory) -> list[str]:
    """Finish or roll back work that a killed process left; close the memory if that fails.

    Returns:
        One description for each finished or rolled-back piece of work.
    """
    from acc.evidence.upkeep import left_half_done, resume

    try:
        done = resume(memory) if left_half_done(memory) else []
    except BaseException:
        memory.close()
        raise
    if done:
        log_event(
            _LOG, logging.INFO, "resumed", "work that a killed process left was finished or undone",
            count=len(done),
        )  # fmt: skip
    for what in done:  # it may name documents
        log_event(_LOG, logging.DEBUG, "resumed", "finished or undone", what=what)
    return done

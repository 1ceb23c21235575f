"""Reads a board's newest state, and commits to it by compare-and-swap on that state.

A commit of the board takes milliseconds: no model runs in it. Within a process a lock orders the writers, and between
processes a database with the audit logs does, in the order in which they come. What decides is the claim of the board's
next turn, and then the audit log: a record is appended only if the newest one holds the state that the commit
continues. Whoever comes second reads the newest state and checks again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from acc.audit.log import AuditLog
from acc.audit.medium import End, TakesTurns, audit_store
from acc.audit.redaction import Erased, Traces, erased_state
from acc.board.board import Board
from acc.board.half import HERE, Half, changes
from acc.board.rebase import rebased
from acc.commit.commit import Commit
from acc.compress.fallback import CompressionResult
from acc.errors import AuditError, ConfigurationError, ConflictError, InputError, PinnedOverflow
from acc.logs import cause, log_event
from acc.memory import MOST_AUDITS, Memory, Run
from acc.operators import retire, with_operator_acts
from acc.pipeline.session import ThreadSession
from acc.pipeline.turn_pipeline import Step, TurnPipeline
from acc.pipeline.update import Stored
from acc.recovery import adopt, recover
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note
from acc.stores.copies import copy_mark
from acc.stores.protocol import Artifact, Thread
from acc.thread.branch import race_error
from acc.thread.registry import ThreadRegistry
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)

MOST_TRIES = 200
"""Maximum number of times that a half is checked anew because another writer was faster."""

FIRST_WAIT, LONGEST_WAIT = 0.005, 0.25
"""Seconds to wait for a writer of another process: the first time, and at most. The wait doubles each time."""


class Origin(NamedTuple):
    """Whose words a board's turn holds: the agent's thread, and its state before the turn."""

    thread: Thread
    state: CompressedCognitiveState


class BoardTurn(TurnPipeline):
    """One commit on a board. It raises a `ConflictError` if its prior state is no longer the newest."""

    half: Half | None = None
    origin: Origin | None = None

    def store(self) -> None:
        """Store the half's observations, unless another writer is at the board's next turn or has passed it."""
        with self._session.locked_log(self._state.branch) as log:
            branch = log.branch(self._state.branch)
            if log.claims.successor(branch, self._state.turn + 1) is not None:
                log.claims.check_gone(branch, self._state.turn + 1)
        super().store()
        if self.half is not None:
            self._compressed = CompressionResult(_renamed(self.half, self._turn))

    def _in_context(self, turn: Turn) -> Turn:
        return turn  # what other agents said before on the board is no context of these words

    def _append(self, audit: AuditLog) -> None:
        audit.append(self._record(), self._state, follows=self._from.hash)

    def _record(self) -> dict[str, Any]:
        said = self._turn.observations
        if self.origin is None or self.half is None:
            return super()._record()
        refs = {
            o.ref: mine.ref.removeprefix(HERE)
            for o, mine in zip(said[-len(self.half.said) :], self.half.said, strict=False)
        }
        whose = {"thread": self.origin.thread.model_dump(), "state": self.origin.state.hash}
        return {**super()._record(), "origin": {**whose, "refs": refs}}


def _renamed(half: Half, turn: Turn) -> Any:
    """Return the half's proposal with the board's refs instead of the agent's."""
    names = {
        mine.ref: o.ref for mine, o in zip(half.said[::-1], turn.observations[::-1], strict=False)
    }

    def named(cites: Sequence[str]) -> dict[str, Any]:
        return {"cites": tuple(names.get(c, c) for c in cites)}

    proposal = half.proposal
    return proposal.model_copy(
        update={
            "items": tuple(i.model_copy(update=named(i.cites)) for i in proposal.items),
            "retire": tuple(r.model_copy(update=named(r.cites)) for r in proposal.retire),
        }
    )


class _Shared:
    """What all memories of a store share about its boards: a lock for each, and states that no log holds."""

    def __init__(self) -> None:
        self.locks: dict[str, threading.RLock] = defaultdict(threading.RLock)
        self.heads: dict[str, CompressedCognitiveState] = {}


_SHARED: WeakKeyDictionary[ThreadRegistry, _Shared] = WeakKeyDictionary()
_GUARD = threading.Lock()


def _shared_by(registry: ThreadRegistry) -> _Shared:
    with _GUARD:
        return _SHARED.setdefault(registry, _Shared())


class Written(NamedTuple):
    """A commit on a board, None if there was none; and notes on conflicts with other agents."""

    commit: Commit | None
    conflicts: tuple[Note, ...]


class BoardMemory(Memory):
    """A memory under a board's policy: reads, commits and retires on boards. `MemoryController.board` makes it.

    ``history``, ``state_at`` and ``last_state`` of `Memory` work with `Board.thread_of`.
    """

    def __init__(self, memory: Memory, board: Board) -> None:
        settings = memory.settings
        _check(memory)
        super().__init__(
            memory.artifacts,
            None,
            # Nothing of a board's turn is cut: it holds only what its half cites.
            replace(settings, policy=board.policy, input_chars=1 << 40),
        )
        self._board = board
        self._shared = _shared_by(self._threads)
        self._read_at: dict[str, tuple[End, CompressedCognitiveState]] = {}

    def head(self, thread: Thread) -> CompressedCognitiveState:
        """Return the newest state of the board ``thread``; an empty one if there is none.

        Raises:
            AuditError: The audit log cannot be read.
            StoreError: The store cannot be read.
        """
        audit = self._audit_of(thread)
        if audit is None:
            return self._unlogged(thread)
        end = audit.end()
        known = self._read_at.get(thread.key)
        if known is not None and known[0] == end:
            return known[1]  # the log has not changed
        head = self._newest(audit, thread, known[1].version if known is not None else None)
        if end is not None:
            self._read_at[thread.key] = (end, head)
            if len(self._read_at) > MOST_AUDITS:
                del self._read_at[next(iter(self._read_at))]
        return head

    def _newest(
        self, audit: AuditLog, thread: Thread, known: int | None
    ) -> CompressedCognitiveState:
        """Read the newest state from the log.

        The first time, and if the log has lost the version that this process knows, compare it with the store.
        """
        if known is not None:
            self._drop_erased(thread)
            entry = audit.last()
            if entry is not None and entry["state"]["version"] >= known:
                return self._from_log(entry)
        try:
            last = self.last_state(thread)
        except AuditError as error:
            error.add_note("of a board, call recover and adopt on memory.board(board)")
            raise
        if last is None:
            return self.settings.policy.schema.empty()
        with self._shared.locks[thread.key]:
            return with_operator_acts(self, last, thread)

    def _unlogged(self, thread: Thread) -> CompressedCognitiveState:
        """Return the newest state of a board without an audit log, without what was erased since."""
        schema = self.settings.policy.schema
        head = self._shared.heads.get(thread.key)
        if head is None:
            return schema.empty()
        with self._locked_log(thread) as log:
            refs = frozenset(log.branch(head.branch).erased)
        if any(refs.intersection(item.sources) for _, item in head.items()):
            left, _ = erased_state(head.canonical(), Erased(refs, Traces(())))
            head = self._shared.heads[thread.key] = self.signed(schema.load(left))
        return head

    def retire(self, ids: Sequence[str], reason: str = "", *, thread: Thread) -> Step:
        """Retire items of the board ``thread`` as its operator; see `acc.controller.MemoryController.retire`."""
        with self._shared.locks[thread.key]:
            step = retire(self, ids, reason, thread, self.head(thread))
            self._keep(thread, step.state)
            return step

    def adopt(self, state: Stored, *, thread: Thread) -> CompressedCognitiveState:
        """Go on from ``state`` on the board ``thread``; see `acc.controller.MemoryController.adopt`."""
        return adopt(self, state, thread)

    def recover(self, thread: Thread) -> CompressedCognitiveState | None:
        """Commit the board's stored turns again that its audit log lacks, by the keyless rules.

        See `acc.controller.MemoryController.recover`.
        """
        return recover(self, thread)

    def open_evidence(self, ref: str, *, thread: Thread) -> str:
        """Return the full text behind a ref of the board ``thread``.

        Raises:
            InputError: The board has no such ref.
        """
        return "".join(part.text for part in self._parts(ref, thread))

    def origin(self, ref: str, *, thread: Thread) -> str:
        """Return where a ref of the board ``thread`` came from: the agent, its thread, and the ref there.

        It is empty for an operator's own words on the board.

        Raises:
            InputError: The board has no such ref.
        """
        key, _, whose = self._parts(ref, thread)[0].message.partition(" ")
        return f"{whose}:{key.partition(':')[2]}" if whose else ""

    def _parts(self, ref: str, thread: Thread) -> list[Artifact]:
        head = self.head(thread)
        with self._locked_log(thread) as log:
            parts = log.branch(head.branch).parts(ref)
        if not parts:
            raise InputError(
                f"no evidence {ref!r}",
                where=f"board {thread.thread!r}",
                hint="use a ref of the board",
            )
        return parts

    def write(
        self, half: Half, read: CompressedCognitiveState, thread: Thread, origin: Origin
    ) -> Written:
        """Commit ``half``, which was proposed on ``read``, to the board ``thread``.

        Returns:
            The commit, None if nothing of the half changes the board any more; and notes on conflicts.

        Raises:
            PinnedOverflow: The board's rules and goals exceed its bounds; nothing was committed.
            ConflictError: Other writers were faster all the time.
        """
        wait = FIRST_WAIT
        for _ in range(MOST_TRIES):
            try:
                with self._shared.locks[thread.key], self._in_turn(thread):
                    return self._written(half, read, thread, origin)
            except ConflictError as conflict:
                log_event(
                    _LOG, logging.DEBUG, "board_retry", "another writer was faster at a board",
                    board=thread.thread, cause=cause(conflict),
                )  # fmt: skip
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
        raise race_error(thread, self.head(thread).branch)

    def _in_turn(self, thread: Thread) -> AbstractContextManager[None]:
        """Wait for the writers of other processes that came before, where the audit logs know an order."""
        audit = self._audit_of(thread)
        if audit is None or not isinstance(audit.store, TakesTurns):
            return nullcontext()
        return audit.store.in_turn(audit.name)

    def _written(
        self, half: Half, read: CompressedCognitiveState, thread: Thread, origin: Origin
    ) -> Written:
        head = self.head(thread)
        mine, conflicts = rebased(half, read, head)
        try:
            done = mine.on(head, self.settings.policy)
        except PinnedOverflow as overflow:
            raise overflow_of(overflow, head, thread) from overflow
        if not changes(done, head, mine.turn(head)):
            return Written(None, conflicts)
        said = tuple(
            o.model_copy(
                update={"message": copy_mark(origin.thread, o.ref.removeprefix(HERE))}
            ).as_split()
            for o in mine.said
        )
        with self._running(head, Turn(observations=said, at=mine.at), thread) as run:
            assert isinstance(run, BoardTurn)
            run.half, run.origin = mine, origin
            run.store()
            run.commit()
            run.persist()
        made = run.received().commit
        self._keep(thread, made.state)
        return Written(made, conflicts)

    def _keep(self, thread: Thread, state: CompressedCognitiveState) -> None:
        if self.settings.audit is None:
            self._shared.heads[thread.key] = state.vouched()

    @contextmanager
    def _running(
        self, state: Any, turn: Turn, thread: str | Thread, run: Run = BoardTurn
    ) -> Iterator[TurnPipeline]:
        with super()._running(state, turn, thread, run) as made:
            yield made

    def _session(self, thread: Thread) -> ThreadSession:
        # Nothing of a writer that died is taken up: its agent's own thread has it.
        return _BoardSession(**vars(super()._session(thread)))


class _BoardSession(ThreadSession):
    def is_given_up(self, branch: Any, turn: int) -> bool:
        return False


def overflow_of(
    overflow: PinnedOverflow, head: CompressedCognitiveState, thread: Thread
) -> PinnedOverflow:
    """Return the error of a board without room, from that of the commit."""
    return PinnedOverflow(
        f"the shared board is full: {overflow.what}",
        where=f"board {thread.thread!r}",
        hint="retire rules or goals of the board: memory.board(board).retire(ids, "
        "thread=board.thread_of(thread)); or give the board a policy with more room",
        items=overflow.items, slot=overflow.slot, needed=overflow.needed, limit=overflow.limit,
        refused=overflow.refused, state=head, thread=thread, turn=overflow.turn,
    )  # fmt: skip


def _check(memory: Memory) -> None:
    """Raise a `ConfigurationError` if nothing would keep a board's newest state."""
    audit = memory.settings.audit
    is_temporary = getattr(memory.artifacts, "temporary", False)
    if audit is None and not is_temporary:
        raise ConfigurationError(
            "a board needs audit logs: the newest state is read from there",
            where="Settings(audit=None)",
            hint="keep audit logs: audit=True, a folder, or a database",
        )
    if audit is not None and memory.artifacts.shared and not audit_store(audit).shared:
        raise ConfigurationError(
            "several processes may share this store, but not its audit logs",
            where=f"Settings(audit={str(audit)!r})",
            hint="keep the audit logs in a database: audit='postgresql://...'",
        )

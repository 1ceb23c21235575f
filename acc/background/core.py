"""The steps that the thread-based and the task-based background memory share."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from acc.background.backlog import Backlog
from acc.background.entries import CommitJob, Entry, shown
from acc.background.uncommitted_turns import (
    finished_after,
    left_waiting,
    resolve_pending,
    waiting_place,
)
from acc.board.board import Board
from acc.board.writer import BoardMemory
from acc.errors import ConfigurationError, PinnedOverflow, StoreError
from acc.logs import cause, log_event
from acc.memory import Memory, whose
from acc.operators import with_operator_acts
from acc.pipeline.update import Stored
from acc.state.loading import signed
from acc.state.model import CompressedCognitiveState
from acc.state.render import with_legend
from acc.stores.protocol import Thread
from acc.thread.branch import Branch, join_unrepeated
from acc.turn.observations import Observation
from acc.turn.turn import Turn

OnError = Callable[[Thread, BaseException], None]

State = CompressedCognitiveState

_LOG = logging.getLogger(__name__)


class Looked(NamedTuple):
    """The findings of an entry.

    Attributes:
        thread: The conversation.
        state: The caller's state, or the committed state that it leads to.
        job: The last finished turn pending in the state.
        turn: The turn that begins.
    """

    thread: Thread
    state: State
    job: CommitJob | None
    turn: Turn


class BackgroundCore:
    """The part of a background memory that waits only for the store."""

    def __init__(
        self,
        memory: Memory,
        *,
        a_thread: int,
        in_all: int,
        on_error: OnError | None,
        board: Board | None = None,
    ) -> None:
        if a_thread < 1 or in_all < 1:
            raise ConfigurationError(
                f"a backlog of {a_thread} turns a thread, {in_all} in all",
                where="BackgroundMemory",
                hint="at least one finished turn has to have a place",
            )
        self._memory = memory
        self._on_error = on_error
        self.board = board
        self._boards = BoardMemory(memory, board) if board is not None else None
        self.backlog = Backlog(a_thread, in_all)
        self._is_open = True
        _OPEN.add(self)

    def look(self, state: Stored, turn: Turn, thread: str | Thread) -> Looked:
        """Find out what became of the turns pending in ``state``."""
        self.check_open()
        who = whose(thread)
        turn = self._memory._normalize(turn, who)
        prior = self._memory.load(state)
        job = self.backlog.of(who.key, prior)
        if job is None:
            prior, jobs = resolve_pending(self._memory, who, prior)
            job = self.backlog.take_up(jobs)
        return Looked(who, prior, job, turn)

    def resumed(self, thread: str | Thread, first: Stored) -> State | None:
        """Return the latest state of a thread; `BackgroundMemory.last_state` is the contract."""
        self.check_open()
        who = whose(thread)
        job = self.backlog.last(who.key)
        last = self._memory.last_state(who)
        start = last if last is not None or first is None else self._memory.load(first)
        if job is None and self._memory._audit_of(who) is not None:
            base = start or self._memory.load(None)
            job = self.backlog.take_up(finished_after(self._memory, who, base))
        return start if job is None else self.carrying(job)

    def check_commits(self, key: str, *, strict: bool) -> None:
        """Check what became of the thread's earlier turns.

        Raises:
            PinnedOverflow: The rules of an earlier turn did not fit; raised once.
            BaseException: The error that stopped the thread's commits, if ``strict``.
        """
        if (refusal := self.backlog.refusal(key)) is not None:
            raise refusal
        failed = self.backlog.stopped(key)
        if strict and failed is not None and failed.error is not None:
            failed.is_reported = True
            raise failed.error

    def must_wait(self, key: str) -> bool:
        """Whether an entry must first retry a failed commit (`BackgroundMemory.begin`)."""
        return self._on_error is None and self.backlog.stopped(key) is not None

    def enter(self, looked: Looked) -> Entry:
        """Store the user's words and return the entry, without what `with_news` adds.

        The turn also has what was begun after the same state and never finished.
        """
        who, job = looked.thread, looked.job
        state = looked.state if job is None else self.carrying(job)
        if job is None or job.is_over:
            state = with_operator_acts(self._memory, state, who)
        place = self._place(state, job, looked.turn, who)
        with self._memory._locked_log(who) as log:
            begun = log.begun(place, self._is_given_up(who))
        turn = looked.turn.model_copy(
            update={"observations": join_unrepeated(begun, looked.turn.observations)}
        )
        self._memory._persist_decision(turn.observations, place, who)
        return Entry(thread=who, state=state, turn=turn, reads=with_legend(self._read(state, who)))

    def _read(self, state: State, who: Thread) -> str:
        """Return what the agent reads: its state with pending turns, after the board if it shares one."""
        own = shown(state, self._memory.settings.policy)
        if self.board is None or self._boards is None:
            return own
        return self.board.beside(self._boards.head(self.board.thread_of(who)), own)

    def with_news(self, entry: Entry) -> Entry:
        """Return ``entry`` with the commits and errors since the previous one. It does not wait."""
        key = entry.thread.key
        steps, errors = self.backlog.news(key)
        return replace(entry, waiting=self.backlog.waiting(key), steps=steps, errors=errors)

    def store(self, entry: Entry, decision: Sequence[Observation]) -> CommitJob:
        """Store the finished turn and claim it. From then on a crash does not lose it.

        If the same turn was finished before, for example by a graph node that runs again, the
        existing job is returned.
        """
        self.check_open()
        before = self.backlog.of(entry.thread.key, entry.state)
        begun = self._memory._normalize(entry.turn, entry.thread)
        whole = (*begun.observations, *self._memory._observed(decision))
        turn = begun.model_copy(update={"observations": whole})
        parent = entry.state
        if before is not None and before.is_over:
            parent, before = before.resulting_state(self._memory.settings.policy), None
        if before is None:
            session = self._memory._session(entry.thread)
            with session.locked_log(parent.branch):
                session.refuse_unknown(parent)
        # A state with a pending turn of this process is uncommitted but trusted.
        parent = parent.vouched()
        place = self._place(parent, before, turn, entry.thread)
        who = entry.thread
        with self._memory._locked_log(who) as log, self._memory._threads.intact(who):
            branch, numbered, *_ = log.begin(place, turn, is_given_up=self._is_given_up(who))
            if before is not None:  # the backlog knows what waits, and a commit claims it elsewhere
                log.claims.end(branch, numbered.number)
        if branch.name != place.branch:
            place = place.on_branch(branch.name)
        job = CommitJob(entry.thread, numbered, branch.name, place, before)
        known = self.backlog.of(job.thread.key, job.resulting_state(self._memory.settings.policy))
        return known or job

    def failed(self, job: CommitJob, error: BaseException) -> bool:
        """Report a failed commit to ``on_error``, or else to the next entry.

        Returns:
            Whether the following turns can be committed: only after a `PinnedOverflow`.
        """
        reported = False
        log_event(
            _LOG, logging.WARNING, "background_failed", "a turn could not be committed behind the agent",
            thread=job.thread.thread, key=job.thread.key, turn=job.turn.number, cause=cause(error),
        )  # fmt: skip
        if self._on_error is not None:
            try:
                self._on_error(job.thread, error)
                reported = True
            except Exception as broken:
                error.add_note(f"and on_error raised {type(broken).__name__}: {broken}")
        if isinstance(error, PinnedOverflow):
            self.backlog.refused(job, error)
            return True
        self.backlog.failed(job, error, reported=reported)
        return False

    def check_open(self) -> None:
        """Check that the memory is open.

        Raises:
            StoreError: It is closed.
        """
        if not self._is_open:
            raise StoreError(
                "the background memory is closed",
                where="BackgroundMemory",
                hint="begin and finish turns before it is closed",
            )

    def shut(self) -> None:
        """Refuse further turns."""
        self._is_open = False

    def tell(self) -> None:
        """Raise the first unreported error, with the others as notes."""
        errors = self.backlog.unreported()
        for other in errors[1:]:
            errors[0].add_note(f"and in another thread {type(other).__name__}: {other}")
        if errors:
            raise errors[0]

    def released(self) -> None:
        """Drop the check at exit, because the memory is closed and its errors are reported."""
        _OPEN.discard(self)

    def carrying(self, job: CommitJob) -> State:
        """Return the current state with ``job`` as its last turn."""
        state = signed(job.resulting_state(self._memory.settings.policy), self._memory._keys)
        self.backlog.know(state, job)
        return state

    def _is_given_up(self, who: Thread) -> Callable[[Branch, int], bool]:
        """Return whether nobody will commit a claimed turn of the thread, as a function of branch and turn."""
        has_no_commit = self._memory._session(who).is_given_up

        def is_given_up(branch: Branch, turn: int) -> bool:
            is_queued = self.backlog.has(who.key, branch.name, turn)
            return not is_queued and has_no_commit(branch, turn)

        return is_given_up

    def _place(self, state: State, before: CommitJob | None, turn: Turn, who: Thread) -> State:
        """The state under which the evidence of ``turn`` is stored; on a waiting branch while ``before`` waits.

        What other waiting branches hold for it, and nobody commits, is stored there, too.
        """
        with self._memory._locked_log(who) as log:
            place = state
            if before is not None and not before.is_over:
                place = waiting_place(log, state, turn, self._memory._now())
            left = left_waiting(log, place, lambda *at: self.backlog.has(who.key, *at))
        if left:
            self._memory._persist_decision(left, place, who)
        return place


_OPEN: set[BackgroundCore] = set()


@atexit.register
def _tell_at_exit() -> None:
    """Raise unreported errors at the end of the process, so they appear on stderr."""
    for entrance in list(_OPEN):
        entrance.tell()

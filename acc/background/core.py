"""What an entry and a finish do between two waits: the same for threads and for tasks."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from typing import NamedTuple

from acc.background.backlog import Backlog
from acc.background.entries import CommitJob, Entry, shown
from acc.background.waiting import carried, finished_after, waiting_place
from acc.errors import ConfigurationError, PinnedOverflow, StoreError
from acc.memory import Memory, whose
from acc.operators import with_operator_acts
from acc.pipeline.update import Stored
from acc.state.model import CompressedCognitiveState
from acc.state.signing import signed
from acc.stores.protocol import Thread
from acc.turn.observations import Observation
from acc.turn.turn import Turn

OnError = Callable[[Thread, BaseException], None]

State = CompressedCognitiveState


class Looked(NamedTuple):
    """What an entry found.

    Attributes:
        thread: Whose it is.
        state: The state it came with, or the committed one that this leads to.
        job: The last finished turn that the state carries.
        turn: What begins.
    """

    thread: Thread
    state: State
    job: CommitJob | None
    turn: Turn


class BackgroundCore:
    """The part of a background memory that waits for nothing but the store."""

    def __init__(
        self, memory: Memory, *, a_thread: int, in_all: int, on_error: OnError | None
    ) -> None:
        if a_thread < 1 or in_all < 1:
            raise ConfigurationError(
                f"a backlog of {a_thread} turns a thread, {in_all} in all",
                where="BackgroundMemory",
                hint="at least one finished turn has to have a place",
            )
        self._memory = memory
        self._on_error = on_error
        self.backlog = Backlog(a_thread, in_all)
        self._is_open = True
        _OPEN.add(self)

    def look(self, state: Stored, turn: Turn, thread: str | Thread) -> Looked:
        """Find what became of the turns that ``state`` carries."""
        self.check_open()
        who = whose(thread)
        turn = self._memory.normalize(turn, who)
        prior = self._memory.load(state)
        job = self.backlog.of(who.key, prior)
        if job is None:
            prior, jobs = carried(self._memory, who, prior)
            job = self.backlog.take_up(jobs)
        return Looked(who, prior, job, turn)

    def resumed(self, thread: str | Thread, first: Stored) -> State | None:
        """What `BackgroundMemory.last_state` documents."""
        self.check_open()
        who = whose(thread)
        job = self.backlog.last(who.key)
        last = self._memory.last_state(who)
        start = last if last is not None or first is None else self._memory.load(first)
        if job is None and self._memory.audit_of(who) is not None:
            base = start or self._memory.load(None)
            job = self.backlog.take_up(finished_after(self._memory, who, base))
        return start if job is None else self.carrying(job)

    def must_wait(self, key: str) -> bool:
        """Whether an entry has to see a failed commit through first (`BackgroundMemory.begin`)."""
        return self._on_error is None and self.backlog.stopped(key) is not None

    def enter(self, looked: Looked, *, strict: bool) -> Entry:
        """The entry. Evidence first: the words it begins with are stored.

        Raises:
            PinnedOverflow: The words of a turn before found no room; told once.
            BaseException: What stops the thread's commits, where ``strict``.
        """
        who, key = looked.thread, looked.thread.key
        if (refusal := self.backlog.refusal(key)) is not None:
            raise refusal
        failed = self.backlog.stopped(key)
        if strict and failed is not None and failed.error is not None:
            failed.is_told = True
            raise failed.error
        job, policy = looked.job, self._memory.settings.policy
        state = looked.state if job is None else self.carrying(job)
        if job is None or job.is_over:
            state = with_operator_acts(self._memory, state, who)
        place = self._place(state, job, looked.turn, who)
        self._memory.persist_decision(looked.turn.observations, place, who)
        steps, errors = self.backlog.news(key)
        return Entry(
            thread=who, state=state, turn=looked.turn, reads=shown(state, policy),
            waiting=self.backlog.waiting(key), steps=steps, errors=errors,
        )  # fmt: skip

    def store(self, entry: Entry, decision: Sequence[Observation]) -> CommitJob:
        """Store the finished turn and claim it: from here on a crash loses nothing of it.

        A turn that was finished before, as by a graph's node that is run again, is that one.
        """
        self.check_open()
        before = self.backlog.of(entry.thread.key, entry.state)
        begun = self._memory.normalize(entry.turn, entry.thread)
        whole = (*begun.observations, *self._memory.observed(decision))
        turn = begun.model_copy(update={"observations": whole})
        parent = entry.state
        if before is not None and before.is_over:
            parent, before = before.standing(self._memory.settings.policy), None
        if before is None:
            with self._memory.lock:
                self._memory.session(entry.thread).refuse_unknown(parent)
        # What carries a turn of this process is no commit yet, and no forgery.
        parent = parent.vouched()
        place = self._place(parent, before, turn, entry.thread)
        with self._memory.lock:
            branch, numbered, *_ = self._memory.log_of(entry.thread).begin(place, turn)
        if branch.name != place.branch:
            place = place.on_branch(branch.name)
        job = CommitJob(entry.thread, numbered, branch.name, place, before)
        known = self.backlog.of(job.thread.key, job.standing(self._memory.settings.policy))
        return known or job

    def failed(self, job: CommitJob, error: BaseException) -> bool:
        """A commit raised: whoever wants to be told of it is told, or the next entry.

        Returns:
            Whether the turns behind it can be committed: where its words found no room.
        """
        told = False
        if self._on_error is not None:
            try:
                self._on_error(job.thread, error)
                told = True
            except Exception as broken:
                error.add_note(f"and on_error raised {type(broken).__name__}: {broken}")
        if isinstance(error, PinnedOverflow):
            self.backlog.refused(job, error)
            return True
        self.backlog.failed(job, error, told=told)
        return False

    def check_open(self) -> None:
        """Hold callers to an open memory.

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
        """Take nothing more in."""
        self._is_open = False

    def tell(self) -> None:
        """Raise what nobody was told of, the first with the others noted on it."""
        errors = self.backlog.untold()
        for other in errors[1:]:
            errors[0].add_note(f"and in another thread {type(other).__name__}: {other}")
        if errors:
            raise errors[0]

    def released(self) -> None:
        """Closed, and everything told."""
        _OPEN.discard(self)

    def carrying(self, job: CommitJob) -> State:
        """The state that carries ``job`` as its last turn, as things stand."""
        state = signed(job.standing(self._memory.settings.policy), self._memory.keys)
        self.backlog.know(state, job)
        return state

    def _place(self, state: State, before: CommitJob | None, turn: Turn, who: Thread) -> State:
        """Where the evidence of the turn after ``state`` belongs, as long as ``before`` is not committed."""
        if before is None or before.is_over:
            return state
        with self._memory.lock:
            return waiting_place(self._memory.log_of(who), state, turn, self._memory.now())


_OPEN: set[BackgroundCore] = set()


@atexit.register
def _tell_at_exit() -> None:
    """What a process ends with untold is told on its stderr."""
    for entrance in list(_OPEN):
        entrance.tell()

"""Queues of finished turns, one per thread, and their commit status. No I/O; thread-safe."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from acc.background.entries import CommitJob, State
from acc.errors import PinnedOverflow
from acc.pipeline.turn_pipeline import Step

MOST_KNOWN = 512
"""Maximum number of remembered states after their turns are committed. The audit log has the older ones."""


class _Lane:
    """The finished but uncommitted turns of one thread."""

    def __init__(self) -> None:
        self.jobs: deque[CommitJob] = deque()
        self.is_running = False
        self.idle: Future[None] = Future()


class Backlog:
    """The lanes of all threads, and the states returned to callers while their turns wait.

    Args:
        a_thread: Maximum number of finished turns of one thread.
        in_all: Maximum number of finished turns in all lanes with a worker.
    """

    def __init__(self, a_thread: int, in_all: int) -> None:
        self._a_thread = a_thread
        self._in_all = in_all
        self._lock = Lock()
        self._lanes: dict[str, _Lane] = {}
        self._known: OrderedDict[tuple[str, str], CommitJob] = OrderedDict()
        self._steps: OrderedDict[str, deque[Step]] = OrderedDict()
        self._mended: dict[str, list[BaseException]] = {}
        self._refused: dict[str, deque[PinnedOverflow]] = {}

    def of(self, key: str, state: State) -> CommitJob | None:
        """Return the last finished turn that is pending in ``state``, if known.

        The thread's ``key`` belongs to it: two threads that begin with the same words have equal states.
        """
        with self._lock:
            return self._known.get((key, state.hash))

    def has(self, key: str, branch: str, number: int) -> bool:
        """Return whether the finished turn ``number`` of ``branch`` is queued or was committed here."""
        with self._lock:
            lane = self._lanes.get(key)
            over = (job for (name, _), job in self._known.items() if name == key and job.is_over)
            jobs = [*(lane.jobs if lane is not None else ()), *over]
            return any((job.branch, job.turn.number) == (branch, number) for job in jobs)

    def know(self, state: State, job: CommitJob) -> None:
        """Record that ``job`` is the last turn pending in ``state``."""
        with self._lock:
            self._known[job.thread.key, state.hash] = job
            self._forget()

    def offer(self, job: CommitJob) -> Future[None] | None:
        """Queue ``job`` once. Return None; without room, a future to wait for before the next try.

        Raises:
            BaseException: There is no room because a commit of the thread failed; this is its error.
        """
        with self._lock:
            if job.is_over:
                return None
            lane = self._lanes.setdefault(job.thread.key, _Lane())
            head = lane.jobs[0] if lane.jobs else None
            if job in lane.jobs:
                return None
            if head is not None and len(lane.jobs) >= self._a_thread:
                if head.error is not None and not lane.is_running:
                    head.is_reported = True
                    raise head.error
                return head.ended
            busy = [each for each in self._lanes.values() if each.is_running and each.jobs]
            if sum(len(each.jobs) for each in busy) >= self._in_all:
                return busy[0].jobs[0].ended
            lane.jobs.append(job)
            return None

    def take_up(self, jobs: Sequence[CommitJob]) -> CommitJob | None:
        """Queue turns that another process finished, unless they are queued; return the last one."""
        last = None
        for job in jobs:
            with self._lock:
                lane = self._lanes.setdefault(job.thread.key, _Lane())
                place = (job.branch, job.turn.number)
                known = (j for j in lane.jobs if (j.branch, j.turn.number) == place)
                queued = next(known, None)
                if queued is None:
                    job.before = last if last is not None and last.step is None else None
                    if not job.is_refused:
                        lane.jobs.append(job)
                last = queued or job
        return last

    def last(self, key: str) -> CommitJob | None:
        """Return the latest finished but uncommitted turn of a thread."""
        with self._lock:
            lane = self._lanes.get(key)
            return lane.jobs[-1] if lane is not None and lane.jobs else None

    def start(self, key: str) -> bool:
        """Claim a thread's lane for work; a failed commit at its head is retried.

        Returns:
            Whether the caller must work on the lane: it has turns and no worker.
        """
        with self._lock:
            lane = self._lanes.get(key)
            if lane is None or lane.is_running or not lane.jobs:
                return False
            head = lane.jobs[0]
            if head.error is not None:
                if not head.is_reported:
                    self._mended.setdefault(key, []).append(head.error)
                head.error, head.is_reported, head.ended = None, False, Future()
            lane.is_running, lane.idle = True, Future()
            return True

    def next(self, key: str) -> CommitJob | None:
        """Return the turn to commit now. Return None and release the lane if there is none."""
        with self._lock:
            lane = self._lanes[key]
            if lane.jobs:
                return lane.jobs[0]
            self._stop(lane)
            del self._lanes[key]
            return None

    def done(self, job: CommitJob, step: Step) -> None:
        """Record that ``job`` is committed."""
        with self._lock:
            self._lanes[job.thread.key].jobs.popleft()
            job.step, job.before = step, None
            self._steps.setdefault(job.thread.key, deque(maxlen=self._a_thread)).append(step)
            self._steps.move_to_end(job.thread.key)
            if len(self._steps) > MOST_KNOWN:
                self._steps.popitem(last=False)
            self._forget()
        job.ended.set_result(None)

    def refused(self, job: CommitJob, error: PinnedOverflow) -> None:
        """Record that the rules of ``job`` did not fit; the next turn continues from the state before."""
        with self._lock:
            self._lanes[job.thread.key].jobs.popleft()
            job.parent, job.before, job.is_refused = job.prior, None, True
            self._refused.setdefault(job.thread.key, deque(maxlen=self._a_thread)).append(error)
        job.ended.set_result(None)

    def refusal(self, key: str) -> PinnedOverflow | None:
        """Return and remove the oldest unreported refusal of a thread."""
        with self._lock:
            waiting = self._refused.get(key)
            found = waiting.popleft() if waiting else None
            if not waiting:
                self._refused.pop(key, None)
            return found

    def failed(self, job: CommitJob, error: BaseException, *, reported: bool) -> None:
        """Record that the commit of ``job`` raised ``error``; the lane waits for the next `start`."""
        with self._lock:
            job.error, job.is_reported = error, reported
            self._stop(self._lanes[job.thread.key])
        job.ended.set_result(None)

    def interrupted(self, key: str) -> None:
        """Release a lane after its worker disappeared."""
        with self._lock:
            lane = self._lanes.get(key)
            if lane is not None and lane.is_running:
                self._stop(lane)

    def stopped(self, key: str) -> CommitJob | None:
        """Return the turn whose failed commit stopped the lane, if any."""
        with self._lock:
            lane = self._lanes.get(key)
            head = lane.jobs[0] if lane is not None and lane.jobs else None
            return head if head is not None and head.error is not None else None

    def waiting(self, key: str) -> int:
        """Return the number of finished but uncommitted turns of a thread."""
        with self._lock:
            lane = self._lanes.get(key)
            return len(lane.jobs) if lane is not None else 0

    def working(self, key: str = "") -> list[Future[None]]:
        """Return a future for each lane in progress, of one thread or of all, done when it stops."""
        with self._lock:
            return [
                lane.idle
                for name, lane in self._lanes.items()
                if lane.is_running and key in ("", name)
            ]

    def ready(self, key: str = "") -> list[str]:
        """Return the threads (or only ``key``) with turns, but no worker and no failed commit."""
        with self._lock:
            return [
                name
                for name, lane in self._lanes.items()
                if lane.jobs
                and key in ("", name)
                and not (lane.is_running or lane.jobs[0].error is not None)
            ]

    def unfinished(self, key: str = "") -> bool:
        """Whether there are uncommitted turns, of one thread or of any."""
        with self._lock:
            return any(lane.jobs for name, lane in self._lanes.items() if key in ("", name))

    def unreported(self) -> list[BaseException]:
        """Return all unreported errors and mark them as reported."""
        with self._lock:
            heads = [lane.jobs[0] for lane in self._lanes.values() if lane.jobs]
            errors = [error for mended in self._mended.values() for error in mended]
            errors += [error for refused in self._refused.values() for error in refused]
            self._mended.clear()
            self._refused.clear()
            for head in heads:
                if head.error is not None and not head.is_reported:
                    head.is_reported = True
                    errors.append(head.error)
            return errors

    def news(self, key: str) -> tuple[tuple[Step, ...], tuple[BaseException, ...]]:
        """Return a thread's commits, and its errors that a retry corrected, since the last call."""
        with self._lock:
            return tuple(self._steps.pop(key, ())), tuple(self._mended.pop(key, ()))

    def _stop(self, lane: _Lane) -> None:
        lane.is_running = False
        lane.idle.set_result(None)

    def _forget(self) -> None:
        """Remove the oldest states whose turns are committed."""
        excess = len(self._known) - MOST_KNOWN
        old = [key for key, job in self._known.items() if job.is_over] if excess > 0 else []
        for key in old[:excess]:
            del self._known[key]

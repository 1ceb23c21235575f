"""Compress what waits in a thread's tail: at once, and behind the agent by workers."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, TypeVar

from acc.commit.commit import Commit, commit
from acc.controller.settings import Parts
from acc.driving import Doing, perform
from acc.errors import ConflictError
from acc.journal import Latest, ThreadKey
from acc.logs import code, log_event
from acc.state.model import CompressedCognitiveState
from acc.state.tail import marked
from acc.step.step import Step
from acc.step.stepping import stepping
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

WORKERS = 4
"""Threads that compress behind the agent at the same time."""

_LOG = logging.getLogger(__name__)


def compressing(parts: Parts[S], key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
    """Compress what waits in a thread's tail; return None if nothing does.

    Before a hand-over to another agent, a shared write, the end of a session. If a turn is committed meanwhile, and
    nothing else was compressed, the result is committed anew on it. Else it is dropped: the tail still has the words.

    Raises:
        ConflictError: Something else was compressed meanwhile.
    """
    latest: Latest[S] = yield parts.latest(key, branch)
    state = latest.state
    if state is None or all(entry.status == "read" for entry in state.unread):
        return None
    nothing = Turn(observations=()).numbered(state.turn)
    step: Step[S] = yield from stepping(parts.memory, state, nothing, texts=latest.tail, force=True)
    while True:
        try:
            yield parts.committing(latest.head, parts.entries(step))
        except ConflictError:
            earlier, latest = latest, (yield parts.latest(key, branch))
            if not _only_turns_since(earlier, latest):
                raise
            step = _rebased(step, latest)
        else:
            return step


def _only_turns_since(earlier: Latest[S], latest: Latest[S]) -> bool:
    """Whether nothing changed since but the tail, at its end."""
    before, after = earlier.state, latest.state
    if before is None or after is None or earlier.head.epoch != latest.head.epoch:
        return False
    is_same = list(before.items()) == list(after.items()) and before.gone == after.gone
    return is_same and after.unread[: len(before.unread)] == before.unread


def _rebased(step: Step[S], latest: Latest[S]) -> Step[S]:
    """Commit what a step proposed anew on a state that has a longer tail."""
    state: Any = latest.state
    commits: list[Commit[S]] = []
    for each in step.commits:
        commits.append(commit(state, step.policy, replace(each.given, number=state.turn)))
        state = commits[-1].state
    tail = marked(state.unread, latest.tail)
    return replace(step, state=state, tail=tail, commits=tuple(commits))


class Behind:
    """Compresses threads behind their steps, each by one worker at a time.

    The next step adopts what a worker committed; until then the tail carries the agent. If the worker fails, or
    something else was compressed meanwhile, nothing is lost: the words are still in the tail.

    Args:
        parts: The memory, with the cadence that says when to compress.

    Attributes:
        patient: The memory as its steps use it: they ask no model before the tail is full.
    """

    def __init__(self, parts: Parts[Any]) -> None:
        self._parts, memory = parts, parts.memory
        cadence = replace(memory.cadence, compress_over=memory.cadence.tail_bound)
        self.patient = replace(parts, memory=replace(memory, cadence=cadence))
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="acc-behind")
        self._running: dict[tuple[ThreadKey, str], Future[None]] = {}
        self._lock = threading.Lock()

    def stepped(self, key: ThreadKey, step: Step[Any]) -> None:
        """Learn of a step; begin to compress if enough waits."""
        waiting = sum(entry.tokens for entry in step.state.unread if entry.status == "unread")
        if waiting <= self._parts.memory.cadence.compress_over:
            return
        place = (key, step.state.branch)
        with self._lock:
            self._running = {p: each for p, each in self._running.items() if not each.done()}
            if place not in self._running:
                self._running[place] = self._pool.submit(self._compress, *place)

    def _compress(self, key: ThreadKey, branch: str) -> None:
        try:
            step: Step[Any] | None = perform(compressing(self._parts, key, branch))
            failure = step.failure.partition(":")[0] if step is not None else ""
        except ConflictError:
            failure = "overtaken"
        except Exception as error:  # a worker has nobody above it who could be told
            failure = type(error).__name__
        if failure:
            log_event(
                _LOG, logging.WARNING, "behind", "a compression behind the agent came to nothing",
                thread=key.thread, outcome=code(failure),
            )  # fmt: skip

    def settle(self, key: ThreadKey | None = None, timeout: float | None = None) -> bool:
        """Wait until what runs for a thread, or for all, has ended; return False if the time was over."""
        with self._lock:
            running = [each for (of, _), each in self._running.items() if key in (None, of)]
        return not wait(running, timeout).not_done

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)

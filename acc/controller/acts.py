"""What is done beside a step: record words, compress what waits, and the operator's acts: retire, withdraw.

What waits in a tail is compressed at a flush, or behind the agent: a worker asks the model after a step, and the next
step adopts what it committed. Until then the tail carries the agent. If the worker fails, or something else was
compressed meanwhile, nothing is lost: the words are still in the tail, and the next step has them compressed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from acc.commit.commit import Commit, commit
from acc.controller.settings import Parts
from acc.driving import Doing, Io, perform
from acc.errors import ConflictError, InputError
from acc.journal import Entry, Latest, ThreadKey
from acc.journal.names import MAIN, Head
from acc.logs import code, log_event
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.tail import marked, messages_of
from acc.step.step import Memory, Step
from acc.step.stepping import stepping
from acc.turn.observations import Observation, as_observations
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

WORKERS = 4
"""Threads that compress behind the agent at the same time."""

_LOG = logging.getLogger(__name__)


def recording(
    parts: Parts[S], observations: Sequence[Observation], state: S | None, key: ThreadKey
) -> Doing[bool]:
    """Append what the agent said, called and got, as soon as it exists. The next step commits it.

    What is there already is not appended again. If the thread has gone on from ``state``, nothing is appended, and
    False is returned: the next step from ``state`` has to bring the words along.
    """
    branch = state.branch if state is not None else MAIN
    latest: Latest[S] = yield parts.latest(key, branch)
    head = latest.head
    if state is not None and state.version and not (yield from _is_newest(parts, state, head)):
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "the thread went on from the state: its next step has to bring the words along",
            thread=key.thread, version=state.version,
        )  # fmt: skip
        return False
    waiting = latest.waiting.messages
    given = parts.clean(Turn(observations=as_observations(observations, "record")), "record")
    there = {message.observation.identity for message in waiting}
    new = [each for each in given.observations if each.identity not in there]
    if not new:
        return True
    said = tuple(message.observation for message in waiting)
    number = (latest.state.turn if latest.state is not None else 0) + 1
    whole = Turn(observations=(*said, *new), at=given.at).numbered(number)
    messages = messages_of(whole)[len(said) :]
    where: dict[str, Any] = {"follows": head.hash, "branch": branch, "is_record": True}
    yield Io(lambda: parts.journal.append(key, messages, **where))
    return True


def _is_newest(parts: Parts[S], state: CompressedCognitiveState, head: Head) -> Doing[bool]:
    """Whether a state is that of its branch's head, or what was committed since took no message."""
    if head.hash == state.hash:
        return True
    held: Head | None = yield Io(lambda: parts.journal.commit_with(head.thread, state.hash))
    if held is None:
        return False
    adopted: Head = yield Io(lambda: parts.journal.without_news(held))
    return adopted.hash == head.hash


def operators_act(record: Any) -> Any:
    """Return the proposal of a commit's record if the operator made it; None if not."""
    proposal = ((record or {}).get("given") or {}).get("proposal")
    return proposal if proposal and proposal.get("author") == "operator" else None


def retiring(
    parts: Parts[S], key: ThreadKey, branch: str, words: Collection[tuple[str, str]], reason: str
) -> Doing[Commit[S] | None]:
    """Commit that the operator retires items of a branch's head; return None if it holds none of them.

    ``words``: slot and text of each item. Ids are given anew on each branch.
    """
    latest: Latest[S] = yield parts.latest(key, branch)
    state = latest.state
    items = state.items() if state is not None else ()
    there = tuple(item.id for slot, item in items if (slot.name, item.text_of) in words)
    if state is None or not there:
        return None
    done = commit(state, parts.memory.policy, proposal=Proposal(drop=there, author="operator"))
    yield parts.committing(latest.head, [Entry(done, parts.memory.policy, outcome=reason)])
    return done


def retiring_everywhere(
    parts: Parts[S], ids: Sequence[str], reason: str, state: S | None, key: ThreadKey
) -> Doing[Step[S]]:
    """Retire items as the operator, on every branch of the thread that holds them.

    The ids are those of the state's branch, or else of the main one. What became of it is returned.

    Raises:
        InputError: The branch does not hold one of the items. Nothing was retired.
    """
    own = state.branch if state is not None else MAIN
    latest: Latest[S] = yield parts.latest(key, own)
    found = {each: latest.state.find(each) if latest.state else None for each in ids}
    if missing := [each for each, item in found.items() if item is None]:
        raise InputError(
            f"there is no item {', '.join(missing) or '(none was named)'}",
            where=f"{key}, branch {own}",
            hint="acc show lists the items with their ids",
        )
    words = {(slot.name, item.text_of) for slot, item in filter(None, found.values())}
    reason = parts.redact(reason) if parts.redact is not None else reason
    heads: tuple[Head, ...] = yield Io(lambda: parts.journal.branches(key))
    for head in heads:
        if head.branch != own:
            yield from retiring(parts, key, head.branch, words, reason)
    made = yield from retiring(parts, key, own, words, reason)  # last: a repeated act finds it
    latest = yield parts.latest(key, own)
    assert latest.state is not None
    return parts.step(latest.state, latest.tail, [made] if made is not None else [])


def withdrawing(
    parts: Parts[S], refs: Sequence[str], reason: str, key: ThreadKey, branch: str
) -> Doing[Step[S]]:
    """Withdraw messages: nothing in the state of a branch rests on them any more. Their rows stay in the journal.

    Raises:
        InputError: The branch has no state.
    """
    latest: Latest[S] = yield parts.latest(key, branch)
    if latest.state is None:
        raise InputError(
            "there is nothing to withdraw from", where=f"{key}, branch {branch}",
            hint="name the thread as its steps do",
        )  # fmt: skip
    done = commit(latest.state, parts.memory.policy, withdrawn=refs)
    if not done.notes and done.state.unread == latest.state.unread:
        return parts.step(latest.state, latest.tail)
    yield parts.committing(latest.head, [Entry(done, parts.memory.policy, outcome=reason)])
    latest = yield parts.latest(key, branch)
    return parts.step(done.state, latest.tail, [done])


def flushing(parts: Parts[S], key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
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
        given = {**vars(each.given), "number": state.turn}
        commits.append(commit(state, step.policy, **given))
        state = commits[-1].state
    tail = marked(state.unread, latest.tail)
    return replace(step, state=state, tail=tail, commits=tuple(commits))


def patient(memory: Memory[S]) -> Memory[S]:
    """Return who compresses, with a cadence that asks no model before the tail is full."""
    cadence = memory.cadence
    return replace(memory, cadence=replace(cadence, compress_over=cadence.tail_bound))


class Behind:
    """Compresses threads behind their steps, each by one worker at a time.

    Args:
        parts: The memory, with the cadence that says when to compress.
    """

    def __init__(self, parts: Parts[Any]) -> None:
        self._parts = parts
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
            running = self._running.get(place)
            if running is None or running.done():
                self._running[place] = self._pool.submit(self._compress, *place)

    def _compress(self, key: ThreadKey, branch: str) -> None:
        try:
            step: Step[Any] | None = perform(flushing(self._parts, key, branch))
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
        try:
            for each in running:
                each.result(timeout)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)

"""What is told of steps: the protocol of observers, such as OpenTelemetry, and the log.

with watching(observer, thread, policy) as watch:
    with watch.stage("recall") as told:
        told.result = recall()
    ...
    watch.ends(step)

The log has one line a step at INFO, with its sizes and the number of notes of each reason; and one for a step that
raised. At WARNING it has each compression that failed, each overflow, and words that left the tail unread. Lines and
facts are ids, counts and codes, never words.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Protocol

from acc.errors import ConflictError
from acc.journal.names import ThreadKey
from acc.logs import CONVERSATION, cause, code, log_event
from acc.state.policy import Policy
from acc.state.reasons import REFUSED, Reason
from acc.state.render import render
from acc.step.result import Step

_LOG = logging.getLogger(__name__)

Stage = Literal["store", "recall", "qualify", "compress", "commit", "persist"]


class StepObserver(Protocol):
    """Observes one step. Stages do not overlap; one may come several times, or not at all."""

    def stage_begins(self, stage: Stage) -> None:
        """Learn that a stage begins, in the context of the step."""

    def stage_ends(
        self, stage: Stage, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """Learn how a stage ended.

        Args:
            stage: ``store``: the turn enters the journal. ``recall``, ``qualify``: evidence is found and admitted.
                ``compress``: a model is asked; once for each request, be it a repair or a second reading. ``commit``:
                states are made, also by a compressor that asks no model. ``persist``: the commits enter the journal.
            seconds: How long it took.
            result: Of store the `Turn`, of recall the `Candidate`s, of qualify the `Evidence` with the `Verdict`s, of
                compress the `Completion`; otherwise, and after an error, None.
            error: What it raised, if anything.
        """

    def ends(self, step: Step[Any] | None, error: BaseException | None) -> None:
        """Learn how the step ended: with its result, with the error that it raised, or unfinished with neither.

        Rules without room (`PinnedOverflow`) are told as a step with ``no_room``: everything else was committed.
        """


class Observer(Protocol):
    """Observes the steps of a memory (`Settings.telemetry`)."""

    def begins(self, thread: ThreadKey, policy: Policy) -> StepObserver:
        """Return what observes one step of ``thread``. It is called in the context of the step's caller."""
        ...


class Named(NamedTuple):
    """A thread in log lines and spans: its name, and a digest that tells it from those of other users."""

    thread: str
    key: str

    @classmethod
    def of(cls, thread: ThreadKey, policy: Policy) -> Named:
        """Return the names of a thread. The digest is the one by which the journal knows a deleted thread."""
        return cls(thread.thread, thread.digest(policy.digest_key))


class Watch:
    """Tells of one step: an observer, and the log. `watching` makes it."""

    def __init__(self, observer: Observer | None, thread: ThreadKey, policy: Policy) -> None:
        self._ms: Counter[str] = Counter()
        self._is_over = self._has_failed = False
        self._observer: Any = observer
        self._observer = self._tell("begins", thread, policy)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[SimpleNamespace]:
        """Tell of a stage that runs in the block; the block sets ``result``. A computation may return in it."""
        told, begun = SimpleNamespace(result=None), perf_counter()
        failed: BaseException | None = None
        self._tell("stage_begins", stage)
        try:
            yield told
        except StopIteration:
            raise
        except BaseException as error:
            failed = error
            raise
        finally:
            seconds, result = perf_counter() - begun, None if failed else told.result
            self._ms[stage] += round(1000 * seconds)
            self._tell("stage_ends", stage, seconds, result, failed)

    def ends(self, step: Step[Any] | None, error: BaseException | None = None) -> None:
        """See `StepObserver.ends`. Only the first call counts."""
        if self._is_over:
            return
        self._is_over = True
        self._tell("ends", step, error)
        if error is not None:
            _log_error(error)
        if step is not None:
            _log_step(step, self._ms)

    def _tell(self, call: str, *what: Any) -> Any:
        """Call the observer; one that raises is told of the step's end alone."""
        if self._observer is None or (self._has_failed and call != "ends"):
            return None
        try:
            return getattr(self._observer, call)(*what)
        except Exception as error:
            if not self._has_failed:
                log_event(
                    _LOG, logging.WARNING, "telemetry_failed", "an observer raises; the step goes on without it",
                    observer=type(self._observer).__name__, cause=cause(error),
                )  # fmt: skip
            self._has_failed = True
            return None


@contextmanager
def watching(observer: Observer | None, thread: ThreadKey, policy: Policy) -> Iterator[Watch]:
    """Yield the `Watch` of a step, and name its thread in the log. Errors are told here, results by the caller."""
    outer = CONVERSATION.set(Named.of(thread, policy)._asdict())
    try:
        watch = Watch(observer, thread, policy)
        try:
            yield watch
        except BaseException as error:
            watch.ends(None, error)
            raise
        watch.ends(None)
    finally:
        with suppress(ValueError):  # another context closes a coroutine that was left
            CONVERSATION.reset(outer)


def facts(step: Step[Any]) -> dict[str, Any]:
    """Return the facts of a step by name. Each is an attribute ``acc.NAME`` of its span."""
    state, policy = step.state, step.policy
    tokens = policy.counter(render(state, policy.style))
    reasons = [note.reason for note in step.notes]
    return {
        "turn": state.turn,
        "branch": state.branch,
        "state.hash": state.hash,
        "state.tokens": tokens,
        "budget.tokens": policy.max_tokens,
        "budget.share": round(tokens / policy.max_tokens, 4),
        "pinned.share": _pinned_share(step),
        "tail.messages": len(state.unread),
        "tail.tokens": sum(entry.tokens for entry in state.unread),
        "outcome": _outcome(step),
        "requests": step.usage.requests,
        "candidates": len(step.verdicts),
        "admitted": sum(verdict.reason == "admitted" for verdict in step.verdicts),
        "refused": sum(reason in REFUSED for reason in reasons),
        "evicted": reasons.count(Reason.EVICTED),
        "warnings": len(step.warnings),
    }


def _outcome(step: Step[Any]) -> str:
    """Return ``compressed``; ``kept`` if the turn only joined the tail; or the code of the compressor's failure."""
    if step.failure:
        return code(step.failure.partition(":")[0])
    is_compressed = any(each.given.proposal is not None for each in step.commits)
    return "compressed" if is_compressed else "kept"


def _pinned_share(step: Step[Any]) -> float:
    """Return how full rules and goals are: their tokens, or, if more, a slot's places. At 1 the next one overflows."""
    state, policy = step.state, step.policy
    slots = [slot for slot in state.slots().values() if slot.is_pinned]
    own = {slot.name: getattr(state, slot.name) for slot in slots}
    tokens = policy.counter(render(type(state)(**own), policy.style)) if any(own.values()) else 0
    places = [len(own[slot.name]) / slot.rules.places for slot in slots]
    share: float = max(tokens / policy.pinned_tokens, *places)
    return round(share, 4)


def _log_step(step: Step[Any], ms: Mapping[str, int]) -> None:
    """Write the line of a step that ended, and those of what an operator should look at.

    A failure's words may quote what was said, so a line has its code alone.
    """
    turn, reasons = step.state.turn, Counter(note.reason for note in step.notes)
    if step.failure:
        outcome = _outcome(step)
        log_event(
            _LOG, logging.ERROR if outcome == "key_refused" else logging.WARNING, "compression_failed",
            "the compressor failed, and its messages stay in the tail", turn=turn, outcome=outcome,
            provisional=any(each.given.is_provisional for each in step.commits),
            unread=sum(entry.status == "unread" for entry in step.state.unread),
        )  # fmt: skip
    if step.no_room:
        log_event(
            _LOG, logging.WARNING, "overflow", "rules or goals found no room", turn=turn,
            refs=step.no_room, limit=step.policy.pinned_tokens,
        )  # fmt: skip
    if unread := reasons[Reason.GIVEN_UP] + reasons[Reason.MISSING]:
        log_event(
            _LOG, logging.WARNING, "unread", "words left the tail that no compressor has read",
            turn=turn, count=unread,
        )  # fmt: skip
    if _LOG.isEnabledFor(logging.INFO):
        log_event(
            _LOG, logging.INFO, "step", "a step ended", **facts(step),
            reasons=[f"{reason.value}:{count}" for reason, count in reasons.items()],
            ms=[f"{stage}:{each}" for stage, each in ms.items()],
        )  # fmt: skip


def _log_error(error: BaseException) -> None:
    """Write the line of a step that raised. The caller has the error, so it is no warning."""
    if isinstance(error, ConflictError):
        event, what = "conflict", "another step of the thread has committed"
    elif isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt):
        event, what = "cancelled", "a step was cancelled; the next one takes its words up"
    else:
        event, what = "failed", "a step failed"
    log_event(_LOG, logging.INFO, event, what, cause=cause(error))

"""The protocol between a step and what observes it. The log and OpenTelemetry are two observers.

with observers.watching(thread, policy) as watch:
    with watch.stage("recall") as told:
        told.result = recall()
    ...
    watch.ends(step)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any, Literal, NamedTuple, Protocol

from acc.journal.names import ThreadKey
from acc.logs import CONVERSATION, cause, log_event
from acc.state.policy import Policy
from acc.step.step import Step

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


class Told:
    """What a stage tells at its end."""

    result: Any = None


class Watch:
    """Tells the observers of one step. An observer that raises is logged once, and stops no step."""

    def __init__(self, observers: Observers, thread: ThreadKey, policy: Policy) -> None:
        self._observers = observers
        begun = [(each, observers.told(each, each, "begins", thread, policy)) for each in observers]
        self._each = [(observer, one) for observer, one in begun if one is not None]

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[Told]:
        """Tell of a stage that runs in the block; the block sets ``result``. A computation may return in it."""
        told, begun = Told(), perf_counter()
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
            result = None if failed else told.result
            self._tell("stage_ends", stage, perf_counter() - begun, result, failed)

    def ends(self, step: Step[Any] | None, error: BaseException | None = None) -> None:
        """See `StepObserver.ends`. Only the first call counts."""
        self._tell("ends", step, error)
        self._each = []

    def _tell(self, call: str, *what: Any) -> None:
        for observer, each in self._each:
            self._observers.told(observer, each, call, *what)


class Observers:
    """The observers of a memory's steps."""

    def __init__(self, *each: Observer) -> None:
        self._each = each
        self._failed: list[Observer] = []

    def __iter__(self) -> Iterator[Observer]:
        return iter(self._each)

    @contextmanager
    def watching(self, thread: ThreadKey, policy: Policy) -> Iterator[Watch]:
        """Yield the `Watch` of a step, and name its thread in the log. Errors are told here, results by the caller."""
        outer = CONVERSATION.set(Named.of(thread, policy)._asdict())
        try:
            watch = Watch(self, thread, policy)
            try:
                yield watch
            except BaseException as error:
                watch.ends(None, error)
                raise
            watch.ends(None)
        finally:
            with suppress(ValueError):  # another context closes a coroutine that was left
                CONVERSATION.reset(outer)

    def told(self, observer: Observer, one: Any, call: str, *what: Any) -> Any:
        """Return the result of a call of ``one``; None if it raises, which the log says once for each observer."""
        try:
            return getattr(one, call)(*what)
        except Exception as error:
            if not any(each is observer for each in self._failed):
                self._failed.append(observer)
                log_event(
                    _LOG, logging.WARNING, "telemetry_failed",
                    "an observer of steps raises; its errors are not logged again, and steps go on",
                    observer=type(observer).__name__, cause=cause(error),
                )  # fmt: skip
            return None

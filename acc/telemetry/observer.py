"""The protocol between a step and what observes it. The log and OpenTelemetry are two observers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from acc.logs import CONVERSATION, cause, log_event
from acc.state.policy import Policy
from acc.stores.protocol import Thread

if TYPE_CHECKING:
    from acc.pipeline.turn_pipeline import Step

_LOG = logging.getLogger(__name__)


class StepObserver(Protocol):
    """Observes one step. Stages run one after another, each on any thread, in a copy of the caller's context."""

    def stage_begins(self, stage: str) -> None:
        """Learn that a stage begins: store, recall, qualify, compress, commit or persist."""

    def stage_ends(
        self, stage: str, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """Learn how a stage ended.

        Args:
            stage: Its name.
            seconds: How long it took.
            result: The `Turn` that was stored; the list of `Candidate`; the list of `Verdict` with the list of
                `Evidence`; the `CompressionResult`; the `Commit`. None after persist and after an error.
            error: What it raised, if anything.
        """

    def ends(self, step: Step | None, error: BaseException | None) -> None:
        """Learn how the step ended: with its result, with the error that it raised, or unfinished with neither."""


class Observer(Protocol):
    """Observes the steps of a memory (`Settings.telemetry`)."""

    def begins(self, thread: Thread, policy: Policy) -> StepObserver:
        """Return what observes one step of ``thread``. It is called in the context of the step's caller."""


class Watch:
    """Tells the observers of one step. An observer that raises is logged once, and stops no step."""

    def __init__(self, observers: Observers, thread: Thread, policy: Policy) -> None:
        self._observers = observers
        self._each: list[tuple[Observer, StepObserver]] = []
        for observer in observers.each:
            begun = observers.told(observer, observer, "begins", thread, policy)
            if begun is not None:
                self._each.append((observer, begun))

    def stage_begins(self, stage: str) -> None:
        """See `StepObserver.stage_begins`."""
        for observer, each in self._each:
            self._observers.told(observer, each, "stage_begins", stage)

    def stage_ends(
        self, stage: str, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """See `StepObserver.stage_ends`."""
        for observer, each in self._each:
            self._observers.told(observer, each, "stage_ends", stage, seconds, result, error)

    def ends(self, step: Step | None, error: BaseException | None = None) -> None:
        """See `StepObserver.ends`."""
        for observer, each in self._each:
            self._observers.told(observer, each, "ends", step, error)


class Observers:
    """The observers of a memory's steps."""

    def __init__(self, *each: Observer) -> None:
        self.each = each
        self._failed: set[int] = set()

    @contextmanager
    def watching(self, thread: Thread, policy: Policy) -> Iterator[Watch]:
        """Yield the `Watch` of a step, and name its thread in the log. Errors are told here, results by the caller."""
        outer = CONVERSATION.set(thread)
        try:
            watch = Watch(self, thread, policy)
            try:
                yield watch
            except BaseException as error:
                watch.ends(None, error)
                raise
        finally:
            with suppress(ValueError):  # another context closes a coroutine that was left
                CONVERSATION.reset(outer)

    def told(self, observer: Observer, one: Any, call: str, *what: Any) -> Any:
        """Return the result of a call of ``one``; None if it raises, which the log says once for each observer."""
        try:
            return getattr(one, call)(*what)
        except Exception as error:
            if id(observer) not in self._failed:
                self._failed.add(id(observer))
                log_event(
                    _LOG, logging.WARNING, "telemetry_failed",
                    "an observer of steps raises; its errors are not logged again, and steps go on",
                    observer=type(observer).__name__, cause=cause(error),
                )  # fmt: skip
            return None

"""Log lines of steps: the one place that turns a step, a compression and a commit into lines.

One line a step at DEBUG. At INFO or WARNING one line for each reason with which something was refused, evicted,
set aside, lowered or repaired, and for each compression that failed, turn that was taken up, and step that raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from acc.commit.commit import Commit
from acc.compress.fallback import CompressionResult
from acc.errors import ConflictError, PinnedOverflow
from acc.logs import cause, code, log_event
from acc.state.policy import Policy
from acc.state.proposal import Outcome
from acc.state.reasons import EVICTIONS, REFUSALS, Reason
from acc.stores.protocol import Thread
from acc.telemetry.facts import FINE, facts

if TYPE_CHECKING:
    from acc.pipeline.turn_pipeline import Step

_LOG = logging.getLogger(__name__)

USUAL = frozenset(
    {
        Reason.ADDED, Reason.UPDATED, Reason.LAPSED, Reason.CARRIED, Reason.DUPLICATE, Reason.CITES_NARROWED,
    }
)  # fmt: skip
"""Reasons of an undisturbed turn. They have no lines; the audit record has them."""

ALARMING = frozenset({Reason.HELD, Reason.PENDING_CUT, Reason.NO_ROOM})
"""Reasons that are logged as warnings: words were not read, or a rule found no room."""


class StepLog:
    """The observer that writes the log."""

    def begins(self, thread: Thread, policy: Policy) -> _StepLog:
        """See `acc.telemetry.observer.Observer.begins`."""
        del thread  # `acc.logs.CONVERSATION` names it
        return _StepLog(policy)


class _StepLog:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._ms: dict[str, float] = {}

    def stage_begins(self, stage: str) -> None:
        """See `acc.telemetry.observer.StepObserver.stage_begins`."""

    def stage_ends(
        self, stage: str, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """See `acc.telemetry.observer.StepObserver.stage_ends`."""
        del error  # it ends the step too
        self._ms[stage] = round(1000 * seconds, 1)
        if isinstance(result, CompressionResult):
            log_compression(result)

    def ends(self, step: Step | None, error: BaseException | None) -> None:
        """See `acc.telemetry.observer.StepObserver.ends`."""
        if error is not None:
            _log_error(error)
        if step is None:
            return
        if step.recovered:
            log_event(
                _LOG, logging.WARNING, "recovered", "a step took up words that no commit had read",
                turn=step.turn.number, refs=step.recovered,
            )  # fmt: skip
        log_commit(step.commit)
        if _LOG.isEnabledFor(logging.DEBUG):
            stages = [f"{stage}:{ms}" for stage, ms in self._ms.items()]
            log_event(
                _LOG, logging.DEBUG, "step", "a step ended", **facts(step, self._policy), ms=stages
            )


def log_compression(result: CompressionResult) -> None:
    """Write a line if a compressor failed or repaired its answer. The failure's words may quote what was said."""
    account = result.account
    about: Mapping[str, Any] = {
        "outcome": code(result.outcome),
        "model": account.model if account else "",
        "calls": account.calls if account else (),
    }
    if result.failure:
        used = "items" if result.proposal is None else result.proposal.author
        is_refused = result.outcome == Outcome.KEY_REFUSED
        level = logging.ERROR if is_refused else logging.WARNING
        more = ": the endpoint refuses the key, which worked before" if is_refused else ""
        log_event(
            _LOG, level, "fallback", f"the compressor failed, and its fallback was used{more}",
            **about, fallback=used,
        )  # fmt: skip
    elif result.outcome not in FINE or result.outcome == Outcome.REPAIRED:
        log_event(
            _LOG, logging.INFO, "repaired", "the first answer of a model had a fault", **about
        )


def log_commit(done: Commit) -> None:
    """Write one line for each reason and slot of a commit's notes, except those of `USUAL`.

    A proposal chooses the names of unknown slots, so a line names only slots of the schema.
    """
    if not _LOG.isEnabledFor(logging.WARNING):
        return
    slots = type(done.state).slots()
    found: dict[tuple[Reason, str], list[str]] = {}
    for note in done.notes:
        if note.reason not in USUAL:
            slot = note.slot if note.slot in slots else ""
            found.setdefault((note.reason, slot), []).append(note.item)
    for (reason, slot), items in found.items():
        event, what = _told(reason)
        level = logging.WARNING if reason in ALARMING else logging.INFO
        log_event(
            _LOG, level, event, what, reason=reason.value, slot=slot, count=len(items),
            items=[item for item in items if item], turn=done.state.turn,
        )  # fmt: skip


def _told(reason: Reason) -> tuple[str, str]:
    if reason in REFUSALS:
        return "refused", "a commit refused what was proposed"
    if reason in EVICTIONS:
        return "evicted", "a commit evicted items to make room"
    return "noted", "a commit has a note"


def _log_error(error: BaseException) -> None:
    """Write the line of a step that raised. The caller has the error, so it is no warning."""
    if isinstance(error, PinnedOverflow):
        log_event(
            _LOG, logging.INFO, "overflow", "a step was refused: rules and goals exceed the bounds",
            turn=error.turn, slot=error.slot, needed=error.needed, limit=error.limit,
            items=error.items, refused=len(error.refused),
        )  # fmt: skip
    elif isinstance(error, ConflictError):
        log_event(
            _LOG, logging.INFO, "conflict", "another step of the thread runs or has committed",
            retry_after=error.retry_after,
        )  # fmt: skip
    elif isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt):
        log_event(
            _LOG, logging.INFO, "cancelled", "a step was cancelled; the next one takes its words up",
            cause=cause(error),
        )  # fmt: skip
    else:
        log_event(_LOG, logging.INFO, "failed", "a step failed", cause=cause(error))

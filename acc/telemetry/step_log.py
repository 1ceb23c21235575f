"""Log lines of steps: the one place that turns a step and its commits into lines.

One line a step at DEBUG. At INFO or WARNING one line for each reason with which something was refused, evicted, ended
or given up, and for each compression that failed or was repaired, each overflow, and each step that raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from acc.errors import ConflictError
from acc.journal.names import ThreadKey
from acc.logs import cause, log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import LISTS
from acc.state.reasons import Note, Reason
from acc.step import Step
from acc.telemetry.facts import EVICTIONS, REFUSALS, facts, outcome
from acc.telemetry.observer import Stage

_LOG = logging.getLogger(__name__)

USUAL = frozenset(
    {
        Reason.ADDED, Reason.UPDATED, Reason.LATER, Reason.DONE, Reason.REOPENED, Reason.RESTORED,
        Reason.DROPPED, Reason.KNOWN, Reason.EARLIER, Reason.STAYS, Reason.NO_ROOM,
    }
)  # fmt: skip
"""Reasons of an undisturbed turn, and the one that has an overflow's line. The journal has all of them."""

ALARMING = frozenset({Reason.GIVEN_UP, Reason.MISSING})
"""Reasons that are logged as warnings: words left the tail and no compressor has read them."""


class StepLog:
    """The observer that writes the log."""

    def begins(self, thread: ThreadKey, policy: Policy) -> _StepLog:
        """See `acc.telemetry.observer.Observer.begins`."""
        del thread, policy  # `acc.logs.CONVERSATION` names the thread, and the step has the policy
        return _StepLog()


class _StepLog:
    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def stage_begins(self, stage: Stage) -> None:
        """See `acc.telemetry.observer.StepObserver.stage_begins`."""

    def stage_ends(
        self, stage: Stage, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """See `acc.telemetry.observer.StepObserver.stage_ends`."""
        del result, error  # they end the step too
        self._seconds[stage] += seconds  # type: ignore[assignment]

    def ends(self, step: Step[Any] | None, error: BaseException | None) -> None:
        """See `acc.telemetry.observer.StepObserver.ends`."""
        if error is not None:
            _log_error(error)
        if step is None:
            return
        log_step(step)
        if _LOG.isEnabledFor(logging.DEBUG):
            ms = [f"{stage}:{1000 * seconds:.1f}" for stage, seconds in self._seconds.items()]
            log_event(_LOG, logging.DEBUG, "step", "a step ended", **facts(step), ms=ms)


def log_step(step: Step[Any]) -> None:
    """Write the lines of a step that ended: its compression, its overflow, its notes.

    A failure's words may quote what was said, so a line has its code alone.
    """
    if not _LOG.isEnabledFor(logging.WARNING):
        return
    turn, given = step.state.turn, [each.given for each in step.commits]
    if step.failure:
        is_key = outcome(step) == "key_refused"
        log_event(
            _LOG, logging.ERROR if is_key else logging.WARNING, "compression_failed",
            "the compressor failed, and its messages stay in the tail", turn=turn,
            outcome=outcome(step), provisional=any(each.is_provisional for each in given),
            unread=sum(entry.status == "unread" for entry in step.state.unread),
        )  # fmt: skip
    if any(each.is_repair for each in given):
        log_event(
            _LOG, logging.INFO, "repaired", "the model was asked again for slips of form", turn=turn
        )
    if step.no_room:
        log_event(
            _LOG, logging.WARNING, "overflow", "rules or goals found no room", turn=turn,
            refs=step.no_room, limit=step.policy.pinned_tokens,
        )  # fmt: skip
    if step.warnings:
        log_event(
            _LOG, logging.INFO, "warned", "a step has warnings", turn=turn, count=len(step.warnings)
        )
    _log_notes(step.notes, step.state)


def _log_notes(notes: Iterable[Note], state: CompressedCognitiveState) -> None:
    """Write one line for each reason and list of notes, except those of `USUAL`.

    A proposal chooses ids and names of lists, so a line has only those that commit could have given.
    """
    lists = {*LISTS, *(slot.rules.key for slot in state.slots().values())}
    found: dict[tuple[Reason, str], list[Note]] = {}
    for note in notes:
        if note.reason not in USUAL:
            found.setdefault((note.reason, note.of if note.of in lists else ""), []).append(note)
    for (reason, of), each in found.items():
        event, what = _told(reason)
        log_event(
            _LOG, logging.WARNING if reason in ALARMING else logging.INFO, event, what,
            reason=reason.value, of=of, count=len(each), turn=state.turn,
            items=[*_named(note.item for note in each)], refs=[*_named(note.ref for note in each)],
        )  # fmt: skip


def _named(names: Iterable[str]) -> Iterator[str]:
    """Yield what has the form of an id or a ref: a letter and a number."""
    for name in names:
        rest = name[1:].replace(".", "")
        if name.isascii() and name[:1].islower() and rest.isdigit() and len(name) < 12:
            yield name


def _told(reason: Reason) -> tuple[str, str]:
    if reason in REFUSALS:
        return "refused", "a commit refused what was proposed"
    if reason in EVICTIONS:
        return "evicted", "a commit evicted items to make room"
    return "noted", "a commit has a note"


def _log_error(error: BaseException) -> None:
    """Write the line of a step that raised. The caller has the error, so it is no warning."""
    if isinstance(error, ConflictError):
        event, what = "conflict", "another step of the thread has committed"
    elif isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt):
        event, what = "cancelled", "a step was cancelled; the next one takes its words up"
    else:
        event, what = "failed", "a step failed"
    log_event(_LOG, logging.INFO, event, what, cause=cause(error))

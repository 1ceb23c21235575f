"""The log of steps, and the facts of a step that log and OpenTelemetry report: ids, counts and codes, never words.

One line a step at DEBUG. At INFO or WARNING one line for each reason with which something was refused, evicted, ended
or given up, and for each compression that failed or was repaired, each overflow, and each step that raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any

from acc.controller.watching import Stage
from acc.errors import ConflictError
from acc.journal.names import ThreadKey
from acc.logs import cause, code, log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import LISTS
from acc.state.reasons import REFUSED, Note, Reason
from acc.state.render import render
from acc.step.step import Step

_LOG = logging.getLogger(__name__)

USUAL = frozenset(
    {
        Reason.ADDED, Reason.UPDATED, Reason.LATER, Reason.DONE, Reason.REOPENED,
        Reason.DROPPED, Reason.KNOWN, Reason.STAYS, Reason.NO_ROOM,
    }
)  # fmt: skip
"""Reasons of an undisturbed turn, and the one that has an overflow's line. The journal has all of them."""

ALARMING = frozenset({Reason.GIVEN_UP, Reason.MISSING})
"""Reasons that are logged as warnings: words left the tail and no compressor has read them."""


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
    """Return the part of their bounds that rules and goals take: of the tokens, or, if more, of a slot's places.

    At 1 the next rule is a `PinnedOverflow`.
    """
    state, policy = step.state, step.policy
    slots = [slot for slot in state.slots().values() if slot.is_pinned]
    own = {slot.name: getattr(state, slot.name) for slot in slots}
    tokens = policy.counter(render(type(state)(**own), policy.style)) if any(own.values()) else 0
    places = [len(own[slot.name]) / slot.rules.places for slot in slots]
    share: float = max(tokens / policy.pinned_tokens, *places)
    return round(share, 4)


class StepLog:
    """The observer that writes the log."""

    def begins(self, thread: ThreadKey, policy: Policy) -> _StepLog:
        """See `acc.controller.watching.Observer.begins`. `acc.logs.CONVERSATION` names the thread."""
        return _StepLog()


class _StepLog:
    """See `acc.controller.watching.StepObserver`."""

    def __init__(self) -> None:
        self._ms: Counter[str] = Counter()

    def stage_begins(self, stage: Stage) -> None:
        """Write nothing: the line of the step has all stages."""

    def stage_ends(
        self, stage: Stage, seconds: float, result: Any, error: BaseException | None
    ) -> None:
        """Add up the time of the stage."""
        self._ms[stage] += 1000 * seconds  # type: ignore[assignment]

    def ends(self, step: Step[Any] | None, error: BaseException | None) -> None:
        """Write the lines of the step."""
        if error is not None:
            _log_error(error)
        if step is None:
            return
        _log_step(step)
        if _LOG.isEnabledFor(logging.DEBUG):
            ms = [f"{stage}:{each:.1f}" for stage, each in self._ms.items()]
            log_event(_LOG, logging.DEBUG, "step", "a step ended", **facts(step), ms=ms)


def _log_step(step: Step[Any]) -> None:
    """Write the lines of a step that ended: its compression, its overflow, its notes.

    A failure's words may quote what was said, so a line has its code alone.
    """
    if not _LOG.isEnabledFor(logging.WARNING):
        return
    turn, given = step.state.turn, [each.given for each in step.commits]
    if step.failure:
        outcome = _outcome(step)
        log_event(
            _LOG, logging.ERROR if outcome == "key_refused" else logging.WARNING, "compression_failed",
            "the compressor failed, and its messages stay in the tail", turn=turn,
            outcome=outcome, provisional=any(each.is_provisional for each in given),
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
        event, what = "noted", "a commit has a note"
        if reason in REFUSED:
            event, what = "refused", "a commit refused what was proposed"
        elif reason is Reason.EVICTED:
            event, what = "evicted", "a commit evicted items to make room"
        log_event(
            _LOG, logging.WARNING if reason in ALARMING else logging.INFO, event, what,
            reason=reason.value, of=of, count=len(each), turn=state.turn,
            items=[note.item for note in each if _is_name(note.item)],
            refs=[note.ref for note in each if _is_name(note.ref)],
        )  # fmt: skip


def _is_name(text: str) -> bool:
    """Whether a text has the form of an id or a ref: a letter and a number."""
    is_number = text[1:].replace(".", "").isdigit()
    return text.isascii() and text[:1].islower() and is_number and len(text) < 12


def _log_error(error: BaseException) -> None:
    """Write the line of a step that raised. The caller has the error, so it is no warning."""
    if isinstance(error, ConflictError):
        event, what = "conflict", "another step of the thread has committed"
    elif isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt):
        event, what = "cancelled", "a step was cancelled; the next one takes its words up"
    else:
        event, what = "failed", "a step failed"
    log_event(_LOG, logging.INFO, event, what, cause=cause(error))

"""The facts of a step that the log and OpenTelemetry report: ids, counts and codes, never words."""

from __future__ import annotations

from collections import Counter
from typing import Any

from acc.logs import code
from acc.state.reasons import Reason
from acc.state.render import render
from acc.step import Step

REFUSALS = frozenset(
    {
        Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.CUT_EDGE, Reason.UNKNOWN_ID, Reason.UNTRUSTED,
        Reason.NO_OFFER, Reason.MALFORMED, Reason.NO_ROOM,
    }
)  # fmt: skip
"""Why something that was proposed is not in the state."""

EVICTIONS = frozenset({Reason.EVICTED})
"""Why something left the state for want of room."""


def facts(step: Step[Any]) -> dict[str, Any]:
    """Return the facts of a step by name. Each is an attribute ``acc.NAME`` of its span."""
    state, policy = step.state, step.policy
    tokens = policy.counter(render(state, policy.style))
    reasons = Counter(note.reason for note in step.notes)
    return {
        "turn": state.turn,
        "branch": state.branch,
        "state.hash": state.hash,
        "state.tokens": tokens,
        "budget.tokens": policy.max_tokens,
        "budget.share": round(tokens / policy.max_tokens, 4),
        "pinned.share": pinned_share(step),
        "tail.messages": len(state.unread),
        "tail.tokens": sum(entry.tokens for entry in state.unread),
        "outcome": outcome(step),
        "requests": step.usage.requests,
        "candidates": len(step.verdicts),
        "admitted": sum(verdict.reason == "admitted" for verdict in step.verdicts),
        "refused": sum(reasons[reason] for reason in REFUSALS),
        "evicted": sum(reasons[reason] for reason in EVICTIONS),
        "warnings": len(step.warnings),
    }


def outcome(step: Step[Any]) -> str:
    """Return ``compressed``; ``kept`` if the turn only joined the tail; or the code of the compressor's failure."""
    if step.failure:
        return code(step.failure.partition(":")[0])
    is_compressed = any(each.given.proposal is not None for each in step.commits)
    return "compressed" if is_compressed else "kept"


def pinned_share(step: Step[Any]) -> float:
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

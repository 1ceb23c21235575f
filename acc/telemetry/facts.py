"""The facts of a step that the log and OpenTelemetry report: ids, counts and codes, never words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from acc.logs import code
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Outcome
from acc.state.reasons import EVICTIONS, REFUSALS

if TYPE_CHECKING:
    from acc.pipeline.turn_pipeline import Step

FINE = (Outcome.OK, Outcome.REPAIRED, Outcome.SKIPPED)
"""The outcomes of a compression that gave a proposal."""


def facts(step: Step, policy: Policy) -> dict[str, Any]:
    """Return the facts of a step by name. Each is an attribute ``acc.NAME`` of its span."""
    done = step.commit
    reasons = Counter(note.reason for note in done.notes)
    return {
        "turn": step.turn.number,
        "branch": done.state.branch,
        "state.hash": done.state.hash,
        "state.tokens": done.tokens,
        "budget.tokens": policy.max_tokens,
        "budget.share": round(done.tokens / policy.max_tokens, 4),
        "outcome": code(step.outcome),
        "candidates": len(step.verdicts),
        "admitted": len(step.evidence),
        "refused": sum(reasons[reason] for reason in REFUSALS),
        "evicted": sum(reasons[reason] for reason in EVICTIONS),
        "recovered": len(step.recovered),
    }


def pinned_share(state: CompressedCognitiveState, policy: Policy) -> float:
    """Return the part of the bounds that rules and open goals take: of the tokens, or, if more, of a slot's places.

    At 1 the next rule is a `PinnedOverflow`.
    """
    pinned = [(slot, item) for slot, item in state.items() if slot.rules.pinned and item.is_open]
    tokens = sum(policy.counter(item.words) for _, item in pinned) / policy.max_tokens
    slots = {slot.name: slot for slot, _ in pinned}
    count = Counter(slot.name for slot, _ in pinned)
    return round(max([tokens, *(count[name] / policy.places(slots[name]) for name in slots)]), 4)

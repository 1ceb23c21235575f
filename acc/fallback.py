"""Law 9: asking a compressor, and what happens when it fails."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from acc.compress import Compressor, Proposal
from acc.errors import CompressionError
from acc.laws.held import pending_is_full
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn, storable


class Asked(NamedTuple):
    """A compressor, what it is asked to read, and whom to turn to if it fails.

    Attributes:
        compressor: None for the keyless rules.
        turn: x_t.
        state: CCS_t-1.
        evidence: A_t+.
        policy: Schema and bounds.
        fallback: Asked where the first fails; None holds the last good items.
    """

    compressor: Compressor | None
    turn: Turn
    state: CompressedCognitiveState
    evidence: Sequence[Evidence]
    policy: Policy
    fallback: Compressor | None = None


def compressed(asked: Asked) -> tuple[Proposal | None, str]:
    """A proposal, and why it is not the compressor's own, if it is not (law 9).

    None as proposal: nothing usable came out, and the last good items stand.
    """
    first = asked.compressor or _rules()
    try:
        return _checked(first(asked.turn, asked.state, asked.evidence)), ""
    except Exception as error:
        return _fallen_back(asked, error)


async def acompressed(asked: Asked) -> tuple[Proposal | None, str]:
    """As `compressed`, awaiting what is to be awaited."""
    first = asked.compressor or _rules()
    try:
        ask = getattr(first, "acompress", first)
        proposal = ask(asked.turn, asked.state, asked.evidence)
        return _checked(await proposal if inspect.isawaitable(proposal) else proposal), ""
    except Exception as error:
        return _fallen_back(asked, error)


def _fallen_back(asked: Asked, error: Exception) -> tuple[Proposal | None, str]:
    failure = _told(error)
    fallback = asked.fallback
    if fallback is None and pending_is_full(asked.turn, asked.policy):
        fallback = _rules()
    if fallback is None:
        return None, failure
    try:
        return _checked(fallback(asked.turn, asked.state, asked.evidence)), failure
    except Exception as second:
        return None, f"{failure}; fallback: {_told(second)}"


def _told(error: Exception) -> str:
    try:
        return storable(f"{type(error).__name__}: {error}"[:2_000])
    except Exception:  # an error that cannot even say what it is
        return type(error).__name__


def _checked(proposal: Any) -> Proposal:
    """A proposal that holds what its type says, even if it was made past its checks."""
    if not isinstance(proposal, Proposal):
        raise CompressionError(f"the compressor returned {type(proposal).__name__}, not a Proposal")
    checked = Proposal.model_validate(proposal.model_dump())
    if proposal.mode == "rewrite" and not proposal.items:
        raise CompressionError("the rewrite is empty")
    return checked


def _rules() -> Compressor:
    from acc.compressors.rules import RuleCompressor

    return RuleCompressor()

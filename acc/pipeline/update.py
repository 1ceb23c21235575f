"""The state update without a store or a framework: `update_state` and `aupdate_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acc.commit.commit import Commit, commit
from acc.compress.fallback import (
    CompressionRequest,
    CompressionResult,
    Fallback,
    acompressed,
    check_compressor,
    check_fallback,
)
from acc.compress.fallback import compressed as asked_for
from acc.compress.model import chosen
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem, redacted_proposal
from acc.state.reasons import Reason
from acc.telemetry.step_log import log_commit, log_compression
from acc.turn.excerpt import cut_turn
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.redact import Redact, redacted_turn, redactor
from acc.turn.turn import Turn, normalize

Stored = CompressedCognitiveState | Mapping[str, Any] | str | None
"""A state, its canonical JSON, or None for a thread's first turn."""


def update_state(
    state: Stored,
    turn: Turn,
    *,
    compressor: Compressor | None = None,
    model: Any = None,
    evidence: Sequence[Evidence] = (),
    policy: Policy | None = None,
    fallback: Fallback = None,
    input_chars: int = 16_000,
    redact: Redact | Literal["secrets"] | None = "secrets",
) -> Commit:
    """Commit the next state from a prior state and a turn, without a store or a framework.

    Args:
        state: CCS_t-1, or its canonical JSON; None for an empty one.
        turn: The observations since the last commit.
        compressor: Proposes the next state; None uses the keyless rules.
        model: A model for a compressor to ask (`acc.compress.model.as_compressor`), instead of
            ``compressor``.
        evidence: Evidence that the caller recalled and qualified.
        policy: Schema and bounds.
        fallback: Runs when the compressor fails: "items", "rules", or a compressor.
        input_chars: Maximum characters of the turn that the compressor reads; the rest is cut.
        redact: Removes secrets from the turn; see `acc.pipeline.session.Settings`.

    Returns:
        The commit. If the compressor fails, the items stay and the turn is pending (law 9).

    Raises:
        PinnedOverflow: Rules and goals alone exceed the bounds.
        ConfigurationError: The compressor, fallback or policy is invalid; or the model, its key or
            its address does not work.
        InputError: ``turn`` is not a turn.
        StateError: The state was edited, or does not match the policy's schema.
    """
    by = chosen(compressor, model)
    asked, clean = _asked(state, turn, by, evidence, policy, fallback, input_chars, redact)
    return _committed(asked, asked_for(asked), clean)


async def aupdate_state(
    state: Stored,
    turn: Turn,
    *,
    compressor: Compressor | None = None,
    model: Any = None,
    evidence: Sequence[Evidence] = (),
    policy: Policy | None = None,
    fallback: Fallback = None,
    input_chars: int = 16_000,
    redact: Redact | Literal["secrets"] | None = "secrets",
) -> Commit:
    """See `update_state`. A compressor with ``acompress`` is awaited."""
    by = chosen(compressor, model)
    asked, clean = _asked(state, turn, by, evidence, policy, fallback, input_chars, redact)
    return _committed(asked, await acompressed(asked), clean)


def _asked(
    state: Stored,
    turn: Turn,
    compressor: Compressor | None,
    evidence: Sequence[Evidence],
    policy: Policy | None,
    fallback: Fallback,
    input_chars: int,
    redact: Redact | Literal["secrets"] | None,
) -> tuple[CompressionRequest, Redact | None]:
    """Return what to ask a compressor, and what removes secrets from its answer."""
    check_compressor(compressor)
    check_fallback(fallback)
    clean = redactor(redact)
    turn = redacted_turn(normalize(turn, "update_state"), clean)
    given = type(state) if isinstance(state, CompressedCognitiveState) else None
    policy = policy or Policy(schema=given or CompressedCognitiveState)
    prior = policy.schema.load(state)
    whole = turn.numbered(prior.turn + 1).model_copy(update={"pending": prior.unread()})
    about = (*(item.words for _, item in prior.items()), whole.user_words)
    cut = cut_turn(whole, about, input_chars)
    asked = CompressionRequest(compressor, cut, prior, evidence, policy, fallback, keyless)
    return asked, clean


def _committed(
    asked: CompressionRequest, answer: CompressionResult, clean: Redact | None
) -> Commit:
    proposal = redacted_proposal(answer.proposal, clean)
    log_compression(answer)
    done = commit(asked.state, proposal, asked.turn, asked.evidence, asked.policy)
    log_commit(done)
    return done.model_copy(update={"failure": answer.failure}) if answer.failure else done


def keyless() -> Compressor:
    """Return the keyless compressor; the import is lazy because it loads the weights."""
    from acc.keyless.compressor import RuleCompressor

    return RuleCompressor()


def seed(
    rules: Sequence[str] = (),
    goals: Sequence[str] = (),
    *,
    policy: Policy | None = None,
) -> CompressedCognitiveState:
    """Return CCS_0 with the operator's rules and goals, at operator trust and part of the hash chain.

    Raises:
        PinnedOverflow: The rules and goals exceed the bounds.
        ConfigurationError: A rule or goal cannot be kept word for word.
    """
    policy = policy or Policy()
    said = [("constraints", text) for text in rules] + [
        ("goal_orientation", text) for text in goals
    ]
    words = tuple(Observation(channel=Channel.OPERATOR, text=text) for _, text in said)
    turn = Turn(observations=words).numbered(0)
    items = tuple(
        ProposedItem(slot=slot, fields={"text": text, "quote": text}, cites=(o.ref,))
        for (slot, text), o in zip(said, turn.observations, strict=True)
    )
    empty = policy.schema.empty()
    done = commit(empty, Proposal(items=items, author="operator"), turn, (), policy)
    lost = [note for note in done.notes if note.reason is not Reason.ADDED]
    if lost:
        raise ConfigurationError(
            f"a seeded rule or goal cannot be held as it is: {lost[0]}",
            where="seed",
            hint="give each once, in one line of at most 480 characters",
        )
    return done.state.vouched()

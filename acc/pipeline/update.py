"""The state update alone, without a store or a framework: `update_state` and `aupdate_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acc.commit.commit import Commit, commit
from acc.compress.choosing import chosen
from acc.compress.fallback import (
    CompressionRequest,
    CompressionResult,
    Fallback,
    acompressed,
    check_compressor,
    check_fallback,
)
from acc.compress.fallback import compressed as asked_for
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem, redacted_proposal
from acc.state.reasons import Reason
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
    """The state update alone: prior state and turn in, new state out; no store, no framework.

    Args:
        state: CCS_t-1, or its canonical JSON; None for an empty one.
        turn: What happened since.
        compressor: Proposes; the keyless rules if None.
        model: In its place, a model to ask (`acc.compress.choosing.as_compressor`).
        evidence: What the caller recalled and qualified, if anything.
        policy: Schema and bounds.
        fallback: Whom to turn to when the compressor fails: "items", "rules", or a compressor.
        input_chars: Characters of the turn that the compressor reads; the rest is cut.
        redact: Takes secrets out of the turn, as `acc.pipeline.session.Settings.redact` does.

    Returns:
        The commit. A compressor that fails leaves the items as they are, the turn pending (law 9).

    Raises:
        PinnedOverflow: Rules and goals alone exceed the bounds.
        ConfigurationError: A compressor, fallback or policy that is none; the model, its key or its
            address cannot work.
        InputError: The turn is none.
        StateError: The state was edited, or is not of the policy's schema.
    """
    compressor = chosen(compressor, model)
    asked = _asked(state, turn, compressor, evidence, policy, fallback, input_chars, redact)
    return _committed(asked, asked_for(asked), redact)


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
    """As `update_state`; the compressor is awaited where it offers ``acompress``."""
    compressor = chosen(compressor, model)
    asked = _asked(state, turn, compressor, evidence, policy, fallback, input_chars, redact)
    return _committed(asked, await acompressed(asked), redact)


def _asked(
    state: Stored,
    turn: Turn,
    compressor: Compressor | None,
    evidence: Sequence[Evidence],
    policy: Policy | None,
    fallback: Fallback,
    input_chars: int,
    redact: Redact | Literal["secrets"] | None,
) -> CompressionRequest:
    """What the compressor is asked to read."""
    check_compressor(compressor)
    check_fallback(fallback)
    turn = redacted_turn(normalize(turn, "update_state"), redactor(redact))
    given = type(state) if isinstance(state, CompressedCognitiveState) else None
    policy = policy or Policy(schema=given or CompressedCognitiveState)
    prior = policy.schema.load(state)
    whole = turn.numbered(prior.turn + 1).model_copy(update={"pending": prior.unread()})
    about = (*(item.words for _, item in prior.items()), whole.user_words)
    cut = cut_turn(whole, about, input_chars)
    return CompressionRequest(compressor, cut, prior, evidence, policy, fallback, keyless)


def _committed(
    asked: CompressionRequest, answer: CompressionResult, redact: Redact | Literal["secrets"] | None
) -> Commit:
    proposal = redacted_proposal(answer.proposal, redactor(redact))
    done = commit(asked.state, proposal, asked.turn, asked.evidence, asked.policy)
    return done.model_copy(update={"failure": answer.failure}) if answer.failure else done


def keyless() -> Compressor:
    """The keyless compressor; its weights are loaded with the first."""
    from acc.keyless.compressor import RuleCompressor

    return RuleCompressor()


def seed(
    rules: Sequence[str] = (),
    goals: Sequence[str] = (),
    *,
    policy: Policy | None = None,
) -> CompressedCognitiveState:
    """CCS_0 as the operator configures it: rules and goals at operator's trust, in the chain.

    Raises:
        PinnedOverflow: They do not fit the bounds.
        ConfigurationError: One cannot be held word for word.
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

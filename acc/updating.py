"""The state update alone, without a store or a framework: `update_state` and `aupdate_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acc.commit import Commit, commit
from acc.compress import Compressor
from acc.compressors.choosing import chosen
from acc.excerpt import cut_turn
from acc.fallback import Asked, Compressed, Fallback, acompressed, check_compressor, check_fallback
from acc.fallback import compressed as asked_for
from acc.incoming import taken_in
from acc.policy import Policy
from acc.redact import Redact, redacted_proposal, redacted_turn, redactor
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn

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
        model: In its place, a model to ask (`acc.compressors.choosing.as_compressor`).
        evidence: What the caller recalled and qualified, if anything.
        policy: Schema and bounds.
        fallback: Whom to turn to when the compressor fails: "items", "rules", or a compressor.
        input_chars: Characters of the turn that the compressor reads; the rest is cut.
        redact: Takes secrets out of the turn, as `acc.settings.Settings.redact` does.

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
) -> Asked:
    """What the compressor is asked to read."""
    check_compressor(compressor)
    check_fallback(fallback)
    turn = redacted_turn(taken_in(turn, "update_state"), redactor(redact))
    given = type(state) if isinstance(state, CompressedCognitiveState) else None
    policy = policy or Policy(schema=given or CompressedCognitiveState)
    prior = policy.schema.load(state)
    whole = turn.numbered(prior.turn + 1).model_copy(update={"pending": prior.unread()})
    about = (*(item.words for _, item in prior.items()), whole.user_words)
    cut = cut_turn(whole, about, input_chars)
    return Asked(compressor, cut, prior, evidence, policy, fallback)


def _committed(
    asked: Asked, answer: Compressed, redact: Redact | Literal["secrets"] | None
) -> Commit:
    proposal = redacted_proposal(answer.proposal, redactor(redact))
    done = commit(asked.state, proposal, asked.turn, asked.evidence, asked.policy)
    return done.model_copy(update={"failure": answer.failure}) if answer.failure else done

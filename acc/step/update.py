"""The state update without a store or a framework: `update_state`, `aupdate_state`, and a first state with `seed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Literal, Self

from acc.commit.commit import Given, commit
from acc.compress.compressor import (
    Asking,
    AskingCompressor,
    AskingJudge,
    ModelCompressor,
    as_compressor,
)
from acc.compress.judge import ModelJudge
from acc.driving import aperform, perform
from acc.errors import ConfigurationError, InputError, check_types
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, ProposedPin
from acc.state.reading import Judge
from acc.state.reasons import Reason
from acc.state.tail import Message, messages_of
from acc.step.result import Step, raise_overflow
from acc.step.step import Memory, stepping
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.redact import Redact, redacted_turn, redactor
from acc.turn.turn import Turn, normalize

WITH_A_MODEL = (1_600, Cadence(compress_over=2_000))
KEYLESS = (1_100, Cadence())
"""Bound of the state and cadence where nothing else is said; `benchmarks/run.py travel` has the curve."""

Stored = CompressedCognitiveState | Mapping[str, Any] | str | None
"""A state, its canonical JSON, or None for a thread's first turn."""


@dataclass(frozen=True)
class Options:
    """How `update_state` works; every field has a default.

    Attributes:
        model: Who compresses, and judges unless ``judge`` does: a model's name, address, client or chat model
            (`acc.models.endpoints.as_model`), or a compressor of your own (`acc.compress.compressor.as_compressor`).
            None for the keyless rules.
        judge: Reads claims that rules ended a second time; None asks the model, or the keyless judge.
        policy: Schema, bounds, how rules end, when to compress. What it does not say is as `WITH_A_MODEL` says if a
            model is asked, else as `KEYLESS`.
        redact: Removes secrets from the turn, and from what a compressor writes (`acc.turn.redact`).

    Raises:
        ConfigurationError: One is invalid.
    """

    model: Any = None
    judge: Judge | AskingJudge | None = None
    policy: Policy | None = None
    redact: Redact | Literal["secrets"] | None = "secrets"

    def __post_init__(self) -> None:
        check_types(type(self).__name__, ("policy", self.policy, (Policy, NoneType)))

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str) -> Self:
        """Return options by name.

        Raises:
            ConfigurationError: There is no such option, or one is invalid.
        """
        names = [each.name for each in fields(cls)]
        if unknown := given.keys() - set(names):
            raise ConfigurationError(
                f"there is no setting {', '.join(sorted(unknown))}",
                where=where,
                hint=f"the settings are {', '.join(names)}",
            )
        return cls(**given)


def update_state(
    state: Stored,
    turn: Turn,
    *,
    tail: Sequence[Message] = (),
    evidence: Sequence[Evidence] = (),
    force: bool = False,
    **options: Any,
) -> Step[CompressedCognitiveState]:
    """Commit the next state from a prior state and a turn, without a store or a framework.

    Args:
        state: CCS_t-1, or its canonical JSON; None for an empty one.
        turn: What happened since the last commit.
        tail: `Step.tail` of the last step: the messages that the state does not hold yet.
        evidence: Evidence that the caller recalled and qualified.
        force: Compress now, whatever the size.
        options: How to work: fields of `Options` by name.

    Returns:
        The step. ``step.state`` and ``step.tail`` go into the next call; ``step.messages(role)`` into a prompt. If
        the compressor fails, ``step.failure`` says why, and the tail carries the agent (law 9).

    Raises:
        PinnedOverflow: Rules and goals exceed their room. Everything else was committed: ``error.step``.
        ConfigurationError: An option is invalid, or the model cannot be reached.
        InputError: ``turn`` is not a turn, or the tail of ``state`` is not given.
        StateError: The state was edited, or does not match the policy's schema.
    """
    return raise_overflow(perform(_asking(state, turn, tail, evidence, force, options)))


async def aupdate_state(
    state: Stored,
    turn: Turn,
    *,
    tail: Sequence[Message] = (),
    evidence: Sequence[Evidence] = (),
    force: bool = False,
    **options: Any,
) -> Step[CompressedCognitiveState]:
    """Do what `update_state` does without blocking the event loop."""
    return raise_overflow(await aperform(_asking(state, turn, tail, evidence, force, options)))


def _asking(
    state: Stored,
    turn: Turn,
    tail: Sequence[Message],
    evidence: Sequence[Evidence],
    force: bool,
    given: Mapping[str, Any],
) -> Asking[Step[CompressedCognitiveState]]:
    options = Options.of(given, "update_state")
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is {type(turn).__name__}",
            where="update_state",
            hint="create one with Turn.said(text) or Turn.from_messages(messages)",
        )
    schema = CompressedCognitiveState
    if isinstance(state, CompressedCognitiveState):
        schema = type(state)
    memory = memory_of(options, schema)
    prior = memory.policy.schema.load(state)
    _check_read(prior, tail, evidence)
    split = normalize(turn, "update_state", memory.policy.pasted)
    clean = redacted_turn(split, memory.redact)
    return stepping(
        memory, prior, clean.numbered(prior.turn + 1), texts=tail, evidence=evidence, force=force
    )


def memory_of(
    options: Options, schema: type[CompressedCognitiveState] = CompressedCognitiveState
) -> Memory[Any]:
    """Return who compresses and judges, and how; ``schema`` is the state's class where no policy names one.

    Raises:
        ConfigurationError: The model cannot be reached.
    """
    from acc.compress.keyless import compress as keyless
    from acc.compress.keyless.rules import judge as keyless_judge

    compressor = keyless if options.model is None else as_compressor(options.model)
    asks = isinstance(compressor, AskingCompressor)
    policy = (options.policy or Policy(schema=schema)).usual(*(WITH_A_MODEL if asks else KEYLESS))
    judge: Judge | AskingJudge = options.judge or keyless_judge
    if options.judge is None and isinstance(compressor, ModelCompressor):
        judge = ModelJudge(compressor.model)
    return Memory(compressor, judge, keyless, policy, redactor(options.redact))


def _check_read(
    state: CompressedCognitiveState, tail: Sequence[Message], evidence: Sequence[Evidence]
) -> None:
    """Raise if messages are missing that nobody has read yet: without them, what they say would be lost."""
    for name, values, kind in (("tail", tail, Message), ("evidence", evidence, Evidence)):
        if not isinstance(values, list | tuple) or not all(isinstance(v, kind) for v in values):
            raise InputError(
                f"{name} holds something else than {kind.__name__}",
                where="update_state",
                hint="give tail=step.tail of the last step, and evidence that the gate admitted",
            )
    given = {message.ref for message in tail}
    missing = [e.ref for e in state.unread if e.status != "read" and e.ref not in given]
    if missing:
        raise InputError(
            f"the tail lacks {', '.join(missing)}, which the state does not hold yet",
            where="update_state",
            hint="give tail=step.tail of the last step, and store it beside the state",
        )


def seed(
    rules: Sequence[str] = (), goals: Sequence[str] = (), *, policy: Policy | None = None
) -> CompressedCognitiveState:
    """Return a first state with the operator's rules and goals, which no user can end.

    Begin a thread with it: ``memory.step(seed(rules=[...]), turn, thread=...)``.

    Args:
        rules: Standing rules, a sentence each.
        goals: Goals, a sentence each.
        policy: The policy of the thread.

    Raises:
        PinnedOverflow: They do not fit.
        ConfigurationError: One of them is not one sentence.
    """
    policy = policy or Policy()
    words = tuple(Observation(channel=Channel.OPERATOR, text=text) for text in (*rules, *goals))
    read = messages_of(Turn(observations=words).numbered(0))
    pins = [ProposedPin(quote=message.text, ref=message.ref) for message in read]
    proposal = Proposal(
        rules=tuple(pins[: len(rules)]), goals=tuple(pins[len(rules) :]), author="operator"
    )
    done = commit(policy.schema.empty(), policy, Given(read=read, proposal=proposal))
    raise_overflow(Step(done.state, (), (done,), Usage(), "", policy))
    lost = [note for note in done.notes if note.reason is not Reason.ADDED]
    held = {item.id: item for _, item in done.state.items()}
    added = [held[note.item].text_of for note in done.notes if note.item in held]
    if lost or sorted(added) != sorted((*rules, *goals)):
        raise ConfigurationError(
            f"a rule or goal cannot be held as it is: {lost[0] if lost else added}",
            where="seed",
            hint="give each once, as one sentence",
        )
    return done.state

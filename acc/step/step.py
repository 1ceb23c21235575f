"""What a step is made of, and what it made: cadence, memory, step; and the loud error of rules without room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from acc.commit.commit import Commit
from acc.compress.compressor import AskingCompressor, AskingJudge
from acc.errors import ConfigurationError, PinnedOverflow
from acc.gate import Verdict
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reading import Compressor, Judge
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.state.tail import Message, recalled, rendered
from acc.turn.observations import Channel, Evidence
from acc.turn.redact import Redact

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Cadence:
    """When to compress, and how much a request may hold.

    Attributes:
        compress_over: Tokens of unread messages over which they are compressed; 0 compresses each turn, as the
            paper does.
        tail_bound: Tokens of the tail at most, the newest turn not counted. Over it, with a compressor that fails,
            the fallback commits provisionally. 0 for twice ``compress_over``, and at least 1,000.
        request_tokens: Tokens of messages that one request may hold; a larger tail is read by several requests.
        tool_share: Tokens of a tool's or document's text that stand in the tail; a longer one stands with its head
            and end. 0 for a quarter of ``compress_over``, and at least 200.

    Raises:
        ConfigurationError: A number is negative, or ``tail_bound`` is below ``compress_over``.
    """

    compress_over: int = 0
    tail_bound: int = 0
    request_tokens: int = 12_000
    tool_share: int = 0

    def __post_init__(self) -> None:
        if self.tail_bound == 0:
            object.__setattr__(self, "tail_bound", max(1_000, 2 * self.compress_over))
        if self.tool_share == 0:
            object.__setattr__(self, "tool_share", max(200, self.compress_over // 4))
        if (
            self.compress_over < 0
            or self.tail_bound < self.compress_over
            or self.request_tokens < 500
        ):
            raise ConfigurationError(
                f"compress_over is {self.compress_over}, tail_bound {self.tail_bound}, "
                f"request_tokens {self.request_tokens}",
                where="Cadence",
                hint="give 0 <= compress_over <= tail_bound, and request_tokens of 500 or more",
            )


@dataclass(frozen=True)
class Memory(Generic[S]):
    """Who compresses and judges, under which rules.

    Attributes:
        compressor: Proposes what changes.
        judge: Reads claims that rules ended a second time; None leaves such rules in the state.
        fallback: Compresses provisionally while ``compressor`` fails and the tail is full; None lets the tail drop
            nothing and grow.
        policy: The rules of commit.
        cadence: When to compress.
        redact: Removes secrets from what a compressor writes or fails with.
    """

    compressor: Compressor | AskingCompressor
    judge: Judge | AskingJudge | None = None
    fallback: Compressor | None = None
    policy: Policy = field(default_factory=Policy)
    cadence: Cadence = field(default_factory=Cadence)
    redact: Redact | None = None


@dataclass(frozen=True)
class Step(Generic[S]):
    """What a turn made.

    Attributes:
        state: The last state. It replaces the one before whole.
        tail: The messages that stand word for word beside it.
        commits: The commits of the turn, in order: one, and one more for each further request.
        usage: What the models cost.
        failure: Why the compressor failed, if it did. The tail carries the agent.
        policy: The policy of the commits.
        cadence: When the memory compresses.
        warnings: What else went wrong without harm to the state, such as an index that cannot be used.
        verdicts: What the gate said of what was recalled.
        evidence: What it admitted. The agent reads it after the tail.
    """

    state: S
    tail: tuple[Message, ...]
    commits: tuple[Commit[S], ...]
    usage: Usage
    failure: str
    policy: Policy
    cadence: Cadence
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What became of everything, of all commits."""
        return tuple(note for each in self.commits for note in each.notes)

    @property
    def no_room(self) -> tuple[str, ...]:
        """Refs of messages whose rule, goal or later word did not fit."""
        return tuple(ref for each in self.commits for ref in each.no_room)

    def explain(self) -> str:
        """Describe what changed, what was refused and what went wrong, a line each."""
        failed = [f"compression failed: {self.failure}"] if self.failure else []
        recalled = [
            f"{'recalled' if v.reason == 'admitted' else f'not recalled ({v.reason})'} {v.ref}"
            for v in self.verdicts
        ]
        return "\n".join([*failed, *self.warnings, *map(str, self.notes), *recalled])

    def text(self) -> str:
        """Return what the agent reads of the past: the state, the tail, then evidence for the question."""
        state = render(self.state, self.policy.style)
        tail = rendered(self.tail, self.policy, self.cadence.tool_share)
        return "\n".join(part for part in (state, *tail, *recalled(self.evidence)) if part)

    def messages(self, role: str = "") -> list[dict[str, str]]:
        """Return what the agent reads as chat messages: role and state, the tail, then evidence for the question.

        Texts of tools and documents stand labelled in the user's place, since their calls are not repeated.
        """
        state = render(self.state, self.policy.style)
        system = "\n\n".join(part for part in (role, state) if part)
        found = [{"role": "system", "content": system}] if system else []
        for message in self.tail:
            if message.status == "provisional":
                continue
            text = "".join(rendered([message], self.policy, self.cadence.tool_share))
            is_agent = message.channel is Channel.AGENT and not message.observation.is_call
            is_plain = message.channel is Channel.USER or is_agent
            content = message.text if is_plain and not message.speaker else text
            _say(found, "assistant" if is_agent else "user", content)
        for each in recalled(self.evidence):
            _say(found, "user", each)
        return found


def _say(messages: list[dict[str, str]], role: str, content: str) -> None:
    """Add words; to the last message if it is of the same role."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += f"\n{content}"
    else:
        messages.append({"role": role, "content": content})


def overflow_of(step: Step[S]) -> PinnedOverflow:
    """Return the error of a step whose rules and goals exceed their room (law 7)."""
    policy = step.policy
    refused = tuple(note.text for note in step.notes if note.reason is Reason.NO_ROOM)
    return PinnedOverflow(
        f"rules and goals do not fit in {policy.pinned_tokens:,} tokens, the pinned_share of "
        f"{policy.max_tokens:,}. Not held: {'; '.join(refused)}",
        where=f"turn {step.state.turn}, {', '.join(step.no_room)}",
        hint="raise max_tokens, let an operator end rules that are over, or go on with error.step without them",
        refused=refused, refs=step.no_room, step=step,
    )  # fmt: skip


def raise_overflow(step: Step[S]) -> Step[S]:
    """Return ``step``, or raise `PinnedOverflow` if something did not fit."""
    if step.no_room:
        raise overflow_of(step)
    return step

"""What a turn made: the step, what the agent reads of it, and the loud error of rules without room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from acc.commit.commit import Commit
from acc.errors import PinnedOverflow
from acc.gate import Verdict
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.state.tail import Message, recalled, rendered
from acc.turn.observations import Channel, Evidence

S = TypeVar("S", bound=CompressedCognitiveState)


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
        tail = rendered(self.tail, self.policy)
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
            text = "".join(rendered([message], self.policy))
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

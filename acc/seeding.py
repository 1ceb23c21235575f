"""A first state with the operator's standing rules and goals."""

from __future__ import annotations

from collections.abc import Sequence

from acc.commit.commit import commit
from acc.errors import ConfigurationError
from acc.models.protocol import Usage
from acc.overflow import raise_overflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedPin
from acc.state.reasons import Reason
from acc.step import Cadence, Step
from acc.tail import messages_of
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn


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
    done = commit(policy.schema.empty(), policy, read=read, proposal=proposal)
    raise_overflow(Step(done.state, (), (done,), Usage(), "", policy, Cadence()))
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

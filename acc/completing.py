"""A turn completed by what was recorded of it before: the agent's answer, its calls, what they brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from acc.branch import Branch
from acc.lines import one_line
from acc.state import CompressedCognitiveState
from acc.store import Artifact
from acc.turn import Channel, Observation, Turn


def whole(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """The first parts of the texts of which every part is stored."""
    parts = Counter(a.identity for a in artifacts)
    return [a for a in artifacts if a.part == 0 and parts[a.identity] == a.parts]


def completed(turn: Turn, branch: Branch, stored: Sequence[Artifact]) -> Turn:
    """A turn without a word of the agent is completed by what was recorded of it."""
    if any(_is_done(o.channel, o.call_id) for o in turn.observations):
        return turn
    recorded = observed(branch, [a for a in stored if _is_done(a.channel, a.call_id)])
    return turn.model_copy(update={"observations": (*recorded, *turn.observations)})


def done_before(stored: Sequence[Artifact]) -> list[Artifact]:
    """What the agent did before the user spoke, in a turn that is ``stored``."""
    before = takewhile(lambda a: a.channel is not Channel.USER, stored)
    return [a for a in before if _is_done(a.channel, a.call_id)]


def told_once(turn: Turn, state: CompressedCognitiveState, branch: Branch) -> Turn:
    """``turn`` without what an operator's turn just before it holds already, whole and unread.

    It was recorded, or begun, before the operator acted, and stands in that turn; a caller that keeps
    messages of its own tells it again.
    """
    if not any(a.channel is Channel.OPERATOR for a in branch.own(state.turn, "observation")):
        return turn
    there = {a.ref for a in branch.at_turn(state.turn)}
    unread = Counter(_told(o) for o in state.pending if o.ref in there)
    again = [o for o in turn.observations if not o.is_call and _taken(unread, _told(o))]
    answered = {o.call_id for o in again if o.call_id}
    again += [o for o in turn.observations if o.is_call and o.call_id in answered]
    left = tuple(o for o in turn.observations if not any(o is other for other in again))
    return turn.model_copy(update={"observations": left}) if left else turn


def _told(observation: Observation) -> str:
    """The same for an observation and for what is pending of it, which stands on one line."""
    text = one_line(observation.text)
    return "\x00".join((observation.channel, observation.name, observation.call_id, text))


def joined(before: Sequence[Observation], now: Sequence[Observation]) -> tuple[Observation, ...]:
    """What is heard ``now``, and in front of it what of ``before`` is not told again."""
    has = Counter(o.identity for o in now)
    return (*(o for o in before if not _taken(has, o.identity)), *now)


def observed(branch: Branch, stored: Sequence[Artifact]) -> tuple[Observation, ...]:
    """What was ``stored`` on ``branch``, as it was observed: the user's words were split before."""
    return tuple(
        Observation(
            channel=a.channel,
            name=a.name,
            call_id=a.call_id,
            message=a.message,
            text=branch.text(a.ref),
        ).as_split()
        for a in stored
    )


def _taken(has: Counter[str], identity: str) -> bool:
    """Take one of ``identity`` out of what there is; whether there was one."""
    has[identity] -= 1
    return has[identity] >= 0


def _is_done(channel: Channel, call_id: str) -> bool:
    """Whether it is the agent's doing: its words, its calls, and what they brought, documents too."""
    brought = channel is Channel.DOCUMENT and bool(call_id)
    return brought or channel in (Channel.AGENT, Channel.TOOL)

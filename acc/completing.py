"""A turn completed by what was recorded of it before: the agent's answer, its calls, what they brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from acc.branch import Branch
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


def joined(before: Sequence[Observation], now: Sequence[Observation]) -> tuple[Observation, ...]:
    """What is heard ``now``, and in front of it what of ``before`` is not told again."""
    has = Counter(o.identity for o in now)
    return (*(o for o in before if not _taken(has, o.identity)), *now)


def observed(branch: Branch, stored: Sequence[Artifact]) -> tuple[Observation, ...]:
    """What was ``stored`` on ``branch``, as it was observed."""
    return tuple(
        Observation(
            channel=a.channel,
            name=a.name,
            call_id=a.call_id,
            message=a.message,
            text=branch.text(a.ref),
        )
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

"""What the agent says after a tool or a document keeps their trust, where it is stored.

Else a tool's words would come back as the agent's own, through recall (law 6).
"""

from __future__ import annotations

from collections.abc import Sequence

from acc.branch import Branch
from acc.store import Artifact
from acc.turn import Channel, Trust
from acc.wording import repeated, repeats

MOST_STEPS = 16
"""Turns before, of one loop of tool calls, whose words an agent's speech is held against."""


def since_the_user(branch: Branch, number: int, made: Sequence[Artifact]) -> list[Artifact]:
    """What was heard in the turns before, back to the one in which the user spoke last."""
    heard: list[Artifact] = []
    turn, latest = number, list(made)
    while turn > max(1, number - MOST_STEPS) and not any(a.channel is Channel.USER for a in latest):
        turn -= 1
        latest = branch.at_turn(turn)
        heard += latest
    return heard


def weighed(artifact: Artifact, heard: Sequence[Artifact]) -> Artifact:
    """The record of what the agent said takes the trust of whose words it repeats.

    Not where the user said the same: a tool that echoes them makes nothing of it its own.
    """
    if artifact.channel is not Channel.AGENT or artifact.call_id or artifact.name:
        return artifact
    said, observed = artifact.text, [a for a in heard if a.kind == "observation"]
    lower = [a for a in observed if a.channel.trust < Trust.AGENT and repeats(said, a.text)]
    users = [repeated(said, a.text) for a in observed if lower and a.channel.trust >= Trust.USER]
    own = frozenset().union(*users)
    theirs = (a.channel.trust for a in lower if not repeated(said, a.text) <= own)
    least = min(theirs, default=None)
    return artifact if least is None else artifact.model_copy(update={"trust": least})

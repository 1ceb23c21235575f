"""The trust of an agent's words: they have that of the tool or document whose words they repeat."""

from __future__ import annotations

from collections.abc import Sequence

from acc.stores.protocol import Artifact
from acc.text.wording import repeated, repeats
from acc.thread.branch import Branch
from acc.turn.observations import GIVEN_TASK, Channel, Trust
from acc.turn.turn import Turn

MOST_STEPS = 16
"""Maximum number of earlier turns, within one tool loop, to compare an agent's words with."""


def since_the_user(branch: Branch, number: int, made: Sequence[Artifact]) -> list[Artifact]:
    """Return the artifacts of earlier turns, back to the turn in which the user last spoke."""
    heard: list[Artifact] = []
    turn, latest = number, list(made)
    while turn > max(1, number - MOST_STEPS) and not any(a.channel is Channel.USER for a in latest):
        turn -= 1
        latest = branch.at_turn(turn)
        heard += latest
    return heard


def told_before(turn: Turn) -> list[Artifact]:
    """Return the tools' and documents' words that the turn names as heard before; they are not stored with it."""
    return [
        Artifact(id="", thread="", branch="", seq=0, turn=0, channel=o.channel, text=o.text)
        for o in turn.heard
    ]


def lower_trust(artifact: Artifact, heard: Sequence[Artifact]) -> Artifact:
    """Lower the trust of an agent's words to that of the lowest tool or document that they repeat.

    Words that the user also said do not count: a tool that echoes the user does not own those words.
    """
    is_call = artifact.call_id or artifact.name not in ("", GIVEN_TASK)
    if artifact.channel is not Channel.AGENT or is_call:
        return artifact
    said, observed = artifact.text, [a for a in heard if a.kind == "observation"]
    lower = [a for a in observed if a.channel.trust < Trust.AGENT and repeats(said, a.text)]
    users = [repeated(said, a.text) for a in observed if lower and a.channel.trust >= Trust.USER]
    own = frozenset().union(*users)
    theirs = (a.channel.trust for a in lower if not repeated(said, a.text) <= own)
    least = min(theirs, default=None)
    return artifact if least is None else artifact.model_copy(update={"trust": least})

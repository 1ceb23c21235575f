"""Evidence that one role of a team shares with the others, by channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from acc.recall.candidates import Candidate, Recall
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Artifact, Thread
from acc.thread.branch import Branch
from acc.turn.observations import Channel
from acc.turn.turn import Turn

KEY_DIGITS = 8
"""Digits of a thread's key before the slash of a ref of another thread, as in ``294d8b34/t1``."""

OWN_CHANNELS = (Channel.TOOL, Channel.DOCUMENT)
"""Channels that keep their trust in another role's memory."""


class Peer(NamedTuple):
    """Another role, the channels it shares, and its evidence."""

    name: str
    channels: frozenset[Channel]
    branch: Callable[[], Branch]

    def shows(self, artifact: Artifact) -> bool:
        """Return whether this role shares ``artifact``. Items that left its state, acts and marks are its own."""
        return artifact.kind == "observation" and artifact.channel in self.channels


@dataclass(frozen=True)
class SharedRecall(Recall):
    """Adds what other roles share to a role's own recall.

    Speech of another role, and what was said to it, counts as a document that bears the role's name: in this
    role's memory nobody said it. Rules reach all roles through a board, not by evidence.

    Attributes:
        own: Recalls from the role's own evidence.
        reader: The role's thread; in any other thread nothing is shared.
        peers: Returns the other roles.
        most: Maximum number of candidates from other roles, in addition to the role's own.
    """

    own: Recall = field(default_factory=Recall)
    reader: Thread | None = None
    peers: Callable[[], Sequence[Peer]] = tuple
    most: int = 8

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, branch: Branch
    ) -> list[Candidate]:
        """Return the candidates for this turn, best first."""
        candidates = [*self.own(turn, state, branch), *self._shared(turn, branch.thread)]
        return sorted(candidates, key=lambda candidate: -candidate.score)

    def _shared(self, turn: Turn, thread: Thread) -> Iterator[Candidate]:
        query = turn.user_words or "\n".join(o.text for o in turn.observations)
        found = [
            (float(scores[at]), peer, branch.artifacts[at])
            for peer in self._visible(thread)
            for branch in [peer.branch()]
            for scores in [branch.index.bm25(query)]
            for at in np.flatnonzero(scores)
            if peer.shows(branch.artifacts[at])
        ]
        found.sort(key=lambda each: (-each[0], each[2].id))
        highest = max((score for score, _, _ in found), default=1.0)
        for score, peer, artifact in found[: self.most]:
            yield Candidate(
                artifact=as_read(artifact, peer), score=self.share * score / highest, by_turn=1.0
            )

    def _visible(self, thread: Thread) -> Sequence[Peer]:
        return self.peers() if thread == self.reader else ()

    def text_behind(self, ref: str, thread: Thread) -> str:
        """Return the whole text behind a ref of another role, such as ``294d8b34/t1``.

        It is empty if ``thread`` is not the reader's, or if the role does not share it.
        """
        near, _, far = ref.partition("/")
        for peer in self._visible(thread):
            branch = peer.branch()
            if near == branch.thread.key[:KEY_DIGITS]:
                parts = branch.parts(far)
                return "".join(p.text for p in parts) if all(map(peer.shows, parts)) else ""
        return ""


def as_read(artifact: Artifact, peer: Peer) -> Artifact:
    """Return an artifact of ``peer`` as another role reads it."""
    ref = f"{artifact.thread[:KEY_DIGITS]}/{artifact.ref}"
    read = artifact.model_copy(update={"ref": ref, "turn": 0})
    if artifact.channel in OWN_CHANNELS:
        return read
    return read.model_copy(update={"channel": Channel.DOCUMENT, "name": peer.name, "call_id": ""})

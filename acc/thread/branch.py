"""One branch of a thread: its artifacts in order, kept in step with the store."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from acc.errors import ConflictError
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Artifact, ArtifactStore, Thread, artifact_id
from acc.text.lines import one_line
from acc.text.ranking import LexicalIndex
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

OVERTAKEN = ("replaced", "settled", "retired")
"""Reasons for which an item was set aside that a later word overtook."""

_FIRST_READ = 16
_LARGEST_READ = 1024


class Branch:
    """What a branch holds, and what it sees of its ancestors.

    Attributes:
        artifacts: In order; the ancestors' first.
        turns: The turn of each artifact.
        index: Their words.
        retired: Turn in which a rule or goal that a ref made was retired.
        erased: Refs of what was erased.
        messages: Turn of each chat message, by the id that its observations carry.
    """

    def __init__(self, store: ArtifactStore, thread: Thread, name: str) -> None:
        self.store = store
        self.thread = thread
        self.name = name
        self.artifacts: list[Artifact] = []
        self.turns: array[int] = array("i")
        self.index = LexicalIndex()
        self.retired: dict[str, int] = {}
        self.erased: set[str] = set()
        self.messages: dict[str, int] = {}
        self._by_ref: dict[str, list[int]] = {}
        self._by_turn: dict[int, list[int]] = {}
        self._next = 1
        self._in_step = False
        self._unsaved: list[Artifact] = []
        self._line: list[tuple[str, int]] = []

    def inherit(self, ancestor: Branch, turn: int) -> None:
        """See what ``ancestor`` held up to ``turn``."""
        above = [(name, min(upto, turn)) for name, upto in ancestor._line]
        self._line = [*above, (ancestor.name, turn)]
        for artifact in ancestor.artifacts:
            if artifact.turn <= turn:
                self._see(artifact)

    def refresh(self) -> None:
        """Read what was added since the last look.

        Once is enough where nobody else may write, unless a call of the store has failed.
        """
        if self._in_step and not self.store.shared:
            return
        batch = _FIRST_READ
        while True:
            ids = [self.id_of(seq) for seq in range(self._next, self._next + batch)]
            found = self.store.get(self.thread.tenant, ids)
            for artifact in found:
                self._see(artifact)
            self._next += len(found)
            if len(found) < batch:
                break
            batch = min(batch * 2, _LARGEST_READ)
        self._in_step = True

    def home_of(self, turn: int) -> str:
        """The branch on which ``turn`` stands: this one, or an ancestor."""
        return next((name for name, upto in self._line if turn <= upto), self.name)

    def at_turn(self, turn: int) -> list[Artifact]:
        """Everything of ``turn`` that the branch sees, its ancestors' included."""
        return [self.artifacts[at] for at in self._by_turn.get(turn, ())]

    def own(self, turn: int, kind: str) -> list[Artifact]:
        """What of ``turn`` and ``kind`` was written to this very branch."""
        return [a for a in self.at_turn(turn) if a.branch == self.name and a.kind == kind]

    def positions(self, ref: str) -> list[int]:
        """Where in `artifacts` the parts of the text that ``ref`` names stand."""
        return self._by_ref.get(ref, [])

    def parts(self, ref: str) -> list[Artifact]:
        """All parts of the text that ``ref`` names, in order."""
        return sorted((self.artifacts[at] for at in self.positions(ref)), key=lambda a: a.part)

    def text(self, ref: str) -> str:
        """The whole text that ``ref`` names."""
        return "".join(part.text for part in self.parts(ref))

    def append(self, artifacts: Sequence[Artifact], *marks: Artifact) -> None:
        """Write ``artifacts`` at the end, together with what waits from before.

        Args:
            artifacts: Placed at the end, in order.
            marks: Records with ids of their own, written in the same call.

        Raises:
            ConflictError: Another process wrote to these places.
            StoreError: They cannot be written; the store is read again before the next write.
        """
        placed = [*self._unsaved, *self._placed(artifacts)]
        if not placed and not marks:
            return
        self._in_step = False
        self.store.add(self.thread.tenant, [*marks, *placed])
        if self.store.shared:
            self._check_mine(placed)
        self._unsaved = []
        for artifact in placed:
            self._see(artifact)
        self._next += len(placed)
        self._in_step = True

    def append_later(self, artifacts: Sequence[Artifact]) -> None:
        """Write ``artifacts`` with the next `append`, or on `flush`."""
        self._unsaved.extend(self._placed(artifacts))

    def flush(self) -> None:
        """Write what waits."""
        if self._unsaved:
            self.refresh()
            self.append(())

    def origin(self, parent: str, turn: int, at: str) -> Artifact:
        """The record that says where the branch comes from."""
        return Artifact(
            id=self.id_of(0), thread=self.thread.key, branch=self.name, seq=0, turn=turn,
            kind="branch", text=json.dumps({"parent": parent, "turn": turn}), at=at,
        )  # fmt: skip

    def id_of(self, seq: int) -> str:
        """The id of a place on the branch."""
        return artifact_id(self.thread.key, self.name, seq)

    def _placed(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        start = self._next + len(self._unsaved)
        return [
            artifact.model_copy(update={"seq": seq, "id": self.id_of(seq), "branch": self.name})
            for seq, artifact in enumerate(artifacts, start)
        ]

    def _check_mine(self, placed: Sequence[Artifact]) -> None:
        stored = self.store.get(self.thread.tenant, [a.id for a in placed])
        if [a.identity for a in stored] != [a.identity for a in placed]:
            raise race(self.thread, self.name)

    def _see(self, artifact: Artifact) -> None:
        position = len(self.artifacts)
        before = self.artifacts[-1] if self.artifacts else None
        # Speech is understood from the speech before it; a tool's output stands for itself.
        together = before is not None and _is_speech(before) and _is_speech(artifact)
        self._by_ref.setdefault(artifact.ref, []).append(position)
        self._by_turn.setdefault(artifact.turn, []).append(position)
        self.artifacts.append(artifact)
        self.turns.append(artifact.turn)
        # What was overtaken is never admitted, so its words only make the index longer.
        text = "" if artifact.reason in OVERTAKEN else artifact.text
        self.index.add(text, before.text if before is not None and together else "")
        if artifact.message:
            self.messages.setdefault(artifact.message, artifact.turn)
        if artifact.kind == "tombstone" and artifact.reason == "erased":
            self.erased.add(artifact.ref)
        if artifact.kind == "set_aside" and artifact.reason == "retired":
            for ref in artifact.sources:
                self.retired[ref] = artifact.turn


def _is_speech(artifact: Artifact) -> bool:
    spoken = artifact.kind == "observation" and artifact.channel in (Channel.USER, Channel.AGENT)
    return spoken and not artifact.call_id


def race(thread: Thread, branch: str) -> ConflictError:
    """The error of whoever comes second."""
    return ConflictError(
        "another process steps this thread at the same time",
        where=f"thread {thread.thread!r}, branch {branch}",
        hint="wait for it, load the thread's current state and step again",
    )


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

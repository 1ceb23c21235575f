"""The log of a thread: its artifacts in order, branch by branch, over any store.

A branch is a sequence of places without a gap, so it is read by computable ids, and only
what was added since the last look. Within one turn a branch holds one future: whoever comes
from the same state with other observations gets a branch of their own (a fork), and sees of
the old one only what happened up to that state.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from acc.errors import ConflictError, StoreError
from acc.laws.reasons import SetAside
from acc.ranking import LexicalIndex
from acc.state import ROOT, CompressedCognitiveState
from acc.store import Artifact, ArtifactStore, Thread, artifact_id, split_text
from acc.turn import Channel, Observation, Turn

_BATCH = 64


class Branch:
    """One branch with what it sees of its ancestors, kept in step with the store."""

    def __init__(self, store: ArtifactStore, thread: Thread, name: str) -> None:
        self.store = store
        self.thread = thread
        self.name = name
        self.artifacts: list[Artifact] = []
        self.index = LexicalIndex()
        self.retired: dict[str, int] = {}
        self._next = 1
        self._described = name == ROOT
        self._unsaved: list[Artifact] = []

    def inherit(self, ancestor: Branch, turn: int) -> None:
        """See what ``ancestor`` held up to ``turn``."""
        for artifact in ancestor.artifacts:
            if artifact.turn <= turn:
                self._see(artifact)

    def refresh(self) -> None:
        """Read what was added since the last look; once, where nobody else may write."""
        if self._next > 1 and not self.store.shared:
            return
        while True:
            ids = [self._id(seq) for seq in range(self._next, self._next + _BATCH)]
            found = self.store.get(self.thread.tenant, ids)
            for artifact in found:
                self._see(artifact)
            self._next += len(found)
            if len(found) < _BATCH:
                return

    def of_turn(self, turn: int) -> list[Artifact]:
        """The observations of ``turn`` on this very branch, first parts only."""
        return [
            a
            for a in self.artifacts
            if a.turn == turn and a.branch == self.name and a.kind == "observation" and a.part == 0
        ]

    def whole(self, ref: str, turn: int) -> list[Artifact]:
        """All parts of the newest text that ``ref`` names up to ``turn``, in order."""
        parts = [a for a in self.artifacts if a.ref == ref and a.turn <= turn]
        return sorted(parts, key=lambda a: a.part)

    def append(self, artifacts: Sequence[Artifact]) -> None:
        """Write ``artifacts`` at the end, together with what waits from before.

        Raises:
            ConflictError: Another process wrote to these places.
            StoreError: They cannot be written; nothing is marked as written then.
        """
        placed = [*self._unsaved, *self._placed(artifacts, len(self._unsaved))]
        if not placed:
            return
        self.store.add(self.thread.tenant, placed)
        if self.store.shared:
            self._check_mine(placed)
        self._unsaved = []
        self._described = True
        for artifact in placed:
            if artifact.seq:
                self._see(artifact)
        self._next = max(self._next, placed[-1].seq + 1)

    def append_later(self, artifacts: Sequence[Artifact]) -> None:
        """Place ``artifacts`` now and write them with the next `append`, or on `flush`."""
        self._unsaved.extend(self._placed(artifacts, len(self._unsaved)))

    def flush(self) -> None:
        """Write what waits."""
        self.append(())

    def _placed(self, artifacts: Sequence[Artifact], waiting: int) -> Iterator[Artifact]:
        start = self._next + sum(1 for a in self._unsaved if a.seq) if waiting else self._next
        for offset, artifact in enumerate(artifacts):
            seq = start + offset
            yield artifact.model_copy(update={"seq": seq, "id": self._id(seq), "branch": self.name})

    def describe(self, parent: str, turn: int, at: str) -> None:
        """Have the branch's origin written with its first artifacts."""
        if self._described or any(a.kind == "branch" for a in self._unsaved):
            return
        text = json.dumps({"parent": parent, "turn": turn})
        self._unsaved.insert(
            0,
            Artifact(
                id=self._id(0), thread=self.thread.key, branch=self.name, seq=0, turn=turn,
                kind="branch", text=text, at=at,
            ),  # fmt: skip
        )

    def _check_mine(self, placed: Sequence[Artifact]) -> None:
        stored = self.store.get(self.thread.tenant, [a.id for a in placed])
        if [a.identity for a in stored] != [a.identity for a in placed]:
            raise ConflictError(
                "another process wrote to this thread at the same time",
                where=f"thread {self.thread.thread!r}, branch {self.name}",
                mend="load the thread's current state and step again",
            )

    def _see(self, artifact: Artifact) -> None:
        before = self.artifacts[-1].text if self.artifacts else ""
        self.artifacts.append(artifact)
        self.index.add(artifact.text, before)
        if artifact.kind == "set_aside" and artifact.reason == "retired":
            for ref in artifact.sources:
                self.retired[ref] = artifact.turn

    def _id(self, seq: int) -> str:
        return artifact_id(self.thread.key, self.name, seq)


class ThreadLog:
    """The branches of one thread. Not for several threads of execution at once."""

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self.store = store
        self.thread = thread
        self._now = now
        self._branches: dict[str, Branch] = {}

    def branch(self, name: str) -> Branch:
        """The branch of that name, in step with the store.

        Raises:
            StoreError: No such branch, or the store cannot be read.
        """
        if name not in self._branches:
            self._branches[name] = self._opened(name)
        branch = self._branches[name]
        branch.refresh()
        return branch

    def _opened(self, name: str) -> Branch:
        branch = Branch(self.store, self.thread, name)
        if name == ROOT:
            return branch
        found = self.store.get(self.thread.tenant, [artifact_id(self.thread.key, name, 0)])
        if not found:
            raise StoreError(
                f"branch {name!r} is not in the store",
                where=f"thread {self.thread.thread!r}",
                mend="open the store that this state was made with, under the same tenant, user and agent",
            )
        origin = json.loads(found[0].text)
        branch.inherit(self.branch(origin["parent"]), origin["turn"])
        branch._described = True
        return branch

    def begin(self, state: CompressedCognitiveState, turn: Turn) -> tuple[Branch, Turn]:
        """Write the turn that follows ``state``: evidence first.

        What was recorded of the turn already is part of it. A branch whose next turn holds
        something else belongs to another future: then the turn begins a new one.

        Returns:
            The branch, and the turn numbered, with the refs under which it is stored.
        """
        number = state.turn + 1
        for branch in self._candidates(state, turn):
            stored = branch.of_turn(number)
            whole = _completed(turn, stored)
            keys = identities(whole.observations)
            if {a.identity for a in stored} <= set(keys):
                return branch, self._write(branch, whole, keys, stored, number)
        raise AssertionError("unreachable: a new branch fits every turn")

    def record(self, state: CompressedCognitiveState, observations: Sequence[Observation]) -> Branch:
        """Store what happened since ``state`` as the beginning of its next turn; repeatable."""
        branch = self.branch(state.branch)
        stored = branch.of_turn(state.turn + 1)
        keys = identities(observations)
        self._write(branch, Turn(observations=tuple(observations)), keys, stored, state.turn + 1)
        return branch

    def keep(self, branch: Branch, turn: int, set_aside: Sequence[SetAside], *, later: bool) -> None:
        """Store items that left the state; ``later`` writes them with the next turn's evidence."""
        artifacts = [
            Artifact(
                id="", thread=self.thread.key, branch=branch.name, seq=0, turn=turn, kind="set_aside",
                ref=f"x{turn}" + (f".{index}" if index else ""), trust=gone.item.trust, name=gone.slot,
                text=gone.item.words, identity=f"x{turn}.{index}:{gone.item.id}",
                sources=gone.item.sources, reason=gone.reason.value, at=self._now(),
            )
            for index, gone in enumerate(set_aside)
        ]  # fmt: skip
        known = {a.identity for a in branch.artifacts if a.turn == turn and a.kind == "set_aside"}
        new = [a for a in artifacts if a.identity not in known]
        if not new:
            return
        branch.append_later(new)
        if not later:
            branch.flush()

    def flush(self) -> None:
        """Write what waits on any branch."""
        for branch in self._branches.values():
            branch.flush()

    def _candidates(self, state: CompressedCognitiveState, turn: Turn) -> Iterator[Branch]:
        yield self.branch(state.branch)
        first = identities(turn.observations)[0]
        attempt = 0
        while True:
            seed = f"{state.branch}\x00{state.hash}\x00{first}\x00{attempt}"
            name = f"b{hashlib.sha256(seed.encode()).hexdigest()[:12]}"
            yield self._forked(name, state)
            attempt += 1

    def _forked(self, name: str, state: CompressedCognitiveState) -> Branch:
        try:
            return self.branch(name)
        except StoreError:
            branch = Branch(self.store, self.thread, name)
            branch.inherit(self.branch(state.branch), state.turn)
            branch.describe(state.branch, state.turn, self._now())
            self._branches[name] = branch
            return branch

    def _write(
        self, branch: Branch, turn: Turn, keys: Sequence[str], stored: Sequence[Artifact], number: int
    ) -> Turn:
        refs = _refs(turn.observations, keys, {a.identity: a.ref for a in stored}, number)
        known = {a.identity for a in stored}
        new: list[Artifact] = []
        for observation, key, ref in zip(turn.observations, keys, refs, strict=True):
            if key not in known:
                new.extend(self._artifacts(branch, observation, key, ref, number))
        branch.append(new)
        named = tuple(
            o.model_copy(update={"ref": ref}) for o, ref in zip(turn.observations, refs, strict=True)
        )
        return turn.numbered(number).model_copy(update={"observations": named})

    def _artifacts(
        self, branch: Branch, observation: Observation, key: str, ref: str, number: int
    ) -> Iterator[Artifact]:
        texts = split_text(observation.text)
        for part, text in enumerate(texts):
            yield Artifact(
                id="", thread=self.thread.key, branch=branch.name, seq=0, turn=number, ref=ref,
                part=part, parts=len(texts), channel=observation.channel, name=observation.name,
                call_id=observation.call_id, text=text, identity=key, at=self._now(),
            )  # fmt: skip


def identities(observations: Sequence[Observation]) -> list[str]:
    """A key for each observation: equal ones within a turn are told apart by their order."""
    count: Counter[str] = Counter()
    keys = []
    for observation in observations:
        identity = observation.identity[:32]
        keys.append(f"{identity}.{count[identity]}")
        count[identity] += 1
    return keys


def _completed(turn: Turn, stored: Sequence[Artifact]) -> Turn:
    """A turn without a word of the agent is completed by what was recorded of it."""
    if any(o.channel in (Channel.AGENT, Channel.TOOL) for o in turn.observations):
        return turn
    recorded = tuple(
        Observation(channel=a.channel, text=a.text, name=a.name, call_id=a.call_id)
        for a in stored
        if a.channel in (Channel.AGENT, Channel.TOOL) and a.parts == 1
    )
    return turn.model_copy(update={"observations": (*recorded, *turn.observations)})


def _refs(
    observations: Sequence[Observation], keys: Sequence[str], known: dict[str, str], number: int
) -> list[str]:
    count = Counter(ref[0] for ref in known.values())
    refs = []
    for observation, key in zip(observations, keys, strict=True):
        letter = observation.channel.value[0]
        if key in known:
            refs.append(known[key])
            continue
        refs.append(f"{letter}{number}" + (f".{count[letter]}" if count[letter] else ""))
        count[letter] += 1
    return refs

"""The log of a thread: its artifacts in order, branch by branch, over any store.

A branch is a sequence of places without a gap, so it is read by computable ids, and only
what was added since the last look. Within one turn a branch holds one future: whoever comes
from the same state with other observations gets a branch of their own (a fork), and sees of
the old one only what happened up to that state.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from acc.errors import ConflictError, StoreError
from acc.laws.reasons import SetAside
from acc.ranking import LexicalIndex
from acc.state import ROOT, CompressedCognitiveState
from acc.store import Artifact, ArtifactStore, Thread, artifact_id, split_text
from acc.turn import Channel, Observation, Turn

LEASE = timedelta(minutes=2)
"""In a shared store, evidence without a commit is a writer under way for so long; then a dead one."""

_FIRST_READ = 16
_LARGEST_READ = 1024


class Branch:
    """One branch with what it sees of its ancestors, kept in step with the store."""

    def __init__(self, store: ArtifactStore, thread: Thread, name: str) -> None:
        self.store = store
        self.thread = thread
        self.name = name
        self.artifacts: list[Artifact] = []
        self.turns: array[int] = array("i")
        self.index = LexicalIndex()
        self.retired: dict[str, int] = {}
        self._by_ref: dict[str, list[int]] = {}
        self._by_turn: dict[int, list[int]] = {}
        self._next = 1
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
        batch = _FIRST_READ
        while True:
            ids = [self._id(seq) for seq in range(self._next, self._next + batch)]
            found = self.store.get(self.thread.tenant, ids)
            for artifact in found:
                self._see(artifact)
            self._next += len(found)
            if len(found) < batch:
                return
            batch = min(batch * 2, _LARGEST_READ)

    def of_turn(self, turn: int) -> list[Artifact]:
        """The observations of ``turn`` on this very branch, first parts only."""
        held = self.at_turn(turn)
        return [a for a in held if a.branch == self.name and a.kind == "observation" and a.part == 0]

    def at_turn(self, turn: int) -> list[Artifact]:
        """Everything of ``turn`` that the branch sees, its ancestors' included."""
        return [self.artifacts[at] for at in self._by_turn.get(turn, ())]

    def positions(self, ref: str) -> list[int]:
        """Where in `artifacts` the parts of the text that ``ref`` names stand."""
        return self._by_ref.get(ref, [])

    def parts(self, ref: str) -> list[Artifact]:
        """All parts of the text that ``ref`` names, in order."""
        return sorted((self.artifacts[at] for at in self.positions(ref)), key=lambda a: a.part)

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
            raise _race(self.thread, self)

    def _see(self, artifact: Artifact) -> None:
        before = self.artifacts[-1] if self.artifacts else None
        # Speech is understood from the speech before it; a tool's output stands for itself.
        together = before is not None and _is_speech(before) and _is_speech(artifact)
        self._by_ref.setdefault(artifact.ref, []).append(len(self.artifacts))
        self._by_turn.setdefault(artifact.turn, []).append(len(self.artifacts))
        self.artifacts.append(artifact)
        self.turns.append(artifact.turn)
        self.index.add(artifact.text, before.text if before is not None and together else "")
        if artifact.kind == "set_aside" and artifact.reason == "retired":
            for ref in artifact.sources:
                self.retired[ref] = artifact.turn

    def _id(self, seq: int) -> str:
        return artifact_id(self.thread.key, self.name, seq)


def _race(thread: Thread, branch: Branch) -> ConflictError:
    return ConflictError(
        "another process steps this thread at the same time",
        where=f"thread {thread.thread!r}, branch {branch.name}",
        mend="wait for it, load the thread's current state and step again",
    )


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
        branch = self._found(name)
        if branch is None:
            raise StoreError(
                f"branch {name!r} is not in the store",
                where=f"thread {self.thread.thread!r}",
                mend="open the store that this state was made with, under the same tenant, user and agent",
            )
        return branch

    def _found(self, name: str) -> Branch | None:
        branch = self._branches.get(name)
        if branch is None:
            branch = Branch(self.store, self.thread, name)
            if name != ROOT:
                found = self.store.get(self.thread.tenant, [artifact_id(self.thread.key, name, 0)])
                if not found:
                    return None
                origin = json.loads(found[0].text)
                branch.inherit(self.branch(origin["parent"]), origin["turn"])
            self._branches[name] = branch
        branch.refresh()
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
            whole = _completed(turn, branch, stored)
            keys = identities(whole.observations)
            if {a.identity for a in stored} <= set(keys):
                return branch, self._write(branch, whole, keys, stored, number)
            self._refuse_race(branch, stored)
        raise AssertionError("unreachable: a new branch fits every turn")

    def claimed(self, branch: Branch, turn: int) -> str:
        """Hash of the state that was committed for ``turn`` on a shared store's branch, or empty."""
        if not self.store.shared:
            return ""
        found = self.store.get(self.thread.tenant, [self._claim_id(branch, turn)])
        return found[0].text if found else ""

    def claim(self, branch: Branch, state: CompressedCognitiveState) -> None:
        """Have ``state`` be the successor on a shared store's branch, where the first one wins.

        Raises:
            ConflictError: Another process committed this turn while this one was under way.
        """
        if not self.store.shared:
            return
        mine = Artifact(
            id=self._claim_id(branch, state.turn), thread=self.thread.key, branch=branch.name, seq=0,
            turn=state.turn, kind="successor", text=state.hash, identity=state.hash, at=self._now(),
        )  # fmt: skip
        self.store.add(self.thread.tenant, [mine])
        if self.claimed(branch, state.turn) != state.hash:
            raise _race(self.thread, branch)

    def _claim_id(self, branch: Branch, turn: int) -> str:
        return f"{self.thread.key}.{branch.name}:s{turn}"

    def _refuse_race(self, branch: Branch, stored: Sequence[Artifact]) -> None:
        """Another future's evidence without a commit, just written, is a writer under way."""
        if not self.store.shared or self.claimed(branch, stored[0].turn):
            return
        age = datetime.fromisoformat(self._now()) - datetime.fromisoformat(stored[-1].at)
        if age < LEASE:
            raise _race(self.thread, branch)

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
        known = {a.identity for a in branch.at_turn(turn) if a.kind == "set_aside"}
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
        branch = self._found(name)
        if branch is None:
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


def _is_speech(artifact: Artifact) -> bool:
    return artifact.channel in (Channel.USER, Channel.AGENT) and not artifact.call_id


def is_reply(artifact: Artifact) -> bool:
    """Whether it is the beginning of what the agent said to the user."""
    spoken = artifact.channel is Channel.AGENT and artifact.kind == "observation"
    return spoken and not artifact.call_id and artifact.part == 0


def identities(observations: Sequence[Observation]) -> list[str]:
    """A key for each observation: equal ones within a turn are told apart by their order."""
    count: Counter[str] = Counter()
    keys = []
    for observation in observations:
        identity = observation.identity[:32]
        keys.append(f"{identity}.{count[identity]}")
        count[identity] += 1
    return keys


def _completed(turn: Turn, branch: Branch, stored: Sequence[Artifact]) -> Turn:
    """A turn without a word of the agent is completed by what was recorded of it."""
    if any(o.channel in (Channel.AGENT, Channel.TOOL) for o in turn.observations):
        return turn
    recorded = tuple(
        Observation(
            channel=a.channel, name=a.name, call_id=a.call_id,
            text="".join(part.text for part in branch.parts(a.ref)),
        )
        for a in stored
        if a.channel in (Channel.AGENT, Channel.TOOL)
    )  # fmt: skip
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

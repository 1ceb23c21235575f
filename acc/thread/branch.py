"""One branch of a thread: its artifacts in order, synchronized with the store.

The functions below `Branch` compare a turn that a caller gives with the artifacts stored for it.
"""

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
from acc.turn.observations import Channel, Observation, identities
from acc.turn.turn import Turn

OVERTAKEN = ("replaced", "settled", "retired")
"""Eviction reasons of items that a later observation made obsolete."""

_RECORD_BYTES = 1_500
"""Memory of a record without its text and its entries in the index; measured."""

_FIRST_READ = 16
_LARGEST_READ = 1024


class Branch:
    """The artifacts of a branch, including those that it inherits from its ancestors.

    Attributes:
        artifacts: All artifacts in order, the ancestors' first.
        turns: The turn of each artifact.
        newest: The newest turn with a record, including inherited ones; 0 if there is none.
        index: Lexical index of the artifacts' words.
        retired: Maps a ref to the turn that retired the rule or goal with that source.
        erased: Refs of erased evidence.
        messages: Maps the id of a chat message to its turn.
        missing: Ids of places, its own and inherited ones, that hold no record although a later place
            does. Every place is written, and a deletion leaves a tombstone: damage took the record.
    """

    def __init__(self, store: ArtifactStore, thread: Thread, name: str) -> None:
        self.store = store
        self.thread = thread
        self.name = name
        self.artifacts: list[Artifact] = []
        self.turns: array[int] = array("i")
        self.newest = 0
        self.index = LexicalIndex()
        self.retired: dict[str, int] = {}
        self.erased: set[str] = set()
        self.messages: dict[str, int] = {}
        self.missing: list[str] = []
        self._chars = 0
        self._by_ref: dict[str, list[int]] = {}
        self._by_turn: dict[int, list[int]] = {}
        self._next = 1
        self._is_current = False
        self._queued: list[Artifact] = []
        self._ancestors: list[tuple[str, int]] = []  # each with its last inherited turn

    def inherit(self, ancestor: Branch, turn: int) -> None:
        """Add the artifacts of ``ancestor`` up to and including ``turn``."""
        above = [(name, min(upto, turn)) for name, upto in ancestor._ancestors]
        self._ancestors = [*above, (ancestor.name, turn)]
        last = 0
        for artifact in ancestor.artifacts:
            if artifact.turn <= turn:
                self._add(artifact)
                last = artifact.seq if artifact.branch == ancestor.name else last
        own = {ancestor.id_of(seq) for seq in range(last, ancestor._next)}
        self.missing = [place for place in ancestor.missing if place not in own]

    def refresh(self) -> None:
        """Read the artifacts that were added to the store since the last refresh.

        If no other process writes to the store, only the first refresh reads it, and the first after a
        failed write.
        """
        if self._is_current and not self.store.shared:
            return
        batch = _FIRST_READ
        while True:
            end = self._next + batch
            found = self._read(range(self._next, end))
            for artifact in found:
                self._add(artifact)
            if found:
                self._next = found[-1].seq + 1
            if self._next < end:
                break
            batch = min(batch * 2, _LARGEST_READ)
        self._is_current = True

    def _read(self, places: range) -> list[Artifact]:
        """Return the records at ``places``; note the ids of missing ones before the last that exists.

        A new record never takes the place of a missing one: the records after it still exist.
        """
        found = self.store.get(self.thread.tenant, [self.id_of(seq) for seq in places])
        if not found or found[-1].seq == places.start + len(found) - 1:
            return found
        # Another process may have written the first ones after the read had passed them.
        ids = [self.id_of(seq) for seq in range(places.start, found[-1].seq + 1)]
        found = self.store.get(self.thread.tenant, ids)
        there = {artifact.id for artifact in found}
        self.missing += [each for each in ids if each not in there]
        return found

    def committed(self) -> int:
        """Return the newest of its own turns that must have been committed; 0 if none must.

        The last turn may have been begun only. An earlier one was committed: the next began from its state.
        """
        upto = max((turn for _, turn in self._ancestors), default=0)
        return max((turn for turn in self._by_turn if upto < turn < self.newest), default=0)

    @property
    def size(self) -> int:
        """The memory that the branch takes, in bytes, roughly."""
        return _RECORD_BYTES * (1 + len(self.artifacts)) + self._chars + self.index.size

    def expire(self) -> None:
        """Make the next refresh read the store."""
        self._is_current = False

    def branch_of(self, turn: int) -> str:
        """Return the name of the branch on which ``turn`` is stored: this one or an ancestor."""
        return next((name for name, upto in self._ancestors if turn <= upto), self.name)

    def at_turn(self, turn: int) -> list[Artifact]:
        """Return all artifacts of ``turn``, including inherited ones."""
        return [self.artifacts[at] for at in self._by_turn.get(turn, ())]

    def own(self, turn: int, kind: str) -> list[Artifact]:
        """Return the artifacts of ``turn`` and ``kind`` on this branch, without inherited ones."""
        return [a for a in self.at_turn(turn) if a.branch == self.name and a.kind == kind]

    def positions(self, ref: str) -> list[int]:
        """Return the positions in `artifacts` of the parts of the text with this ref."""
        return self._by_ref.get(ref, [])

    def parts(self, ref: str) -> list[Artifact]:
        """Return all parts of the text with this ref, in order."""
        return sorted((self.artifacts[at] for at in self.positions(ref)), key=lambda a: a.part)

    def text(self, ref: str) -> str:
        """Return the full text with this ref; empty if there is none."""
        return "".join(part.text for part in self.parts(ref))

    def append(self, artifacts: Sequence[Artifact], *others: Artifact) -> None:
        """Write ``artifacts`` at the end, after those that `append_later` queued.

        ``others`` are records that have their ids already, such as a claim; the same call writes them.

        Raises:
            ConflictError: Another process wrote to these places.
        """
        placed = [*self._queued, *self._placed(artifacts)]
        if not placed and not others:
            return
        self._is_current = False
        self.store.add(self.thread.tenant, [*others, *placed])
        if self.store.shared:
            self._check_written(placed)
        self._queued = []
        for artifact in placed:
            self._add(artifact)
        self._next += len(placed)
        self._is_current = True

    def append_later(self, artifacts: Sequence[Artifact]) -> None:
        """Queue ``artifacts`` for the next `append` or `flush`."""
        self._queued.extend(self._placed(artifacts))

    def flush(self) -> None:
        """Write the queued artifacts."""
        if self._queued:
            self.refresh()
            self.append(())

    def origin_record(self, parent: str, turn: int, at: str) -> Artifact:
        """Return the record that names the parent branch and the turn of the fork."""
        return Artifact(
            id=self.id_of(0), thread=self.thread.key, branch=self.name, seq=0, turn=turn,
            kind="branch", text=json.dumps({"parent": parent, "turn": turn}), at=at,
        )  # fmt: skip

    def id_of(self, seq: int) -> str:
        """Return the artifact id of a place on the branch."""
        return artifact_id(self.thread.key, self.name, seq)

    def _placed(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        start = self._next + len(self._queued)
        return [
            artifact.model_copy(update={"seq": seq, "id": self.id_of(seq), "branch": self.name})
            for seq, artifact in enumerate(artifacts, start)
        ]

    def _check_written(self, placed: Sequence[Artifact]) -> None:
        stored = self.store.get(self.thread.tenant, [a.id for a in placed])
        if [a.identity for a in stored] != [a.identity for a in placed]:
            raise race_error(self.thread, self.name)

    def _add(self, artifact: Artifact) -> None:
        position = len(self.artifacts)
        before = self.artifacts[-1] if self.artifacts else None
        # Speech needs the preceding speech as context; a tool's output does not.
        together = before is not None and _is_speech(before) and _is_speech(artifact)
        self._by_ref.setdefault(artifact.ref, []).append(position)
        self._by_turn.setdefault(artifact.turn, []).append(position)
        self.artifacts.append(artifact)
        self._chars += len(artifact.text)
        self.turns.append(artifact.turn)
        self.newest = max(self.newest, artifact.turn)
        # The gate never admits overtaken items; indexing their words would only enlarge the index.
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


def race_error(thread: Thread, branch: str, seconds: float | None = None) -> ConflictError:
    """Return the error for the writer that lost a race; ``seconds`` is `ConflictError.retry_after`."""
    wait = "until it ends" if seconds is None else f"until it ends, or {seconds:.0f} seconds"
    return ConflictError(
        "another process runs a step of this thread at the same time",
        where=f"thread {thread.thread!r}, branch {branch}",
        hint=f"wait {wait}, load the thread's current state, and step again",
        retry_after=seconds,
    )


def complete_texts(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Return the first part of each text that is stored completely."""
    parts = Counter(a.identity for a in artifacts)
    return [a for a in artifacts if a.part == 0 and parts[a.identity] == a.parts]


def left_over(
    turn: Turn, stored: Sequence[Artifact], claim: Artifact | None = None
) -> list[Artifact]:
    """Return the ``stored`` artifacts that belong to ``turn``, and that its own observations lack.

    Until the turn is claimed, no step has read what is stored for it, so all of it belongs to the turn.
    Afterwards it is what the claim took up. A claim of an earlier version names nothing: it took up the
    agent's recorded words, calls and results if the turn had none.
    """
    mine = list(stored)
    if claim is not None:
        has_acts = any(_is_action(o.channel, o.call_id) for o in turn.observations)
        acts = [] if has_acts else [a for a in stored if _is_action(a.channel, a.call_id)]
        mine = [a for a in stored if a.ref in claim.sources] if claim.sources else acts
    given = {*identities(turn.observations)}
    return [a for a in mine if a.identity not in given]


def replaced(turn: Turn, left: Sequence[Artifact]) -> list[Artifact]:
    """Return the agent's words of ``left`` that the agent's words in ``turn`` replace.

    An answer that was recorded and then generated again is another one. Calls, their results and the
    user's words happened, and stay.
    """
    answers = any(
        o.channel is Channel.AGENT and not (o.is_call or o.is_task) for o in turn.observations
    )
    return [a for a in left if answers and a.channel is Channel.AGENT and not (a.call_id or a.name)]


def preceded(turn: Turn, branch: Branch, left: Sequence[Artifact]) -> Turn:
    """Return ``turn`` with the observations that are stored as ``left`` before its own."""
    if not left:
        return turn
    return turn.model_copy(update={"observations": (*observed(branch, left), *turn.observations)})


def unexpected(turn: Turn, left: Sequence[Artifact]) -> list[Artifact]:
    """Return those of ``left`` that were begun and never finished.

    What `record` stored is expected by a turn that brings no words, calls or results of the agent.
    """
    has_acts = any(_is_action(o.channel, o.call_id) for o in turn.observations)
    return [a for a in left if has_acts or not _is_action(a.channel, a.call_id)]


def actions_before_user(stored: Sequence[Artifact]) -> list[Artifact]:
    """Return the agent's ``stored`` artifacts of a turn that precede the user's words."""
    before = takewhile(lambda a: a.channel is not Channel.USER, stored)
    return [a for a in before if _is_action(a.channel, a.call_id)]


def without_pending(turn: Turn, state: CompressedCognitiveState, branch: Branch) -> Turn:
    """Return ``turn`` without observations that the preceding operator's turn contains as pending.

    They were recorded before the operator acted, so they became part of the operator's turn. A caller
    that keeps its own messages sends them again. If the turn has nothing else, it is returned unchanged.
    """
    if not any(a.channel is Channel.OPERATOR for a in branch.own(state.turn, "observation")):
        return turn
    refs = {a.ref for a in branch.at_turn(state.turn)}
    unread = Counter(_pending_key(o) for o in state.pending if o.ref in refs)
    again = [o for o in turn.observations if not o.is_call and _take_one(unread, _pending_key(o))]
    answered = {o.call_id for o in again if o.call_id}
    again += [o for o in turn.observations if o.is_call and o.call_id in answered]
    left = tuple(o for o in turn.observations if not any(o is other for other in again))
    return turn.model_copy(update={"observations": left}) if left else turn


def _pending_key(observation: Observation) -> str:
    """Return a key that an observation shares with its pending copy, which is on one line."""
    text = one_line(observation.text)
    return "\x00".join((observation.channel, observation.name, observation.call_id, text))


def join_unrepeated(
    before: Sequence[Observation], now: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Return the observations of ``now``, preceded by those of ``before`` that ``now`` does not repeat."""
    has = Counter(o.identity for o in now)
    return (*(o for o in before if not _take_one(has, o.identity)), *now)


def observed(branch: Branch, stored: Sequence[Artifact]) -> tuple[Observation, ...]:
    """Return the ``stored`` artifacts as observations. Pasted passages were split off before storage."""
    return tuple(
        Observation(
            channel=a.channel,
            name=a.name,
            call_id=a.call_id,
            message=a.message,
            text=branch.text(a.ref),
            at=a.when,
        ).as_split()
        for a in stored
    )


def _take_one(has: Counter[str], identity: str) -> bool:
    """Consume one count of ``identity``; return whether one was left."""
    has[identity] -= 1
    return has[identity] >= 0


def _is_action(channel: Channel, call_id: str) -> bool:
    """Return whether it comes from the agent: its words, its calls, or their results."""
    is_result = channel is Channel.DOCUMENT and bool(call_id)
    return is_result or channel in (Channel.AGENT, Channel.TOOL)

"""The log of a thread, branch by branch, over any store.

Within one turn a branch holds one future: the first to step from a state claims the turn for
its observations. Whoever comes from the same state with others gets a branch of their own (a
fork), and sees of the old one only what happened up to that state; and what was said in a turn
that was claimed and given up, which no commit has taken in. In a store that several
processes share, a claim that nobody has committed yet is a writer under way, and a conflict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from acc.errors import StateError, StoreError
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.reasons import EvictedItem
from acc.stores.directory import Directory
from acc.stores.protocol import Artifact, ArtifactStore, Thread, artifact_id, split_text
from acc.text.wording import repeated, repeats
from acc.thread.branch import Branch, completed, done_before, joined, observed, told_once, whole
from acc.thread.journal import Claims, Journal
from acc.turn.observations import Channel, Observation, Trust, identities, refs
from acc.turn.turn import Turn, refs_of


def refuse_foreign(
    state: CompressedCognitiveState, thread: Thread, root: Callable[[], Branch]
) -> None:
    """Raise where ``state`` was committed in another thread than ``thread``; ``root`` reads its root.

    A state of the same tenant, user and agent may seed a thread that holds nothing up to its
    turn: a copied conversation, or one that carries on where another ended.

    Raises:
        StateError: It belongs to another tenant, user or agent, or to another of their threads.
    """
    if state.bound_to in ("", thread.owner_key):
        return
    is_theirs = state.bound_to.partition(".")[0] == thread.owner_key.partition(".")[0]
    if is_theirs and not any(turn <= state.turn for turn in root().turns[:1]):
        return
    whose = "another thread" if is_theirs else "another tenant, user or agent"
    raise StateError(
        f"the state belongs to {whose}",
        where=f"thread {thread.thread!r}, user {thread.user!r}, turn {state.turn + 1}",
        hint="give the state that this thread's last step returned, or last_state(thread); "
        "None begins anew",
    )


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


class Begun(NamedTuple):
    """A turn that is stored and claimed.

    Attributes:
        branch: Where it stands.
        turn: It, numbered, with the refs under which it is stored.
        repeats: Whether another step committed this very turn before.
        recovered: Refs of what was said in a turn that was begun from the same state and given up.
    """

    branch: Branch
    turn: Turn
    repeats: bool
    recovered: tuple[str, ...] = ()


class ThreadLog:
    """The branches of one thread. Not for several threads of execution at once."""

    def __init__(
        self,
        store: ArtifactStore,
        thread: Thread,
        now: Callable[[], str],
        directory: Directory | None = None,
    ) -> None:
        self.store = store
        self.thread = thread
        self._directory = directory or Directory(store)
        self.claims = Claims(store, thread, now)
        self.journal = Journal(store, thread, now)
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
                hint="open the store that this state was made with, under the same tenant, user and agent",
            )
        return branch

    def begin(
        self,
        state: CompressedCognitiveState,
        turn: Turn,
        *,
        is_given_up: Callable[[Branch, int], bool] | None = None,
    ) -> Begun:
        """Claim the turn that follows ``state`` and write it: evidence first.

        What was recorded of the turn already is part of it. So is what was said in a turn that was
        claimed with other words and given up, as by a kill: it was heard, and no commit has it.

        Args:
            state: CCS_t-1.
            turn: What follows it.
            is_given_up: Tells of a branch and a turn that is claimed there whether nobody committed
                it, or will. Without it every claim is another future.

        Raises:
            ConflictError: Another process is stepping from the same state.
            StateError: The state belongs to another thread, or still says what was erased.
            StoreError: The store cannot be read or written.
        """
        number = state.turn + 1
        refuse_foreign(state, self.thread, lambda: self.branch(ROOT))
        _refuse_erased(self.branch(state.branch), state)
        turn = told_once(turn, state, self.branch(state.branch))
        before: tuple[Observation, ...] = ()
        for branch in self._candidates(state):
            stored = whole(branch.own(number, "observation"))
            full = completed(turn, branch, stored)
            if before:
                full = full.model_copy(update={"observations": joined(before, full.observations)})
            keys = identities(full.observations)
            mine = hashlib.sha256("\x00".join(keys).encode()).hexdigest()
            claim = self.claims.of(branch, number)
            if claim is None and {a.identity for a in stored} <= set(keys):
                claim = self.claims.make(branch, number, mine)
            if claim is not None and claim.text == mine:
                repeats = self.claims.successor(branch, number) is not None
                written = self._write(branch, full, keys, number, [claim])
                return Begun(branch, written, repeats, refs_of(before, written))
            if claim is not None:
                self.claims.refuse_race(branch, claim, own=is_given_up is not None)
                if is_given_up is not None and is_given_up(branch, number):
                    if self.claims.is_refused(branch, number):
                        stored = done_before(stored)  # only the user's words are refused
                    before = joined(before, observed(branch, stored))
        raise AssertionError("unreachable: a new branch fits every turn")

    def record(self, state: CompressedCognitiveState, observations: Sequence[Observation]) -> None:
        """Store what happened since ``state`` as the beginning of its next turn; repeatable.

        Where that turn was stepped already, this is another future, on a branch of its own.
        """
        number = state.turn + 1
        refuse_foreign(state, self.thread, lambda: self.branch(ROOT))
        for branch in self._candidates(state):
            if self.claims.of(branch, number) is None:
                turn = Turn(observations=tuple(observations))
                self._write(branch, turn, identities(observations), number)
                return

    def keep(
        self, branch: Branch, turn: int, set_aside: Sequence[EvictedItem], *, later: bool
    ) -> None:
        """Store items that left the state; ``later`` writes them with the next turn's evidence."""
        known = [*branch.own(turn, "set_aside"), *branch.own(turn, "tombstone")]
        ids = {a.identity for a in known}
        first = len({a.ref for a in known if a.ref[:1] == "x"})
        gone = [g for g in set_aside if _gone_id(turn, g) not in ids]
        new = [a for n, g in enumerate(gone, first) for a in self._gone(branch, turn, n, g)]
        branch.append_later(new)
        if not later:
            branch.flush()

    def flush(self) -> None:
        """Write what waits on any branch."""
        for branch in self._branches.values():
            branch.flush()

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

    def _candidates(self, state: CompressedCognitiveState) -> Iterator[Branch]:
        """The state's branch, then the forks from this state, each made when it is asked for."""
        yield self.branch(state.branch)
        for attempt in count():
            seed = f"{state.branch}\x00{state.hash}\x00{attempt}"
            yield self._forked(f"b{hashlib.sha256(seed.encode()).hexdigest()[:12]}", state)

    def _forked(self, name: str, state: CompressedCognitiveState) -> Branch:
        branch = self._found(name)
        if branch is None:
            branch = Branch(self.store, self.thread, name)
            branch.inherit(self.branch(state.branch), state.turn)
            branch.append((), branch.origin(state.branch, state.turn, self._now()))
            self._branches[name] = branch
        return branch

    def _write(
        self,
        branch: Branch,
        turn: Turn,
        keys: Sequence[str],
        number: int,
        marks: Sequence[Artifact] = (),
    ) -> Turn:
        stored = [*branch.own(number, "observation"), *branch.own(number, "tombstone")]
        cites = refs(turn.observations, keys, {a.identity: a.ref for a in stored}, number)
        known = {(a.identity, a.part) for a in stored}
        made = [
            artifact
            for observation, key, ref in zip(turn.observations, keys, cites, strict=True)
            for artifact in self._artifacts(branch, observation, key, ref, number)
        ]
        heard = [*since_the_user(branch, number, made), *stored, *made]
        new = [weighed(a, heard) for a in made if (a.identity, a.part) not in known]
        if new and branch.name == ROOT and not branch.artifacts:
            self._directory.enrol(self.thread, self._now())
        # In a shared store the claim was written first; else it goes with the evidence, once.
        fresh = [] if self.store.shared or not new else marks
        branch.append(new, *fresh)
        named = tuple(
            o.model_copy(update={"ref": ref})
            for o, ref in zip(turn.observations, cites, strict=True)
        )
        return turn.numbered(number).model_copy(update={"observations": named})

    def _gone(self, branch: Branch, turn: int, index: int, gone: EvictedItem) -> Iterator[Artifact]:
        texts = split_text(gone.item.words)
        for part, text in enumerate(texts):
            yield Artifact(
                id="", thread=self.thread.key, branch=branch.name, seq=0, turn=turn,
                kind="set_aside", ref=f"x{turn}" + (f".{index}" if index else ""), part=part,
                parts=len(texts), channel=Channel(gone.item.trust.word), trust=gone.item.trust,
                name=gone.slot, text=text, identity=_gone_id(turn, gone), at=self._now(),
                sources=gone.item.sources, reason=gone.reason.value,
            )  # fmt: skip

    def _artifacts(
        self, branch: Branch, observation: Observation, key: str, ref: str, number: int
    ) -> Iterator[Artifact]:
        texts = split_text(observation.text)
        for part, text in enumerate(texts):
            yield Artifact(
                id="", thread=self.thread.key, branch=branch.name, seq=0, turn=number, ref=ref,
                part=part, parts=len(texts), channel=observation.channel, name=observation.name,
                call_id=observation.call_id, message=observation.message, text=text,
                identity=key, at=self._now(),
            )  # fmt: skip


def _gone_id(turn: int, gone: EvictedItem) -> str:
    return f"{turn}:{gone.item.id}:{gone.reason.value}"


def is_reply(artifact: Artifact) -> bool:
    """Whether it is the beginning of what the agent said to the user."""
    spoken = artifact.channel is Channel.AGENT and artifact.kind == "observation"
    return spoken and not artifact.call_id and artifact.part == 0


def _refuse_erased(branch: Branch, state: CompressedCognitiveState) -> None:
    """Raise where ``state`` still says what was erased since it was committed.

    Raises:
        StateError: An item rests on erased evidence alone, or such evidence is pending.
    """
    if not branch.erased:
        return
    resting = [i.id for _, i in state.items() if i.sources and branch.erased.issuperset(i.sources)]
    resting += [o.ref for o in state.pending if o.ref in branch.erased]
    if resting:
        raise StateError(
            f"the state still holds what was erased: {', '.join(resting)}",
            where=f"version {state.version}, branch {state.branch}",
            hint="go on from last_state(thread), and erase the checkpoints that hold the old one",
        )

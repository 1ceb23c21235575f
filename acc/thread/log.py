"""The log of a thread, branch by branch, over any store.

On a branch, each turn has one version: the first step from a state claims the turn for its
observations. A step from the same state with other observations gets its own branch (a fork).
The fork inherits the old branch up to that state. It also recovers the observations of a turn that
was claimed and abandoned without a commit. In a store that several processes share, a recent claim
without a commit belongs to a running writer and causes a conflict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from acc.errors import StateError, StoreError
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.reasons import EvictedItem
from acc.stores.directory import enrol
from acc.stores.protocol import Artifact, ArtifactStore, Thread, artifact_id, split_text
from acc.thread.branch import (
    Branch,
    actions_before_user,
    complete_texts,
    join_unrepeated,
    left_over,
    observed,
    preceded,
    replaced,
    unexpected,
    without_pending,
)
from acc.thread.claims import Claims
from acc.thread.journal import Journal
from acc.thread.standing import lower_trust, since_the_user, told_before
from acc.turn.observations import (
    GIVEN_TASK,
    SET_ASIDE,
    Channel,
    Observation,
    identities,
    refs,
)
from acc.turn.turn import Turn, refs_of


def refuse_foreign(
    state: CompressedCognitiveState, thread: Thread, root: Callable[[], Branch]
) -> None:
    """Raise a `StateError` if ``state`` was committed in another thread.

    A state of the same tenant, user and agent may seed a thread that has no artifacts up to its
    turn, for example a copied or continued conversation. ``root`` reads the thread's root branch.
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
        "give None to start without a state",
    )


class Begun(NamedTuple):
    """A stored and claimed turn.

    Attributes:
        branch: The branch of the turn.
        turn: The turn, numbered, with the refs of its stored observations.
        again: Whether an earlier step began this turn with the same words.
        repeats: Whether that step committed it; in a store of one process only the audit log knows.
        recovered: Refs of observations from an abandoned or unfinished turn that began from the same state.
        given_up: Branches of the abandoned turns.
    """

    branch: Branch
    turn: Turn
    again: bool
    repeats: bool
    recovered: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()


class ThreadLog:
    """The branches of one thread. Not thread-safe."""

    def __init__(
        self,
        store: ArtifactStore,
        thread: Thread,
        now: Callable[[], str],
    ) -> None:
        self.store = store
        self.thread = thread
        self.claims = Claims(store, thread, now)
        self.journal = Journal(store, thread, now)
        self._now = now
        self._branches: dict[str, Branch] = {}

    def branch(self, name: str) -> Branch:
        """Return the branch with this name, refreshed from the store."""
        branch = self._found(name)
        if branch is None:
            raise StoreError(
                f"branch {name!r} is not in the store",
                where=f"thread {self.thread.thread!r}",
                hint="open the store that this state was made with, for the same tenant, user and agent",
            )
        return branch

    def begin(
        self,
        state: CompressedCognitiveState,
        turn: Turn,
        *,
        is_given_up: Callable[[Branch, int], bool] | None = None,
    ) -> Begun:
        """Claim the turn that follows ``state`` and write its evidence.

        The turn includes all that was stored for it before, by `record` or by a turn that began and never
        finished. It also includes observations of a turn that was claimed with other words and abandoned,
        for example by a kill: no commit has them.

        Args:
            state: CCS_t-1.
            turn: The turn that follows it.
            is_given_up: Returns whether a claimed turn of a branch has no commit and will get none. If
                None, every other claim forces a fork.

        Raises:
            ConflictError: Another process is stepping from the same state, with the same words or others.
            StateError: The state belongs to another thread, still contains erased evidence, or has a past
                that the store lacks.
            StoreError: The store cannot be read or written.
        """
        number = state.turn + 1
        refuse_foreign(state, self.thread, lambda: self.branch(ROOT))
        self.refuse_lost(state)
        past = self._past(state)
        _refuse_erased(past, state)
        turn = without_pending(turn, state, past)
        before: tuple[Observation, ...] = ()
        given_up: list[str] = []
        for branch in self._candidates(state):
            stored = complete_texts(branch.own(number, "observation"))
            claim = self.claims.of(branch, number)
            left = left_over(turn, stored, claim)
            full = preceded(turn, branch, left)
            if before:
                full = full.model_copy(
                    update={"observations": join_unrepeated(before, full.observations)}
                )
            keys = identities(full.observations)
            mine = hashlib.sha256("\x00".join(keys).encode()).hexdigest()
            fresh: list[Artifact] = []
            again = claim is not None or not (keys or self.store.shared)
            if claim is None:
                # An earlier version committed a turn without a claim if all of it was recorded before.
                is_past = branch.newest > number
                gone = left if is_past else replaced(turn, left)
                if gone:
                    kept = [a for a in left if a not in gone]
                    before = join_unrepeated(before, observed(branch, kept))
                    continue
                claim = self.claims.make(branch, number, mine, [a.ref for a in left])
                fresh = [claim]
            if claim.text == mine:
                repeats = self.claims.successor(branch, number) is not None
                if not repeats:
                    self.claims.take(branch, claim)
                written = self._write(branch, full, keys, number, fresh)
                begun = (*before, *observed(branch, unexpected(turn, left)))
                recovered = refs_of(begun, written)
                return Begun(branch, written, again, repeats, recovered, tuple(given_up))
            self.claims.check_no_race(branch, claim, own=is_given_up is not None)
            if is_given_up is not None and is_given_up(branch, number):
                before = join_unrepeated(before, self._given_up(branch, number, stored))
                given_up.append(branch.name)
        raise AssertionError("unreachable: a new branch fits every turn")

    def begun(
        self, state: CompressedCognitiveState, is_given_up: Callable[[Branch, int], bool]
    ) -> tuple[Observation, ...]:
        """Return what `begin` would take up for the turn that follows ``state``, in the order of storing."""
        number = state.turn + 1
        before: tuple[Observation, ...] = ()
        for branch in self._candidates(state):
            stored = complete_texts(branch.own(number, "observation"))
            if self.claims.of(branch, number) is None:
                here = observed(branch, stored)
                both = join_unrepeated(before, here)
                return (*here, *both[: len(both) - len(here)])
            if is_given_up(branch, number):
                before = join_unrepeated(before, self._given_up(branch, number, stored))
        raise AssertionError("unreachable: a new branch fits every turn")

    def _given_up(
        self, branch: Branch, number: int, stored: Sequence[Artifact]
    ) -> tuple[Observation, ...]:
        """Return what the next turn takes up of an abandoned one."""
        if self.claims.is_refused(branch, number):
            # A refusal covers the user's words, not the agent's earlier ones.
            stored = actions_before_user(stored)
        return observed(branch, stored)

    def record(self, state: CompressedCognitiveState, observations: Sequence[Observation]) -> None:
        """Store ``observations`` as the beginning of the turn that follows ``state``. Safe to repeat.

        If a step already claimed that turn, the observations go to another branch.
        """
        number = state.turn + 1
        refuse_foreign(state, self.thread, lambda: self.branch(ROOT))
        self.refuse_lost(state)
        for branch in self._candidates(state):
            if self.claims.of(branch, number) is None:
                turn = Turn(observations=tuple(observations))
                self._write(branch, turn, identities(observations), number)
                return

    def keep(
        self, branch: Branch, turn: int, set_aside: Sequence[EvictedItem], *, later: bool
    ) -> None:
        """Store items that left the state; ``later`` queues them for the next turn's write."""
        known = [*branch.own(turn, "set_aside"), *branch.own(turn, "tombstone")]
        ids = {a.identity for a in known}
        first = len({a.ref for a in known if a.ref[:1] == "x"})
        gone = [g for g in set_aside if _gone_id(turn, g) not in ids]
        new = [a for n, g in enumerate(gone, first) for a in self._gone(branch, turn, n, g)]
        branch.append_later(new)
        if not later:
            branch.flush()

    def refuse_lost(self, state: CompressedCognitiveState, refs: Sequence[str] = ()) -> None:
        """Raise a `StoreError` if the store lacks evidence of the past of ``state``, unless it was adopted.

        A state that no thread has committed has no past in a store. ``refs`` are observations that the
        store must have.
        """
        lost = self._lost(state, refs)
        if not lost:
            return
        self.journal.refresh()
        if state.hash not in self.journal.adopted:
            raise StoreError(
                f"the past of the state is not in the store: the state is at turn {state.turn} of branch "
                f"{state.branch}, hash {state.hash[:12]}; {lost}",
                where=f"thread {self.thread.thread!r}",
                hint="open the store that the state was made with, for the same tenant, user and agent; or "
                "restore a backup that has this turn; or go on without the past: "
                "memory.adopt(state, thread=thread)",
            )

    def _lost(self, state: CompressedCognitiveState, refs: Sequence[str] = ()) -> str:
        """Say what the store lacks of the past of ``state``; empty if nothing."""
        branch = self._found(state.branch)
        if branch is None:
            root = self.branch(ROOT).newest
            return f"the store has no such branch, and turn {root} as the newest of {ROOT}"
        if state.bound_to != self.thread.owner_key:
            return ""
        if branch.newest < state.turn and not self.claims.has(branch, state.turn):
            is_new = not branch.newest and getattr(self.store, "temporary", False)
            newest = f"turn {branch.newest}" if branch.newest else "no turn"
            return "" if is_new else f"the store has {newest} as the newest of this branch"
        if branch.missing:
            named = f"{len(branch.missing)} records, such as {branch.missing[0]}"
            return f"the store has turn {branch.newest} of this branch, but has lost {named}"
        parts = {ref: branch.parts(ref) for ref in refs if branch.newest}
        if cut := [ref for ref, found in parts.items() if not found or len(found) < found[0].parts]:
            return f"the store has turn {branch.newest} of this branch, but has lost {', '.join(cut)} of it"
        return ""

    def _past(self, state: CompressedCognitiveState) -> Branch:
        """Return the branch of ``state``; for an adopted state without one, an empty branch."""
        return self._found(state.branch) or Branch(self.store, self.thread, state.branch)

    def branches_after(
        self, states: Iterable[tuple[str, str]], names: Iterable[str]
    ) -> list[Branch]:
        """Return the existing branches with these names, and the first forks from these states.

        Args:
            states: Branch and hash of each state.
            names: Names of branches.
        """
        forks = {_fork_name(branch, state_hash, 0) for branch, state_hash in states}
        ids = [artifact_id(self.thread.key, name, 0) for name in sorted(forks)]
        there = [artifact.branch for artifact in self.store.get(self.thread.tenant, ids)]
        found = (self._found(name) for name in dict.fromkeys([ROOT, *names, *there]))
        return [branch for branch in found if branch is not None]

    @property
    def size(self) -> int:
        """The memory that the log takes, in bytes, roughly."""
        return sum(branch.size for branch in self._branches.values())

    def expire(self) -> None:
        """Make the next use of each branch look for added records, even if no other process writes."""
        for branch in self._branches.values():
            branch.expire()

    def flush(self) -> None:
        """Write the queued artifacts of all branches."""
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
                self._inherit(branch, self.branch(origin["parent"]), origin["turn"])
            self._branches[name] = branch
        branch.refresh()
        return branch

    def _inherit(self, branch: Branch, parent: Branch, turn: int) -> None:
        branch.inherit(parent, turn)
        if branch.missing:
            self.journal.refresh()
            if parent.name in self.journal.adopted_from:  # an operator knows of them
                branch.missing = []

    def _candidates(self, state: CompressedCognitiveState) -> Iterator[Branch]:
        """Yield the state's branch, then forks from this state, each created on demand.

        An adopted state with a lost past gets only forks: its own branch has other turns, or gaps.
        """
        if not self._lost(state):
            yield self.branch(state.branch)
        for attempt in count():
            yield self._forked(_fork_name(state.branch, state.hash, attempt), state)

    def _forked(self, name: str, state: CompressedCognitiveState) -> Branch:
        branch = self._found(name)
        if branch is None:
            parent = self._found(state.branch)
            # Nothing is known of a lost branch, not even the branch that it left.
            base, turn = (
                (parent, min(state.turn, parent.newest)) if parent else (self.branch(ROOT), 0)
            )
            branch = Branch(self.store, self.thread, name)
            self._inherit(branch, base, turn)
            branch.append((), branch.origin_record(base.name, turn, self._now()))
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
            for said, key, ref in zip(turn.observations, keys, cites, strict=True)
            for artifact in self._in_parts(
                said.text, branch=branch.name, turn=number, ref=ref, channel=said.channel, name=said.name,
                call_id=said.call_id, message=said.message, identity=key, said_at=said.at or turn.at,
            )
        ]  # fmt: skip
        heard = [*told_before(turn), *since_the_user(branch, number, made), *stored, *made]
        new = [lower_trust(a, heard) for a in made if (a.identity, a.part) not in known]
        if new and branch.name == ROOT and not branch.artifacts:
            enrol(self.store, self.thread, self._now())
        # A shared store already has the claim; otherwise write it once, with the evidence.
        if marks and not turn.observations:
            marks = [self.claims.empty(branch, number)]
        branch.append(new, *([] if self.store.shared else marks))
        named = tuple(
            o.model_copy(update={"ref": ref})
            for o, ref in zip(turn.observations, cites, strict=True)
        )
        return turn.numbered(number).model_copy(update={"observations": named})

    def _gone(self, branch: Branch, turn: int, index: int, gone: EvictedItem) -> Iterator[Artifact]:
        item = gone.item
        yield from self._in_parts(
            item.words, branch=branch.name, turn=turn, kind="set_aside", name=gone.slot,
            ref=f"{SET_ASIDE}{turn}" + (f".{index}" if index else ""), identity=_gone_id(turn, gone),
            channel=Channel(item.trust.word), trust=item.trust, sources=item.sources,
            reason=gone.reason.value, said_at=item.dated.said if item.dated else "",
        )  # fmt: skip

    def _in_parts(self, text: str, **fields: Any) -> Iterator[Artifact]:
        """Yield the records of a text, which a store may hold in several parts."""
        texts = split_text(text)
        for part, each in enumerate(texts):
            yield Artifact(
                id="", thread=self.thread.key, seq=0, part=part, parts=len(texts), text=each,
                at=self._now(), **fields,
            )  # fmt: skip


def _fork_name(branch: str, state_hash: str, attempt: int) -> str:
    seed = f"{branch}\x00{state_hash}\x00{attempt}"
    return f"b{hashlib.sha256(seed.encode()).hexdigest()[:12]}"


def _gone_id(turn: int, gone: EvictedItem) -> str:
    return f"{turn}:{gone.item.id}:{gone.reason.value}"


def is_reply(artifact: Artifact) -> bool:
    """Return whether ``artifact`` is the first part of the agent's words to the user."""
    spoken = artifact.channel is Channel.AGENT and artifact.kind == "observation"
    return spoken and not (artifact.call_id or artifact.name == GIVEN_TASK) and artifact.part == 0


def _refuse_erased(branch: Branch, state: CompressedCognitiveState) -> None:
    """Raise a `StateError` if ``state`` still contains evidence erased after its commit."""
    if not branch.erased:
        return
    resting = [i.id for _, i in state.items() if i.sources and branch.erased.issuperset(i.sources)]
    resting += [o.ref for o in state.pending if o.ref in branch.erased]
    if resting:
        raise StateError(
            f"the state still holds erased evidence: {', '.join(resting)}",
            where=f"version {state.version}, branch {state.branch}",
            hint="continue from last_state(thread), and erase the checkpoints that hold the old state",
        )

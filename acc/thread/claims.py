"""Claims of a thread's turns, and the states committed for them.

The ids of these records are computable: ``<thread key>.<branch>:t<turn>`` for the claim of a turn,
``:s<turn>`` for its successor (the state committed for it), and ``:r<turn>`` for its refusal. In a shared
store, ``:h<turn>`` says when the writer of the claim last renewed it. In a single-process store, ``:e<turn>``
is all that a turn without observations leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from acc.errors import StoreError
from acc.logs import cause, log_event
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Artifact, ArtifactStore, Kind, ManagedStore, Thread
from acc.thread.branch import Branch, race_error
from acc.thread.lease import LEASE, LONG_LEASE, holder, is_gone

_LOG = logging.getLogger(__name__)


class Claims:
    """The claims and successors of a thread's turns. In any store, the first record with an id wins.

    Attributes:
        open: Branch and turn of each claim of this process whose commit no caller received.
        held_back: Branch and turn of claims that count as refused while an operator makes room for them.
        untold: Those of refused claims whose caller was told neither of the refusal, nor of the later turn that
            committed their words. They do not count as refused: their step was cancelled.
    """

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self.store = store
        self.thread = thread
        self._now = now
        self.open: set[tuple[str, int]] = set()
        self.held_back: set[tuple[str, int]] = set()
        self.untold: set[tuple[str, int]] = set()

    def of(self, branch: Branch, turn: int) -> Artifact | None:
        """Return the claim of ``turn`` on ``branch``, or None; its text is a digest of the observations."""
        if not self.store.shared and not branch.own(turn, "observation"):
            return None  # the only writer stores a claim together with its evidence
        return self._record(branch, "t", turn)

    def has(self, branch: Branch, turn: int) -> bool:
        """Return whether ``turn`` was begun on ``branch``, even if it holds no observation."""
        ids = [self._id(branch.name, letter, turn) for letter in "te"]
        return bool(self.store.get(self.thread.tenant, ids))

    def empty(self, branch: Branch, turn: int) -> Artifact:
        """Return the mark of a turn without observations, for a single-process store.

        It is no claim: a step with words from the same state may still have the turn.
        """
        return self._claim_record(branch.name, "claim", turn, "", "e")

    def make(
        self, branch: Branch, turn: int, digest: str, taken_up: Sequence[str] = ()
    ) -> Artifact:
        """Claim ``turn`` and return the valid claim: this one, or an earlier one of another process.

        ``taken_up`` are refs of observations that were stored for the turn before and that the step did
        not bring: a repetition of the step finds them by the claim. In a single-process store, the caller
        writes the claim together with the evidence.
        """
        mine = self._claim_record(branch.name, "claim", turn, digest)
        mine = mine.model_copy(update={"sources": tuple(taken_up)})
        if self.store.shared:
            mine = mine.model_copy(update={"name": holder()})
            self.store.add(self.thread.tenant, [mine])
            mine = self._record(branch, "t", turn) or mine
        if mine.text == digest and mine.name in ("", holder()):
            self.open.add((branch.name, turn))
        return mine

    def successor(self, branch: Branch, turn: int) -> Artifact | None:
        """Return the record of the state committed for ``turn``; None in a single-process store."""
        return self._record(branch, "s", turn) if self.store.shared else None

    def commit(self, branch: Branch, state: CompressedCognitiveState) -> bool:
        """Record ``state`` as the successor on a branch of a shared store.

        Returns:
            Whether no other step recorded the same successor before.

        Raises:
            ConflictError: The turn has a different successor.
        """
        if not self.store.shared:
            return True
        made = self._claim_record(branch.name, "successor", state.turn, state.hash, "s")
        made = made.model_copy(update={"name": holder()})
        self.store.add(self.thread.tenant, [made])
        first = self.successor(branch, state.turn)
        if first is None or first.text != state.hash:
            raise race_error(self.thread, branch.name)
        return first == made

    def check_repeated(self, branch: Branch, state: CompressedCognitiveState) -> None:
        """Raise a `ConflictError` if the turn has a different successor, whose writer may still be running."""
        first = self.successor(branch, state.turn)
        if first is not None and first.text != state.hash:
            self.check_gone(branch, state.turn)

    def end(self, branch: Branch, turn: int) -> None:
        """Note that the caller of the step receives the commit of the claimed ``turn``."""
        self.open.discard((branch.name, turn))
        self.untold.clear()

    def take(self, branch: Branch, claim: Artifact) -> None:
        """Go on with a ``claim`` that has no commit and that an earlier step made for the same words.

        `ConflictError` if another process may still be running that step: it commits the turn.
        """
        if not self.store.shared or claim.name in ("", holder()):
            return
        if left := self._left(branch, claim):
            raise race_error(self.thread, branch.name, left.total_seconds())
        self.open.add((branch.name, claim.turn))
        self.renew()  # tells other processes who runs the step now

    def renew(self) -> None:
        """Record that the step of the newest open claim is still running; see `acc.thread.lease`."""
        newest = max((turn for _, turn in tuple(self.open)), default=0)
        for name, turn in tuple(self.open):
            if turn == newest and isinstance(self.store, ManagedStore):
                beat = self._claim_record(name, "claim", turn, "", "h")
                beat = beat.model_copy(update={"name": holder()})
                try:
                    self.store.replace(self.thread.tenant, [beat])
                except StoreError as error:
                    log_event(
                        _LOG, logging.WARNING, "claim_not_renewed",
                        "the claim of a running turn cannot be renewed",
                        branch=name, turn=turn, cause=cause(error),
                    )  # fmt: skip

    def refuse(self, branch: Branch, turn: int) -> None:
        """Record that the claimed ``turn`` cannot be committed; no later turn recovers its user's words."""
        self.store.add(
            self.thread.tenant, [self._claim_record(branch.name, "claim", turn, "refused", "r")]
        )

    def is_refused(self, branch: Branch, turn: int) -> bool:
        """Return whether the claimed ``turn`` was refused."""
        place = (branch.name, turn)
        if place in self.held_back or place in self.untold:
            return place in self.held_back
        return self._record(branch, "r", turn) is not None

    def is_open(self, branch: Branch, turn: int) -> bool:
        """Return whether the claim of ``turn`` has no commit, or one that the caller never received.

        A step that was cancelled while it persisted leaves such a commit. A single-process store holds no
        commits; there the answer covers only this process's claims.
        """
        is_open = (branch.name, turn) in self.open
        return is_open or (self.store.shared and self.successor(branch, turn) is None)

    def check_no_race(self, branch: Branch, claim: Artifact, *, own: bool) -> None:
        """Raise a `ConflictError` if ``claim`` has no commit and its writer may still be running.

        ``own`` says that this process has no other step running in the thread.
        """
        if not self.store.shared or self.successor(branch, claim.turn):
            return
        if own and (branch.name, claim.turn) in self.open:
            return
        if left := self._left(branch, claim):
            raise race_error(self.thread, branch.name, left.total_seconds())

    def check_gone(self, branch: Branch, turn: int) -> None:
        """Raise a `ConflictError` if the writer of the claim of ``turn`` may still be running."""
        claim = self.of(branch, turn)
        if claim is not None and (left := self._left(branch, claim)):
            raise race_error(self.thread, branch.name, left.total_seconds())

    def _left(self, branch: Branch, claim: Artifact) -> timedelta:
        """Return how long ``claim`` counts as a running writer's if nobody renews it; zero if it does not."""
        lease, at, runner = LONG_LEASE, claim.at, claim.name
        if claim.name and isinstance(self.store, ManagedStore):
            lease = LEASE
            if beat := self._record(branch, "h", claim.turn):
                at, runner = max(at, beat.at), beat.name or runner
        if is_gone(runner):
            return timedelta(0)
        age = datetime.fromisoformat(self._now()) - datetime.fromisoformat(at)
        return lease - age if -lease < age < lease else timedelta(0)

    def _record(self, branch: Branch, letter: str, turn: int) -> Artifact | None:
        found = self.store.get(self.thread.tenant, [self._id(branch.name, letter, turn)])
        return found[0] if found else None

    def _claim_record(
        self, branch: str, kind: Kind, turn: int, text: str, letter: str = "t"
    ) -> Artifact:
        return Artifact(
            id=self._id(branch, letter, turn), thread=self.thread.key, branch=branch, seq=0,
            turn=turn, kind=kind, text=text, identity=text, at=self._now(),
        )  # fmt: skip

    def _id(self, branch: str, letter: str, turn: int) -> str:
        return f"{self.thread.key}.{branch}:{letter}{turn}"

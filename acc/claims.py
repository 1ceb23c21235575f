"""Who steps a turn: the first to claim it, and in a shared store the first to commit it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from acc.branch import Branch, race
from acc.state import CompressedCognitiveState
from acc.store import Artifact, ArtifactStore, Thread

LEASE = timedelta(minutes=2)
"""In a shared store, a claim without a commit is a writer under way for so long; then a dead one."""


class Claims:
    """The claims and successors of a thread's turns. The first of each id wins in any store."""

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self.store = store
        self.thread = thread
        self._now = now
        self._open: set[tuple[str, int]] = set()

    def of(self, branch: Branch, turn: int) -> Artifact | None:
        """The claim of ``turn`` on ``branch``: its text is a digest of the turn's observations."""
        if not self.store.shared and not branch.own(turn, "observation"):
            return None  # nobody else writes, and a claim comes with its evidence
        return self._marked(branch, "t", turn)

    def make(self, branch: Branch, turn: int, digest: str) -> Artifact:
        """Claim ``turn``: the claim that holds, mine or that of whoever was first.

        In a store of one process it is written by the caller, together with the evidence.
        """
        mine = self._mark(branch, "claim", turn, digest)
        if self.store.shared:
            self.store.add(self.thread.tenant, [mine])
            mine = self._marked(branch, "t", turn) or mine
        if mine.text == digest:
            self._open.add((branch.name, turn))
        return mine

    def successor(self, branch: Branch, turn: int) -> Artifact | None:
        """The state committed for ``turn``, where several processes write."""
        return self._marked(branch, "s", turn) if self.store.shared else None

    def commit(self, branch: Branch, state: CompressedCognitiveState) -> None:
        """Have ``state`` be the successor on a shared store's branch.

        Raises:
            ConflictError: Another process committed this turn while this one was under way.
        """
        if not self.store.shared:
            return
        made = self._mark(branch, "successor", state.turn, state.hash, "s")
        self.store.add(self.thread.tenant, [made])
        first = self.successor(branch, state.turn)
        if first is None or first.text != state.hash:
            raise race(self.thread, branch.name)

    def end(self, branch: Branch, turn: int) -> None:
        """The step of the claimed ``turn`` is over, and its caller is told of the commit."""
        self._open.discard((branch.name, turn))

    def refuse(self, branch: Branch, turn: int) -> None:
        """Note that the claimed ``turn`` cannot be committed as it is: no other brings its words along."""
        self.store.add(self.thread.tenant, [self._mark(branch, "claim", turn, "refused", "r")])

    def is_refused(self, branch: Branch, turn: int) -> bool:
        """Whether the claimed ``turn`` could not be committed."""
        return self._marked(branch, "r", turn) is not None

    def is_open(self, branch: Branch, turn: int) -> bool:
        """Whether nothing was committed for the claim of ``turn``.

        A store of one process holds no commits: there it is known of this process's claims alone.
        """
        if self.store.shared:
            return self.successor(branch, turn) is None
        return (branch.name, turn) in self._open

    def refuse_race(self, branch: Branch, claim: Artifact, *, own: bool) -> None:
        """Raise if ``claim`` is that of a writer under way; ``own`` says that this process has none.

        Raises:
            ConflictError: It is young, by whichever clock, and nothing was committed for it.
        """
        if not self.store.shared or self.successor(branch, claim.turn):
            return
        if own and (branch.name, claim.turn) in self._open:
            return
        age = datetime.fromisoformat(self._now()) - datetime.fromisoformat(claim.at)
        if -LEASE < age < LEASE:
            raise race(self.thread, branch.name)

    def _marked(self, branch: Branch, letter: str, turn: int) -> Artifact | None:
        found = self.store.get(self.thread.tenant, [self._id(branch, letter, turn)])
        return found[0] if found else None

    def _mark(self, branch: Branch, kind: str, turn: int, text: str, letter: str = "t") -> Artifact:
        return Artifact.model_validate(
            {
                "id": self._id(branch, letter, turn),
                "thread": self.thread.key,
                "branch": branch.name,
                "seq": 0,
                "turn": turn,
                "kind": kind,
                "text": text,
                "identity": text,
                "at": self._now(),
            }
        )

    def _id(self, branch: Branch, letter: str, turn: int) -> str:
        return f"{self.thread.key}.{branch.name}:{letter}{turn}"

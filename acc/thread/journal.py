"""Records of a thread outside its turns: claims, operators' retirements, and refused words.

The journal's records have ids of the form ``<thread key>.journal:<seq>`` and contain no words of a
conversation. `Journal.refresh` reads a single-process store once per thread, a shared store each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from acc.errors import ConflictError
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Artifact, ArtifactStore, Kind, Thread
from acc.thread.branch import Branch, race
from acc.turn.observations import Channel
from acc.turn.turn import Turn

LEASE = timedelta(minutes=2)
"""Age up to which an uncommitted claim in a shared store counts as a running writer's."""


class Claims:
    """The claims and successors of a thread's turns. In any store, the first record with an id wins."""

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self.store = store
        self.thread = thread
        self._now = now
        self._open: set[tuple[str, int]] = set()

    def of(self, branch: Branch, turn: int) -> Artifact | None:
        """Return the claim of ``turn`` on ``branch``, or None; its text is a digest of the observations."""
        if not self.store.shared and not branch.own(turn, "observation"):
            return None  # the only writer stores a claim together with its evidence
        return self._marked(branch, "t", turn)

    def make(self, branch: Branch, turn: int, digest: str) -> Artifact:
        """Claim ``turn`` and return the valid claim: this one, or an earlier one of another process.

        In a single-process store, the caller writes the claim together with the evidence.
        """
        mine = self._mark(branch, "claim", turn, digest)
        if self.store.shared:
            self.store.add(self.thread.tenant, [mine])
            mine = self._marked(branch, "t", turn) or mine
        if mine.text == digest:
            self._open.add((branch.name, turn))
        return mine

    def successor(self, branch: Branch, turn: int) -> Artifact | None:
        """Return the record of the state committed for ``turn``; None in a single-process store."""
        return self._marked(branch, "s", turn) if self.store.shared else None

    def commit(self, branch: Branch, state: CompressedCognitiveState) -> None:
        """Record ``state`` as the successor on a shared store's branch; `ConflictError` if it has
        one.
        """
        if not self.store.shared:
            return
        made = self._mark(branch, "successor", state.turn, state.hash, "s")
        self.store.add(self.thread.tenant, [made])
        first = self.successor(branch, state.turn)
        if first is None or first.text != state.hash:
            raise race(self.thread, branch.name)

    def end(self, branch: Branch, turn: int) -> None:
        """Note that the step of the claimed ``turn`` ended and its caller receives the commit."""
        self._open.discard((branch.name, turn))

    def refuse(self, branch: Branch, turn: int) -> None:
        """Record that the claimed ``turn`` cannot be committed; no later turn recovers its user's words."""
        self.store.add(self.thread.tenant, [self._mark(branch, "claim", turn, "refused", "r")])

    def is_refused(self, branch: Branch, turn: int) -> bool:
        """Return whether the claimed ``turn`` was refused."""
        return self._marked(branch, "r", turn) is not None

    def is_open(self, branch: Branch, turn: int) -> bool:
        """Return whether no commit exists for the claim of ``turn``.

        A single-process store holds no commits; there the answer covers only this process's claims.
        """
        if self.store.shared:
            return self.successor(branch, turn) is None
        return (branch.name, turn) in self._open

    def refuse_race(self, branch: Branch, claim: Artifact, *, own: bool) -> None:
        """Raise a `ConflictError` if ``claim`` has no commit and is younger than `LEASE`.

        ``own`` says that this process has no other step running in the thread.
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

    def _mark(
        self, branch: Branch, kind: Kind, turn: int, text: str, letter: str = "t"
    ) -> Artifact:
        return Artifact(
            id=self._id(branch, letter, turn), thread=self.thread.key, branch=branch.name, seq=0,
            turn=turn, kind=kind, text=text, identity=text, at=self._now(),
        )  # fmt: skip

    def _id(self, branch: Branch, letter: str, turn: int) -> str:
        return f"{self.thread.key}.{branch.name}:{letter}{turn}"


NAME = "journal"
_ATTEMPTS = 8
_REFUSED, _HEARD = "refused", "heard"


class Act(NamedTuple):
    """An operator's retirement: the branch and ref of the words, and marks of the retired items."""

    branch: str
    ref: str
    items: frozenset[str]


class Journal:
    """The journal of one thread. Not thread-safe."""

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self._records = Branch(store, thread, NAME)
        self._now = now
        self._read = 0
        self._acts: list[Act] = []
        self._refused: dict[str, tuple[str, int]] = {}

    def refresh(self) -> None:
        """Read the records that were added since the last refresh."""
        self._records.refresh()
        for record in self._records.artifacts[self._read :]:
            self._take(record)
        self._read = len(self._records.artifacts)

    def records(self) -> Sequence[Artifact]:
        """Return all records read so far, in order."""
        return tuple(self._records.artifacts)

    @property
    def acts(self) -> Sequence[Act]:
        """The operators' retirements, oldest first."""
        return self._acts

    def retired(self, branch: Branch, turn: Turn, items: Sequence[Item]) -> None:
        """Record that the last observation of ``turn`` on ``branch`` retired ``items``.

        A repetition of a known act, from an older state, is not recorded again.
        """
        marks = [mark_of(item, branch) for item in items]
        if any(act.items.issuperset(marks) for act in self._acts):
            return
        self._append(
            Artifact(
                id="", thread=branch.thread.key, branch=NAME, seq=0, turn=turn.number, kind="act",
                ref=turn.observations[-1].ref, name=branch.name, text=json.dumps(marks),
                identity=f"{branch.name}:{turn.number}", reason="retired", at=self._now(),
            )
        )  # fmt: skip

    def refuse(self, turn: Turn, branch: Branch, number: int) -> None:
        """Record that the user's words of ``turn`` did not fit, as turn ``number`` of ``branch``."""
        if words := digest_of(turn):
            self._note(words, _REFUSED, branch, number)

    def hear(self, turn: Turn, branch: Branch, number: int) -> None:
        """Clear the refusal of the user's words if they are repeated in another turn or branch."""
        words = digest_of(turn)
        if words in self._refused and self._refused[words] != (branch.name, number):
            self._note(words, _HEARD, branch, number)

    def accept(self, turn: Turn, branch: Branch, number: int) -> None:
        """Clear the refusal of the user's words of ``turn``: they are committed."""
        words = digest_of(turn)
        if words in self._refused:
            self._note(words, _HEARD, branch, number)

    def was_refused(self, turn: Turn) -> bool:
        """Return whether the last step with the user's words of ``turn`` refused them."""
        return digest_of(turn) in self._refused

    def _note(self, words: str, reason: str, branch: Branch, number: int) -> None:
        if reason == _REFUSED and self._refused.get(words) == (branch.name, number):
            return
        self._append(
            Artifact(
                id="", thread=branch.thread.key, branch=NAME, seq=0, turn=number, kind="refusal",
                name=branch.name, identity=words, reason=reason, at=self._now(),
            )
        )  # fmt: skip

    def _append(self, record: Artifact) -> None:
        """Write ``record`` at the end; retry if another process took the place."""
        for attempt in range(_ATTEMPTS):
            self.refresh()
            try:
                self._records.append([record])
                break
            except ConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise
        self.refresh()

    def _take(self, record: Artifact) -> None:
        if record.kind == "act":
            marks = frozenset(json.loads(record.text or "[]"))
            self._acts.append(Act(record.name, record.ref, marks))
        elif record.kind == "refusal" and record.identity:
            place = (record.name, record.turn)
            if record.reason == _REFUSED:
                self._refused[record.identity] = place
            else:
                self._refused.pop(record.identity, None)


def mark_of(item: Item, branch: Branch) -> str:
    """Return a mark that identifies an item within the thread, across branches.

    An id is unique along a branch, but forks may reuse it. The mark therefore adds the item's turn and the
    branch of that turn. A seeded item has no turn; its mark adds a digest of its words.
    """
    if item.turn:
        return f"{item.id}.{item.turn}.{branch.home_of(item.turn)}"
    return f"{item.id}.{hashlib.sha256(item.words.encode()).hexdigest()[:24]}"


def standing(
    state: CompressedCognitiveState, branch: Branch, marks: frozenset[str]
) -> Iterator[Item]:
    """Yield the items of ``state``, a state of ``branch``, that have one of ``marks``."""
    for _, item in state.items():
        if mark_of(item, branch) in marks:
            yield item


def digest_of(turn: Turn) -> str:
    """Return a digest of the user's words in ``turn``; empty if there are none."""
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    words = "\x00".join(said).encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest() if said else ""

"""What a thread holds beside its turns: what operators retired in it, and which words were refused.

The records stand under ids of their own, ``<thread key>.journal:<seq>``, and none of them holds words
of a conversation. A store of one process is read once for a thread; a shared one at each `refresh`.
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
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.thread.branch import Branch, race
from acc.turn.observations import Channel
from acc.turn.turn import Turn

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


NAME = "journal"
_ATTEMPTS = 8
_REFUSED, _HEARD = "refused", "heard"


class Act(NamedTuple):
    """An operator's retirement.

    Attributes:
        branch: Where the operator's turn stands.
        ref: The operator's words there.
        items: Marks of what was retired (`mark_of`).
    """

    branch: str
    ref: str
    items: frozenset[str]


class Journal:
    """The journal of one thread. Not for several threads of execution at once."""

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self._records = Branch(store, thread, NAME)
        self._now = now
        self._read = 0
        self._acts: list[Act] = []
        self._refused: dict[str, tuple[str, int]] = {}

    def refresh(self) -> None:
        """Read what was added since the last look.

        Raises:
            StoreError: The store cannot be read.
        """
        self._records.refresh()
        for record in self._records.artifacts[self._read :]:
            self._take(record)
        self._read = len(self._records.artifacts)

    def records(self) -> Sequence[Artifact]:
        """All records, in order, as far as they were read."""
        return tuple(self._records.artifacts)

    @property
    def acts(self) -> Sequence[Act]:
        """The operators' retirements, oldest first."""
        return self._acts

    def retired(self, branch: Branch, turn: Turn, items: Sequence[Item]) -> None:
        """Note that an operator retired ``items`` by the last observation of ``turn`` on ``branch``.

        An act that is done again, from an older state, is noted once.
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
        """Note that the user's words of ``turn`` found no room, as turn ``number`` of ``branch``."""
        if words := digest_of(turn):
            self._note(words, _REFUSED, branch, number)

    def hear(self, turn: Turn, branch: Branch, number: int) -> None:
        """Note that words that were refused before are said anew: as another turn, or in vain no more."""
        words = digest_of(turn)
        if words in self._refused and self._refused[words] != (branch.name, number):
            self._note(words, _HEARD, branch, number)

    def accept(self, turn: Turn, branch: Branch, number: int) -> None:
        """Note that the user's words of ``turn`` are committed, where they were refused before."""
        words = digest_of(turn)
        if words in self._refused:
            self._note(words, _HEARD, branch, number)

    def was_refused(self, turn: Turn) -> bool:
        """Whether the user's words of ``turn`` were refused when they were said last."""
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
        """Write ``record`` at the end; several processes may do so at the same time."""
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
    """What tells an item from every other of the thread, on whichever branch.

    An id is given out once along a branch; forks may give it out again. So the mark names the turn in
    which the item was made, and the branch on which that turn stands. A seed is made in no turn: there
    its words tell.
    """
    if item.turn:
        return f"{item.id}.{item.turn}.{branch.home_of(item.turn)}"
    return f"{item.id}.{hashlib.sha256(item.words.encode()).hexdigest()[:24]}"


def standing(
    state: CompressedCognitiveState, branch: Branch, marks: frozenset[str]
) -> Iterator[Item]:
    """The items of ``state``, which is on ``branch``, that have one of ``marks``."""
    for _, item in state.items():
        if mark_of(item, branch) in marks:
            yield item


def digest_of(turn: Turn) -> str:
    """A digest of what the user says in ``turn``; empty where they say nothing."""
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    return (
        hashlib.sha256("\x00".join(said).encode("utf-8", "surrogatepass")).hexdigest()
        if said
        else ""
    )

"""The journal of a thread: operators' retirements and adoptions, and refused words.

Its records have ids of the form ``<thread key>.journal:<seq>`` and contain no words of a
conversation. `Journal.refresh` reads a single-process store once per thread, a shared store each time.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from acc.errors import ConflictError
from acc.logs import log_event
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Artifact, ArtifactStore, Kind, Thread
from acc.thread.branch import Branch
from acc.turn.observations import Channel
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)

NAME = "journal"
_ATTEMPTS = 8
_REFUSED, _HEARD, _ADOPTED = "refused", "heard", "adopted"


class Act(NamedTuple):
    """An operator's retirement: the branch and ref of the words, and keys of the retired items (`item_key`)."""

    branch: str
    ref: str
    items: frozenset[str]


class Journal:
    """The journal of one thread. Not thread-safe.

    Attributes:
        adopted: The hashes of the states that an operator adopted; for each, the turns that the store
            had then and the audit log lacked: the newest by branch.
        adopted_from: The branches of these states.
    """

    def __init__(self, store: ArtifactStore, thread: Thread, now: Callable[[], str]) -> None:
        self._records = Branch(store, thread, NAME)
        self._now = now
        self._read = 0
        self._acts: list[Act] = []
        self._refused: dict[str, tuple[str, int]] = {}
        self.adopted: dict[str, dict[str, int]] = {}
        self.adopted_from: set[str] = set()

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
        keys = [item_key(item, branch) for item in items]
        if any(act.items.issuperset(keys) for act in self._acts):
            return
        self._append(
            "act", turn.number, branch.name, f"{branch.name}:{turn.number}", "retired",
            text=json.dumps(keys), ref=turn.observations[-1].ref,
        )  # fmt: skip

    def adopt(self, state: CompressedCognitiveState, unlogged: Mapping[str, int]) -> None:
        """Record that an operator adopted ``state`` although the store or the audit log lacks its past."""
        places = json.dumps([f"{branch}:{turn}" for branch, turn in unlogged.items()])
        self._append("act", state.turn, state.branch, state.hash, _ADOPTED, text=places)

    def refuse(self, turn: Turn, branch: Branch, number: int) -> None:
        """Record that the user's words of ``turn`` did not fit, as turn ``number`` of ``branch``."""
        if words := digest_of(turn):
            self._note(words, _REFUSED, branch, number)

    def clear_refusal(self, turn: Turn, branch: Branch, number: int) -> None:
        """Clear the refusal of the user's words of ``turn`` if the user repeats them in another turn or branch."""
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
        self._append("refusal", number, branch.name, words, reason)

    def _append(
        self, kind: Kind, turn: int, branch: str, identity: str, reason: str, **said: str
    ) -> None:
        """Write a record about a turn of ``branch`` at the end; retry if another process took the place."""
        record = Artifact(
            id="", thread=self._records.thread.key, branch=NAME, seq=0, turn=turn, kind=kind,
            name=branch, identity=identity, reason=reason, at=self._now(), **said,
        )  # fmt: skip
        for attempt in range(_ATTEMPTS):
            self.refresh()
            try:
                self._records.append([record])
                break
            except ConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise
                log_event(
                    _LOG, logging.INFO, "journal_retry",
                    "another process wrote to the journal; the entry is written after its own",
                    attempt=attempt + 1,
                )  # fmt: skip
        self.refresh()

    def _take(self, record: Artifact) -> None:
        if record.kind == "act" and record.reason == _ADOPTED:
            places = (place.rpartition(":") for place in json.loads(record.text or "[]"))
            self.adopted[record.identity] = {branch: int(turn) for branch, _, turn in places}
            self.adopted_from.add(record.name)
        elif record.kind == "act":
            keys = frozenset(json.loads(record.text or "[]"))
            self._acts.append(Act(record.name, record.ref, keys))
        elif record.kind == "refusal" and record.identity:
            place = (record.name, record.turn)
            if record.reason == _REFUSED:
                self._refused[record.identity] = place
            else:
                self._refused.pop(record.identity, None)


def item_key(item: Item, branch: Branch) -> str:
    """Return a key that identifies an item within the thread, across branches.

    An id is unique along a branch, but forks may reuse it. The key therefore adds the item's turn and the
    branch of that turn. A seeded item has no turn; its key adds a digest of its words.
    """
    if item.turn:
        return f"{item.id}.{item.turn}.{branch.branch_of(item.turn)}"
    return f"{item.id}.{hashlib.sha256(item.words.encode()).hexdigest()[:24]}"


def still_present(
    state: CompressedCognitiveState, branch: Branch, keys: frozenset[str]
) -> Iterator[Item]:
    """Yield the items of ``state``, a state of ``branch``, that have one of ``keys``."""
    for _, item in state.items():
        if item_key(item, branch) in keys:
            yield item


def digest_of(turn: Turn) -> str:
    """Return a digest of the user's words in ``turn``; empty if there are none."""
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    words = "\x00".join(said).encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest() if said else ""

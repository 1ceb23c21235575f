"""Read where a thread stands: its heads, its states, and the texts of a tail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sqlalchemy import text

from acc.journal.listing import PAGE, WAITING, WITH_REFS, Listing
from acc.journal.names import (
    MAIN,
    NOTHING,
    Appended,
    Head,
    Key,
    Place,
    StoredMessage,
    Waiting,
    key_of,
)
from acc.journal.opened import reads
from acc.journal.tables import COMMITS, read_state
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message

S = TypeVar("S", bound=CompressedCognitiveState)

MOST_WAITING = 10_000
"""Messages of an uncommitted turn that are read at most."""


@dataclass(frozen=True)
class Latest(Generic[S]):
    """What a step begins from.

    Attributes:
        head: The head of the branch.
        state: Its state; None if nothing was committed.
        tail: The messages of the state's tail, as far as they are there.
        waiting: What was appended after the head.
    """

    head: Head
    state: S | None
    tail: tuple[Message, ...]
    waiting: Waiting = NOTHING


_WITH_SEQ = text(
    "SELECT hash, version FROM commits WHERE branch_id = :branch_id AND seq = :seq"
    " ORDER BY version DESC LIMIT 1"
)


class Reading(Listing):
    """Read heads, states and tails."""

    @reads
    def head(self, thread: Key, branch: str = MAIN) -> Head:
        """Return the head of a branch; one without a hash if there is none."""
        place = self._find(thread, branch)
        return place.head if place else Head(key_of(thread), branch)

    @reads
    def branches(self, thread: Key) -> tuple[Head, ...]:
        """Return the heads of a thread's branches that have begun, the main one first."""
        return tuple(place.head for place in self._places(thread) if place.is_begun)

    @reads
    def commit_with(self, thread: Key, digest: str) -> Head | None:
        """Return branch, version and last message of the commit with a hash; None if the journal lacks it."""
        names = self._names(thread)
        row = self._commit_with(names, digest)
        if row is None:
            return None
        return Head(key_of(thread), names[row.branch_id], digest, row.version, seq=row.seq)

    @reads
    def without_news(self, held: Head) -> Head:
        """Return the last commit after ``held`` on its branch that had taken no message since; ``held`` if none."""
        place = self._find(held.thread, held.branch)
        if place is None:
            return held
        given = {"branch_id": place.branch_id, "seq": held.seq}
        row = self._execute(_WITH_SEQ, given).first()
        if row is None or row.version <= held.version:
            return held
        return replace(held, hash=row.hash, version=row.version)

    @reads
    def state(
        self,
        thread: Key,
        at: str | int | None = None,
        *,
        branch: str = MAIN,
        schema: type[S] = CompressedCognitiveState,  # type: ignore[assignment]
    ) -> S | None:
        """Return a state: the head's, that with the hash ``at``, or that of the version ``at`` of the branch.

        None if there is none.

        Raises:
            StateError: It is not of ``schema``, or it was changed.
        """
        place = self._find(thread, branch)
        return self._state(place, at, schema) if place else None

    @reads
    def latest(
        self,
        thread: Key,
        *,
        branch: str = MAIN,
        schema: type[S] = CompressedCognitiveState,  # type: ignore[assignment]
    ) -> Latest[S]:
        """Return what a step begins from: head, state, the texts of its tail, what waits; all of one moment."""
        place = self._find(thread, branch)
        if place is None:
            return Latest(Head(key_of(thread), branch), None, ())
        state = self._state(place, None, schema)
        refs = [entry.ref for entry in state.unread] if state else []
        return Latest(place.head, state, self._texts(place, refs), self._waiting(place))

    @reads
    def waiting(self, thread: Key, branch: str = MAIN) -> tuple[Message, ...]:
        """Return the messages that were appended after the head and that no commit took: of a step that failed."""
        place = self._find(thread, branch)
        return self._waiting(place).messages if place else ()

    def _waiting(self, place: Place) -> Waiting:
        found = self._chosen(place, WAITING, MOST_WAITING, after=place.head.seq)
        if not found:
            return NOTHING
        messages = tuple(each.message for each in found)
        refs = tuple(message.ref for message in messages)
        return Waiting(messages, Appended(place.head, found[0].seq, found[-1].seq, refs))

    def recent(self, digest: str, schema: type[S]) -> S | None:
        """Return the state with a hash if this process committed it lately, with this class."""
        found = self._recent.get(digest)
        return found if found is not None and type(found) is schema else None

    def _state(self, place: Place, at: str | int | None, schema: type[S]) -> S | None:
        if at is None or at == place.head.hash:
            held = self.recent(place.head.hash, schema)
            if held is not None:
                return held
        body = self._state_at(place, at)
        return schema.load(body) if body else None

    def _state_at(self, place: Place, at: str | int | None) -> Mapping[str, Any] | None:
        """Return the state with a hash or version, or the head's; None if there is none."""
        head = place.head
        if at is None or at == head.hash:
            found = (place.branch_id, head.version) if place.is_begun else None
        elif isinstance(at, str):
            row = self._commit_with((*place.lineage, *self._names(head.thread)), at)
            found = (row.branch_id, row.version) if row else None
        else:
            own = COMMITS.c.version == at
            lineage = place.lineage if at <= head.version else ()
            there = (each for each in lineage if self._is_there(COMMITS.c.branch_id == each, own))
            found = next(((each, at) for each in there), None)
        return read_state(self._sql, *found) if found else None

    @reads
    def texts(self, thread: Key, refs: Iterable[Any], *, branch: str = MAIN) -> tuple[Message, ...]:
        """Return the messages that a branch sees under these refs, or entries of a tail, in their order.

        Those that are missing or were erased are left out.
        """
        place = self._find(thread, branch)
        wanted = [each if isinstance(each, str) else str(each.ref) for each in refs]
        return self._texts(place, wanted) if place else ()

    def _texts(self, place: Place, refs: Sequence[str]) -> tuple[Message, ...]:
        """Return the messages of some refs in their order, as far as the branch sees them.

        Where a turn was appended twice, as by two workers, that one counts which a commit took.
        """
        best: dict[str, StoredMessage] = {}
        for start in range(0, len(refs), PAGE):
            part = refs[start : start + PAGE]
            for each in self._chosen(place, WITH_REFS, refs=part):
                if each.branch != place.head.branch and not each.version:
                    continue  # another branch's turn that nothing came of
                held = best.get(each.message.ref)
                if held is None or each.version or not held.version:
                    best[each.message.ref] = each
        return tuple(best[ref].message for ref in dict.fromkeys(refs) if ref in best)

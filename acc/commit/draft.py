"""The next state in the making."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from acc.commit.sources import Sources
from acc.state.items import Goal, Item, Pinned, Record
from acc.state.model import CompressedCognitiveState, Gone, TailRef
from acc.state.policy import Policy
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.state.slots import SlotField

MOST_GONE = 12
"""Maximum number of records that left and can be brought back."""

I = TypeVar("I", bound=Item)  # noqa: E741


class Draft:
    """A mutable copy of a state, with the notes of what happens to it.

    Attributes:
        items: The items of each slot.
        turn: Number of the turn that this commit belongs to.
        labels: Ids of new items, by the name that the proposal gave them.
        no_room: Refs of messages whose rule, goal or later word does not fit.
        over: Tokens by which the answer was over the bound.
    """

    def __init__(
        self, state: CompressedCognitiveState, sources: Sources, policy: Policy, turn: int
    ) -> None:
        self.state = state
        self.sources = sources
        self.policy = policy
        self.turn = turn
        self.slots = type(state).slots()
        self.items: dict[str, list[Item]] = {
            name: list(getattr(state, name)) for name in self.slots
        }
        self.gone: list[Gone] = list(state.gone)
        self.tail: list[TailRef] = list(state.unread)
        self.notes: list[Note] = []
        self.labels: dict[str, str] = {}
        self.counter = state.counter
        self.no_room: list[str] = []
        self.over = 0

    def note(
        self,
        reason: Reason,
        item: str = "",
        text: str = "",
        detail: str = "",
        of: str = "",
        ref: str = "",
    ) -> None:
        """Note what happened."""
        note = Note(reason=reason, item=item, ref=ref, text=text[:120], detail=detail, of=of)
        self.notes.append(note)

    def new_id(self, slot: SlotField, label: str = "") -> str:
        """Return the id of a new item, and remember the proposal's name for it."""
        self.counter += 1
        found = f"{slot.rules.prefix}{self.counter}"
        if label:
            self.labels.setdefault(label, found)
        return found

    def find(self, written: str) -> tuple[str, Item] | None:
        """Return slot name and item for an id, or for the name that the proposal gave to a new item."""
        wanted = self.labels.get(written, written)
        for name, items in self.items.items():
            for item in items:
                if item.id == wanted:
                    return name, item
        return None

    def find_pinned(self, written: str) -> tuple[str, Pinned] | None:
        """Return the rule or goal with this id."""
        found = self.find(written)
        return (found[0], found[1]) if found and isinstance(found[1], Pinned) else None

    def replace(self, name: str, item: Item) -> None:
        """Put ``item`` in the place of the one with the same id."""
        self.items[name] = [item if each.id == item.id else each for each in self.items[name]]

    def remove(self, name: str, item: Item) -> None:
        """Remove an item."""
        self.items[name] = [each for each in self.items[name] if each.id != item.id]

    def evict(self, name: str, item: Record) -> None:
        """Remove a record for want of room. It can be brought back."""
        self.remove(name, item)
        self.gone = [*self.gone, Gone.of(name, item)][-MOST_GONE:]

    def pinned(self) -> Iterator[tuple[str, Pinned]]:
        """Yield rules and goals with their slot's name."""
        for name, slot in self.slots.items():
            if slot.is_pinned:
                yield from ((name, item) for item in self.items[name] if isinstance(item, Pinned))

    def pinned_tokens(self, speaker: str | None = None) -> int:
        """Return the tokens of rules and goals as the agent reads them, of one speaker or of all."""
        own = {
            name: tuple(
                item
                for item in self.items[name]
                if isinstance(item, Pinned) and speaker in (None, item.words.speaker)
            )
            for name, slot in self.slots.items()
            if slot.is_pinned
        }
        alone = type(self.state)(**own)
        return self.policy.counter(render(alone, self.policy.style))

    def tokens(self) -> int:
        """Return the tokens of the whole state as the agent reads it."""
        return self.policy.counter(render(self.so_far(), self.policy.style))

    def so_far(self) -> CompressedCognitiveState:
        """Return the state with the items as they are now, without a hash."""
        return self.state.model_copy(update={n: tuple(i) for n, i in self.items.items()})

    def lapse(self) -> None:
        """Let go of goals that somebody as trusted as their speaker closed. They were shown once.

        A goal that only a lesser one, as the agent, calls done stands with that claim: an agent that is wrong loses
        no goal. A user's leaves when a later compression drops it, an operator's only by the operator.
        """
        for name in self.slots:
            self.items[name] = [item for item in self.items[name] if not self._is_over(item)]

    def _is_over(self, item: Item) -> bool:
        if not isinstance(item, Goal) or item.done is None:
            return False
        return item.is_closed and item.done.turn < self.turn

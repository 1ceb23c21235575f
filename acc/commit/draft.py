"""The next state in the making."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acc.commit.sources import Sources
from acc.state.items import Goal, Item, Pinned, Record, Words
from acc.state.model import CompressedCognitiveState, Gone, TailRef
from acc.state.policy import Policy
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.state.slots import SlotField
from acc.turn.observations import LAWFUL, Channel

MOST_GONE = 12
"""Maximum number of records that left and can be brought back."""


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
        self.state, self.sources, self.policy, self.turn = state, sources, policy, turn
        self.slots = type(state).slots()
        self.items: dict[str, list[Item]] = {n: list(getattr(state, n)) for n in self.slots}
        self.gone: list[Gone] = list(state.gone)
        self.tail: list[TailRef] = list(state.unread)
        self.notes, self.no_room = list[Note](), list[str]()
        self.labels: dict[str, str] = {}
        self.counter, self.over = state.counter, 0

    def note(
        self,
        reason: Reason,
        item: str = "",
        text: str = "",
        detail: str = "",
        of: str = "",
        ref: str = "",
    ) -> None:
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
        every = ((name, item) for name, items in self.items.items() for item in items)
        return next((each for each in every if each[1].id == wanted), None)

    def sentence(
        self, quote: str, ref: str, of: str, channels: Sequence[Channel] = LAWFUL
    ) -> Words | None:
        """Return the whole sentence around ``quote`` (`Sources.sentence`); None, with a note, if it is refused."""
        found = self.sources.sentence(quote, ref, channels, of)
        if isinstance(found, Note):
            self.notes.append(found)
            return None
        return found

    def find_pinned(self, written: str) -> tuple[str, Pinned] | None:
        """Return the rule or goal with this id."""
        found = self.find(written)
        return (found[0], found[1]) if found and isinstance(found[1], Pinned) else None

    def replace(self, name: str, item: Item) -> None:
        self.items[name] = [item if each.id == item.id else each for each in self.items[name]]

    def remove(self, name: str, item: Item) -> None:
        self.items[name] = [each for each in self.items[name] if each.id != item.id]

    def evict(self, name: str, item: Record, why: str) -> None:
        """Remove a record for want of room. It can be brought back."""
        self.remove(name, item)
        self.gone = [*self.gone, Gone.of(name, item)][-MOST_GONE:]
        self.note(Reason.EVICTED, item.id, item.text_of, why)

    def records(self, name: str) -> list[Record]:
        return [item for item in self.items[name] if isinstance(item, Record)]

    def pinned(self) -> Iterator[tuple[str, Pinned]]:
        """Yield rules and goals with their slot's name."""
        for name, slot in self.slots.items():
            if slot.is_pinned:
                yield from ((name, item) for item in self.items[name] if isinstance(item, Pinned))

    def pin(self, name: str, item: Pinned, words: Words, of: str) -> bool:
        """Put a rule or goal in its place, if ``words``, which are new in it, find room (law 7)."""
        before = self.items[name]
        is_held = any(each.id == item.id for each in before)
        if is_held:
            self.replace(name, item)
        else:
            self.items[name] = [*before, item]
        if self._has_room(name, words.speaker):
            return True
        self.items[name] = before
        self.no_room.append(words.ref)
        self.note(Reason.NO_ROOM, item.id if is_held else "", words.text, of=of, ref=words.ref)
        return False

    def _has_room(self, name: str, speaker: str) -> bool:
        """Whether rules and goals keep their bounds: places, room, and one speaker's share of it."""
        most = self.policy.pinned_tokens
        if len(self.items[name]) > self.slots[name].rules.places or self.pinned_tokens() > most:
            return False
        speakers = {item.words.speaker for _, item in self.pinned()}
        return len(speakers) < 2 or 2 * self.pinned_tokens(speaker) <= most

    def pinned_tokens(self, speaker: str | None = None) -> int:
        """Return the tokens of rules and goals as the agent reads them, of one speaker or of all."""
        own: dict[str, list[Pinned]] = {}
        for name, item in self.pinned():
            if speaker in (None, item.words.speaker):
                own.setdefault(name, []).append(item)
        return self._tokens_of(type(self.state)(**own))

    def tokens(self) -> int:
        """Return the tokens of the whole state as the agent reads it."""
        items = {name: tuple(items) for name, items in self.items.items()}
        return self._tokens_of(self.state.model_copy(update=items))

    def _tokens_of(self, state: CompressedCognitiveState) -> int:
        return self.policy.counter(render(state, self.policy.style))

    def lapse(self) -> None:
        """Let go of goals that somebody as trusted as their speaker closed. They were shown once.

        A goal that only a lesser one, as the agent, calls done stands with that claim: an agent that is wrong loses
        no goal. A user's leaves when a later compression drops it, an operator's only by the operator.
        """
        for name, item in list(self.pinned()):
            if isinstance(item, Goal) and item.is_closed and item.done_before(self.turn):
                self.remove(name, item)

"""Keeps a proposal within its slots: no duplicates, no overlong text, and places for new items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from acc.commit.placing import may_replace
from acc.keyless.outcomes import is_outcome
from acc.keyless.overflow import remark_on
from acc.keyless.reading import fits, said_by
from acc.keyless.worth import Told, needed, worth_of
from acc.state.items import Item, number_of
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem, Remark, Retirement
from acc.state.slots import SlotField
from acc.text.same_words import same_words
from acc.turn.observations import Trust

FACTS = "relational_map"
_TOLD = ("subject", "predicate", "object", "status")

SLOTS: Mapping[str, float] = {
    "uncertainty_signal": 0.2,
    "semantic_gist": 1.0,
    "goal_orientation": 0.1,
}
"""Value of items other than facts; a goal here is a completed one."""

ENTITIES: Mapping[str, float] = {
    "name": 0.02, "person": 0.02, "host": 0.05, "version": 0.2, "id": 0.3,
}  # fmt: skip
IDENTIFIER = 0.65
"""Value of entities by type. In the labelled conversations, people mostly ask again for things with
a noun ("ticket MT-20418") and hardly ever for mere names.
"""

OUTCOME = 0.6
"""Value of an outcome: the action must not be done again."""

FORGOTTEN = 0.02
"""Loss of this value per turn. An old outcome has the value of other facts."""

FADING = 0.004
"""Loss of any item's value per turn without a mention."""


def value(slot: str, fields: Mapping[str, Any], sources: int, age: int) -> float:
    """The value of an item of ``slot``.

    Args:
        slot: The slot's name.
        fields: The item's fields.
        sources: Number of its sources.
        age: Turns since its last mention.
    """
    worth = _worth(slot, fields, sources)
    if slot == FACTS and is_outcome(str(fields.get("predicate")), str(fields.get("object"))):
        worth = max(worth, OUTCOME - FORGOTTEN * age)
    return worth - FADING * age


def _worth(slot: str, fields: Mapping[str, Any], sources: int) -> float:
    if slot == FACTS:
        subject, predicate, what, status = (str(fields.get(name, "")) for name in _TOLD)
        return needed(Told(subject, predicate, what, status, sources))
    if slot == "focal_entities":
        return ENTITIES.get(str(fields.get("type", "")), IDENTIFIER)
    return SLOTS[slot] if slot in SLOTS else worth_of(words_of(fields))


def words_of(fields: Mapping[str, Any]) -> str:
    """All text of the fields."""
    return " ".join(str(text) for name, text in fields.items() if name not in ("quote", "kind"))


PER_TURN: Mapping[str, int] = {
    "episodic_trace": 4,
    "semantic_gist": 1,
    "focal_entities": 4,
    "relational_map": 6,
    "goal_orientation": 2,
    "predictive_cue": 1,
    "uncertainty_signal": 2,
    "retrieved_artifacts": 6,
}
"""Maximum new items per turn, by slot. Cues beyond these are rarely important.

Other slots are limited by their number of places. `acc.keyless.overflow` leaves out rules and goals
that find no place.
"""
RESERVED = 0.5
"""Share of a slot's places that less trusted sources cannot take from the prior items."""


class Room:
    """The items and retirements of one proposal, kept within the places of the state's slots.

    Args:
        state: The prior state.
        trusts: Trust of the citable refs; the user's trust for others.
    """

    def __init__(
        self, state: CompressedCognitiveState, trusts: Mapping[str, Trust] | None = None
    ) -> None:
        self._state = state
        self._trusts = trusts or {}
        self._slots = type(state).slots()
        self._items: list[ProposedItem] = []
        self._again: list[ProposedItem] = []
        self._retire: dict[str, Retirement] = {}
        self._new: Counter[str] = Counter()
        self._worth: dict[str, float] = {}
        self._left_out: list[Remark] = []

    @property
    def turn(self) -> int:
        """Number of the proposed turn."""
        return self._state.turn + 1

    @cached_property
    def pinned(self) -> list[str]:
        """Slots with binding open items."""
        return [name for name, slot in self._slots.items() if slot.rules.pinned]

    @cached_property
    def lasting(self) -> list[str]:
        """Slots with items that stay until something replaces them."""
        loose = [n for n, slot in self._slots.items() if not slot.rules.ephemeral]
        return [name for name in loose if name not in self.pinned]

    def new(self) -> list[ProposedItem]:
        """The items proposed so far."""
        return list(self._items)

    def drop(self, item: ProposedItem) -> None:
        """Remove ``item`` from the proposal."""
        self._items.remove(item)
        self._new[item.slot] -= 1

    def held(self, slot: str) -> list[Item]:
        """The prior items of a slot that the proposal does not retire; empty without such a slot."""
        if slot not in self._slots:
            return []
        return [item for item in getattr(self._state, slot) if item.id not in self._retire]

    def retired(self, slot: str) -> list[Item]:
        """The prior items of a slot that this proposal retires."""
        prior = getattr(self._state, slot) if slot in self._slots else ()
        return [item for item in prior if item.id in self._retire]

    def staying(self, slot: str) -> list[Item]:
        """The items of `held` that no new item replaces and that outlive the turn."""
        found = self._slots.get(slot)
        if found is None or found.rules.ephemeral:
            return []
        new = [item for item in self._items if item.slot == slot]
        ids = {item.id for item in new}
        told = {_about(found, item.fields, item.cites): self.trust(item.cites) for item in new}
        left = [item for item in self.held(slot) if item.id not in ids]
        return [i for i in left if i.about not in told or not may_replace(told[i.about], i.trust)]

    def visible_text(self) -> dict[str, list[str]]:
        """The text that the agent will read, by slot, as far as it is known before commit."""
        shown = {}
        for name in self._slots:
            new = [words_of(item.fields) for item in self._items if item.slot == name]
            if rows := [*new, *(item.words for item in self.staying(name))]:
                shown[name] = rows
        ended = [item for name in self.pinned for item in self.retired(name)]
        if ended:
            shown["lifted"] = [f"{item.words} {self._retire[item.id].quote}" for item in ended]
        return shown

    def columns(self, slot: str) -> str:
        """The names of the displayed fields of a slot's items."""
        if slot not in self._slots:
            return "rule,because"
        return ",".join(self._slots[slot].item.shown_fields())

    def open(self, slot: str) -> list[Item]:
        """The items of `held` that are open."""
        return [item for item in self.held(slot) if item.is_open]

    def retire(self, item: Item, ref: str = "", quote: str = "") -> None:
        """Retire a prior item. A pinned item needs the words ``quote`` of ``ref``."""
        cites = (ref,) if ref else ()
        self._retire.setdefault(item.id, Retirement(id=item.id, cites=cites, quote=quote))

    def update(self, slot: str, item: Item, cites: Iterable[str], **fields: Any) -> None:
        """Change fields of a prior item by its id. Only the first change of an item counts."""
        if any(proposed.id == item.id for proposed in self._items):
            return
        says = {**said_by(item), **fields}
        self._items.append(ProposedItem(slot=slot, fields=says, cites=tuple(cites), id=item.id))

    def add(self, slot: str, cites: Iterable[str], *, amends: str = "", **fields: Any) -> bool:
        """Propose a new item if it fits, is new, and has or finds a place.

        A repeated rule or goal goes to commit nevertheless, which notes the duplicate.

        Returns:
            Whether the item was added.
        """
        found = self._slots.get(slot)
        if found is None or not fits(found.item, fields):
            return False
        refs = tuple(dict.fromkeys(ref for ref in cites if ref))
        proposed = ProposedItem(slot=slot, fields=fields, cites=refs, amends=amends)
        if self._repeats(found, fields):
            self._again.append(proposed)
            return False
        if self._has_enough(found):
            if found.rules.pinned and not self._is_known(found, fields, refs):
                self._left_out.append(remark_on(proposed, found.item.head))
            return False
        if self._is_known(found, fields, refs) or not self._has_place(found, fields, refs):
            return False
        self._new[slot] += 1
        self._items.append(proposed)
        return True

    def proposal(self, author: str, remarks: tuple[Remark, ...] = ()) -> Proposal:
        """The whole proposal."""
        return Proposal(
            mode="revise",
            items=(*self._items, *self._again),
            retire=tuple(self._retire.values()),
            author=author,
            remarks=(*remarks, *self._left_out),
        )

    def _repeats(self, slot: SlotField, fields: Mapping[str, Any]) -> bool:
        """Whether an open rule or goal of the state or this proposal has the same words."""
        if not slot.rules.quote:
            return False
        head = slot.item.head
        new = (item.fields for item in self._items if item.slot == slot.name)
        said = [getattr(item, head) for item in self.open(slot.name)]
        said += [other[head] for other in new if head in other]
        return any(same_words(str(fields.get(head, "")), str(text)) for text in said)

    def _is_known(self, slot: SlotField, fields: Mapping[str, Any], cites: Sequence[str]) -> bool:
        """Whether the state or this proposal already has the item, or another with the same key."""
        own = _about(slot, fields, cites)
        new = (item for item in self._items if item.slot == slot.name)
        if any(_about(slot, item.fields, item.cites) == own for item in new):
            return True
        if slot.rules.ephemeral:
            return False
        shown = {
            name: str(text).casefold()
            for name, text in fields.items()
            if name not in slot.item.unseen and name != "status"
        }
        return any(
            all(str(getattr(item, name)).casefold() == text for name, text in shown.items())
            for item in self.held(slot.name)
        )

    def _has_enough(self, slot: SlotField) -> bool:
        most = PER_TURN.get(slot.name, None if slot.rules.pinned else slot.rules.max_items)
        return most is not None and self._new[slot.name] >= most

    def _has_place(self, slot: SlotField, fields: Mapping[str, Any], cites: Sequence[str]) -> bool:
        """Whether there is a place for the item; retires a prior item if needed.

        An item that a new one replaces frees its place. Rules and open goals always have a place.
        """
        trust = self.trust(cites)
        if slot.rules.ephemeral:
            return self._new[slot.name] < slot.rules.max_items
        new = {_about(slot, fields, cites)}
        own = [i for i in self._items if i.slot == slot.name and not i.id]
        new |= {_about(slot, item.fields, item.cites) for item in own}
        staying = [item for item in self.held(slot.name) if item.about not in new]
        if len(staying) + len(new) <= slot.rules.max_items:
            return True
        loose = [i for i in staying if not slot.binds(i)]
        beyond = [item for item in staying if not may_replace(trust, item.trust)]
        if len(beyond) <= RESERVED * slot.rules.max_items:
            loose = [item for item in loose if item not in beyond]
        if loose:
            self.retire(min(loose, key=lambda item: self._standing(slot.name, item)))
        return bool(loose) or slot.rules.pinned

    def trust(self, cites: Iterable[str]) -> Trust:
        """The minimum trust of ``cites``; commit computes it exactly (law 6)."""
        return min((self._trusts.get(ref, Trust.USER) for ref in cites), default=Trust.USER)

    def _standing(self, slot: str, item: Item) -> tuple[float, int, int]:
        """A sort key by value; of equal items the one untouched for longest comes first."""
        if item.id not in self._worth:
            age = self.turn - item.touched
            self._worth[item.id] = value(slot, said_by(item), len(item.sources), age)
        return self._worth[item.id], item.touched, number_of(item)


def _about(slot: SlotField, fields: Mapping[str, Any], cites: Sequence[str]) -> tuple[str, ...]:
    """The key of an item. Commit computes some key fields from the first cited source."""
    source = {name: cites[0] for name in slot.item.computed if cites}
    return tuple(str({**source, **fields}.get(name, "")).casefold() for name in slot.item.key)

"""The next state while commit is making it: working slots, and a record of every change."""

from __future__ import annotations

from typing import Any

from acc.items import Item
from acc.laws.reasons import Note, Reason, SetAside
from acc.slots import SlotField
from acc.state import CompressedCognitiveState, Doubted, Lifted, Pending
from acc.turn import Channel, Turn

MOST_SOURCES = 8
"""Refs kept on one item: the first, and the latest."""


class Draft:
    """Mutable during one commit; never leaves it."""

    def __init__(self, state: CompressedCognitiveState, turn: Turn, bound_to: str = "") -> None:
        self.before = state
        self.turn = turn
        self.bound_to = bound_to or state.bound_to
        self.slots = state.slots()
        self.items: dict[str, list[Item]] = {n: list(getattr(state, n)) for n in self.slots}
        self.notes: list[Note] = []
        self.set_aside: list[SetAside] = []
        self.lifted: list[Lifted] = [] if _begins(turn) else list(state.lifted)
        self.doubted: list[Doubted] = [] if _begins(turn) else list(state.doubted)
        self.pending: tuple[Pending, ...] = ()
        self.counter = state.counter

    def note(self, reason: Reason, slot: str = "", item: Item | None = None, **said: str) -> None:
        """Record what was done, and to what."""
        text = said.get("text") or (item.words if item is not None else "")
        self.notes.append(
            Note(
                reason=reason,
                slot=slot,
                item=item.id if item is not None else "",
                text=text[:400],
                detail=said.get("detail", ""),
            )
        )

    def find(self, item_id: str) -> tuple[SlotField, Item] | None:
        """The item of that id as it stands now."""
        for name, items in self.items.items():
            for item in items:
                if item.id == item_id:
                    return self.slots[name], item
        return None

    def add(
        self, slot: SlotField, item: Item, reason: Reason = Reason.ADDED, detail: str = ""
    ) -> Item:
        """Give ``item`` an id and put it in its slot."""
        self.counter += 1
        fresh = item.model_copy(
            update={
                "id": f"{slot.rules.letter}{self.counter}",
                "turn": self.turn.number,
                "touched": self.turn.number,
                "sources": _bounded(item.sources),
            }
        )
        self.items[slot.name].append(fresh)
        self.note(reason, slot.name, fresh, detail=detail)
        return fresh

    def change(self, slot: SlotField, item: Item, **fields: Any) -> Item:
        """Put a changed copy in the place of ``item``, touched in this turn."""
        if "sources" in fields:
            fields["sources"] = _bounded((*item.sources, *fields["sources"]))
        changed = item.model_copy(update={**fields, "touched": self.turn.number})
        items = self.items[slot.name]
        items[next(i for i, other in enumerate(items) if other.id == item.id)] = changed
        return changed

    def remove(self, slot: SlotField, item: Item, reason: Reason, detail: str = "") -> None:
        """Take ``item`` out; unless it only lapsed with its turn, it is set aside."""
        self.items[slot.name] = [i for i in self.items[slot.name] if i.id != item.id]
        self.note(reason, slot.name, item, detail=detail)
        if reason is not Reason.LAPSED:
            self.set_aside.append(SetAside(slot=slot.name, reason=reason, item=item))

    def refuse(self, slot: SlotField, item: Item, reason: Reason, detail: str = "") -> None:
        """Take back ``item``, which this very commit added: it is refused, as if it never had an id."""
        self.items[slot.name] = [i for i in self.items[slot.name] if i.id != item.id]
        self.notes = [note for note in self.notes if note.item != item.id]
        self.note(reason, slot.name, text=item.words, detail=detail)

    def lapse(self) -> None:
        """Drop what lives for the user's turn, and goals that were done in it, when another begins."""
        if not _begins(self.turn):
            return
        for slot in self.slots.values():
            if slot.rules.lifetime == "turn":
                for item in self.items[slot.name]:
                    self.remove(slot, item, Reason.LAPSED)
            elif slot.rules.pinned:
                for item in [each for each in self.items[slot.name] if not each.is_open]:
                    self.remove(slot, item, Reason.MADE_ROOM, detail="done")

    def state(self, policy: str = "") -> CompressedCognitiveState:
        """The state as drafted, not yet sealed."""
        slots = {name: tuple(items) for name, items in self.items.items()}
        return self.before.model_copy(
            update={
                **slots,
                "version": self.before.version + 1,
                "turn": self.turn.number,
                "counter": self.counter,
                "bound_to": self.bound_to,
                "policy": policy,
                "parent": self.before.hash,
                "lifted": tuple(self.lifted),
                "doubted": tuple(self.doubted),
                "pending": self.pending,
                "hash": "",
            }
        )


def _begins(turn: Turn) -> bool:
    """Whether somebody speaks in ``turn``, or it is a further step of a long tool loop."""
    return any(o.channel in (Channel.USER, Channel.OPERATOR) for o in turn.observations)


def _bounded(sources: tuple[str, ...]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(sources))
    return unique if len(unique) <= MOST_SOURCES else (unique[0], *unique[1 - MOST_SOURCES :])

"""A slot's rules, declared once on the state type and read by everything from there.

    constraints: Annotated[tuple[Constraint, ...], Slot(places=16, write=Trust.USER, pinned=True)]

The wire schema, commit, eviction, the renderers and the reference page all read the same
`Slot`. A wrong declaration fails when the class is created, not when an agent runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from acc.errors import SchemaError
from acc.items import Item
from acc.turn import Trust

LEAST_PINNED_TOKENS = 10
"""Tokens that one pinned item takes at the least; pinned places beyond the budget are an error."""


TAKEN_LETTERS = "adotux"
"""First letters of refs: agent, document, operator, tool, user, and what was set aside."""


@dataclass(frozen=True)
class Slot:
    """The rules of one slot.

    Attributes:
        places: Items it holds at the most.
        write: Trust that a cited source needs to propose an item here.
        pinned: Whether open items are carried word for word until retired (law 7).
        quote: Whether an item needs the source's own words beside it (law 6).
        lifetime: ``"thread"``, or ``"turn"`` for items that the next commit drops.
        evict: Order in which slots make room; the lowest first. Pinned items never do.
        letter: First letter of its items' ids; none of `TAKEN_LETTERS`.
        join: What stands between items in the predicate notation.
        guidance: Words for the compressor: what belongs here.
    """

    places: int
    write: Trust = Trust.DOCUMENT
    pinned: bool = False
    quote: bool = False
    lifetime: Literal["thread", "turn"] = "thread"
    evict: int = 50
    letter: str = "i"
    join: str = " "
    guidance: str = ""


@dataclass(frozen=True)
class SlotField:
    """A slot as it stands on a state class."""

    name: str
    item: type[Item]
    rules: Slot


def read_slots(state: type[BaseModel]) -> dict[str, SlotField]:
    """The slots of a state class by name, in the order of their declaration.

    Raises:
        SchemaError: A field with a `Slot` that is not a tuple of one item type.
    """
    found = {}
    for name, field in state.model_fields.items():
        rules = next((m for m in field.metadata if isinstance(m, Slot)), None)
        if rules is not None:
            found[name] = SlotField(name, _item_type(state, name, field), rules)
    return found


def _item_type(state: type[BaseModel], name: str, field: FieldInfo) -> type[Item]:
    arguments = get_args(field.annotation)
    fits = (
        get_origin(field.annotation) is tuple
        and len(arguments) == 2
        and arguments[1] is Ellipsis
        and isinstance(arguments[0], type)
        and issubclass(arguments[0], Item)
    )
    if not fits:
        raise SchemaError(
            f"slot {name!r} is not a tuple of one item type",
            where=state.__qualname__,
            mend=f"write {name}: Annotated[tuple[MyItem, ...], Slot(...)] with MyItem a subclass of Item",
        )
    item: type[Item] = arguments[0]
    return item


def check_slots(
    state: type[BaseModel],
    slots: dict[str, SlotField],
    inherited: dict[str, SlotField],
    max_tokens: int,
) -> None:
    """Hold a state class to the rules of declaration.

    Raises:
        SchemaError: A loosened or dropped slot, an item without head or key, or pinned
            places that could never fit ``max_tokens``.
    """
    where = state.__qualname__
    for name, parent in inherited.items():
        if name not in slots:
            raise SchemaError(
                f"slot {name!r} lost its Slot", where=where, mend="keep the inherited annotation"
            )
        _check_tightened(where, parent, slots[name])
    for slot in slots.values():
        _check_item(where, slot)
    pinned = sum(s.rules.places for s in slots.values() if s.rules.pinned)
    if pinned * LEAST_PINNED_TOKENS > max_tokens:
        raise SchemaError(
            f"{pinned} pinned places cannot fit {max_tokens} tokens at {LEAST_PINNED_TOKENS} each",
            where=where,
            mend="declare fewer pinned places, or a larger max_tokens on the class",
        )


def _check_tightened(where: str, parent: SlotField, child: SlotField) -> None:
    old, new = parent.rules, child.rules
    loosened = {
        "places": new.places > old.places,
        "write": new.write < old.write,
        "pinned": old.pinned and not new.pinned,
        "quote": old.quote and not new.quote,
        "lifetime": (old.pinned or old.lifetime == "turn") and new.lifetime != old.lifetime,
        "item type": not issubclass(child.item, parent.item),
    }
    for rule, is_looser in loosened.items():
        if is_looser:
            raise SchemaError(
                f"slot {child.name!r} loosens {rule} of the slot it inherits",
                where=where,
                mend="a subclass may add slots and tighten rules; name a new slot instead",
            )


def _check_item(where: str, slot: SlotField) -> None:
    fields = slot.item.own_fields()
    if "by" in fields:
        raise SchemaError(
            f"item type {slot.item.__name__} of slot {slot.name!r} has a field named 'by'",
            where=where,
            mend="name it otherwise: that column shows the trust of low-trust items",
        )
    missing = [n for n in (slot.item.head, *slot.item.key) if n not in fields]
    if missing or not slot.item.key:
        raise SchemaError(
            f"item type {slot.item.__name__} of slot {slot.name!r} needs a head and a key among its fields",
            where=where,
            mend=f"set head and key to names out of {', '.join(fields) or 'fields that you add'}",
        )
    if slot.rules.places < 1:
        raise SchemaError(
            f"slot {slot.name!r} has no places", where=where, mend="declare places=1 or more"
        )
    if slot.rules.pinned and slot.rules.lifetime == "turn":
        raise SchemaError(
            f"slot {slot.name!r} is pinned and lives one turn",
            where=where,
            mend='declare lifetime="thread"',
        )
    letter = slot.rules.letter
    if len(letter) != 1 or not "a" <= letter <= "z" or letter in TAKEN_LETTERS:
        raise SchemaError(
            f"slot {slot.name!r} has the letter {letter!r}",
            where=where,
            mend=f"one small letter, none of {', '.join(TAKEN_LETTERS)}: those begin the refs of evidence",
        )
    if slot.rules.quote and "quote" not in fields:
        raise SchemaError(
            f"slot {slot.name!r} asks for quotes, and {slot.item.__name__} has no field for them",
            where=where,
            mend="add `quote: Quote` to the item type",
        )


def describe(slots: dict[str, SlotField]) -> list[dict[str, Any]]:
    """The slots as plain data: what a policy's fingerprint covers, and what pages show."""
    return [
        {
            "slot": slot.name,
            "item": slot.item.__name__,
            "item_schema": slot.item.model_json_schema(),
            "key": list(slot.item.key),
            "head": slot.item.head,
            "unseen": list(slot.item.unseen),
            "computed": list(slot.item.computed),
            "places": slot.rules.places,
            "write": slot.rules.write.word,
            "pinned": slot.rules.pinned,
            "quote": slot.rules.quote,
            "lifetime": slot.rules.lifetime,
            "evict": slot.rules.evict,
            "letter": slot.rules.letter,
            "join": slot.rules.join,
            "guidance": slot.rules.guidance,
        }
        for slot in slots.values()
    ]

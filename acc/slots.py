"""A slot's rules, declared once on the state type and read by everything from there.

    constraints: Annotated[tuple[Constraint, ...], Slot(places=16, write=Trust.USER, pinned=True)]

The wire schema, commit, eviction, the renderers and the reference page all read the same
`Slot`. A wrong declaration fails when the class is created (`acc.declaration`), not when an
agent runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from acc.errors import SchemaError
from acc.items import Item
from acc.turn import Trust

TAKEN_LETTERS = "adotux"
"""First letters of refs: agent, document, operator, tool, user, and what was set aside."""


@dataclass(frozen=True, init=False)
class Example:
    """What somebody might say, and the item that it should become; checked with its slot.

        Example("CHG-4412 runs Wed 02:00", change="CHG-4412", window="Wed 02:00", stage="approved")

    Attributes:
        text: The words.
        fields: The item's own fields, by name. What is free text in them stands in the words.
    """

    text: str
    fields: tuple[tuple[str, Any], ...]

    def __init__(self, text: str, **fields: Any) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "fields", tuple(fields.items()))


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
        cues: Words by which a reader without a model finds what belongs here.
        examples: What somebody might say, and what of it belongs here.
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
    cues: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


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


def describe(slots: dict[str, SlotField]) -> list[dict[str, Any]]:
    """The slots as plain data: what a policy's fingerprint covers.

    Cues and examples are not in it: they decide nothing in a commit. Asides are not, so that policies
    from before they came keep their fingerprints (`acc.commit.LAWS` tells those apart).
    """
    return [
        {
            "slot": slot.name,
            "item": slot.item.__name__,
            "item_schema": _schema(slot.item),
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


def _schema(item: type[Item]) -> dict[str, Any]:
    schema = item.model_json_schema()
    for name in item.asides:
        schema["properties"].pop(name, None)
    return schema

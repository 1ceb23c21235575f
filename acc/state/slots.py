"""The rules of slots, declared once on the state class.

    constraints: Annotated[tuple[Constraint, ...], Slot(max_items=16, min_trust=Trust.USER, pinned=True)]

The wire schema, commit, eviction, the renderers and the reference page all read the same `Slot`. A
wrong declaration fails when the class is created (`acc.state.declaration`), not when an agent runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from acc.errors import SchemaError
from acc.state.items import Item
from acc.turn.observations import Trust

TAKEN_LETTERS = "adotux"
"""First letters of refs: agent, document, operator, tool, user, and x for set-aside items."""

_ROLE = re.compile(r"[^\W_]([\w .-]{0,62}[^\W_])?")


def is_role_name(name: object) -> bool:
    """Return whether ``name`` can name a role: 1 to 64 letters, digits, spaces, and ``.``, ``-``, ``_`` within."""
    return isinstance(name, str) and _ROLE.fullmatch(name) is not None


@dataclass(frozen=True, init=False)
class Example:
    """A sentence and the item to make of it; checked with its slot.

        Example("CHG-4412 runs Wed 02:00", change="CHG-4412", window="Wed 02:00", stage="approved")

    Attributes:
        text: The words.
        fields: The item's own fields, by name. Free text in a field must occur in ``text``.
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
        max_items: Maximum number of items, at the class's token bound (`acc.state.policy.Policy.places`).
        min_trust: Minimum trust of a cited source that may propose an item.
        pinned: Whether open items are carried word for word until retired (law 7).
        quote: Whether an item needs the source's own words (law 6).
        ephemeral: Whether the slot's items lapse when the next user turn begins.
        eviction_priority: Slots with a lower number are evicted first. Pinned items are never evicted.
        id_prefix: First letter of the items' ids; not in `TAKEN_LETTERS`.
        join: Separator between items in the predicate notation.
        guidance: Describes the slot's content to the compressor.
        cues: Words that identify the slot's content for a compressor without a model.
        examples: Example sentences with the resulting items.
        roles: Roles that see and write the slot (`acc.state.model.CompressedCognitiveState.for_role`); empty for
            every role.
    """

    max_items: int
    min_trust: Trust = Trust.DOCUMENT
    pinned: bool = False
    quote: bool = False
    ephemeral: bool = False
    eviction_priority: int = 50
    id_prefix: str = "i"
    join: str = " "
    guidance: str = ""
    cues: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    roles: tuple[str, ...] = ()

    def is_for(self, role: str) -> bool:
        """Return whether ``role`` sees the slot; without a role, everything is seen."""
        return not role or not self.roles or role in self.roles


@dataclass(frozen=True)
class SlotField:
    """A slot of a state class: its name, item type and rules."""

    name: str
    item: type[Item]
    rules: Slot

    def binds(self, item: Item) -> bool:
        """Return whether ``item`` of this slot is pinned: no commit evicts or rewords it."""
        return self.rules.pinned and item.is_open


def read_slots(state: type[BaseModel]) -> dict[str, SlotField]:
    """Return the slots of a state class by name, in declaration order.

    Raises:
        SchemaError: A field with a `Slot` is not a tuple of one item type.
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
            hint=f"write {name}: Annotated[tuple[MyItem, ...], Slot(...)] with MyItem a subclass of Item",
        )
    item: type[Item] = arguments[0]
    return item


def describe(slots: dict[str, SlotField]) -> list[dict[str, Any]]:
    """Return the slots as plain data for a policy's fingerprint. The keys never change, whatever fields are called.

    Cues and examples do not affect a commit and are excluded. Asides and ``dated`` are excluded so that older
    policies keep their fingerprints (`acc.commit.commit.LAWS` tells those apart).
    """
    return [
        {
            **named_rules(slot),
            "slot": slot.name,
            "item_schema": _schema(slot.item),
            "unseen": list(slot.item.unseen),
            "computed": list(slot.item.computed),
            "join": slot.rules.join,
        }
        for slot in slots.values()
    ]


def named_rules(slot: SlotField) -> dict[str, Any]:
    """Return the rules of a slot and of its items under the names that fingerprints and schema documents have."""
    item, rules = slot.item, slot.rules
    return {
        "item": item.__name__,
        "key": list(item.key),
        "head": item.head,
        "places": rules.max_items,
        "write": rules.min_trust.word,
        "pinned": rules.pinned,
        "quote": rules.quote,
        "lifetime": "turn" if rules.ephemeral else "thread",
        "evict": rules.eviction_priority,
        "letter": rules.id_prefix,
        "guidance": rules.guidance,
        **({"roles": list(rules.roles)} if rules.roles else {}),
    }


def _schema(item: type[Item]) -> dict[str, Any]:
    schema = item.model_json_schema()
    for name in (*item.asides, "dated"):
        schema["properties"].pop(name, None)
    others = {name: each for name, each in schema.get("$defs", {}).items() if name != "Dated"}
    return {
        **{k: v for k, v in schema.items() if k != "$defs"},
        **({"$defs": others} if others else {}),
    }

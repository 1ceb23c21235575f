"""Checks the declaration of a state class, its slots and its item types when the class is created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ForwardRef

from pydantic import BaseModel, ValidationError

from acc.errors import SchemaError
from acc.state.items import Item, Status, wire_field
from acc.state.slots import TAKEN_LETTERS, Example, Slot, SlotField, is_role_name
from acc.turn.observations import Channel, Trust

Problem = tuple[str, str]
"""The fault, and how to fix it."""


_KINDS: Mapping[type, tuple[tuple[str, ...], str]] = {
    int: (("max_items", "eviction_priority"), "give a whole number"),
    Trust: (("min_trust",), "give a Trust, such as Trust.USER"),
    bool: (("ephemeral",), "give True or False"),
    str: (("id_prefix", "join", "guidance"), "give a string"),
}
"""The simple values of a `Slot` by their type, and the hint for another type."""


def value_problems(name: str, rules: Slot) -> Iterator[Problem]:
    """Yield a problem for each value in ``rules`` of slot ``name`` that has the wrong type."""
    for kind, (simple, hint) in _KINDS.items():
        for rule in simple:
            value = getattr(rules, rule)
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                yield f"slot {name!r} has {rule}={value!r}", hint
    cues, examples = rules.cues, rules.examples
    if not isinstance(cues, tuple) or not all(isinstance(w, str) and w.strip() for w in cues):
        yield (
            f"slot {name!r} has cues={cues!r}",
            'give a tuple of words; for one word write cues=("hours",)',
        )
    if not isinstance(examples, tuple) or not all(isinstance(e, Example) for e in examples):
        yield (
            f"slot {name!r} has examples that are not a tuple of Example",
            "give a tuple; for one example write examples=(Example(...),)",
        )
    if not isinstance(rules.roles, tuple) or not all(map(is_role_name, rules.roles)):
        yield (
            f"slot {name!r} has roles={rules.roles!r}",
            'give a tuple of names of letters, digits, spaces and .-_; for one role write roles=("planner",)',
        )


def example_problems(slot: SlotField) -> Iterator[Problem]:
    """Yield a problem for each example that is not a valid item, or whose text lacks a field's value."""
    for example in slot.rules.examples:
        of = f"the example {example.text[:60]!r} of slot {slot.name!r}"
        fields = dict(example.fields)
        try:
            slot.item.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or slot.item.__name__
            yield f"{of} is not a valid item: {place}: {first['msg']}", "give the item's own fields"
            continue
        for name in (n for n in slot.item.wire_fields() if n in fields):
            if not _is_said(slot, name, fields[name], example.text):
                yield (
                    f"{of} does not contain its {name} {fields[name]!r}",
                    "write the value exactly as it stands in the example's text",
                )


def _is_said(slot: SlotField, name: str, value: Any, text: str) -> bool:
    """Return whether a free-text value occurs in ``text``; choices and numbers need not occur."""
    is_free = isinstance(value, str) and "enum" not in wire_field(slot.item, name)
    return not is_free or str(value).casefold() in text.casefold()


LEAST_PINNED_TOKENS = 10
"""Tokens that a pinned item needs at least. All pinned places of a class must fit its token bound."""

LEAST_TOKENS = 64
"""The smallest token bound of a state."""

RESERVED = ("retire", "drop", "keep")
"""The keys of a proposal that are no slots; no slot can have these names."""


def check_slots(
    state: type[BaseModel],
    slots: Mapping[str, SlotField],
    inherited: Mapping[str, SlotField],
    max_tokens: int,
) -> None:
    """Check the slots of a state class against the ``inherited`` ones and against ``max_tokens``.

    Raises:
        SchemaError: A slot loosens or drops an inherited rule, an item type does not work with commit,
            wire schema or renderers, or the pinned places cannot fit ``max_tokens``.
    """
    problems = chain(
        chain.from_iterable(value_problems(slot.name, slot.rules) for slot in slots.values()),
        _inheritance(slots, inherited),
        chain.from_iterable(_of_slot(slot) for slot in slots.values()),
        _bounds(slots.values(), max_tokens),
    )
    for what, hint in problems:
        raise SchemaError(what, where=state.__qualname__, hint=hint)


def check_fields(
    state: type[BaseModel], slots: Mapping[str, SlotField], bookkeeping: Iterable[str]
) -> None:
    """Raise `SchemaError` unless each field of a state class is a slot or a ``bookkeeping`` field (law 1)."""
    for name in bookkeeping:
        if name in slots:
            raise SchemaError(
                f"{name!r} is a bookkeeping field of every state and cannot be a slot",
                where=state.__qualname__,
                hint="give the slot another name",
            )
    for name, field in state.model_fields.items():
        if isinstance(field.annotation, ForwardRef | str):
            raise SchemaError(
                f"the type of field {name!r} is unknown when the class is created",
                where=state.__qualname__,
                hint="define the item type above the state class, in the same module",
            )
        if name not in slots and name not in bookkeeping:
            raise SchemaError(
                f"field {name!r} is not a slot, so no commit would write it",
                where=state.__qualname__,
                hint=f"write {name}: Annotated[tuple[MyItem, ...], Slot(max_items=8)], "
                "or declare it as a ClassVar",
            )


def _inheritance(
    slots: Mapping[str, SlotField], inherited: Mapping[str, SlotField]
) -> Iterator[Problem]:
    for name, parent in inherited.items():
        if name not in slots:
            yield f"slot {name!r} has no Slot any more", "keep the inherited annotation"
            continue
        old, new = parent.rules, slots[name].rules
        loosened = {
            "max_items": new.max_items > old.max_items,
            "min_trust": new.min_trust < old.min_trust,
            "pinned": old.pinned and not new.pinned,
            "quote": old.quote and not new.quote,
            "ephemeral": (old.pinned or old.ephemeral) and new.ephemeral != old.ephemeral,
            "roles": new.roles != old.roles,
            "item type": not issubclass(slots[name].item, parent.item),
        }
        for rule in (rule for rule, is_looser in loosened.items() if is_looser):
            was = parent.item.__name__ if rule == "item type" else _shown(getattr(old, rule))
            yield (
                f"slot {name!r} loosens {rule} of the slot it inherits, which is {was}",
                "a subclass may only add slots and tighten rules; declare a new slot instead",
            )


def _bounds(slots: Iterable[SlotField], max_tokens: int) -> Iterator[Problem]:
    if not isinstance(max_tokens, int):
        yield f"max_tokens is {max_tokens!r}", "give a whole number"
        return
    if max_tokens < LEAST_TOKENS:
        yield f"max_tokens is {max_tokens}", f"set it to {LEAST_TOKENS} or more"
    pinned = {s.name: s.rules.max_items for s in slots if s.rules.pinned}
    places = sum(pinned.values())
    if places * LEAST_PINNED_TOKENS > max_tokens:
        named = ", ".join(f"{name} {count}" for name, count in pinned.items())
        yield (
            f"{places} pinned places ({named}) cannot fit {max_tokens} tokens "
            f"at {LEAST_PINNED_TOKENS} each",
            f"declare at most {max_tokens // LEAST_PINNED_TOKENS} pinned places in total, or set "
            f"max_tokens: ClassVar[int] = {places * LEAST_PINNED_TOKENS} or more on the class",
        )


def _of_slot(slot: SlotField) -> Iterator[Problem]:
    for check in (_rules, _bookkeeping, _head_and_key, _taken_names, _wire, example_problems):
        yield from check(slot)


def _rules(slot: SlotField) -> Iterator[Problem]:
    name, rules = slot.name, slot.rules
    if name in RESERVED:
        yield (
            f"a slot has the name {name!r}",
            "give it another name: a proposal uses this one for something else",
        )
    if rules.max_items < 1:
        yield f"slot {name!r} has no places", "set max_items to 1 or more"
    if rules.pinned and rules.ephemeral:
        yield f"slot {name!r} is both pinned and ephemeral", "set ephemeral=False"
    if rules.pinned and (rules.min_trust < Trust.USER or not rules.quote):
        yield (
            f"slot {name!r} is pinned, but others than the user could fill it",
            "set min_trust=Trust.USER and quote=True: an item that is never evicted needs the user's words",
        )
    letter = rules.id_prefix
    if len(letter) != 1 or not "a" <= letter <= "z" or letter in TAKEN_LETTERS:
        yield (
            f"slot {name!r} has id_prefix={letter!r}",
            f"give one lower-case letter except {', '.join(TAKEN_LETTERS)}, which begin the refs of evidence",
        )
    if rules.quote and "quote" not in slot.item.own_fields():
        yield (
            f"slot {name!r} requires quotes, but {slot.item.__name__} has no field for them",
            "add `quote: Quote` to the item type",
        )


def _bookkeeping(slot: SlotField) -> Iterator[Problem]:
    bases = slot.item.__mro__[: slot.item.__mro__.index(Item)]
    taken = {name for base in bases for name in vars(base).get("__annotations__", {})}
    for name in sorted(taken & set(Item.model_fields)):
        yield (
            f"item type {slot.item.__name__} of slot {slot.name!r} declares {name!r} itself",
            "give the field another name: only commit fills the one of that name",
        )


def _head_and_key(slot: SlotField) -> Iterator[Problem]:
    item, fields = slot.item, slot.item.own_fields()
    of = f"item type {item.__name__} of slot {slot.name!r}"
    names = ", ".join(fields) or "fields that you add"
    if not item.key or any(n not in fields for n in (item.head, *item.key)):
        yield (
            f"{of} needs a head and a key among its fields",
            f"set head and key to fields of the type: {names}",
        )
        return
    if item.head in item.unseen:
        yield f"{of} does not show its head {item.head!r}", "remove it from unseen"
    if unknown := [n for n in item.computed if n not in fields]:
        yield (
            f"{of} computes {unknown[0]!r}, which is not its field",
            f"name fields of the type: {names}",
        )


def _taken_names(slot: SlotField) -> Iterator[Problem]:
    """Yield problems with field names that have a meaning for renderers and commit."""
    item, fields = slot.item, slot.item.own_fields()
    of = f"item type {item.__name__} of slot {slot.name!r} has a field named"
    if "by" in fields:
        yield (f"{of} 'by'", "give it another name: that column shows the trust of low-trust items")
    if "cites" in fields:
        yield f"{of} 'cites'", "give it another name: a proposal lists its sources under this one"
    annotations: dict[str, Any] = {name: item.model_fields[name].annotation for name in fields}
    if annotations.get("status", Status) != Status:
        yield (
            f"{of} 'status' that is not an acc.state.items.Status",
            "call it stage, phase or health: commit writes status hypothesis for a doubtful item",
        )
    if "channel" in fields and (
        annotations["channel"] is not Channel or "channel" not in item.computed
    ):
        yield (
            f"{of} 'channel' that commit does not compute",
            "give it another name: a row with that column shows no other mark of low trust",
        )


def _wire(slot: SlotField) -> Iterator[Problem]:
    for name in slot.item.wire_fields():
        try:
            wire_field(slot.item, name)
        except SchemaError as error:
            yield f"slot {slot.name!r}: {error.what}", error.hint


def _shown(value: Any) -> str:
    return value.word if isinstance(value, Trust) else repr(value)

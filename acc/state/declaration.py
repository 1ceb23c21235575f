"""Checks on the declaration of a state class, its slots and its item types.

The checks run when the class is created: a wrong declaration fails there, with a hint, and not when
an agent runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ForwardRef

from pydantic import BaseModel, ValidationError

from acc.errors import SchemaError
from acc.state.items import Item, Status, wire_field
from acc.state.slots import TAKEN_LETTERS, Example, Slot, SlotField
from acc.turn.observations import Channel, Trust

Problem = tuple[str, str]
"""The fault, and how to fix it."""


def value_problems(name: str, rules: Slot) -> Iterator[Problem]:
    """Yield a problem for each value in ``rules`` of slot ``name`` that has the wrong type."""
    for number in ("max_items", "eviction_priority"):
        value = getattr(rules, number)
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"slot {name!r} has {number}={value!r}", "give a whole number"
    if not isinstance(rules.min_trust, Trust):
        yield f"slot {name!r} has min_trust={rules.min_trust!r}", "give a Trust, such as Trust.USER"
    for text in ("id_prefix", "join", "guidance"):
        value = getattr(rules, text)
        if not isinstance(value, str):
            yield f"slot {name!r} has {text}={value!r}", "give a text"
    yield from _listed(name, rules)


def _listed(name: str, rules: Slot) -> Iterator[Problem]:
    words = rules.cues
    if not isinstance(words, tuple) or not all(isinstance(w, str) and w.strip() for w in words):
        yield (
            f"slot {name!r} has cues={words!r}",
            'give a tuple of words, one too: cues=("hours",)',
        )
    given = rules.examples
    if not isinstance(given, tuple) or not all(isinstance(e, Example) for e in given):
        yield (
            f"slot {name!r} has examples that are no tuple of Example",
            "give a tuple, of one too: examples=(Example(...),)",
        )


def example_problems(slot: SlotField) -> Iterator[Problem]:
    """Yield a problem for each example that makes no item of the slot or lacks its words."""
    for example in slot.rules.examples:
        of = f"the example {example.text[:60]!r} of slot {slot.name!r}"
        fields = dict(example.fields)
        try:
            slot.item.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or slot.item.__name__
            yield f"{of} makes no item: {place}: {first['msg']}", "give the item's own fields"
            continue
        for name in (n for n in slot.item.wire_fields() if n in fields):
            if not _is_said(slot, name, fields[name], example.text):
                yield (
                    f"{of} does not say its {name} {fields[name]!r}",
                    "write the value as it stands in the words",
                )


def _is_said(slot: SlotField, name: str, value: Any, text: str) -> bool:
    """Return whether a free-text value occurs in ``text``; choices and numbers need not occur."""
    is_free = isinstance(value, str) and "enum" not in wire_field(slot.item, name)
    return not is_free or str(value).casefold() in text.casefold()


LEAST_PINNED_TOKENS = 10
"""Minimum tokens of one pinned item; a class with more pinned places than fit the bound is an error."""

LEAST_TOKENS = 64
"""The smallest token bound of a state."""

RETIRE = "retire"
"""The key for retired items in a proposal; no slot can have this name."""


def check_slots(
    state: type[BaseModel],
    slots: Mapping[str, SlotField],
    inherited: Mapping[str, SlotField],
    max_tokens: int,
) -> None:
    """Check the slots of a state class.

    Args:
        state: The class.
        slots: Its slots.
        inherited: The slots of its base class.
        max_tokens: The token bound of the class.

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
    """Check that each field of a state class is a slot or one of the ``bookkeeping`` fields (law 1).

    Raises:
        SchemaError: Commit would never write a field, or a slot has the name of a bookkeeping field.
    """
    for name in bookkeeping:
        if name in slots:
            raise SchemaError(
                f"{name!r} is bookkeeping of every state, and cannot be a slot",
                where=state.__qualname__,
                hint="name the slot otherwise",
            )
    for name, field in state.model_fields.items():
        if isinstance(field.annotation, ForwardRef | str):
            raise SchemaError(
                f"the type of field {name!r} is not known where the class is made",
                where=state.__qualname__,
                hint="define its item type above the state, in the same module",
            )
        if name not in slots and name not in bookkeeping:
            raise SchemaError(
                f"field {name!r} is no slot: no commit would ever write it",
                where=state.__qualname__,
                hint=f"write {name}: Annotated[tuple[MyItem, ...], Slot(max_items=8)], "
                "or make it a ClassVar",
            )


def _inheritance(
    slots: Mapping[str, SlotField], inherited: Mapping[str, SlotField]
) -> Iterator[Problem]:
    for name, parent in inherited.items():
        if name not in slots:
            yield f"slot {name!r} lost its Slot", "keep the inherited annotation"
            continue
        old, new = parent.rules, slots[name].rules
        loosened = {
            "max_items": new.max_items > old.max_items,
            "min_trust": new.min_trust < old.min_trust,
            "pinned": old.pinned and not new.pinned,
            "quote": old.quote and not new.quote,
            "ephemeral": (old.pinned or old.ephemeral) and new.ephemeral != old.ephemeral,
            "item type": not issubclass(slots[name].item, parent.item),
        }
        for rule in (rule for rule, is_looser in loosened.items() if is_looser):
            was = parent.item.__name__ if rule == "item type" else _shown(getattr(old, rule))
            yield (
                f"slot {name!r} loosens {rule} of the slot it inherits, which is {was}",
                "a subclass may add slots and tighten rules; name a new slot instead",
            )


def _bounds(slots: Iterable[SlotField], max_tokens: int) -> Iterator[Problem]:
    if not isinstance(max_tokens, int):
        yield f"max_tokens is {max_tokens!r}", "give a whole number"
        return
    if max_tokens < LEAST_TOKENS:
        yield f"max_tokens is {max_tokens}", f"give the state {LEAST_TOKENS} tokens or more"
    pinned = {s.name: s.rules.max_items for s in slots if s.rules.pinned}
    places = sum(pinned.values())
    if places * LEAST_PINNED_TOKENS > max_tokens:
        named = ", ".join(f"{name} {count}" for name, count in pinned.items())
        yield (
            f"{places} pinned places ({named}) cannot fit {max_tokens} tokens "
            f"at {LEAST_PINNED_TOKENS} each",
            f"declare at most {max_tokens // LEAST_PINNED_TOKENS} pinned places in all, or "
            f"max_tokens: ClassVar[int] = {places * LEAST_PINNED_TOKENS} or more on the class",
        )


def _of_slot(slot: SlotField) -> Iterator[Problem]:
    yield from _rules(slot)
    yield from _bookkeeping(slot)
    yield from _head_and_key(slot)
    yield from _taken_names(slot)
    yield from _wire(slot)
    yield from example_problems(slot)


def _rules(slot: SlotField) -> Iterator[Problem]:
    name, rules = slot.name, slot.rules
    if name == RETIRE:
        yield (
            f"a slot named {name!r}",
            "name it otherwise: there a proposal lists the items that end",
        )
    if rules.max_items < 1:
        yield f"slot {name!r} has no places", "declare max_items=1 or more"
    if not isinstance(rules.ephemeral, bool):
        yield f"slot {name!r} has ephemeral={rules.ephemeral!r}", "declare True or False"
    if rules.pinned and rules.ephemeral:
        yield f"slot {name!r} is pinned and lives one turn", "declare ephemeral=False"
    if rules.pinned and (rules.min_trust < Trust.USER or not rules.quote):
        yield (
            f"slot {name!r} is pinned, and others than the user could fill it",
            "declare min_trust=Trust.USER and quote=True: what nobody can evict needs the user's words",
        )
    letter = rules.id_prefix
    if len(letter) != 1 or not "a" <= letter <= "z" or letter in TAKEN_LETTERS:
        yield (
            f"slot {name!r} has the letter {letter!r}",
            f"one small letter, none of {', '.join(TAKEN_LETTERS)}: those begin the refs of evidence",
        )
    if rules.quote and "quote" not in slot.item.own_fields():
        yield (
            f"slot {name!r} asks for quotes, and {slot.item.__name__} has no field for them",
            "add `quote: Quote` to the item type",
        )


def _bookkeeping(slot: SlotField) -> Iterator[Problem]:
    bases = slot.item.__mro__[: slot.item.__mro__.index(Item)]
    taken = {name for base in bases for name in vars(base).get("__annotations__", {})}
    for name in sorted(taken & set(Item.model_fields)):
        yield (
            f"item type {slot.item.__name__} of slot {slot.name!r} declares {name!r} itself",
            "name the field otherwise: commit alone fills that one",
        )


def _head_and_key(slot: SlotField) -> Iterator[Problem]:
    item, fields = slot.item, slot.item.own_fields()
    of = f"item type {item.__name__} of slot {slot.name!r}"
    names = ", ".join(fields) or "fields that you add"
    if not item.key or any(n not in fields for n in (item.head, *item.key)):
        yield (
            f"{of} needs a head and a key among its fields",
            (f"set head and key to names out of {names}"),
        )
        return
    if item.head in item.unseen:
        yield f"{of} has its head {item.head!r} among what is not shown", "take it out of unseen"
    if unknown := [n for n in item.computed if n not in fields]:
        yield f"{of} computes {unknown[0]!r}, which it has not", f"name fields out of {names}"


def _taken_names(slot: SlotField) -> Iterator[Problem]:
    """Yield problems with field names that have a meaning for renderers and commit."""
    item, fields = slot.item, slot.item.own_fields()
    of = f"item type {item.__name__} of slot {slot.name!r} has a field named"
    if "by" in fields:
        yield (
            f"{of} 'by'",
            "name it otherwise: that column shows the trust of low-trust items",
        )
    if "cites" in fields:
        yield f"{of} 'cites'", "name it otherwise: there a proposal names its sources"
    annotations: dict[str, Any] = {name: item.model_fields[name].annotation for name in fields}
    if annotations.get("status", Status) != Status:
        yield (
            f"{of} 'status' that is no acc.state.items.Status",
            "name it stage, phase or health: commit puts what is doubtful under status hypothesis",
        )
    if "channel" in fields and (
        annotations["channel"] is not Channel or "channel" not in item.computed
    ):
        yield (
            f"{of} 'channel' that commit does not compute",
            "name it otherwise: a row with that column shows no other mark of low trust",
        )


def _wire(slot: SlotField) -> Iterator[Problem]:
    for name in slot.item.wire_fields():
        try:
            wire_field(slot.item, name)
        except SchemaError as error:
            yield f"slot {slot.name!r}: {error.what}", error.hint


def _shown(value: Any) -> str:
    return value.word if isinstance(value, Trust) else repr(value)

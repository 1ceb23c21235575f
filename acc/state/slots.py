"""The rules of slots, declared once on the state class.

    constraints: Annotated[tuple[Rule, ...], Slot("rules", "c", "Rules", places=40)]

The wire schema, the prompt, commit, eviction and the renderer all read the same `Slot`. A domain may add slots and
tighten inherited ones. What loosens one fails when the class is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from acc.errors import SchemaError
from acc.state.items import Computed, Cue, Item, Pinned, Record
from acc.turn.observations import Trust

Lesser = Literal["was", "beside"]

TAKEN_LETTERS = "adotu"
"""First letters of refs: agent, document, operator, tool, user. No item's id begins with one."""


@dataclass(frozen=True)
class Slot:
    """The rules of one slot.

    Attributes:
        key: The slot's name in a proposal, as short as it can be.
        prefix: First letter of the items' ids; not in `TAKEN_LETTERS`.
        title: The heading under which the agent reads the items.
        places: Maximum number of items.
        share: Share of the room beside rules and goals from which on the slot's own items leave first; 0 to 1.
        lesser: What a less trusted source does to an item of a better one. ``"was"``: a tool's or agent's value
            takes its place and the better one's stands beside it as ``was``; a document's value becomes an item of
            its own. ``"beside"``: every lesser value becomes an item of its own (an account number, a dose).
        least: The least trust that every source of a record needs. With ``Trust.USER``, what rests on a tool, a
            document or the agent is refused.
        guidance: Tells the compressor what belongs in the slot; empty for a slot that the prompt explains.
    """

    key: str
    prefix: str
    title: str
    places: int
    share: float = 1.0
    lesser: Lesser = "was"
    least: Trust = Trust.DOCUMENT
    guidance: str = ""


@dataclass(frozen=True)
class SlotField:
    """A slot of a state class: its name, item type and rules."""

    name: str
    item: type[Item]
    rules: Slot

    @property
    def is_pinned(self) -> bool:
        """Whether the items are rules or goals, which stand in their speaker's words (law 7)."""
        return issubclass(self.item, Pinned)

    @property
    def is_record(self) -> bool:
        """Whether the items are the compressor's own words."""
        return issubclass(self.item, Record)


def read_slots(state: type[BaseModel]) -> dict[str, SlotField]:
    """Return the slots of a state class by name, in declaration order."""
    found: dict[str, SlotField] = {}
    for name, field in state.model_fields.items():
        rules = next((m for m in field.metadata if isinstance(m, Slot)), None)
        if rules is not None:
            found[name] = SlotField(name, _item_type(state, name, field), rules)
    _check_together(state, found)
    return found


def _item_type(state: type[BaseModel], name: str, field: FieldInfo) -> type[Item]:
    item, *more = get_args(field.annotation) or (None,)
    is_tuple = get_origin(field.annotation) is tuple and more == [Ellipsis]
    kinds = (Pinned, Record, Cue, Computed)
    if is_tuple and isinstance(item, type) and issubclass(item, kinds):
        return item
    raise SchemaError(
        f"slot {name!r} is not a tuple of one item type",
        where=state.__qualname__,
        hint=f"write {name}: Annotated[tuple[MyItem, ...], Slot(...)], MyItem a subclass of Record",
    )


def _check_together(state: type[BaseModel], slots: dict[str, SlotField]) -> None:
    for attribute in ("key", "prefix"):
        values = [getattr(slot.rules, attribute) for slot in slots.values()]
        if twice := sorted({v for v in values if values.count(v) > 1}):
            raise SchemaError(
                f"two slots have the {attribute} {twice[0]!r}",
                where=state.__qualname__,
                hint="give each slot its own",
            )
    for slot in slots.values():
        for what, hint in _problems(slot):
            raise SchemaError(f"slot {slot.name!r} {what}", where=state.__qualname__, hint=hint)


def _problems(slot: SlotField) -> Iterator[tuple[str, str]]:
    rules, own = slot.rules, slot.item.own_fields()
    is_letter = len(rules.prefix) == 1 and rules.prefix.isascii() and rules.prefix.islower()
    if not is_letter or rules.prefix in TAKEN_LETTERS:
        hint = f"give one small letter that is not in {TAKEN_LETTERS!r}"
        yield f"has the prefix {rules.prefix!r}", hint
    if not isinstance(rules.places, int) or rules.places < 1:
        yield f"has {rules.places!r} places", "give a whole number above 0"
    if not 0 < rules.share <= 1:
        yield f"has the share {rules.share!r}", "give a number above 0, up to 1"
    if not rules.key.isidentifier():
        yield f"has the key {rules.key!r}", "give a name of letters, digits and _"
    if rules.lesser not in get_args(Lesser):
        yield f"has lesser={rules.lesser!r}", 'give "was" or "beside"'
    if wrong := [name for name in key_of(slot.item) if name not in own]:
        hint = f"name fields of {slot.item.__name__}: {', '.join(own)}"
        yield f"has the key {', '.join(wrong)}", hint


def check_tightens(state: type[BaseModel], slots: Mapping[str, SlotField]) -> None:
    """Compare the slots of a state class with those that it inherits."""
    for base in state.__bases__:
        if not (issubclass(base, BaseModel) and base.model_fields):
            continue
        for name, inherited in read_slots(base).items():
            for what, hint in _loosened(inherited, slots.get(name)):
                raise SchemaError(
                    f"slot {name!r} {what}", where=state.__qualname__, hint=f"{hint}, or add a slot"
                )


def _loosened(before: SlotField, after: SlotField | None) -> Iterator[tuple[str, str]]:
    if after is None:
        yield "has no rules any more", "annotate it with a Slot"
        return
    was, now = before.rules, after.rules
    if not issubclass(after.item, before.item):
        yield f"holds {after.item.__name__}", f"subclass {before.item.__name__}"
    if (was.key, was.prefix) != (now.key, now.prefix):
        yield "has another key or prefix", f"keep {was.key!r} and {was.prefix!r}"
    if now.places > was.places or now.share > was.share:
        yield "has more room", f"give at most {was.places} places and a share of {was.share}"
    if now.least < was.least or (was.lesser, now.lesser) == ("beside", "was"):
        yield "takes lesser sources", f"keep least={was.least.word} and lesser={was.lesser!r}"


def key_of(item: type[Item]) -> tuple[str, ...]:
    """Return the fields that say what a record is about; empty if only its id tells it from others."""
    return item.key if issubclass(item, Record) else ()


def choices_of(item: type[Item]) -> dict[str, tuple[str, ...]]:
    """Return the fields that take one of a few values, with these."""
    found = {name: item.model_fields[name].annotation for name in item.own_fields()}
    return {n: tuple(get_args(kind)) for n, kind in found.items() if get_origin(kind) is Literal}


_UNFINGERPRINTED = ("guidance", "least")


def fingerprint_of(slots: dict[str, SlotField]) -> list[dict[str, Any]]:
    """Return what the slots' declaration says, as plain data for a policy's fingerprint."""
    return [
        {
            "slot": slot.name,
            "item": slot.item.__name__,
            "fields": sorted(slot.item.own_fields()),
            **{k: v for k, v in vars(slot.rules).items() if k not in _UNFINGERPRINTED},
            **_of_records(slot),
        }
        for slot in slots.values()
    ]


def _of_records(slot: SlotField) -> dict[str, Any]:
    if not slot.is_record:
        return {}
    fields = slot.item.model_fields
    found = {
        "least": slot.rules.least.word if slot.rules.least > Trust.DOCUMENT else "",
        "key": key_of(slot.item),
        "choices": choices_of(slot.item),
        "optional": tuple(n for n in slot.item.own_fields() if not fields[n].is_required()),
    }
    return {name: value for name, value in found.items() if value}


_LEVELS = 4


def is_flat(value: Any, levels: int = _LEVELS) -> bool:
    """Whether lists and objects in ``value`` are nested in few levels: no deep answer reaches commit or journal."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return True
    return levels > 0 and all(is_flat(each, levels - 1) for each in value)

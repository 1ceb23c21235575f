"""A domain may add slots and tighten inherited ones. What loosens one fails when the class is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from acc.errors import SchemaError
from acc.state.slots import SlotField, read_slots


def check_tightens(state: type[BaseModel], slots: Mapping[str, SlotField]) -> None:
    """Compare the slots of a state class with those that it inherits.

    Raises:
        SchemaError: An inherited slot is gone, or allows more than before.
    """
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

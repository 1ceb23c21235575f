"""C_theta, first half: a compressor reads the turn, the state and the qualified evidence, and
proposes. What becomes of a proposal is decided in `acc.commit`.

On the wire an item carries what it says and what it cites, nothing else (law 5). Two modes
share one `Proposal`: ``revise`` names what is added, updated and retired; ``rewrite`` (the
paper's) writes the whole next state.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, field_validator

from acc.compressors.outcomes import Account
from acc.errors import CompressionError
from acc.items import Item
from acc.slots import SlotField
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn, storable
from acc.wire_fields import wire_field

Mode = Literal["revise", "rewrite"]


_WIDEST = 1 << 63


def _clean(value: Any) -> Any:
    """JSON values that can be written and read back: no lone surrogates, no NaN, 64 bits."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {storable(str(k)): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    if isinstance(value, int):
        return value if -_WIDEST <= value < _WIDEST else None
    return value if isinstance(value, float) or value is None else storable(str(value))


class ProposedItem(BaseModel):
    """An item as a compressor writes it.

    Attributes:
        slot: Name of the slot.
        fields: What it says, by the item type's wire fields.
        cites: Refs of observations, of evidence, or ids of prior items.
        id: Id of the prior item that it carries on or updates; empty for a new one.
        amends: Id of the rule, ended by the same proposal, whose words this new one carries on with
            another figure; or empty. No model writes it: it is not on the wire.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slot: str
    fields: dict[str, Any]
    cites: tuple[str, ...] = ()
    id: str = ""
    amends: str = ""

    _cleaned = field_validator("*", mode="before")(_clean)


class Retirement(BaseModel):
    """A prior item that no longer holds. Pinned ones need a cited quote (law 7).

    Attributes:
        id: The item.
        cites: Observations that end it.
        quote: Words of theirs.
        doubt: Why the compressor that asked for it takes the quote not to be meant for a pinned
            item, which then stays; or empty. No model writes it: it is not on the wire.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    cites: tuple[str, ...] = ()
    quote: str = ""
    doubt: str = ""

    _cleaned = field_validator("*", mode="before")(_clean)


class Remark(BaseModel):
    """What a compressor has to say of an observation that it could make nothing of.

    Attributes:
        code: What it says; commit knows a reason code for each, and a compressor can give no other.
        ref: The observation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Literal["language_not_read"]
    ref: str

    _cleaned = field_validator("ref", mode="before")(_clean)


class Proposal(BaseModel):
    """What a compressor proposes.

    Attributes:
        mode: Whether unmentioned items stay (``revise``) or go (``rewrite``).
        items: New, carried and updated items.
        retire: Items that end.
        author: Name of the compressor.
        usage: Tokens by kind (input, output, cached), where a model was paid.
        account: What the model was asked, and how it went, likewise.
        reads_turn: Whether its author read the turn. An operator who retires something did not: what
            else was said in the turn, and what was pending, is left for the next commit to read.
        remarks: What it could make nothing of. No model writes them: they are not on the wire.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = "revise"
    items: tuple[ProposedItem, ...] = ()
    retire: tuple[Retirement, ...] = ()
    author: str = ""
    usage: dict[str, int] = {}
    account: Account | None = None
    reads_turn: bool = True
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def from_wire(
        cls,
        data: Any,
        schema: type[CompressedCognitiveState],
        *,
        mode: Mode = "revise",
        author: str = "",
    ) -> Self:
        """Read what a model wrote under `wire_schema`, leniently: commit judges each item.

        A slot may be null, or one object in place of a list of one; a number stands for its
        digits where a field takes a text. What is under no slot's name and no list of objects
        either, such as the model's reasons, is left out.

        Args:
            data: Slot names to lists of items; beside them ``retire``.
            schema: The state class, which knows each slot's wire fields.
            mode: The mode it was asked for.
            author: Name of the compressor.

        Raises:
            CompressionError: Not an object of lists of objects, or nothing of the schema in it.
        """
        if not isinstance(data, Mapping):
            raise CompressionError(f"the proposal is {type(data).__name__}, not an object")
        slots = schema.slots()
        if data and not (set(data) & {*slots, "retire"}):
            raise CompressionError(
                f"none of the schema's slots in the proposal: {', '.join(map(str, list(data)[:5]))}"
            )
        items = tuple(
            _proposed(name, entry, slots.get(name))
            for name, entries in data.items()
            if name != "retire"
            if name in slots or _is_objects(entries)
            for entry in _objects(entries, name)
        )
        retire = tuple(
            Retirement(
                id=_text(e.get("id")), cites=_refs(e.get("cites")), quote=_text(e.get("quote"))
            )
            for e in _objects(data.get("retire", ()), "retire")
        )
        return cls(mode=mode, items=items, retire=retire, author=author)


@runtime_checkable
class Compressor(Protocol):
    """Proposes the next state. A plain function of these three arguments is one.

    A compressor that does I/O may also offer ``async def acompress`` with the same
    arguments, which the asynchronous controller then awaits. One that wants to know the bounds
    may offer ``under(policy)``, which returns the compressor to ask under that policy; one
    that is paid may have a ``price`` (`acc.price.Price`).
    """

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Read and propose.

        Raises:
            CompressionError: Nothing usable came out. Any other exception counts as one, but for:
            ConfigurationError: It can never work as it is set up; ends the step.
        """
        ...


def wire_schema(schema: type[CompressedCognitiveState], mode: Mode = "revise") -> dict[str, Any]:
    """JSON Schema of a proposal, within what strict structured output accepts.

    Flat, every property required, no defaults, no unions; lengths are checked by commit.

    Args:
        schema: The state class.
        mode: ``revise`` or ``rewrite``; the text for the writer differs, the shape does not.
    """
    slots = {
        name: _array(_wire_item(slot), slot.rules.guidance) for name, slot in schema.slots().items()
    }
    carry = "unmentioned items stay" if mode == "revise" else "unmentioned items go"
    retire = {
        "id": _string("id of the item that no longer holds"),
        "cites": _array(_string(""), "observations that end it"),
        "quote": _string("the user's exact words; empty for items that are not pinned"),
    }
    properties = {**slots, "retire": _array(_object(retire), "items that end")}
    return {**_object(properties), "title": schema.__name__, "description": f"{mode}: {carry}"}


def _wire_item(slot: SlotField) -> dict[str, Any]:
    fields = {name: wire_field(slot.item, name) for name in slot.item.asked_fields()}
    cited = {
        "cites": _array(
            _string(""), "refs of observations or evidence it rests on, or ids it carries on"
        ),
        "id": _string("id of the prior item it carries on or updates; empty for a new one"),
    }
    return _object({**fields, **cited})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "description": description}


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {})}


def _proposed(name: str, entry: Mapping[str, Any], slot: SlotField | None) -> ProposedItem:
    known = slot.item.asked_fields() if slot is not None else tuple(entry)
    texts = _texts(slot.item) if slot is not None else frozenset()
    return ProposedItem(
        slot=name,
        fields={f: _in_digits(entry[f]) if f in texts else entry[f] for f in known if f in entry},
        cites=_refs(entry.get("cites")),
        id=_text(entry.get("id")),
    )


@lru_cache(maxsize=256)
def _texts(item: type[Item]) -> frozenset[str]:
    """The wire fields of an item that take any text. A quote is looked for, so it has to be one."""
    fields = {n: wire_field(item, n) for n in item.asked_fields() if n != "quote"}
    return frozenset(n for n, f in fields.items() if f["type"] == "string" and "enum" not in f)


def _in_digits(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(_clean(value)) if is_number and _clean(value) is not None else value


def _is_objects(entries: Any) -> bool:
    is_list = isinstance(entries, list | tuple)
    return is_list and all(isinstance(entry, Mapping) for entry in entries)


def _objects(entries: Any, name: str) -> list[Mapping[str, Any]]:
    if entries is None:
        return []
    if isinstance(entries, Mapping) and entries:
        return [entries]
    if not _is_objects(entries):
        raise CompressionError(f"{name!r} in the proposal is not a list of objects")
    return list(entries)


def _refs(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(_text(v) for v in values if _text(v))


def _text(value: Any) -> str:
    return value.strip(" []") if isinstance(value, str) else ""

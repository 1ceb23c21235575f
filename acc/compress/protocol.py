"""C_theta, first half: the compressor protocol and the JSON Schema of a proposal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from acc.errors import ConfigurationError
from acc.state.items import wire_field
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Mode, Proposal
from acc.state.slots import SlotField
from acc.turn.observations import Evidence
from acc.turn.turn import Turn


@dataclass(frozen=True)
class Price:
    """Money per million tokens, in any currency.

    Attributes:
        input: Price of input tokens.
        output: Price of output tokens.
        cached: Price of input tokens from the provider's prompt cache; None means ``input``.

    Raises:
        ConfigurationError: A price is negative, infinite or not a number.
    """

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, 0.0 if self.cached is None else self.cached)
        if not all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in given):
            raise ConfigurationError(
                "a price is negative or not a number",
                where="Price",
                hint="give money per million tokens, 0 or more",
            )

    def of(self, usage: Mapping[str, int]) -> float:
        """Return the money for ``usage``: tokens by kind, where ``cached`` is part of ``input``."""
        read, wrote, cached = (_count(usage, kind) for kind in ("input", "output", "cached"))
        cached = min(cached, read)
        rate = self.input if self.cached is None else self.cached
        money = (read - cached) * self.input + cached * rate + wrote * self.output
        return round(money / 1_000_000, 9)


def _count(usage: Mapping[str, int], kind: str) -> int:
    """Return a plausible count of a kind: an endpoint may report any number."""
    return min(max(0, usage.get(kind, 0)), 1 << 53)


@runtime_checkable
class Compressor(Protocol):
    """Proposes the next state. A plain function of the three arguments qualifies.

    A compressor with I/O may add ``async def acompress`` with the same arguments; the asynchronous controller
    awaits it. A compressor that needs the limits may add ``under(policy)``, which returns the compressor for
    that policy. A paid compressor may have a ``price`` (`Price`).
    """

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Read the input and propose.

        Raises:
            CompressionError: No usable proposal came out. Any other exception except `ConfigurationError` has
                the same effect.
            ConfigurationError: The compressor cannot work with this configuration; ends the step.
        """
        ...


def wire_schema(
    schema: type[CompressedCognitiveState], mode: Mode = "revise", *, strict: bool = True
) -> dict[str, Any]:
    """Return the JSON Schema of a proposal.

    The schema is flat, without defaults or unions. Commit checks lengths.

    Args:
        schema: The state class.
        mode: ``revise`` or ``rewrite``; only the descriptions differ.
        strict: Whether all properties are required, as strict structured output demands. Otherwise a model
            may leave out empty lists, and the fields of an item that are empty or that do not change.
    """
    slots = {
        name: _array(_wire_item(slot, strict), slot.rules.guidance)
        for name, slot in schema.slots().items()
    }
    carry = "unmentioned items stay" if mode == "revise" else "unmentioned items go"
    retire = {
        "id": _string("id of the rule or goal that no longer holds"),
        "cites": _array(_string(""), "observations that end it"),
        "quote": _string("the user's exact words"),
    }
    properties = {
        **slots,
        "retire": _array(object_schema(retire), "rules and goals that end"),
        "drop": _array(_string(""), "ids of other items that end"),
        "keep": _array(_string(""), "ids of unpinned items to keep unchanged when room is short"),
    }
    whole = object_schema(properties, properties if strict else ())
    return {**whole, "title": schema.__name__, "description": f"{mode}: {carry}"}


def _wire_item(slot: SlotField, strict: bool) -> dict[str, Any]:
    fields = {name: wire_field(slot.item, name) for name in slot.item.asked_fields()}
    cited = {
        "cites": _array(
            _string(""), "refs of observations or evidence it rests on, or ids it carries on"
        ),
        "id": _string("id of the prior item it carries on or updates; empty for a new one"),
    }
    properties = {**fields, **cited}
    return object_schema(properties, properties if strict else ["cites"])


def object_schema(
    properties: Mapping[str, Any], required: Iterable[str] | None = None
) -> dict[str, Any]:
    """Return the JSON Schema of an object that has only these properties, by default all of them."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _array(items: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "description": description}


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {})}

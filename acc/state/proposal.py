"""What a compressor proposes, and how a compression ended.

On the wire an item carries what it says and what it cites, nothing else (law 5). Two modes share one
`Proposal`: ``revise`` names what is added, updated and retired; ``rewrite`` (the paper's) writes the
whole next state. `acc.commit.commit` decides what becomes of a proposal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator

from acc.errors import CompressionError
from acc.state.items import Item, wire_field
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField
from acc.turn.observations import storable
from acc.turn.redact import Redact

Mode = Literal["revise", "rewrite"]


_WIDEST = 1 << 63


class Outcome(StrEnum):
    """How a call, or a whole compression, ended. They are stored: a name is never changed."""

    # a proposal came out
    OK = "ok"
    REPAIRED = "repaired"
    SKIPPED = "skipped"
    # the model answered, and the answer is of no use
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    INVALID_JSON = "invalid_json"
    WRONG_SHAPE = "wrong_shape"
    UNKNOWN_IDS = "unknown_ids"
    ITEMS_LOST = "items_lost"
    PROMPT_ECHO = "prompt_echo"
    RULE_REFUSED = "rule_refused"
    # the endpoint did not answer
    CONTEXT_OVERFLOW = "context_overflow"
    TOO_LARGE = "too_large"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    MALFORMED_REPLY = "malformed_reply"
    DEADLINE = "deadline"
    # a compressor raised something of its own
    ERROR = "error"


WORTH_RETRYING = frozenset(
    {
        Outcome.TIMEOUT, Outcome.CONFLICT, Outcome.RATE_LIMITED, Outcome.SERVER_ERROR,
        Outcome.CONNECTION_REFUSED, Outcome.CONNECTION_RESET, Outcome.MALFORMED_REPLY,
    }
)  # fmt: skip
"""What the same request may not meet again a moment later."""


WORTH_REPAIRING = frozenset(
    {
        Outcome.TRUNCATED, Outcome.EMPTY, Outcome.INVALID_JSON, Outcome.WRONG_SHAPE,
        Outcome.UNKNOWN_IDS, Outcome.ITEMS_LOST, Outcome.PROMPT_ECHO, Outcome.RULE_REFUSED,
    }
)  # fmt: skip
"""What a model can mend that is told of it."""


class Account(BaseModel):
    """What a model was asked, and how it went.

    Attributes:
        outcome: How the compression ended.
        calls: The outcome of each call, in order; those that were repeated too.
        unmetered: Calls that were answered without saying what they cost.
        model: The model, as its endpoint names it.
        prompt: Version of the prompt.
        rung: How the endpoint was held to the schema (`acc.compress.openai_calls`).
        left_out: Characters of each source, by ref, that the model did not get to read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    calls: tuple[Outcome, ...] = ()
    unmetered: int = 0
    model: str = ""
    prompt: str = ""
    rung: str = ""
    left_out: dict[str, int] = {}


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


def redacted_proposal(proposal: Proposal | None, redact: Redact | None) -> Proposal | None:
    """What a compressor proposes, with every text redacted: it may have read a secret elsewhere."""
    if proposal is None or redact is None:
        return proposal
    made = _deep(proposal.model_dump(include={"items", "retire"}), redact)
    return proposal.model_copy(
        update={
            "items": tuple(type(old)(**new) for old, new in zip(proposal.items, made["items"], strict=True)),
            "retire": tuple(type(old)(**new) for old, new in zip(proposal.retire, made["retire"], strict=True)),
        }
    )  # fmt: skip


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


def _deep(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _deep(each, redact) for name, each in value.items()}
    return [_deep(each, redact) for each in value] if isinstance(value, list | tuple) else value

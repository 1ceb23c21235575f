"""Compressors' proposals, and the outcomes of compressions.

On the wire an item has only its words and its citations (law 5). Both modes use one `Proposal`:
``revise`` adds, updates and retires items; ``rewrite`` (the paper's) writes the whole next state.
`acc.commit.commit` decides which parts of a proposal apply.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from acc.errors import CompressionError
from acc.state.declaration import RESERVED
from acc.state.items import Item, wire_field
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note
from acc.state.slots import SlotField
from acc.turn.observations import storable
from acc.turn.redact import Redact

Mode = Literal["revise", "rewrite"]


_WIDEST = 1 << 63


class Outcome(StrEnum):
    """How a call, or a whole compression, ended. The names are stored: never change one."""

    # the compressor returned a proposal
    OK = "ok"
    REPAIRED = "repaired"
    SKIPPED = "skipped"
    # the model answered, and the answer is unusable
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
    RULE_MISSED = "rule_missed"
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
    # a compressor raised another error
    ERROR = "error"


WORTH_RETRYING = frozenset(
    {
        Outcome.TIMEOUT, Outcome.CONFLICT, Outcome.RATE_LIMITED, Outcome.SERVER_ERROR,
        Outcome.CONNECTION_REFUSED, Outcome.CONNECTION_RESET, Outcome.MALFORMED_REPLY,
    }
)  # fmt: skip
"""Outcomes that the same request may avoid a moment later."""


WORTH_REPAIRING = frozenset(
    {
        Outcome.TRUNCATED, Outcome.EMPTY, Outcome.INVALID_JSON, Outcome.WRONG_SHAPE,
        Outcome.UNKNOWN_IDS, Outcome.ITEMS_LOST, Outcome.PROMPT_ECHO, Outcome.RULE_REFUSED,
        Outcome.RULE_MISSED,
    }
)  # fmt: skip
"""Outcomes that a model can fix if it receives the error."""


class Account(BaseModel):
    """A model's requests during a compression, and their outcomes.

    Attributes:
        outcome: How the compression ended.
        calls: The outcome of each call in order, including retries.
        unmetered: Number of answered calls without token usage.
        model: The model's name at its endpoint.
        prompt: Version of the prompt.
        rung: How the endpoint enforced the schema (`acc.compress.openai_calls`).
        left_out: Characters of each source, by ref, that the model did not receive.
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
    """Return a value that JSON can store: no lone surrogates, no NaN, integers of 64 bits."""
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
    """An item as a compressor proposes it.

    Attributes:
        slot: Name of the slot.
        fields: Its content, by the item type's wire fields.
        cites: Refs of observations or evidence, or ids of prior items.
        id: Id of the prior item to carry on or update; empty for a new item.
        amends: Id of a rule that the same proposal retires and this item repeats with another figure;
            or empty. Not on the wire: no model writes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slot: str
    fields: dict[str, Any]
    cites: tuple[str, ...] = ()
    id: str = ""
    amends: str = ""

    _cleaned = field_validator("*", mode="before")(_clean)


class Retirement(BaseModel):
    """The retirement of a prior item. A pinned item needs a cited quote (law 7).

    Attributes:
        id: The item's id.
        cites: Refs of the observations that end it.
        quote: Words of these observations.
        doubt: Why the compressor doubts that the quote means this pinned item, which then stays; or
            empty. Not on the wire: no model writes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    cites: tuple[str, ...] = ()
    quote: str = ""
    doubt: str = ""

    _cleaned = field_validator("*", mode="before")(_clean)


class Remark(BaseModel):
    """A compressor's remark on an observation that it could not use, or not in full.

    Attributes:
        code: The remark: the observation is in a language that the compressor does not read, or the
            compressor left out a rule or goal for want of room. Commit has a reason code for each value.
        ref: The observation's ref.
        slot: The slot of the rule or goal that was left out; otherwise empty.
        text: Its text; otherwise empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Literal["language_not_read", "no_room"]
    ref: str
    slot: str = ""
    text: str = ""

    _cleaned = field_validator("ref", "text", mode="before")(_clean)


class Proposal(BaseModel):
    """A compressor's proposal.

    Attributes:
        mode: Whether unmentioned items stay (``revise``) or leave the state (``rewrite``).
        items: New, carried and updated items.
        retire: Retirements.
        keep: Ids of prior items to keep as they are: they count as touched in this turn.
        confirmed: Ids of rules and goals of which a second reading says that the user's words end them
            (`acc.compress.second_reading`). Not on the wire.
        author: Name of the compressor.
        usage: Tokens by kind (input, output, cached, reasoning), if a model was paid.
        account: The model's requests and how they ended, if a model was asked.
        reads_turn: Whether the author read the turn. An operator's retirement does not read it: the
            other observations of the turn stay pending for the next commit.
        unread: Refs of observations that the author could not read and another compressor can: they stay
            pending for the next commit. Not on the wire.
        remarks: Observations that the compressor could not use. Not on the wire: no model writes them.
        board_notes: What a shared board refused of the same answer (`acc.board`). The next state's feedback
            repeats it. Not on the wire.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = "revise"
    items: tuple[ProposedItem, ...] = ()
    retire: tuple[Retirement, ...] = ()
    keep: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    confirmed: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    author: str = ""
    usage: dict[str, int] = {}
    account: Account | None = None
    reads_turn: bool = True
    unread: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    remarks: tuple[Remark, ...] = ()
    board_notes: tuple[Note, ...] = Field(default=(), exclude_if=operator.not_)

    _cleaned = field_validator("keep", mode="before")(_clean)

    @classmethod
    def from_wire(
        cls,
        data: Any,
        schema: type[CompressedCognitiveState],
        *,
        mode: Mode = "revise",
        author: str = "",
    ) -> Self:
        """Parse a model's answer under `wire_schema`, leniently: commit checks each item.

        A slot may be null, or one object instead of a list. A number in a text field becomes its digits.
        An entry that is not a slot and not a list of objects, such as the model's reasons, is ignored.

        Args:
            data: Maps slot names to lists of items, ``retire`` to a list of retirements, ``drop`` and ``keep``
                to ids.
            schema: The state class, which defines the slots' wire fields.
            mode: The requested mode.
            author: Name of the compressor.

        Raises:
            CompressionError: ``data`` is not an object, a slot is not a list of objects, or ``data``
                contains nothing of the schema.
        """
        if not isinstance(data, Mapping):
            raise CompressionError(f"the proposal is {type(data).__name__}, not an object")
        slots = schema.slots()
        if data and not (set(data) & {*slots, *RESERVED}):
            raise CompressionError(
                f"none of the schema's slots in the proposal: {', '.join(map(str, list(data)[:5]))}"
            )
        items = tuple(
            _proposed(name, entry, slots.get(name))
            for name, entries in data.items()
            if name not in RESERVED
            if name in slots or _is_objects(entries)
            for entry in _objects(entries, name)
        )
        retire = (*_retirements(data.get("retire")), *_retirements(data.get("drop")))
        keep = _refs(data.get("keep"))
        return cls(mode=mode, items=items, retire=retire, keep=keep, author=author)


def redacted_proposal(proposal: Proposal | None, redact: Redact | None) -> Proposal | None:
    """Return the proposal with every text redacted: a compressor may have read a secret elsewhere."""
    if proposal is None or redact is None:
        return proposal
    made = _deep(proposal.model_dump(include={"items", "retire", "keep"}), redact)
    return proposal.model_copy(
        update={
            "items": tuple(ProposedItem(**each) for each in made["items"]),
            "retire": tuple(Retirement(**each) for each in made["retire"]),
            "keep": tuple(made.get("keep", ())),
        }
    )


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
    """Return the wire fields that accept any text, except ``quote``: commit searches for it verbatim."""
    fields = {n: wire_field(item, n) for n in item.asked_fields() if n != "quote"}
    return frozenset(n for n, f in fields.items() if f["type"] == "string" and "enum" not in f)


def _in_digits(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(_clean(value)) if is_number and _clean(value) is not None else value


def _retirements(entries: Any) -> Iterator[Retirement]:
    """Yield the retirements of a list of objects and of bare ids."""
    listed = entries if isinstance(entries, list | tuple) else [entries]
    for entry in (entry for entry in listed if entry):
        for each in [{"id": entry}] if isinstance(entry, str) else _objects([entry], "retire"):
            cites, quote = _refs(each.get("cites")), _text(each.get("quote"))
            yield Retirement(id=_text(each.get("id")), cites=cites, quote=quote)


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

"""What the library asks of a model, messages and a JSON Schema in, a text and its usage out; the object in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias


class PromptMessage(NamedTuple):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


Messages: TypeAlias = Sequence[PromptMessage]
Schema: TypeAlias = Mapping[str, Any] | None
"""The JSON Schema of the object to answer with; None asks for plain text."""


@dataclass(frozen=True)
class Usage:
    """What requests cost. ``cached`` is the part of ``input`` that the provider had in its cache."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0

    @classmethod
    def of(cls, told: Mapping[str, int]) -> Usage:
        """Return the usage that an error tells."""
        return cls(**{name: n for name, n in told.items() if name in cls.__dataclass_fields__})

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests, self.input + other.input,
            self.output + other.output, self.cached + other.cached,
        )  # fmt: skip


@dataclass(frozen=True)
class Completion:
    """A model's answer.

    Attributes:
        text: Its words. Nobody has checked them against the schema.
        usage: What the answer cost, with the number of requests that led to it.
        model: The model that answered, as the endpoint names it.
        cut_off: The answer ended at the limit of tokens. The text may be empty then.
    """

    text: str
    usage: Usage
    model: str
    cut_off: bool = False


class ChatModel(Protocol):
    """A model that answers messages. ``name`` is for records."""

    name: str

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer to ``messages``.

        Raises:
            CompressionError: There is no answer. ``outcome`` names why, ``usage`` is what it cost.
            ConfigurationError: No request can succeed with these settings.
        """
        ...

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Do the same without blocking the event loop."""
        ...


_JSON = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
"""Reads raw newlines in strings, and NaN as null."""

_OPENED = re.compile(r"\s*[<\[](\w+)[^>\]]{0,200}[>\]]")
"""A mark that opens an answer, as thoughts have it."""

_MOST_BROKEN = 64
"""Broken objects that are tried: each can cost a reading of the whole text."""


class AnswerError(ValueError):
    """The text holds no answer. The message says what it holds instead."""


def object_in(text: str, names: Collection[str]) -> dict[str, Any]:
    """Return the last object of ``text`` that has at least one of ``names``, or an empty object that ends the text.

    What breaks off or is broken is later than any answer before it.

    Raises:
        AnswerError: There is none.
    """
    answer, seen, broken = None, "no JSON object", 0
    if (thoughts := _OPENED.match(text)) and f"/{thoughts[1]}" not in text:
        raise AnswerError("thoughts that break off")
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            answer, seen, broken, end = None, "a JSON object that is broken", broken + 1, at + 1
            if broken > _MOST_BROKEN:
                break
        else:
            is_last = not text[end:].strip("` \t\r\n")
            if any(name in value for name in names) or (not value and is_last):
                answer = value
            else:
                seen = f"an object with the fields {', '.join(map(repr, list(value)[:8])) or 'none'}"[:300]  # fmt: skip
        at = text.find("{", end)
    if answer is None:
        raise AnswerError(seen)
    # "?" for halves of surrogate pairs, which "\ud83d" leaves: no file can hold them
    clean: dict[str, Any] = json.loads(
        json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    )
    return clean

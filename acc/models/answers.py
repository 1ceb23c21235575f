"""Finds the JSON object of an answer among the thoughts, fences and prose that models write around it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

_JSON = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
"""Reads raw newlines in strings, and NaN as null."""

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

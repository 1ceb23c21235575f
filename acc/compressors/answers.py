"""Reading what a model wrote: the JSON object in it, if there is one."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

MOST_TRIED = 64
"""Opening braces at which an object is looked for."""


class NoJson(ValueError):
    """No JSON in a text; says what is there instead."""


def json_in(text: str, names: Collection[str]) -> Any:
    """The JSON value that ``text`` is, or the object within its prose and fences.

    Of several objects the one with most of ``names`` is taken, the latest of equals: models
    think aloud before they answer. What has none of them counts only if the text begins its
    JSON with it: of an answer that was cut off, no part is taken for the whole.

    Raises:
        NoJson: There is none.
    """
    said = _THOUGHT.sub(" ", text).strip()
    try:
        return _parsed(said)
    except ValueError as error:
        problem = str(error)
    found = dict(_objects(said))
    named = [value for value in found.values() if set(value) & set(names)]
    if named:
        return max(reversed(named), key=lambda value: len(set(value) & set(names)))
    if (first := said.find("{")) in found:
        return found[first]
    raise NoJson(problem)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise NoJson("nested too deeply") from None


def _objects(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The outermost objects in ``text``, and where they begin."""
    decoder = json.JSONDecoder()
    start, tried = text.find("{"), 0
    while start >= 0 and tried < MOST_TRIED:
        tried += 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield start, value
        start = text.find("{", end)

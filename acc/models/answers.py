"""Find the JSON object of an answer among the thoughts, fences and prose that models write around it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

_JSON = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
"""Reads raw newlines in strings, and NaN as null."""
_TAG = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_TOKEN = re.compile(
    rf"(?P<open><{_TAG}>|\[THINK\]|<\|channel\|>analysis)"
    rf"|(?P<close></{_TAG}>|\[/THINK\]|<\|end\|>)"
    r'|(?P<object>\{\s*(?=["}]))',
    re.IGNORECASE,
)
_COMMA = re.compile(r'("(?:[^"\\]|\\.?)*(?:"|$))|,(?=\s*[}\]])', re.DOTALL)
"""A string, or a comma before a closing bracket. A string without end takes the rest: linear time."""

_WORK = 8
"""Broken objects may cost this many readings of the text, and each costs at least a 64th of one."""
_WRAPPED = 3  # how often an answer may stand in another value: {"arguments": "{...}"}


class AnswerError(ValueError):
    """The text holds no answer. The message says what it holds instead."""


def object_in(text: str, names: Collection[str]) -> dict[str, Any]:
    """Return the object of ``text`` that has at least one of ``names``, or an empty object.

    A text that is JSON as a whole is taken whole. Otherwise the last complete object outside of thoughts
    counts that has one of ``names``, or that is empty and ends the text. An object is also found in a JSON
    string, in a list of one, and as the only fitting value of another object.

    Raises:
        AnswerError: There is none.
    """
    stripped = text.strip().removeprefix("\ufeff")
    if not stripped:
        raise AnswerError("an empty text")
    for whole in (stripped, _COMMA.sub(r"\1", stripped) if stripped[-1] in "}]" else ""):
        try:
            value = _JSON.decode(whole)
        except RecursionError:
            raise AnswerError("JSON that is nested too deeply") from None
        except ValueError:
            continue
        if (found := _unwrapped(value, names)) is None:
            raise AnswerError(_described(value))
        return _storable(found)
    return _storable(_last_in(stripped, names))


def _storable(found: dict[str, Any]) -> dict[str, Any]:
    """Return the object with "?" for halves of surrogate pairs, which "\\ud83d" leaves: no file can hold them."""
    text = json.dumps(found, ensure_ascii=False)
    clean: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
    return clean


def _unwrapped(value: Any, names: Collection[str], depth: int = 0) -> dict[str, Any] | None:
    """The answer in a JSON value; None if there is none, or more than one."""
    if isinstance(value, str) and depth < _WRAPPED and value.lstrip()[:1] in ("{", "["):
        try:
            return _unwrapped(_JSON.decode(value.strip()), names, depth + 1)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict) and (not value or any(name in value for name in names)):
        return value
    if depth >= _WRAPPED or not isinstance(value, dict | list):
        return None
    inner = list(value.values()) if isinstance(value, dict) else value
    found = [answer for each in inner if (answer := _unwrapped(each, names, depth + 1))]
    return found[0] if len(found) == 1 else None


def _last_in(text: str, names: Collection[str]) -> dict[str, Any]:
    value, end, answer, seen = None, 0, None, "text without a JSON object"
    for value, end in _objects(text):
        if isinstance(value, AnswerError):
            # what goes on to the end of the text is later than any answer before it
            answer, seen = (None if end == len(text) else answer), str(value)
        elif found := _unwrapped(value, names):
            answer = found
        else:
            seen = _described(value)
    if value == {} and not text[end:].strip("` \t\r\n"):
        answer = {}
    if answer is None:
        raise AnswerError(seen)
    return answer


def _objects(text: str) -> Iterator[tuple[Any, int]]:
    """Yield each object outside of thoughts with its end; an error for thoughts and broken objects."""
    at, work, thinking = 0, _WORK * len(text), False
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token.lastgroup != "object":
            if token.lastgroup == "close" and not thinking and token[0] != "<|end|>":
                # some chat templates write the opening mark into the prompt
                yield AnswerError("thoughts without an answer after them"), len(text)
            thinking = token.lastgroup == "open"
        elif not thinking:
            try:
                value, at = _JSON.raw_decode(text, token.start())
            except (ValueError, RecursionError) as error:
                is_open = "Unterminated" in str(error)  # its position is where the string begins
                reached = len(text) if is_open else getattr(error, "pos", len(text))
                work -= reached - token.start() + len(text) // 64
                yield AnswerError("a JSON object that breaks off or is broken"), reached
                if work < 0:
                    raise AnswerError("too many broken JSON objects") from None
            else:
                yield value, at


def _described(value: Any) -> str:
    if isinstance(value, dict):
        fields = ", ".join(repr(str(name)[:40]) for name in list(value)[:8])
        return f"an object with the fields {fields or 'none'}"
    is_list = isinstance(value, list)
    return f"a list of {len(value)}" if is_list else f"the value {str(value)[:40]!r}"

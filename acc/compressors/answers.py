"""Reading what a model wrote: the JSON object that is its answer, if there is one."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from acc.compressors.passages import Passage, joined, passages, spans

MOST_TRIED = 16
"""Objects of the right shape, from the last, of which it is asked whether they are the answer."""

DEEPEST = 5
"""How deep an answer may stand in what wraps it, such as the form of a tool call."""

_GOES_ON = ",:;([-–—"
"""What no sentence ends with."""


class NoJson(ValueError):
    """No answer in a text; says what is there instead."""


def json_in(text: str, names: Collection[str]) -> Any:
    """The JSON value that ``text`` is, or the answer in it: an object within prose and fences.

    The answer is the last complete object that has one of ``names`` and does not stand in the
    model's thoughts. An object that has none counts where there is no other and it comes first;
    an object that wraps the answer alone counts as the answer.

    Args:
        text: What the model wrote.
        names: Names of the fields of an answer.

    Raises:
        NoJson: There is no answer. Of a text that was cut off, in the answer or in the thoughts
            before it, no part is taken for the whole; nor is one of several objects that each
            hold a part of the answer.
    """
    try:
        return _unwrapped(_parsed(text.strip().removeprefix("\ufeff")), names)
    except ValueError as error:
        problem = str(error)
    parts = passages(text)
    values = {i: _unwrapped(p.value, names) for i, p in enumerate(parts) if p.kind == "object"}
    fitting = [i for i, value in values.items() if _named(value, names)]
    if fitting:
        return values[_Choice(parts, names, {i: values[i] for i in fitting}).answer()]
    first = next((i for i, p in enumerate(parts) if p.kind in ("object", "broken")), None)
    if first in values and not any(p.is_of_thoughts for p in parts):
        return values[first]
    raise NoJson(problem)


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=joined)
        is_encoded_twice = isinstance(value, str) and value.lstrip().startswith("{")
        return json.loads(value, object_pairs_hook=joined) if is_encoded_twice else value
    except RecursionError:
        raise NoJson("nested too deeply") from None


def _named(value: Any, names: Collection[str]) -> bool:
    return isinstance(value, Mapping) and any(name in value for name in names)


def _unwrapped(value: Any, names: Collection[str]) -> Any:
    """The one object within ``value`` that has ``names``, where it holds no other: ``[{...}]``."""
    found = list(islice(_fitting(value, names, depth=0), 2))
    return found[0] if len(found) == 1 else value


def _fitting(value: Any, names: Collection[str], depth: int) -> Iterator[Mapping[str, Any]]:
    """The outermost objects in ``value`` that have ``names``, down to `DEEPEST`."""
    if _named(value, names):
        yield value
    elif depth < DEEPEST and isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _fitting(inner, names, depth + 1)


class _Choice:
    """The choice of the answer among the objects of a text that have the right shape."""

    def __init__(
        self, parts: Sequence[Passage], names: Collection[str], values: Mapping[int, Any]
    ) -> None:
        self._parts = parts
        self._names = names
        self._values = values
        self._spans = spans(parts)

    def answer(self) -> int:
        """The index of the answer.

        Raises:
            NoJson: None is.
        """
        tried = list(self._values)[-MOST_TRIED:]
        said = [i for i in tried if self._is_said(i)]
        if not said:
            raise NoJson("the answer is missing: what there is of JSON stands in the thoughts")
        last = said[-1]
        if any(part.kind == "broken" for part in self._parts[last:]):
            raise NoJson("the last object cannot be parsed; it may be cut off")
        if self._is_cut_off(last):
            raise NoJson("the text ends within thoughts, or within a sentence")
        if self._is_a_part(last, said):
            raise NoJson("several objects, of which the last does not hold what is in the others")
        return last

    def _is_said(self, i: int) -> bool:
        """Whether object ``i`` stands outside of thoughts.

        Where markers are unknown, it does if nothing else stands between them; in any case if
        it stands alone behind the last marker.
        """
        parts = self._parts
        before, after = i - 1, i + 1
        while before >= 0 and parts[before].is_marker:
            before -= 1
        while after < len(parts) and parts[after].is_marker:
            after += 1
        marker = parts[i - 1] if i and parts[i - 1].is_marker else None
        is_thought = marker is None or (marker.kind == "open" and marker.is_of_thoughts)
        if after == len(parts) and not is_thought:
            return True
        around = [span for span in self._spans if span.begin < i < span.end]
        return not parts[i].is_nested and not any(
            span.is_of_thoughts
            or not (span.is_of_an_answer or (before <= span.begin and after >= span.end))
            for span in around
        )

    def _is_cut_off(self, last: int) -> bool:
        """Whether the text behind the last object ends before the model was done.

        A model that thinks in plain words, without markers, is known by prose on both sides of
        an object, of which the second breaks off within a sentence.
        """
        parts, end = self._parts, len(self._parts)
        if any(s.begin > last and s.end == end and s.is_of_thoughts for s in self._spans):
            return True
        before = takewhile(lambda part: not part.is_marker, reversed(parts[:last]))
        if parts[-1].kind != "prose" or all(part.kind != "prose" for part in before):
            return False
        ending = parts[-1].value.rstrip()[-1]
        return bool(ending.isalnum() or ending in _GOES_ON)

    def _is_a_part(self, last: int, said: Sequence[int]) -> bool:
        """Whether the last object says nothing of what those right before it say.

        One that says nothing at all is also held against those that prose parts from it.
        """
        held = self._held(last)
        beside = set(said) if not held else set[int]()
        while last - 1 in self._values:
            last -= 1
            beside.add(last)
        return any(self._held(i) - held for i in beside)

    def _held(self, i: int) -> set[str]:
        return {name for name in self._names if self._values[i].get(name)}

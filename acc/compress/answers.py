"""Parses a model's answer into passages: JSON objects, the markers around them, and prose.

Model families wrap their output in different markers: ``<think>...</think>``, ``[THINK]...[/THINK]``,
``<|channel|>analysis<|message|>...<|end|>``. The parser therefore recognizes markers by form. One pass splits
a text in linear time. A marker inside a JSON string belongs to the string.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from json.decoder import JSONDecodeError
from typing import Any, Literal, NamedTuple

MOST_TRIED = 16
"""Maximum number of fitting objects, counted from the last, that are considered as the answer."""

DEEPEST = 5
"""Maximum nesting depth of an answer inside a wrapper, such as a tool call."""

_GOES_ON = ",:;([-–—"
"""Characters that never end a sentence."""


class NoJson(ValueError):
    """The text has no answer. The message says what it has instead."""


def json_in(text: str, names: Collection[str]) -> Any:
    """Return the JSON value of ``text``, or the answer inside prose and fences.

    The answer is the last complete object that has one of ``names`` and is outside the model's thoughts. If no
    object has one, the first object counts, unless a broken object precedes it or the text has markers of
    thoughts. An object that wraps a single answer is unwrapped.

    Raises:
        NoJson: There is no answer, or it is cut off, or spread over several objects.
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
    """Return the single object inside ``value`` that has ``names``, as in ``[{...}]``, or ``value``."""
    found = list(islice(_fitting(value, names, depth=0), 2))
    return found[0] if len(found) == 1 else value


def _fitting(value: Any, names: Collection[str], depth: int) -> Iterator[Mapping[str, Any]]:
    """Yield the outermost objects in ``value`` that have ``names``, down to `DEEPEST`."""
    if _named(value, names):
        yield value
    elif depth < DEEPEST and isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _fitting(inner, names, depth + 1)


class _Choice:
    """Selects the answer among the objects of a text that have the right shape."""

    def __init__(
        self, parts: Sequence[Passage], names: Collection[str], values: Mapping[int, Any]
    ) -> None:
        self._parts = parts
        self._names = names
        self._values = values
        self._spans = spans(parts)

    def answer(self) -> int:
        """Return the index of the answer.

        Raises:
            NoJson: No object is the answer.
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
        """Whether object ``i`` is outside of thoughts.

        Between unknown markers it must stand alone. Alone after the last marker it is outside, unless that
        marker opens thoughts.
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
        """Whether the text after the last object ends before the model finished.

        A model that thinks without markers writes prose on both sides of an object; the second part then breaks
        off within a sentence.
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
        """Whether the last object lacks fields of the objects before it.

        An object without any fields is compared with earlier objects separated by prose, too.
        """
        held = self._held(last)
        beside = set(said) if not held else set[int]()
        while last - 1 in self._values:
            last -= 1
            beside.add(last)
        return any(self._held(i) - held for i in beside)

    def _held(self, i: int) -> set[str]:
        return {name for name in self._names if self._values[i].get(name)}


MOST_BROKEN = 256
"""Maximum number of unparsable objects; the rest of the text counts as one more."""

MOST_PASSAGES = 20_000
"""Maximum number of passages; the rest counts as a broken object. No answer has as many."""

_SPECIAL = r"<[|｜][^<>|｜]{1,40}[|｜]>"
_TOKEN = re.compile(
    r'(?P<object>\{\s*(?:\}|"(?:[^"\\]|\\.){0,200}"\s*:))'
    rf"|(?P<special>{_SPECIAL}(?:[^<>{{}}\n]{{0,60}}{_SPECIAL})*(?:\w{{1,20}}(?=\n))?)"
    r"|[<◁](?P<tag>/?[^\W\d][\w:.-]*)(?:[\s=][^<>{}]*)?[>▷]"
    r"|\[(?P<label>/?[A-Za-z_]{3,30})\](?!\()"
    r"|(?P<fence>```\w*)"
)
_ENDS = re.compile(r"(?i)<[|｜](?:/|(?:[^<>]*[^a-z<>])?end(?=[^a-z]|of))[^<>]*>")
_THOUGHT = re.compile(r"(?i)think|thought|reason|reflect|analys|ponder|monolog|scratch|draft")
_ANSWER = re.compile(
    r"(?i)answer|final|respon|reply|output|result|solution|assistant|call|tool|function|json|code"
)
_RUN = "<|>"
_KEY_OF_THOUGHTS = "thoughts"


class Passage(NamedTuple):
    """A part of a text. White space and fences are left out.

    ``broken`` is an object that cannot be parsed; a ``is_nested`` object begins inside a broken one.
    """

    kind: Literal["prose", "object", "broken", "open", "close"]
    name: str = ""
    value: Any = None
    is_nested: bool = False

    @property
    def is_marker(self) -> bool:
        """Whether it is an opening or closing marker."""
        return self.kind in ("open", "close")

    @property
    def is_of_thoughts(self) -> bool:
        """Whether it is a marker of the model's thoughts."""
        return self.is_marker and _THOUGHT.search(self.name) is not None

    @property
    def _key(self) -> str:
        """The key that matches an opening with a closing marker."""
        if self.name.startswith(("<|", "<｜")):
            return _RUN
        return _KEY_OF_THOUGHTS if self.is_of_thoughts else self.name


class Span(NamedTuple):
    """The part between two markers, with their indexes and name.

    Without an opening marker ``begin`` is -1: some chat templates put it into the prompt. Without a closing
    marker ``end`` is the number of passages.
    """

    begin: int
    end: int
    name: str

    @property
    def is_of_thoughts(self) -> bool:
        """Whether it holds the model's thoughts."""
        return _THOUGHT.search(self.name) is not None

    @property
    def is_of_an_answer(self) -> bool:
        """Whether its name denotes an answer."""
        return not self.is_of_thoughts and _ANSWER.search(self.name) is not None


def joined(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; lists under a repeated key are concatenated, so none is lost."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        before = found.get(name)
        both = isinstance(before, list) and isinstance(value, list)
        found[name] = [*before, *value] if both and before else value
    return found


def passages(text: str) -> list[Passage]:
    """Return the passages of ``text``."""
    found = list(islice(_Splitting(text).passages(), MOST_PASSAGES))
    return found if len(found) < MOST_PASSAGES else [*found, Passage("broken")]


class _Splitting:
    """The state of splitting a text into passages."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder(object_pairs_hook=joined)
        self._at = 0
        self._broken_to = 0
        self._broken = 0

    def passages(self) -> Iterator[Passage]:
        text = self._text
        while found := _TOKEN.search(text, self._at):
            yield from _prose(text[self._at : found.start()])
            self._at = found.end()
            if found.lastgroup == "object":
                yield self._object(found)
            elif found.lastgroup != "fence":
                yield from _markers(found)
        yield from _prose(text[self._at :])

    def _object(self, found: re.Match[str]) -> Passage:
        """The object that begins here. After a broken one, the search continues after its first key."""
        start = found.start()
        try:
            value, self._at = self._decoder.raw_decode(self._text, start)
        except JSONDecodeError as error:
            self._broken += 1
            self._broken_to = max(self._broken_to, error.pos)
            ends = error.pos >= len(self._text) or error.msg.startswith("Unterminated")
        except RecursionError:
            ends = True
        else:
            return Passage("object", value=value, is_nested=start < self._broken_to)
        if ends or self._broken > MOST_BROKEN:
            self._at = len(self._text)
        return Passage("broken")


def _prose(text: str) -> Iterator[Passage]:
    if re.search(r"\w", text):
        yield Passage("prose", value=text)


def _markers(found: re.Match[str]) -> Iterator[Passage]:
    """Yield the markers of a match. A run of special tokens closes one message and opens the next."""
    if found.lastgroup == "special":
        ended = list(_ENDS.finditer(found.group()))
        if ended:
            yield Passage("close", found.group()[: ended[-1].end()])
        if begun := found.group()[ended[-1].end() if ended else 0 :]:
            yield Passage("open", begun)
        return
    name = found["tag"] or found["label"]
    if found["label"] and not (name.isupper() or _THOUGHT.search(name)):
        return
    if name.startswith("/"):
        yield Passage("close", name[1:].casefold())
    elif not found.group().endswith("/>"):
        yield Passage("open", name.casefold())


def spans(parts: Sequence[Passage]) -> list[Span]:
    """Return the spans between markers, in the order of their ends."""
    found: list[Span] = []
    opened: list[tuple[int, Passage]] = []
    count: Counter[str] = Counter()
    last = max((i for i, part in enumerate(parts) if not part.is_marker), default=-1)

    def close(key: str, end: int) -> None:
        while count[key]:
            begin, marker = opened.pop()
            count[marker._key] -= 1
            found.append(Span(begin, end, marker.name))
            if marker._key == key:
                break

    for i, part in enumerate(parts):
        if not part.is_marker:
            continue
        key = part._key
        if part.kind == "close" and not count[key]:
            if part.is_of_thoughts or i < last:  # ignore the end token that many models write last
                found.append(Span(-1, i, part.name))
        elif part.kind == "close" or key == _RUN:
            close(key, i)
        if part.kind == "open":
            opened.append((i, part))
            count[key] += 1
    return found + [Span(begin, len(parts), marker.name) for begin, marker in opened]

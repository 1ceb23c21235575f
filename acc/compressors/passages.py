"""A model's answer as a sequence of passages: JSON objects, the markers around them, and prose.

Models wrap what they write in markers, and each family has its own: ``<think>...</think>``,
``[THINK]...[/THINK]``, ``<|channel|>analysis<|message|>...<|end|>``. So markers are known by
their form. One pass splits a text, in time linear in its length; markers within a JSON string
belong to the string.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from json.decoder import JSONDecodeError
from typing import Any, Literal, NamedTuple

MOST_BROKEN = 256
"""Objects that cannot be parsed, after which the rest of a text counts as one more of them."""

MOST_PASSAGES = 20_000
"""Passages after which it does so too: no answer has as many."""

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
    """A part of a text.

    Attributes:
        kind: ``broken`` is an object that cannot be parsed. White space and fences are left out.
        name: A marker's.
        value: An object's; of prose, the text.
        is_nested: Whether an object begins within a broken one.
    """

    kind: Literal["prose", "object", "broken", "open", "close"]
    name: str = ""
    value: Any = None
    is_nested: bool = False

    @property
    def is_marker(self) -> bool:
        """Whether it opens or closes something, and says nothing itself."""
        return self.kind in ("open", "close")

    @property
    def is_of_thoughts(self) -> bool:
        """Whether it is a marker of what a model thinks before it answers."""
        return self.is_marker and _THOUGHT.search(self.name) is not None

    @property
    def _key(self) -> str:
        """What an opening and a closing marker have in common."""
        if self.name.startswith(("<|", "<｜")):
            return _RUN
        return _KEY_OF_THOUGHTS if self.is_of_thoughts else self.name


class Span(NamedTuple):
    """What stands between two markers: the indexes of both, and the name.

    ``begin`` is -1 where nothing opens it: some chat templates put the opening marker into the
    prompt. ``end`` is the number of passages where nothing closes it.
    """

    begin: int
    end: int
    name: str

    @property
    def is_of_thoughts(self) -> bool:
        """Whether it holds what a model thinks."""
        return _THOUGHT.search(self.name) is not None

    @property
    def is_of_an_answer(self) -> bool:
        """Whether it is named as an answer is."""
        return not self.is_of_thoughts and _ANSWER.search(self.name) is not None


def joined(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the lists under a key that stands in it twice are joined, none is lost."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        before = found.get(name)
        both = isinstance(before, list) and isinstance(value, list)
        found[name] = [*before, *value] if both and before else value
    return found


def passages(text: str) -> list[Passage]:
    """The passages of ``text``."""
    found = list(islice(_Splitting(text).passages(), MOST_PASSAGES))
    return found if len(found) < MOST_PASSAGES else [*found, Passage("broken")]


class _Splitting:
    """A text on its way into passages."""

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
        """The object that begins here. In a broken one, the search goes on behind its first key."""
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
    """The markers in a match. A run of special tokens closes one message and opens the next."""
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
    """What stands between markers, in the order in which it ends."""
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
            if part.is_of_thoughts or i < last:  # not the token with which many a model ends
                found.append(Span(-1, i, part.name))
        elif part.kind == "close" or key == _RUN:
            close(key, i)
        if part.kind == "open":
            opened.append((i, part))
            count[key] += 1
    return found + [Span(begin, len(parts), marker.name) for begin, marker in opened]

"""The parts of an example: the positions of its fields, and the kinds of the words between them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from acc.keyless.lookalikes import is_hearsay
from acc.keyless.reading import longest_of
from acc.keyless.sentences import plain
from acc.keyless.shapes import ARTICLES, Shape, shape_of
from acc.keyless.words import Word, forms
from acc.state.items import Item

BE = frozenset(
    forms(
        """is are was were 's 're been remains stays went goes got gets became becomes turned keeps"""
    )
)
"""Verbs that state in which condition something is."""

CONJUNCTIONS = frozenset(("and", "but", "so"))
PASSED_OVER = ARTICLES | frozenset(
    forms(
        """now still currently again already just also fully completely only both all has have had
        've therefore"""
    )
)
"""Words that do not change the meaning."""

LEADS = (
    PASSED_OVER
    | CONJUNCTIONS
    | frozenset(
        forms(
            """i we 'm ok okay fyi update well then yes right hi hello note status news quick record
            heads-up correct confirmed good morning afternoon"""
        )
    )
)
"""Words that may open a sentence before its content."""

CONDITIONS = frozenset(
    forms("if unless once until till when provided only except after before subject assuming as")
)
"""Words that begin a condition. A statement under a condition does not hold without it."""

TIMES = frozenset(forms("for on at by from until during in within before"))
JOINS = CONDITIONS | TIMES | frozenset(forms("up under over within with without by"))
"""Words that begin a text directly after another: a condition or a limit."""

LONGEST_NAME = 120


class Choices(NamedTuple):
    """The words for the values of a choice."""

    ways: tuple[tuple[tuple[str, ...], str], ...]


class Element(NamedTuple):
    """A part of a pattern.

    Attributes:
        kind: A word, a verb of state, a break, a choice, or a field.
        name: The form of the word, or the name of the field.
        shape: The shape of a field's values.
        joined: Whether a field's text follows without a break: "approved once Kim signs".
        choices: The words of a choice.
    """

    kind: Literal["word", "be", "break", "choice", "field"]
    name: str = ""
    shape: Shape = "clause"
    joined: bool = False
    choices: Choices = Choices(())


@lru_cache(maxsize=256)
def choices_of(item: type[Item], name: str) -> Choices:
    """The words for the choices of a field; empty if the field is no choice."""
    annotation = item.model_fields[name].annotation
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    ways = []
    for value in (value for value in values if isinstance(value, str)):
        said = forms(value.replace("_", " "))
        ways += [(said, value)] + ([(("".join(said),), value)] if len(said) > 1 else [])
    return Choices(tuple(sorted(ways, key=lambda way: -len(way[0]))))


def is_short(item: type[Item], name: str) -> bool:
    """Whether a field holds a name rather than a line."""
    return longest_of(item, name, unbound=LONGEST_NAME + 1) <= LONGEST_NAME


def elements_of(
    item: type[Item], fields: Mapping[str, Any], words: Sequence[Word], text: str
) -> list[Element]:
    at = _places(item, fields, words, text)
    found: list[Element] = []
    i = 0
    while i < len(words):
        place = at.get(i)
        if place is not None:
            end, element = place
            found.append(element)
            i = end
            continue
        said = _literal(words[i], opens=not found, breaks=is_break(found))
        if said is not None and not (said.kind == "break" and is_break(found)):
            found.append(said)
        i += 1
    while found and found[-1].kind == "break":
        found.pop()
    return found


_PASSIVE = re.compile(
    r"(?<!\bI )\b(?:is|are|was|were|been|be) (?:proposed|suggested|recommended|announced|mentioned|"
    r"stated|demanded|argued)\b(?! that\b)",
    re.I,
)


@lru_cache(maxsize=512)
def is_reported(words: str) -> bool:
    """Whether a sentence reports another person's words; "CHG-1 is proposed" does not."""
    return is_hearsay(_PASSIVE.sub("is set", words))


def is_break(found: Sequence[Element]) -> bool:
    """Whether a break would add nothing: at the beginning, or after another break."""
    return not found or found[-1].kind == "break"


def _literal(word: Word, *, opens: bool, breaks: bool) -> Element | None:
    if word.is_break:
        return Element("break")
    if word.is_mark or word.form in PASSED_OVER or (opens and word.form in LEADS):
        return None
    if breaks and word.form in CONJUNCTIONS:
        return None
    return Element("be") if word.form in BE else Element("word", word.form)


def _places(
    item: type[Item], fields: Mapping[str, Any], words: Sequence[Word], text: str
) -> dict[int, tuple[int, Element]]:
    """Each field's end position and element, by the index of its first word."""
    found: dict[int, tuple[int, Element]] = {}
    taken: set[int] = set()
    free = [
        n for n, v in fields.items() if isinstance(v, str) and v and not choices_of(item, n).ways
    ]
    for name in sorted(free, key=lambda n: -len(str(fields[n]))):
        value = plain(str(fields[name]))
        place = _find(value, words, text, taken)
        if place is not None:
            start, end = place
            taken.update(range(start, end))
            shape = shape_of(value, opens=start == 0, is_short=is_short(item, name))
            found[start] = (end, Element("field", name, shape))
    for name in (n for n in fields if choices_of(item, n).ways):
        choices = choices_of(item, name)
        said = next((way for way, value in choices.ways if value == fields[name]), ())
        for start in range(len(words)):
            inside = range(start, start + len(said))
            if not taken & set(inside) and _says(words, start, said):
                found[start] = (start + len(said), Element("choice", name, choices=choices))
                taken.update(inside)
                break
    return _shaped(found, words)


def _says(words: Sequence[Word], start: int, said: tuple[str, ...]) -> bool:
    return tuple(word.form for word in words[start : start + len(said)]) == said


def _shaped(
    found: dict[int, tuple[int, Element]], words: Sequence[Word]
) -> dict[int, tuple[int, Element]]:
    """Change a field's shape to a phrase if a word other than a break follows, else to a clause."""
    shaped = {}
    for start, (end, element) in found.items():
        follows = end < len(words) and not words[end].is_mark
        if element.kind == "field" and element.shape == "clause":
            joins = start > 0 and not words[start - 1].is_break and words[start].form in JOINS
            shape: Shape = "phrase" if follows else "clause"
            element = element._replace(shape=shape, joined=joins and not follows)
        shaped[start] = (end, element)
    return shaped


def _find(value: str, words: Sequence[Word], text: str, taken: set[int]) -> tuple[int, int] | None:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + 45) + 1):
            said = text[words[start].start : words[end - 1].end]
            if len(said) > len(value):
                break
            if said.casefold() == value.casefold() and not taken & set(range(start, end)):
                return start, end
    return None

"""Patterns of words and fields from a slot's examples, with variants without optional parts.

"CHG-4412 is approved for Wed 02:00", an example of a change with its window, gives

    code  BE  one of the stages  for  when

and, because a window may be known already, the same pattern without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args, get_origin

from acc.keyless.domain_shapes import ARTICLES, Shape, shape_of
from acc.keyless.lookalikes import is_hearsay
from acc.keyless.reading import longest_of
from acc.keyless.sentences import plain, sentences
from acc.keyless.words import Word, form_set, forms, places_of, words_in
from acc.state.items import Item
from acc.state.slots import Example, SlotField
from acc.text.ranking import terms
from acc.turn.observations import Trust

BE = form_set(
    "is are was were 's 're been remains stays went goes got gets became becomes turned keeps"
)
"""Verbs that state in which condition something is."""

CONJUNCTIONS = frozenset(("and", "but", "so"))

PASSED_OVER = ARTICLES | form_set(
    """now still currently again already just also fully completely only both all has have had 've
    therefore"""
)
"""Words that do not change the meaning."""

LEADS = PASSED_OVER | CONJUNCTIONS | form_set(
    """i we 'm ok okay fyi update well then yes right hi hello note status news quick record
    heads-up correct confirmed good morning afternoon"""
)  # fmt: skip
"""Words that may open a sentence before its content."""

CONDITIONS = form_set(
    "if unless once until till when provided only except after before subject assuming as"
)
"""Words that begin a condition. A statement under a condition does not hold without it."""

TIMES = form_set("for on at by from until during in within before")

JOINS = CONDITIONS | TIMES | form_set("up under over within with without by")
"""Words that begin a text directly after another: a condition or a limit."""

LONGEST_NAME = 120


Ways = tuple[tuple[tuple[str, ...], str], ...]
"""The forms of the words for each value of a choice, the longest first."""


class Element(NamedTuple):
    """A part of a pattern.

    Attributes:
        kind: A word, a verb of state, a break, a choice, or a field.
        name: The form of the word, or the name of the field.
        shape: The shape of a field's values.
        joined: Whether a field's text follows without a break: "approved once Kim signs".
        ways: The words of a choice.
    """

    kind: Literal["word", "be", "break", "choice", "field"]
    name: str = ""
    shape: Shape = "clause"
    joined: bool = False
    ways: Ways = ()


@lru_cache(maxsize=256)
def ways_of(item: type[Item], name: str) -> Ways:
    """The words for the choices of a field; empty if the field is no choice."""
    annotation = item.model_fields[name].annotation
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    ways = []
    for value in (value for value in values if isinstance(value, str)):
        said = forms(value.replace("_", " "))
        ways += [(said, value)] + ([(("".join(said),), value)] if len(said) > 1 else [])
    return tuple(sorted(ways, key=lambda way: -len(way[0])))


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
    free = [n for n, v in fields.items() if isinstance(v, str) and v and not ways_of(item, n)]
    for name in sorted(free, key=lambda n: -len(str(fields[n]))):
        value = plain(str(fields[name]))
        place = _find(value, words, text, taken)
        if place is not None:
            start, end = place
            taken.update(range(start, end))
            shape = shape_of(value, opens=start == 0, is_short=is_short(item, name))
            found[start] = (end, Element("field", name, shape))
    for name in (n for n in fields if ways_of(item, n)):
        ways = ways_of(item, name)
        said = next((way for way, value in ways if value == fields[name]), ())
        for start in places_of(said, words):
            inside = range(start, start + len(said))
            if not taken & set(inside):
                found[start] = (start + len(said), Element("choice", name, ways=ways))
                taken.update(inside)
                break
    return _shaped(found, words)


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


MOST_LEFT_OUT = 3
"""Maximum number of fields that a variant omits."""


class Pattern(NamedTuple):
    """A pattern from an example.

    Attributes:
        elements: Its parts in order.
        fixed: Choices that the example infers from its words, without naming them.
        anchors: Forms that a sentence must contain.
        reports: Whether the example, and therefore a sentence, may repeat another person's words.
        strict: Whether no words may follow that the pattern does not cover.
    """

    elements: tuple[Element, ...]
    fixed: tuple[tuple[str, Any], ...]
    anchors: frozenset[str]
    reports: bool
    strict: bool

    @property
    def names(self) -> frozenset[str]:
        """The fields that the pattern fills."""
        return frozenset(e.name for e in self.elements if e.kind in ("field", "choice"))

    @property
    def chooses(self) -> bool:
        """Whether the pattern contains an explicit choice."""
        return any(e.kind == "choice" for e in self.elements)

    @property
    def speaks(self) -> bool:
        """Whether its words alone identify the subject. Otherwise a sentence also needs a cue."""
        return self.chooses or any(terms(anchor) for anchor in self.anchors)

    @property
    def reads(self) -> bool:
        """Whether its words state exactly the one choice that it implies."""
        return len(self.fixed) == 1 and bool(self.anchors) and not self.chooses


@lru_cache(maxsize=256)
def patterns(slot: SlotField) -> tuple[Pattern, ...]:
    """The patterns from the examples of ``slot``, those with the most fields first."""
    found: dict[tuple[Element, ...], Pattern] = {}
    for example in slot.rules.examples:
        for pattern in _taught(slot, example):
            known = found.setdefault(pattern.elements, pattern)
            # The choices on which two examples with the same words disagree are unknown.
            agreed = tuple(read for read in known.fixed if read in pattern.fixed)
            reports = known.reports or pattern.reports
            found[pattern.elements] = known._replace(fixed=agreed, reports=reports)
    for pattern in [*found.values()]:
        for joined in _joined(pattern, found):
            found.setdefault(joined.elements, joined)
    return tuple(sorted(found.values(), key=lambda p: (-len(p.names), -len(p.anchors))))


def _joined(pattern: Pattern, found: Iterable[tuple[Element, ...]]) -> Iterator[Pattern]:
    """Variants with the last text directly attached, if another example has that text so."""
    may_join = {e.name for elements in found for e in elements if e.joined}
    *front, last = pattern.elements
    if last.name in may_join and front and front[-1].kind == "break":
        joined = last._replace(joined=True, shape="clause")
        yield pattern._replace(elements=(*front[:-1], joined))


def _taught(slot: SlotField, example: Example) -> Iterator[Pattern]:
    item, strict = slot.item, slot.rules.min_trust >= Trust.USER
    fields = dict(example.fields)
    text = _sentence(plain(example.text), str(fields.get(item.head, "")))
    words = words_in(text)
    elements = elements_of(item, fields, words, text)
    named = {e.name for e in elements}
    left = [(name, value) for name, value in fields.items() if name not in named]
    # An example may imply a choice without naming it, never a text.
    fixed = tuple(
        (n, v) for n, v in left if ways_of(item, n) or item.model_fields[n].annotation is bool
    )
    for kept in _variants(item, elements):
        if not set(item.key) <= {e.name for e in kept} | {name for name, _ in fixed}:
            continue
        anchors = frozenset(e.name for e in kept if e.kind == "word")
        tells = any(e.kind in ("choice", "field") and e.name not in item.key for e in kept)
        pattern = Pattern(tuple(kept), fixed, anchors, is_reported(text), strict)
        if tells or anchors:  # only plain words may imply a choice
            yield pattern if pattern.speaks or anchors else pattern._replace(fixed=())


def _sentence(text: str, head: str) -> str:
    said = [sentence.text for sentence in sentences(text, 20)]
    return next((s for s in said if plain(head).casefold() in s.casefold()), text)


def _variants(item: type[Item], elements: Sequence[Element]) -> Iterator[list[Element]]:
    """The elements, and their variants without optional fields."""
    groups = list(_groups(item, elements))[:6]
    for count in range(min(MOST_LEFT_OUT, len(groups)) + 1):
        for left_out in combinations(groups, count):
            gone = set().union(*left_out) if left_out else set()
            if _is_mistaken(elements, groups, gone):
                continue
            kept: list[Element] = []
            for i, element in enumerate(elements):
                if i not in gone and not (element.kind == "break" and is_break(kept)):
                    kept.append(element)
            while kept and kept[-1].kind == "break":
                kept.pop()
            if kept:
                yield kept


def _is_mistaken(elements: Sequence[Element], groups: Sequence[set[int]], gone: set[int]) -> bool:
    """Whether a match would read a kept text in the place of an omitted one."""
    left = [min(group) for group in groups if group <= gone and _is_text(elements, group)]
    kept = [min(group) for group in groups if not group & gone and _is_text(elements, group)]
    return any(other > one for one in left for other in kept)


def _is_text(elements: Sequence[Element], group: set[int]) -> bool:
    """Whether a group is free text without a word that introduces it."""
    kinds = {elements[i].kind for i in group}
    free = any(elements[i].shape in ("phrase", "clause") for i in group if elements[i].name)
    return free and "word" not in kinds


def _groups(item: type[Item], elements: Sequence[Element]) -> Iterator[set[int]]:
    """For each field outside the key: its index and those of the words that introduce it."""
    for i, element in enumerate(elements):
        if element.kind != "field" or element.name in item.key:
            continue
        start = i
        while start and elements[start - 1].kind in ("word", "break"):
            start -= 1
            if elements[start].kind == "break":
                break
        end = i + 1
        if start < i and elements[start].kind == "break":
            while end < len(elements) and elements[end].kind == "word":
                end += 1
        yield set(range(start, end))

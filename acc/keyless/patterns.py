"""Patterns of words and fields from a slot's examples, with variants without optional parts.

"CHG-4412 is approved for Wed 02:00", an example of a change with its window, gives

    code  BE  one of the stages  for  when

and, because a window may be known already, the same pattern without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from acc.keyless.elements import Element, choices_of, elements_of, is_break, is_reported
from acc.keyless.sentences import plain, sentences
from acc.keyless.words import words_in
from acc.state.items import Item
from acc.state.slots import Example, SlotField
from acc.text.ranking import terms
from acc.turn.observations import Trust

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
            found[pattern.elements] = known._replace(
                fixed=_agreed(known.fixed, pattern.fixed), reports=known.reports or pattern.reports
            )
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


def _agreed(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The choices on which two examples with the same words agree. The others are unknown."""
    return tuple(read for read in one if read in other)


def _taught(slot: SlotField, example: Example) -> Iterator[Pattern]:
    item, strict = slot.item, slot.rules.min_trust >= Trust.USER
    fields = dict(example.fields)
    text = _sentence(plain(example.text), str(fields.get(item.head, "")))
    words = words_in(text)
    elements = elements_of(item, fields, words, text)
    named = {e.name for e in elements}
    fixed = tuple(
        (name, value)
        for name, value in fields.items()
        if name not in named and _is_read(item, name)
    )
    for kept in _variants(item, elements):
        left = {e.name for e in kept}
        if not set(item.key) <= left | {name for name, _ in fixed}:
            continue
        anchors = frozenset(e.name for e in kept if e.kind == "word")
        tells = any(e.kind in ("choice", "field") and e.name not in item.key for e in kept)
        pattern = Pattern(tuple(kept), fixed, anchors, is_reported(text), strict)
        if tells or anchors:
            yield pattern if pattern.speaks or _is_shaped(kept) else pattern._replace(fixed=())


def _is_shaped(elements: Sequence[Element]) -> bool:
    """Whether the pattern contains plain words, which may imply a choice."""
    return any(e.kind == "word" for e in elements)


def _is_read(item: type[Item], name: str) -> bool:
    """Whether an example may imply a field without naming it: it is a choice and never a text."""
    return bool(choices_of(item, name).ways) or item.model_fields[name].annotation is bool


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

"""Matches a pattern with a sentence: its words in order, and its fields in their possible places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from acc.keyless.domain_patterns import (
    BE,
    CONDITIONS,
    CONJUNCTIONS,
    JOINS,
    LEADS,
    PASSED_OVER,
    TIMES,
    Element,
    Pattern,
    is_reported,
)
from acc.keyless.domain_shapes import is_when, spans
from acc.keyless.words import Word, form_set, words_in

MOST_WORDS = 60
"""Maximum words of a sentence that patterns are matched with."""

OPEN = form_set(
    """if unless whether when until till suppose provided would could should might once pretend
    imagine someone somebody anyone wonder doubt not never hope wish before stop wait hold ask
    example instance write draft translate template"""
)
"""Words before a statement that leave its truth open."""

_BECAUSE = form_set("because since as")
_WHERE = form_set("for on at by from during in within since")
"""Words that introduce a time or place, not a condition."""

_HAVE = frozenset(("has", "have", "had"))
_MODALS = frozenset(("may", "can", "must", "could", "would", "should", "might"))
_ALIKE = (frozenset(("may", "can")), _BECAUSE)


class Found(NamedTuple):
    """A match of a pattern.

    Attributes:
        fields: Texts by field; several if the sentence lists them.
        pattern: The pattern.
        start: Index of the first word.
        end: Index after the last word.
    """

    fields: Mapping[str, tuple[str, ...]]
    pattern: Pattern
    start: int
    end: int


class Sought(NamedTuple):
    """A sentence to match patterns with.

    Attributes:
        text: The original text.
        words: Its words.
        forms: The forms of its words.
        terse: Whether verbs may be missing, as in tool outputs.
        hearsay: Whether it repeats another person's words.
    """

    text: str
    words: tuple[Word, ...]
    forms: frozenset[str]
    terse: bool
    hearsay: bool

    @classmethod
    def of(cls, text: str, plain: str, *, terse: bool) -> Sought:
        """Build from the verbatim sentence and its text with straight apostrophes."""
        words = words_in(plain)
        return cls(text, words, frozenset(w.form for w in words), terse, is_reported(plain))


def found_by(pattern: Pattern, sought: Sought) -> Found | None:
    """Match ``pattern`` at the start of a sentence or after a break; None without a match."""
    if (
        len(sought.words) > MOST_WORDS
        or sought.hearsay > pattern.reports
        or not _has(pattern, sought)
    ):
        return None
    for start in _starts(sought.words, sought.terse):
        matcher = _Matcher(pattern, sought)
        fields = matcher.match(0, start)
        if fields is not None:
            return Found(fields, pattern, start, matcher.end)
    return None


def _has(pattern: Pattern, sought: Sought) -> bool:
    for anchor in pattern.anchors - TIMES:
        alike = next((group for group in _ALIKE if anchor in group), frozenset((anchor,)))
        if not alike & sought.forms:
            return False
    return all(
        any(set(way) <= sought.forms for way, _ in element.ways)
        for element in pattern.elements
        if element.kind == "choice"
    )


def _starts(words: Sequence[Word], terse: bool) -> Iterator[int]:
    """The positions at which a statement may begin. Nothing before it may leave it open.

    A colon after people's words introduces a text that they write or read out, unless only an
    opener precedes it.
    """
    for i in range(len(words)):
        before = words[:i]
        if any(w.form in OPEN for w in before):
            return
        told = [w for w in before if not w.is_mark and w.form not in LEADS]
        if told and not terse and words[i - 1].text == ":":
            return
        if not before or words[i - 1].is_break or words[i - 1].form in CONJUNCTIONS:
            at = i
            while at < min(i + 4, len(words)) and (words[at].form in LEADS or words[at].is_break):
                at += 1
            yield from range(at, i - 1, -1)


class _Matcher:
    """Matches one pattern with one sentence. Remembers failed positions and tries each once."""

    def __init__(self, pattern: Pattern, sought: Sought) -> None:
        self._elements = pattern.elements
        self._strict = pattern.strict
        self._words = sought.words
        self._sought = sought
        self._dead: set[tuple[int, int]] = set()
        self.end = 0

    def match(self, which: int, at: int) -> dict[str, tuple[str, ...]] | None:
        """The fields from element ``which`` on, matched from word ``at``; None if the match fails."""
        if which == len(self._elements):
            self.end = at
            return {} if self._may_end(at) else None
        if (which, at) in self._dead:
            return None
        element = self._elements[which]
        for texts, end in self._steps(which, element, at):
            rest = self.match(which + 1, end)
            if rest is not None:
                return {element.name: texts, **rest} if texts else rest
        if which and at < len(self._words) and self._passes(at):
            rest = self.match(which, at + 1)
            if rest is not None:
                return rest
        self._dead.add((which, at))
        return None

    def _passes(self, at: int) -> bool:
        """Whether a word is redundant. "may have" leaves a fact open, "have" does not."""
        word, before = self._words[at], self._words[at - 1].form if at else ""
        if word.form in _HAVE and before in _MODALS:
            return False
        return word.form in PASSED_OVER or (word.is_mark and not word.is_break)

    def _steps(
        self, which: int, element: Element, at: int
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        if element.kind == "field":
            yield from self._spans(which, element, at)
        elif element.kind == "choice":
            for way, value in element.ways:
                if tuple(word.form for word in self._words[at : at + len(way)]) == way:
                    yield (value,), at + len(way)
        elif element.kind == "break":
            yield from (((), end) for end in self._breaks(which, at))
        elif element.kind == "be":
            yield from (((), end) for end in self._verbs(at))
        else:
            yield from (((), end) for end in self._spoken(which, element.name, at))

    def _spans(
        self, which: int, element: Element, at: int
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        then = self._elements[which + 1] if which + 1 < len(self._elements) else None
        if element.joined and (at >= len(self._words) or self._words[at].form not in JOINS):
            return
        for span in spans(element.shape, self._words, at, self._sought.text, ends=then is None):
            yield span.texts, span.end

    def _breaks(self, which: int, at: int) -> Iterator[int]:
        if at >= len(self._words):
            return
        word = self._words[at]
        if word.is_break:
            yield at + 1
            if at + 1 < len(self._words) and self._words[at + 1].form == "but":
                yield at + 2
        elif word.form == "but" or word.form in _BECAUSE or self._leads(which + 1, at + 1):
            yield at + 1

    def _leads(self, which: int, at: int) -> bool:
        """Whether "and" precedes the next word of the pattern: "and credit 2310"."""
        if self._words[at - 1].form != "and" or at >= len(self._words):
            return False
        follows = self._elements[which] if which < len(self._elements) else None
        return (
            follows is not None and follows.kind == "word" and follows.name == self._words[at].form
        )

    def _verbs(self, at: int) -> Iterator[int]:
        if at < len(self._words) and self._words[at].form in BE:
            after = at + 1
            yield after + (after < len(self._words) and self._words[after].form == "been")
        elif self._sought.terse:
            yield at

    def _spoken(self, which: int, form: str, at: int) -> Iterator[int]:
        if at >= len(self._words):
            return
        said = self._words[at].form
        alike = any(form in group and said in group for group in _ALIKE)
        if said == form or alike:
            yield at + 1
            return
        follows = self._elements[which + 1] if which + 1 < len(self._elements) else None
        if form in TIMES and follows is not None and follows.shape == "when":
            yield at + 1 if said in TIMES else at

    def _may_end(self, at: int) -> bool:
        """Whether the statement ends here and no condition follows, which the match would lose."""
        while at < len(self._words) and self._passes(at):
            at += 1
        rest = self._words[at:]
        if not rest:
            return True
        first = rest[0]
        then = rest[1].form if len(rest) > 1 else ""
        if first.is_break:
            return then not in CONDITIONS
        if not self._strict and (first.form in _WHERE or is_when(rest[:1])):
            return True
        return first.form in CONJUNCTIONS | _BECAUSE | {"while", "which"}

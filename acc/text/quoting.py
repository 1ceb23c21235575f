"""Finds the words that a model quotes in the messages they come from, and the sentence around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal
from unicodedata import category, normalize

import numpy as np
import regex

from acc.text.normal import Normal, normalised
from acc.text.sentences import TERMINAL, has_word, sentences

LONGEST = 1_000
"""Characters of a sentence that is kept whole. Of a longer one, mostly a paste without points, the quoted words are."""

MOST_SENTENCES = 3
"""Neighbouring sentences over which one quote may reach."""

CUT = "[...]"
GAP = "\n\n"

# Scripts without spaces have no word ends that a quote could miss.
_UNSPACED = r"[\p{lb=ID}\p{lb=SA}\p{lb=CJ}]"
_LETTERS = regex.compile(rf"[\w--{_UNSPACED}]+", regex.V1)
_ELISION = regex.compile(r"\[ ?\.{2,} ?\]|\.{3,}")


@dataclass(frozen=True, slots=True)
class FoundQuote:
    """``text`` is the sentence as written, white space folded, its list's heading in front.

    ``index`` says in which message it begins; ``is_cut`` that it is long and only its words
    around the quote stand here, with "[...]" where others are left out.
    """

    text: str
    index: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class NotFound:
    """``candidates`` are the different sentences of an ambiguous quote."""

    reason: Literal["absent", "ambiguous", "cut_edge"]
    candidates: tuple[str, ...] = ()


def same_words(a: str, b: str) -> bool:
    """Whether both say the same: but for what `normalised` unifies, and punctuation at the end.

    Figures with their units are compared as written, and a question is no statement: "5 Mb" is not "5 MB".
    """
    if _without_end(normalised(a)) != _without_end(normalised(b)):
        return False
    return _figures(a) == _figures(b) and _asks(a) == _asks(b)


def _figures(text: str) -> list[str]:
    """Words with a digit, each with the word behind it."""
    found, is_behind = [], False
    for word in map(_bare, normalize("NFC", text).split()):
        is_figure = any(map(str.isnumeric, word))
        if is_figure or is_behind:
            found.append(word)
        is_behind = is_figure
    return found


def _asks(text: str) -> bool:
    return normalised(text).rstrip("' *_)").endswith(("?", "\u061f"))


def _without_end(text: str) -> str:
    return text.rstrip("".join(char for char in set(text) if TERMINAL.match(char)) + " ")


def _bare(text: str) -> str:
    """Without the punctuation, quotation marks and brackets at both ends. A connector (_) is part of its word."""
    outer = (char for char in set(text) if category(char)[0] == "P" and category(char) != "Pc")
    return text.strip("".join(outer) + " ")


@dataclass(frozen=True, slots=True)
class _Span:
    """Sentences ``first`` to ``last``, and the ranges of the quote's parts in the whole text."""

    first: int
    last: int
    ranges: tuple[tuple[int, int], ...]


class Quotable:
    """Consecutive messages of one speaker in which quotes are looked for.

    It has their sentences, and their normalised text without the marks of list points. ``cut`` says of each message
    whether its start and its end are missing: a sentence, or its heading, that touches such an edge is "cut_edge".
    """

    def __init__(self, messages: Sequence[str], cut: Sequence[tuple[bool, bool]] = ()) -> None:
        self._text = GAP.join(messages)
        self._sentences = sentences(self._text)
        self._firsts = [each.start for each in self._sentences]
        joined = Normal.of(" ".join(each.text for each in self._sentences))
        spread = [np.arange(each.start, each.end + 1) for each in self._sentences]
        places = np.concatenate(spread or [np.arange(0)])
        self._normal = Normal(joined.text, places[joined.starts], places[joined.ends - 1] + 1)
        starts = list(accumulate((len(each) + len(GAP) for each in messages), initial=0))
        self._owners = [bisect_right(starts, first) - 1 for first in self._firsts]
        around = pairwise(pairwise([-1, *self._owners, -1]))
        self._edges = {  # the sentences that begin or end a message where it was cut
            at
            for at, ((before, owner), (_, after)) in enumerate(around)
            if cut and ((cut[owner][0] and before != owner) or (cut[owner][1] and after != owner))
        }

        self._known: dict[str, FoundQuote | NotFound] = {}

    def find(self, quote: str) -> FoundQuote | NotFound:
        """The whole sentence that holds ``quote``.

        Compared is what `normalised` gives; punctuation at the ends of the quote counts only where the quote is a
        sentence in full, which then goes before longer ones with the same words. "..." inside the quote stands for
        words left out. A quote may reach over three neighbouring sentences and has to begin and end where words do.
        In two different sentences it is "ambiguous".
        """
        if quote not in self._known:
            self._known[quote] = self._find(quote)
        return self._known[quote]

    def _find(self, quote: str) -> FoundQuote | NotFound:
        words = normalised(" ".join(each.text for each in sentences(quote)))  # no marks of points
        parts = [part for each in _ELISION.split(words) if has_word(part := _bare(each))]
        spans = (self.spans_with_heading(parts) or self.spans(parts)) if parts else []
        return self.choose(spans, words.strip("' ")) if spans else NotFound("absent")

    def spans(self, parts: Sequence[str]) -> list[_Span]:
        """The tightest stretches of sentences that hold ``parts`` in order."""
        found: list[_Span] = []
        tried = -1
        for start, end in self._occurrences(parts[0]):
            first, last = self._touched(start, end)
            if first == tried or last - first >= MOST_SENTENCES:
                continue
            tried = first  # a later occurrence in this sentence leaves less room to the other parts
            if span := self._complete(first, (start, end), parts[1:]):
                while found and found[-1].last >= span.last:
                    found.pop()  # it holds the same words and more
                found.append(span)
        return found

    def spans_with_heading(self, parts: Sequence[str]) -> list[_Span]:
        """As `spans`, for a quote of a list point with the heading that stands over the list."""
        found: dict[int, _Span] = {}
        for heading in dict.fromkeys(each.heading for each in self._sentences if each.heading):
            front = _bare(normalised(heading))
            rest = _bare(parts[0].removeprefix(front))
            left = [rest, *parts[1:]] if has_word(rest) else parts[1:]
            if not left or not parts[0].startswith(front) or _inside_word(parts[0], len(front)):
                continue
            for span in self.spans(left):
                if self._sentences[span.first].heading == heading:
                    found[span.first] = span
        return list(found.values())

    def _occurrences(
        self, part: str, at: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Where ``part`` stands in the normalised text and begins and ends with words."""
        text = self._normal.text
        at = text.find(part, at, end)
        while at >= 0:
            stop = at + len(part)
            if not _inside_word(text, at) and not _inside_word(text, stop):
                yield at, stop
                at = stop
            else:
                at = _next_word(text, at)
            at = text.find(part, at, end)

    def _complete(self, first: int, head: tuple[int, int], others: Sequence[str]) -> _Span | None:
        ranges = [head]
        room = self._sentences[first : first + MOST_SENTENCES][-1].end
        limit = int(np.searchsorted(self._normal.starts, room))
        for part in others:
            place = next(self._occurrences(part, ranges[-1][1], limit), None)
            if place is None:
                return None
            ranges.append(place)
        last = self._touched(*ranges[-1])[1]
        return _Span(first, last, tuple(self._normal.original(*each) for each in ranges))

    def _touched(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last sentence of a range of the normalised text."""
        start, end = self._normal.original(start, end)
        return bisect_right(self._firsts, start) - 1, bisect_right(self._firsts, end - 1) - 1

    def choose(self, spans: Sequence[_Span], quote: str) -> FoundQuote | NotFound:
        """What stands in ``spans``: one text, or several between which only the user can decide."""
        different: dict[tuple[str, str], tuple[_Span, bool]] = {}
        exact: dict[tuple[str, str], tuple[_Span, bool]] = {}
        for span in spans:
            around = self._sentences[span.first : span.last + 1]
            words, at_edge = normalised(" ".join(s.text for s in around)), self._at_edge(span)
            key = around[0].heading, _without_end(words)
            if key not in different or (different[key][1] and not at_edge):
                different[key] = span, at_edge
            if words.strip("' ") == quote:
                exact[key] = different[key]
        (span, at_edge), *others = (exact or different).values()
        if others:
            shown = (self._found(each).text for each, _ in (exact or different).values())
            return NotFound("ambiguous", tuple(shown))
        return NotFound("cut_edge") if at_edge else self._found(span)

    def _at_edge(self, span: _Span) -> bool:
        heading = f" {self._sentences[span.first].heading} "
        return any(
            span.first <= edge <= span.last or f" {_folded(self._sentences[edge].text)} " in heading
            for edge in self._edges
        )

    def _found(self, span: _Span) -> FoundQuote:
        first, last = self._sentences[span.first], self._sentences[span.last]
        sentences = self._sentences[span.first : span.last + 1]
        texts = [_folded(each.text) for each in sentences]
        whole = texts[0]
        for before, after, text in zip(sentences, sentences[1:], texts[1:], strict=False):
            gap = self._text[before.end : after.start]  # empty where "Mail.Read" was taken for two
            whole += f" {text}" if gap else text
        if is_cut := max(map(len, texts)) > LONGEST:
            whole = self._words_around(span.ranges, first.start, last.end)
            is_cut = CUT in whole
        heading = first.heading if len(first.heading) <= LONGEST else CUT
        text = f"{heading} {whole}".lstrip()
        return FoundQuote(text, self._owners[span.first], is_cut or heading == CUT)

    def _words_around(self, ranges: Sequence[tuple[int, int]], first: int, last: int) -> str:
        """The quoted ranges of a long stretch, with "[...]" for what is left out."""
        kept: list[str] = []
        at = first
        for start, end in ranges:
            while start > at and _glued(self._text[start - 1]):
                start -= 1
            while end < last and _glued(self._text[end]):
                end += 1
            if self._text[at:start].strip():
                kept.append(CUT)
            kept.append(_folded(self._text[start:end]))
            at = max(at, end)
        return " ".join([*kept, CUT] if self._text[at:last].strip() else kept)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _glued(char: str) -> bool:
    """Whether a reader takes ``char`` as part of the word beside it, like a point or an apostrophe."""
    return bool(_LETTERS.match(char)) or category(char)[0] in "PSM"


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(map(_LETTERS.match, text[at - 1 : at + 1]))


def _next_word(text: str, at: int) -> int:
    letters = _LETTERS.match(text, at)
    return letters.end() if letters else at + 1

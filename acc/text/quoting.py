"""Finds the words that a model quotes in the messages they come from, and the sentence around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

# Scripts without spaces have no word ends that a quote could miss.
_UNSPACED = r"[\p{lb=ID}\p{lb=SA}\p{lb=CJ}]"
_LETTERS = regex.compile(rf"[\w--{_UNSPACED}]+", regex.V1)


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
    """Sentences ``first`` to ``last``, and where the quote begins and ends in the text."""

    first: int
    last: int
    start: int
    end: int


class Quotable:
    """A message in which quotes are looked for: its sentences, and their normalised text without marks of list points.

    ``cut_start`` and ``cut_end`` say whether its start and its end are missing: a sentence, or its heading, that
    touches such an edge is "cut_edge".
    """

    def __init__(self, text: str, cut_start: bool = False, cut_end: bool = False) -> None:
        self._text = text
        self._sentences = sentences(text)
        self._firsts = [each.start for each in self._sentences]
        joined = Normal.of(" ".join(each.text for each in self._sentences))
        spread = [np.arange(each.start, each.end + 1) for each in self._sentences]
        places = np.concatenate(spread or [np.arange(0)])
        self._normal = Normal(joined.text, places[joined.starts], places[joined.ends - 1] + 1)
        self._edges = [*self._sentences[:1]] * cut_start + [*self._sentences[-1:]] * cut_end
        self._known: dict[str, str | NotFound] = {}

    def find(self, quote: str) -> str | NotFound:
        """The whole sentence that holds ``quote``, as written, white space folded, its list's heading in front.

        Of a long one the words around the quote stand, with "[...]" where others are left out. Compared is what
        `normalised` gives; punctuation at the ends of the quote counts only where the quote is a sentence in full,
        which then goes before longer ones with the same words. A quote may reach over three neighbouring sentences and
        has to begin and end where words do. In two different sentences it is "ambiguous".
        """
        if quote not in self._known:
            self._known[quote] = self._find(quote)
        return self._known[quote]

    def _find(self, quote: str) -> str | NotFound:
        words = normalised(" ".join(each.text for each in sentences(quote)))  # no marks of points
        bare = _bare(words)
        spans = (self._with_heading(bare) or self._spans(bare)) if has_word(bare) else []
        return self._chosen(spans, words.strip("' ")) if spans else NotFound("absent")

    def _spans(self, words: str) -> list[_Span]:
        """The tightest stretches of sentences that hold ``words``."""
        found: list[_Span] = []
        tried = -1
        for start, end in self._occurrences(words):
            first, last = (bisect_right(self._firsts, at) - 1 for at in (start, end - 1))
            if first == tried or last - first >= MOST_SENTENCES:
                continue
            tried = first
            while found and found[-1].last >= last:
                found.pop()  # it holds the same words and more
            found.append(_Span(first, last, start, end))
        return found

    def _with_heading(self, words: str) -> list[_Span]:
        """As `_spans`, for a quote of a list point with the heading that stands over the list."""
        found: dict[int, _Span] = {}
        for heading in dict.fromkeys(each.heading for each in self._sentences if each.heading):
            front = _bare(normalised(heading))
            rest = _bare(words.removeprefix(front))
            if has_word(rest) and words.startswith(front) and not _inside_word(words, len(front)):
                spans = self._spans(rest)
                found |= {s.first: s for s in spans if self._sentences[s.first].heading == heading}
        return list(found.values())

    def _occurrences(self, words: str) -> Iterator[tuple[int, int]]:
        """Where ``words`` stand in the text and begin and end with words."""
        text = self._normal.text
        at = text.find(words)
        while at >= 0:
            stop = at + len(words)
            is_whole = not _inside_word(text, at) and not _inside_word(text, stop)
            if is_whole:
                yield self._normal.original(at, stop)
            at = text.find(words, stop if is_whole else _next_word(text, at))

    def _chosen(self, spans: Sequence[_Span], quote: str) -> str | NotFound:
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
            shown = (self._found(each) for each, _ in (exact or different).values())
            return NotFound("ambiguous", tuple(shown))
        return NotFound("cut_edge") if at_edge else self._found(span)

    def _at_edge(self, span: _Span) -> bool:
        around = self._sentences[span.first : span.last + 1]
        heading = f" {around[0].heading} "
        return any(edge in around or f" {_folded(edge.text)} " in heading for edge in self._edges)

    def _found(self, span: _Span) -> str:
        sentences = self._sentences[span.first : span.last + 1]
        texts = [_folded(each.text) for each in sentences]
        whole = texts[0]
        for before, after, text in zip(sentences, sentences[1:], texts[1:], strict=False):
            gap = self._text[before.end : after.start]  # empty where "Mail.Read" was taken for two
            whole += f" {text}" if gap else text
        if max(map(len, texts)) > LONGEST:
            whole = self._words_around(span, sentences[0].start, sentences[-1].end)
        heading = sentences[0].heading
        return f"{heading if len(heading) <= LONGEST else CUT} {whole}".lstrip()

    def _words_around(self, span: _Span, first: int, last: int) -> str:
        """The quoted words of a long stretch, with "[...]" for what is left out."""
        start, end = span.start, span.end
        while start > first and _glued(self._text[start - 1]):
            start -= 1
        while end < last and _glued(self._text[end]):
            end += 1
        before = CUT if self._text[first:start].strip() else ""
        after = CUT if self._text[end:last].strip() else ""
        return " ".join(filter(None, (before, _folded(self._text[start:end]), after)))


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

"""Finds the sentences of a message, each as it was written, and the heading of each list point.

On tests/core/text/labelled.py (123 texts, 17 languages, 130 ends inside them), texts right / false
ends / missed ends: this 104/10/12; sentencex told the language 103/12/11, as English 92/29/10; pysbd
told it 95/19/14, as English 74/42/20; ICU with abbreviations 88/25/14; uniseg (UAX #29) 76/42/14.
An end counts where sentencex sees one both in English and in the language that py3langid takes the
message for (right for 121 of the texts).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex
import sentencex
from py3langid.langid import MODEL_FILE, LanguageIdentifier

MOST_AT_ONCE = 4_000
"""Characters that the library reads at once: with unclosed quotation marks it takes quadratic time."""

FOR_LANGUAGE = 2_000
"""Characters at the head of a message that tell its language."""

READ_TWICE = 8_000
"""Characters of a text that are read in its own language, too: in three languages the library takes 0.05 ms an end."""

NARROWEST = 50
"""Nobody wraps lines in fewer columns: a shorter line was ended by its writer."""

LONGEST_WORD = 20
"""Columns for which a line is wrapped at most: a script without spaces can be wrapped anywhere."""

# A point: a mark that stands alone before white space, or a number or letter as lists have them.
_POINT = regex.compile(
    r"(?:[^\w\s\p{Quotation_Mark}\p{Terminal_Punctuation}\p{Ps}\p{Pi}]{1,3}"
    r"|\p{Nd}{1,3}\.|\(?(?:\p{Nd}{1,3}|\p{L})\))\s+(?=\S)"
)
# Signs may stand before the first letter of a line. In caseless scripts each letter can begin a sentence.
_BEGINS = regex.compile(r"[^\w\s]*+\s?[\p{Lu}\p{Lt}\p{Lo}]")
_GOES_ON = regex.compile(r"[[\p{Terminal_Punctuation}]--[\p{Sentence_Terminal}]]\W*$", regex.V1)
_ENDED = regex.compile(r"\p{Sentence_Terminal}\W*$", regex.V1)
_IN_SENTENCE = regex.compile(r"\W*\p{Ll}", regex.V1)
TERMINAL = regex.compile(r"\p{Terminal_Punctuation}")


@cache
def identifier() -> Any:
    """Return the model that tells the language of a text. Loading it takes half a second."""
    return LanguageIdentifier.from_model_file(MODEL_FILE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """``text`` is ``whole[start:end]`` without outer white space.

    ``heading`` is what the sentence goes on from: the line over the list of which it is part, or a line before
    it that has no end of its own.
    """

    start: int
    end: int
    text: str
    heading: str = ""


def sentences(text: str) -> list[Sentence]:
    """The sentences of ``text`` in order; those without a letter or digit count to the one before.

    A line break ends a sentence at an empty line, before a list point, and where the next line
    begins like a sentence (capital or caseless letter) although its first word had room on the
    line before, unless that line ends with a comma or colon. All other breaks join, so that a
    mail wrapped at 72 columns keeps its sentences. Elsewhere a library of abbreviations decides.
    """
    reader = _Reader(text)
    for line in text.splitlines(keepends=True):
        reader.read(line)
    reader.close()
    return reader.found


def has_word(text: str) -> bool:
    """Whether ``text`` has a letter or digit."""
    return any(map(str.isalnum, text))


class _Reader:
    """Reads a message line by line. A run is a stretch of lines whose breaks end no sentence."""

    def __init__(self, text: str) -> None:
        self.found: list[Sentence] = []
        self._text = text
        self._language: str | None = None
        self._twice = 0  # characters that were read in two languages
        self._at = 0  # where the next line begins
        self._start = 0  # where the run begins
        self._run: list[str] = []  # its lines, each break as spaces, so that places stay the same
        self._last = ""  # its last line
        self._width = NARROWEST  # the longest line since the last empty one
        self._levels: list[tuple[int, str]] = []  # indent and heading of each open list
        self._lead = ""  # what the run goes on from

    def read(self, line: str) -> None:
        body = line.rstrip()
        begins = body.lstrip()
        indent = len(body) - len(begins)
        point = _POINT.match(begins)
        if not has_word(body):  # empty, or a rule or fence
            self.close()
            self._width = NARROWEST
        elif point:
            self.close()
            self._open_list(indent)
            self._append(line, body, indent + point.end())
        else:
            if self._ended_before(begins, len(body)):
                self.close()
                if self._levels and indent <= self._levels[-1][0]:
                    self._levels = []
            self._append(line, body, indent)
        self._at += len(line)

    def close(self) -> None:
        """Find the sentences of the run."""
        run, self._run = "".join(self._run), []
        heading = self._levels[-1][1] if self._levels else self._lead
        for start, end in _with_words(run, self._ends(run)):
            at = self._start + end - len(run[start:end].lstrip())
            stop = self._start + start + len(run[start:end].rstrip())
            self.found.append(Sentence(at, stop, self._text[at:stop], heading))
            heading = heading if self._levels else ""

    def _append(self, line: str, body: str, skipped: int) -> None:
        if not self._run:
            self._start = self._at + skipped
            self._lead = self._unended(body[skipped:])
            self._run.append(body[skipped:])
        else:
            self._run.append(body)
        self._run.append(" " * (len(line) - len(body)))
        self._last = body
        self._width = max(self._width, len(body))

    def _unended(self, begins: str) -> str:
        """Return the sentence before, if it has no end and ``begins`` goes on with it, as below "Do not"."""
        before = self.found[-1] if self.found else None
        if before is None or _ENDED.search(before.text[-9:]):
            return ""
        goes_on = _GOES_ON.search(before.text[-9:]) or _IN_SENTENCE.match(begins)
        return f"{before.heading} {' '.join(before.text.split())}".lstrip() if goes_on else ""

    def _ended_before(self, begins: str, length: int) -> bool:
        """Whether the writer broke the line for a new sentence, and not for want of columns."""
        if not self._run:
            return True
        word = min(len(begins.split(maxsplit=1)[0]), LONGEST_WORD)
        had_room = len(self._last) + 1 + word <= max(self._width, length)
        return had_room and bool(_BEGINS.match(begins)) and not _GOES_ON.search(self._last[-9:])

    def _open_list(self, indent: int) -> None:
        """The line before the first point is its heading, if no mark ends it."""
        while self._levels and self._levels[-1][0] > indent:
            self._levels.pop()
        if self._levels and self._levels[-1][0] == indent:
            return
        outer = self._levels[-1][1] if self._levels else ""
        before = self.found[-1].text if self.found else ""
        if before and not _ENDED.search(before[-9:]):
            outer = f"{outer} {' '.join(before.split())}".lstrip()
        self._levels.append((indent, outer))

    def _ends(self, run: str) -> Iterator[int]:
        """Where sentences end in ``run``, its own end last."""
        at = 0
        while len(run) > at + MOST_AT_ONCE and run:
            # What the library says of the last end of a window depends on what follows.
            ends = self._library_ends(run[at : at + MOST_AT_ONCE])[:-1]
            yield from (at + end for end in ends)
            at += max([MOST_AT_ONCE // 2, *ends[-1:]])
        yield from (at + end for end in self._library_ends(run[at:]))

    def _library_ends(self, run: str) -> list[int]:
        if not TERMINAL.search(run.rstrip()[:-1]):
            return [len(run)] if run else []
        if self._language is None:
            head = _without_halves(self._text[:FOR_LANGUAGE])
            self._language, _ = identifier().classify(head)
        ends = _ends_in("en", run)
        if self._language != "en" and self._twice < READ_TWICE:
            self._twice += len(run)
            ends &= _ends_in(self._language, run)
        return sorted(ends)


def _ends_in(language: str, run: str) -> set[int]:
    return {
        each["end_index"] - len(each["text"]) + len(each["text"].rstrip())
        for each in sentencex.get_sentence_boundaries(language, _without_halves(run))
    }


def _without_halves(text: str) -> str:
    """The libraries take no half of a surrogate pair; a letter in its place changes no sentence."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("x" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _with_words(run: str, ends: Iterable[int]) -> list[tuple[int, int]]:
    """Stretches of ``run``. One without a word, as of an emoji, is part of its neighbour."""
    found: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        if has_word(run[start:end]):
            found.append((start, end))
        elif found:
            found[-1] = (found[-1][0], end)
        else:
            continue
        start = end
    return found

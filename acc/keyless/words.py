"""Words of a sentence, the detection of other languages, and the cues of a new topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.text.patterns import any_of, cue, one_of
from acc.text.ranking import terms

HEAD = 2_000
"""Maximum characters that are examined."""

_LETTER = re.compile(r"[^\W\d_]")
_OURS = cue(
    """the, and, of, is, it, you, we, for, that, with, have, this, my, your, please, to, are,
    will, be, if, what, can, don't, not, it's, they, from, by, at, has, but, all, our, how,
    when, should, must, only, any, every, never, always, i'm, i'd, i'll, i've"""
)
_THEIRS = re.compile(
    r"(?<![\w.@/-])" + one_of(
        """und, der, das, ist, nicht, ein, eine, einen, mit, für, auf, den, dem, ich, wir, sie,
        bitte, bevor, de, la, le, les, el, los, las, que, et, est, pas, une, du, dans, vous, nous,
        sur, por, para, con, una, del, se, favor, antes, não, uma, em, os, het, een, niet, voor,
        och, att, det, som, på, är, il, che, di, è, gli, nie, jest, się, im, zum, zur, vor, nach, war,
        alle, ne, un, mon, au, aux, en, mi, al, op, ja, si, sin, danke, merci, bonjour, gracias,
        grazie, hola, guten, morgen"""
    ) + r"(?![\w@/-])",
    re.I,
)  # fmt: skip
"""Function words of other languages. A name may contain one or two of them."""

_SURELY_THEIRS = re.compile(
    r"(?<![\w.@/-])" + one_of(
        """nicht, kein, keine, keinen, niemals, immer, ohne, mein, meine, dein, unser, über, zeiten,
        vor, uhr, auf, mach, warten, brauchen, (?:mon|diens|donners|frei|sams|sonn)tags?, mittwochs?, deutsch,
        jamais, toujours, sans, avec, pas, votre, notre, aucun, aucune, avant, c'est, s'il, n'envoie,
        lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche, français, nunca, siempre,
        hasta, pero, también, lunes, martes, miércoles, jueves, viernes, sábado, domingo, español, ningún,
        senza, sempre, venerdì, nooit, altijd, zonder, geen, nigdy, zawsze, bez, aldrig"""
    ) + r"(?![\w@/-])",
    re.I,
)  # fmt: skip
"""Words of other languages that names rarely contain. One suffices if no English word occurs."""


def is_foreign(words: str) -> bool:
    """Whether ``words`` are in another script, or have more function words of other languages.

    Text without words of any language, such as code and identifiers, is not foreign.
    """
    head = words[:HEAD]
    letters = [] if head.isascii() else _LETTER.findall(head)
    if 2 * sum(letter.isascii() for letter in letters) < len(letters):
        return True
    theirs, ours = len(_THEIRS.findall(head)), len(_OURS.findall(head))
    if not ours and _SURELY_THEIRS.search(head):
        return True
    return theirs >= 2 and theirs > ours


BREAKS = frozenset(",;:–—-(")
"""Marks between the parts of a sentence."""

_CLOSING = frozenset('.!?)"”…')
_LEADING = "(\"“'"
_TRAILING = ",;:.!?)\"”…'"
_SHORT = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)$", re.I)
_LABEL = re.compile(r"([A-Za-z]{2,}):(?=[A-Za-z])(?!//)")
_ALONE = frozenset("-–—(,;:")


class Word(NamedTuple):
    """A word or a mark of a sentence.

    Attributes:
        text: The original text.
        form: Its lower-case stem without hyphens; for a mark, the mark itself.
        start: Index of its first character.
        end: Index after its last character.
    """

    text: str
    form: str
    start: int
    end: int

    @property
    def is_break(self) -> bool:
        """Whether the mark separates parts of the sentence."""
        return self.text in BREAKS

    @property
    def is_mark(self) -> bool:
        """Whether it is a mark rather than a word."""
        return self.text in BREAKS or self.text in _CLOSING


@lru_cache(maxsize=512)
def words_in(sentence: str) -> tuple[Word, ...]:
    """The words and marks of ``sentence`` in order. The sentence must have straight apostrophes.

    A mark within a word ("09:00", "203.0.113[.]7") is part of it. "'s" and the colon of a label
    ("TLP:AMBER") are separate.
    """
    return tuple(
        Word(sentence[start:end], _form(sentence[start:end]), start, end)
        for chunk in re.finditer(r"\S+", sentence)
        for start, end in _parts(sentence, chunk.start(), chunk.end())
    )


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    if text[start:end] in _ALONE:
        return [(start, end)]
    before: list[tuple[int, int]] = []
    after: list[tuple[int, int]] = []
    while start < end and text[start] in _LEADING:
        before.append((start, start + 1))
        start += 1
    while start < end and text[end - 1] in _TRAILING:
        after.insert(0, (end - 1, end))
        end -= 1
    parts = [p for p in before if text[p[0]] == "("]
    label = _LABEL.match(text, start, end)
    if label:
        colon = label.end() - 1
        parts += [(start, colon), (colon, colon + 1)]
        start = colon + 1
    short = _SHORT.search(text[start:end])
    if short:
        parts += [(start, start + short.start()), (start + short.start(), end)]
    elif start < end:
        parts.append((start, end))
    return [*parts, *(p for p in after if text[p[0]] not in "'\"”")]


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    folded = text.casefold().replace("-", "") or text
    stems = terms(folded) if folded.isalpha() else []
    return stems[0] if len(stems) == 1 else folded


def forms(text: str) -> tuple[str, ...]:
    """The forms of the words of a text, without marks."""
    return tuple(word.form for word in words_in(text) if not word.is_mark)


def form_set(text: str) -> frozenset[str]:
    """The `forms` of a text, without order."""
    return frozenset(forms(text))


def places_of(said: tuple[str, ...], words: Sequence[Word]) -> Iterator[int]:
    """The positions in ``words`` at which the forms ``said`` begin, in order."""
    for start in range(len(words)):
        if tuple(word.form for word in words[start : start + len(said)]) == said:
            yield start


def word_set(text: str) -> frozenset[str]:
    """The words of a text, split at white space."""
    return frozenset(text.split())


NEW_TOPIC = any_of(
    r"^\W*(?:new|next|another|different) " + one_of(
        "topic, subject, matter, thing, project, case, patient, client, ticket, question"
    ),
    r"\b(?:switching|moving on|turning|let's (?:move|turn|switch|get on)) to\b",
    r"\bchange of (?:topic|subject)\b|\b(?:forget|leave) (?:all )?that(?: for now)?,",
    r"\b(?:on|to) (?:another|a different) (?:topic|note|subject|matter)\b",
)  # fmt: skip
"""Cues of a new topic."""

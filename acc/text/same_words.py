"""Decides whether two texts state the same rule: the same words except inflection, order and politeness.

It errs towards "different": two rules kept apart cost a line, but a rule taken for another is lost.
Inflection is English; in other languages only the same words are the same.
"""

from __future__ import annotations

import re

from acc.text.caching import cached_by_text
from acc.text.figures import in_digits
from acc.text.ranking import terms

_TOKEN = re.compile(r"[^\W_]+(?:[-._:/@][^\W_]+)*|[€$£¥%<>=≤≥≠+&#❌✗✘❎🚫⛔👎]|~~|[,;:.!?()\n–—…]")
PAUSES = frozenset(",;:.!?()\n–—…")
"""Characters that end a phrase."""

_THOUSANDS = re.compile(r"(?<=\d)[ ,'’_](?=\d{3}\b)")
_NOT = re.compile(
    r"\b(?:can)?not\b|(?<=\w)n['’]t\b|\b(?:do|does|did|is|are|wo|ca|must|should)nt\b|\bnever\b|\bno\b(?! longer)",
    re.I,
)
_ENDING = re.compile(r"['’](?:s|ll|d|ve|re|m)?(?!\w)", re.I)
_REMINDER = re.compile(
    r"^\W*(?:(?:and|also|but|so|well|ok(?:ay)?|hi|hello|hey|again|please|pls|kindly|once (?:more|again)"
    r"|(?:as|like) (?:I|we) (?:said|told you|asked)(?: (?:before|earlier|already))?"
    r"|as (?:before|agreed|always)|(?:just )?(?:a |to )?(?:remind(?:er| you)?|repeat)(?: that)?"
    r"|(?:please )?remember(?: that)?|could you|would you|can you|I repeat)\b\W*)+",
    re.I,
)
_EMPTY_WORDS = """
    a an the am is are was were be been being do does did doing must should shall will would ever
    also please pls kindly thanks thank
"""
EMPTY = frozenset(_EMPTY_WORDS.split())
"""Words that do not change what a rule requires."""

_OPENING_WORDS = """
    not always only to from of in into on onto at by with without for before after until till during
    between under over above below through via against about near off out up down per as than within
    outside inside since and or if when unless while because but
"""
_OPENS = frozenset(_OPENING_WORDS.split())
"""Words that begin a phrase. Phrases may change places."""

Phrase = tuple[tuple[str, str], ...]


def same_words(one: str, other: str) -> bool:
    """Whether ``one`` and ``other`` differ only in inflection, order of phrases and politeness.

    Every other word counts: "before noon" is not "after noon".
    """
    if one.casefold() == other.casefold():
        return True
    mine = phrases(one)
    return mine == phrases(other) != ()


def sets_figure(text: str, old: str, quote: str) -> bool:
    """Whether ``text`` is ``old``, word for word, with other numbers that are all numbers of ``quote``.

    A number in words replaces only another number in words.
    """
    new, before = (in_digits(each).strip(" .").split() for each in (text, old))
    changed = [pair for pair in zip(new, before, strict=False) if pair[0] != pair[1]]
    if len(new) != len(before) or not changed:
        return False
    said = _DIGITS.findall(in_digits(quote))
    return all(
        _DIGITS.sub("0", one) == _DIGITS.sub("0", other)
        and all(figure in said for figure in _DIGITS.findall(one))
        for one, other in changed
    )


_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*k?\b")


@cached_by_text
def phrases(text: str) -> tuple[Phrase, ...]:
    """Return the phrases of ``text``, each a tuple of words without inflection.

    They are sorted if all first words differ. If two begin alike ("A to B, and C to D"), the
    order carries meaning and stays.
    """
    found = _phrases(text)
    heads = [phrase[0] for phrase in found]
    return tuple(sorted(found)) if len(set(heads)) == len(heads) else tuple(found)


def tokens(text: str) -> list[str]:
    """Return words, names, numbers, signs and pauses of ``text`` in order, without leading politeness.

    Every plain negation becomes "not".
    """
    plain = _THOUSANDS.sub("", _REMINDER.sub("", text))
    found: list[str] = _TOKEN.findall(_ENDING.sub("", _NOT.sub(" not ", plain)))
    return found


def _phrases(text: str) -> list[Phrase]:
    found: list[list[tuple[str, str]]] = []
    is_new = True
    for token in map(str.lower, tokens(text)):
        if token in PAUSES:
            is_new = True
        elif token not in EMPTY:
            if is_new or token in _OPENS:
                found.append([])
            found[-1].append(uninflected(token))
            is_new = False
    return [tuple(phrase) for phrase in found]


def uninflected(word: str) -> tuple[str, str]:
    """Return a word's stem and the word without a plural or verb ending.

    Both are needed: the stem equates "policy" and "police", the ending "plane" and "plan".
    """
    if not word.isalpha():
        return word, ""
    stem = terms(word)
    return (stem[0], _base(word)) if stem else (word, "")


_SUFFIX = re.compile(r"(?<=[a-z]{2})(?:(?<=[sxz])es|(?<=[cs]h)es|(?<![suiw])s|ing|(?<!e)ed)$")
_VOWEL = re.compile(r"[aeiouy]")


def _base(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return f"{word[:-3]}y"
    cut = _SUFFIX.sub("", word)
    cut = cut if _VOWEL.search(cut) else word
    doubled = cut != word and len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "lsz"
    return (cut[:-1] if doubled else cut).removesuffix("e")

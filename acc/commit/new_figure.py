"""Law 7: decides whether words put another figure in the place of one that a rule has.

"Make it 7 instead of 6", "the limit is 300 euros now".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.commit.about import COMMON, about, content, says
from acc.state.items import Item
from acc.text.figures import CURRENCIES, figures, is_near, quantities
from acc.text.one_case import is_for_once
from acc.text.wording import marks, polarity, stems

NAMED = 1 / 3
"""Minimum share of content words that a lifting and the item have in common."""

CHANGES = re.compile(
    r"\b(?:now|instead|rather than|change (?:of|that|it|the)|(?:is|are|was|has|have) changed|correction|scratch|"
    r"(?:make|call) (?:it|that|the|them)|go(?:es)? (?:up|down)? ?to|raised?|lower(?:ed)?|extend(?:ed)?|"
    r"move[ds]?|push(?:ed)?|shift(?:ed)?|switch(?:ed)?|relax(?:ed)?|from (?:\w+ )?(?:on(?:wards?)?|today|now|"
    r"tonight|here|this|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|as of|starting|henceforth|enough|"
    r"will do|new (?:limit|budget|deadline|date|cap)|until now|not .{0,30}but|"
    r"ab (?:jetzt|heute|sofort)|stattdessen|doch|désormais|dorénavant|à la place|a partir de|"
    r"en (?:lugar|vez)|agora)\b|変更|もう",
    re.I,
)
PERMITS = re.compile(
    r"\b(?:you|we|they|he|she|anyone|everyone|everybody) (?:can|may)\b|\b(?:go ahead|free to)\b",
    re.I,
)


def _apart(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The content words of ``text``, and its figures."""
    words = (stems(text) - COMMON) | marks(text)
    figures = frozenset(word for word in words if word[0].isdigit())
    return words - figures, figures


def sets_another(sentence: str, item: Item, others: Sequence[Item], *, is_act: bool) -> bool:
    """Whether ``sentence`` repeats ``item``, or with ``is_act`` a part of it, with another figure."""
    plain, new = _apart(sentence)
    held, former = _apart(says(item))
    if _counted(sentence) & _counted(says(item)):
        return False
    others = [
        other for other in others if not former or _apart(says(other))[1] != former
    ]  # a rule that is held twice is no rival of itself
    here, rival = plain & held, max((len(plain & about(other)) for other in others), default=0)
    is_act = is_act and bool(here - _units(sentence) or _SETS.search(sentence))
    if former and new - former:
        if is_act and len(sentence.split()) <= SHORT and not _apart(CHANGES.sub(" ", sentence))[0]:
            return not any(_apart(says(other))[1] for other in others)
        is_same = plain == held or (plain < held and len(plain) > 1)
        is_its_kind = _kinds(sentence) & _kinds(says(item))
        is_part = is_act and (len(here) >= NAMED * len(plain) or is_its_kind)
        is_same = is_same and (is_act or _forbids(sentence) == _forbids(says(item)))
        if (is_same or is_part) and len(here) > rival:
            return True
    is_only = is_act and not any(_is_close(sentence, other) for other in others)
    return is_only and len(here) >= rival and _is_close(sentence, item)


def replaces(sentence: str, item: Item, others: Sequence[Item]) -> bool:
    """Whether ``sentence`` orders another figure in the place of one that ``item`` has and no other item.

    "Make it 7 instead of 6." It names the item, or a pronoun is what changes.
    """
    order = _SINCE.sub("", sentence)
    is_named = _SETS_IT.match(order) or content(order) & about(item)
    if not is_named or not _SETS.search(order) or is_for_once(sentence) or "?" in sentence:
        return False
    for found in _INSTEAD.finditer(order):
        new, old = (found[1], found[2]) if found[1] else (found[4], found[3])
        having = [each for each in (item, *others) if old in _FIGURE.findall(says(each))]
        if new != old and having == [item]:
            return True
    return False


_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_INSTEAD = re.compile(
    rf"({_FIGURE.pattern})[^.;?\d]*\b(?:instead of|rather than|and not)\b\D{{0,12}}?({_FIGURE.pattern})|"
    rf"\bfrom\b\D{{0,12}}?({_FIGURE.pattern})\D{{0,12}}?\bto\b\D{{0,12}}?({_FIGURE.pattern})",
    re.I,
)
_SINCE = re.compile(
    r"^\W*(?:from|starting|as of|beginning) (?:now|today|tomorrow|then|next \w+|\w+day)(?: on(?:wards?)?)?\W*",
    re.I,
)
_ORDERS = (
    r"^\W*(?:(?:ok(?:ay)?|please|and|so|then),? )*"
    r"(?:go|make|call|raise|lower|extend|move|push|shift|switch|relax|change)\b"
)
_SETS_IT = re.compile(rf"{_ORDERS} (?:it|that|this)\b", re.I)

_SETS = re.compile(
    rf"{PERMITS.pattern}|{_ORDERS}",
    re.I,
)
"""A permission or an instruction. News, such as "flights are now 600 euros", must name what its figure is about."""


def _units(text: str) -> frozenset[str]:
    """The stems of the units of the figures in ``text``."""
    units = {figure.unit for figure in figures(text)}
    return stems(" ".join(units)) | (_CURRENCIES if "money" in units else frozenset())


_CURRENCIES = stems(" ".join(CURRENCIES))

CLOSE = 2.0
"""Maximum ratio of two figures of which one can be the other's new value."""

LARGE = 1_000
"""Smallest figure without a unit that is compared."""


def _is_close(sentence: str, item: Item) -> bool:
    """Whether a figure of ``sentence`` with the same unit, or large and without one, could replace one of ``item``."""
    return any(
        is_near(new, old, CLOSE) and (new.unit == old.unit if new.unit else new.value >= LARGE)
        for new in figures(sentence)
        for old in quantities(says(item))
    )


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_KINDS = {
    "date": rf"\b\d+(?:st|nd|rd|th)?\s+(?:to\s+\d+\s+)?(?:of\s+)?{_MONTH}\b(?:\s+\d{{4}})?|\d{{4}}-\d\d-\d\d",
    "time": r"\d+:\d\d|\d+\s?(?:am|pm|o['’]clock|hours?|minutes?|h)\b",
    "share": r"\d+\s?(?:%|per ?cent)",
    "amount": r"\d",
}
_KIND = {name: re.compile(pattern, re.I) for name, pattern in _KINDS.items()}


def _kinds(text: str) -> frozenset[str]:
    """The kinds of figures in ``text``."""
    found = set()
    for name, pattern in _KIND.items():
        text, count = pattern.subn(" ", text)
        found |= {name} if count else set()
    return frozenset(found)


def _counted(text: str) -> frozenset[str]:
    """Return words before a number: the 2 in "server 2" names a server and is not a quantity."""
    named = [word for word in _NUMBERED.findall(text) if not re.fullmatch(_MONTH, word, re.I)]
    return stems(" ".join(named)) - COMMON


_NUMBERED = re.compile(r"([^\W\d_]+)\s+(?=\d)")

SHORT = 8
"""Maximum number of words of a change that states only a figure, such as "make that 300"."""


def _forbids(text: str) -> bool:
    return polarity(text)["forbids"] > 0

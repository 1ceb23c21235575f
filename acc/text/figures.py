"""Finds numbers with their units, to tell whether one could replace another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.text.patterns import NUMBER_WORD, one_of

_FIGURE = re.compile(
    rf"(?P<money>[£€$]\s?)?(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<k>\s?k\b)?|\b(?P<word>{NUMBER_WORD})",
    re.I,
)

_MEASURED = re.compile(
    r"\W{0,2}(?:(?:a |per |an )?(?P<unit>" + one_of(
        """euros?, pounds?, dollars?, eur, gbp, usd, chf, %, percent, words?, pages?, lines?,
        minutes?, hours?, days?, weeks?, months?, nights?, people, persons, am, pm, kb, mb, gb, tb,
        kg, ms, m, km, cm, mm, ml, mg, bar, psi, kw, kwh, quid, bucks, january, february, march,
        april, may, june, july, august, september, october, november, december, at a time, at once,
        (?!(?:is|was|has|goes|needs|gets|as|this|plus)\\b)[a-z]{2,}[^\\Ws]s"""
    ) + r")|(?:an?|per) (?P<each>[a-z]{3,}))",
    re.I,
)  # fmt: skip

_COMPARED = re.compile(
    r"\b" + one_of(
        """at (?:the )?(?:very )?(?:most|least), under, over, up to, above, below, beyond, within,
        max(?:imum)?, min(?:imum)?, (?:more|less|fewer|later|longer) than, make (?:that|it), not,
        to, about, around, limit(?: is| of)?, budget(?: is| of)?, cap(?: is| of)?, is, exceed"""
    ) + r"\W*(?:an? |of |only |now )?\Z",
    re.I,
)  # fmt: skip
"""Words before a bare number that make it a quantity, unlike in "server 2"."""

CURRENCIES = frozenset(("euro", "pound", "dollar", "eur", "gbp", "usd", "chf", "quid", "buck"))
"""Units of money."""

_NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "a dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
    "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "a hundred": 100, "thousand": 1000, "a thousand": 1000,
}  # fmt: skip


class Figure(NamedTuple):
    """A number in a text.

    Attributes:
        value: Its value.
        unit: Its unit, ``money`` for any currency, or empty.
        measures: Whether it is a quantity: it has a unit or is compared with something.
        text: The original text.
    """

    value: float
    unit: str
    measures: bool
    text: str


@lru_cache(maxsize=512)
def figures(words: str) -> tuple[Figure, ...]:
    """The numbers in ``words``, as figures or words, without clock times and "one"."""
    return tuple(_figures(words))


def _figures(words: str) -> Iterator[Figure]:
    for match in _FIGURE.finditer(words):
        clock = words[match.end() : match.end() + 1] == ":" or words[: match.start()].endswith(":")
        value = _value_of(match)
        if not value or clock:
            continue
        named = _MEASURED.match(words, match.end())
        unit = (named["unit"] or named["each"]).lower().removesuffix("s") if named else ""
        unit = "money" if match["money"] or unit in CURRENCIES else unit
        compared = _COMPARED.search(words[max(0, match.start() - 40) : match.start()])
        measures = bool(unit or match["k"] or compared)
        yield Figure(value, unit, measures, match.group())


def quantities(words: str) -> list[Figure]:
    """The `figures` that are quantities rather than names."""
    return [figure for figure in figures(words) if figure.measures]


def is_near(new: Figure, old: Figure, times: float) -> bool:
    """Whether the new figure could replace the old one: of similar size and no other unit.

    A change of a figure often omits the unit and rarely adds one.
    """
    if new.value == old.value or new.unit not in ("", old.unit):
        return False
    return 1 / times <= new.value / old.value <= times


def sets_another(new: Sequence[Figure], text: str, times: float) -> bool:
    """Whether one of the ``new`` figures could replace a quantity in ``text``."""
    return any(is_near(one, other, times) for one in new for other in quantities(text))


def in_digits(text: str) -> str:
    """Return ``text`` with its number words in marked digits: "a hundred" becomes "#100"."""
    return _WORD.sub(lambda m: f"#{_NUMBER_WORDS.get(m[0].lower(), m[0])}", text)


_WORD = re.compile(rf"\b{NUMBER_WORD}", re.I)


def _value_of(match: re.Match[str]) -> float:
    if match["word"]:
        return float(_NUMBER_WORDS.get(match["word"].lower(), 0))
    digits = match["digits"].replace(",", "")
    # A longer number is an identifier. A float could not distinguish two of them.
    return float(digits) * (1000 if match["k"] else 1) if len(digits) <= 15 else 0.0

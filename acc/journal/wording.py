"""The words in records and states: what somebody said or a model wrote, beside names and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

STRUCTURE = frozenset(
    {
        "reason", "of", "slot", "kind", "mode", "author", "channel", "trust", "verdict", "status",
        "schema_name", "branch", "policy", "hash", "parent", "digest", "style", "ref", "id", "item",
        "refs", "sources", "first", "last",
    }
)  # fmt: skip
"""Keys whose values are nobody's words."""

_WORD = re.compile(r"[^\W_]{4,}")


def strings_of(value: Any) -> Iterator[str]:
    """Yield the strings of plain JSON that may hold somebody's words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in STRUCTURE:
                yield from strings_of(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_of(each)


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the words of four letters and more, case folded."""
    return {word.casefold() for text in texts for word in _WORD.findall(text)}


class Wanted:
    """Words and phrases to look for, in any case and with any white space.

    Args:
        given: Each counts where it stands as words of its own, as far as its first and last letter tell: scripts
            without spaces have no such ends.
    """

    def __init__(self, given: Iterable[str]) -> None:
        folded = {_folded(each) for each in given} - {""}
        self._words = frozenset(each for each in folded if each.isascii() and _WORD.fullmatch(each))
        phrases = "|".join(map(_as_pattern, sorted(folded - self._words)))
        self._phrases = re.compile(phrases) if phrases else None

    def are_in(self, value: Any) -> bool:
        """Whether one of them stands in a text, or in plain JSON."""
        if not self._words and self._phrases is None:
            return False
        texts = list(strings_of(value))
        if not self._words.isdisjoint(words_of(texts)):
            return True
        return self._phrases is not None and any(map(self._phrases.search, map(_folded, texts)))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _as_pattern(phrase: str) -> str:
    before = "(?<![a-z0-9])" if phrase[0].isascii() and phrase[0].isalnum() else ""
    after = "(?![a-z0-9])" if phrase[-1].isascii() and phrase[-1].isalnum() else ""
    return f"{before}{re.escape(phrase)}{after}"

"""What tells that a record or a state may hold erased words: what somebody said or a model wrote, refs and ids."""

from __future__ import annotations

import json
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


class Traces:
    """Refs, ids of items that cited them, words, lines of feedback."""

    def __init__(self, refs: Iterable[str], words: Iterable[str]) -> None:
        self._names = set(refs)
        self._words = Wanted(words)
        self._feedback: set[str] = set()
        self._pattern = self._compiled()

    def _compiled(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, sorted(self._names))) or "(?!)"
        return re.compile(rf"(?<![\w.])(?:{names})(?![\w.]*\w)")

    def is_in(self, value: Any) -> bool:
        """Whether ``value``, plain JSON, may hold erased words."""
        text = json.dumps(value)
        return bool(self._pattern.search(text)) or self._words.are_in(value)

    def learn(self, body: Mapping[str, Any]) -> None:
        """Take the ids of items that hold a trace as traces, and the feedback that stood beside them."""
        found = {
            item["id"]
            for items in body.values()
            if isinstance(items, list)
            for item in items
            if isinstance(item, dict) and item.get("id") and self.is_in(item)
        }
        if not found <= self._names:
            self._names |= found
            self._pattern = self._compiled()
            self.learn(body)  # an item may cite an item

    def learn_feedback(self, body: Mapping[str, Any]) -> None:
        """Take feedback as a trace: it repeats words without a ref, until the next compression."""
        self._feedback |= set(body.get("feedback", ()))

    def are_in_state(self, body: Mapping[str, Any]) -> bool:
        """Whether a state may hold erased words."""
        self.learn(body)
        return bool(self._feedback & set(body.get("feedback", ()))) or self.is_in(body)

    def without(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state without everything that may hold erased words."""
        lists = {
            key: [each for each in value if not self.is_in(each)]
            for key, value in body.items()
            if isinstance(value, list)
        }
        return {**body, **lists, "feedback": []}

"""What tells that a commit may hold erased words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from acc.journal.wording import Wanted


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

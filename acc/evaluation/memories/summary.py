"""The running summary of the tutorial agent: text that is appended to, and summarised when full.

The summariser is a callable. `extractive` needs no model: it keeps sentences and writes none.
`by_model` asks one, with the tutorial's prompt.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

from acc.evaluation.memories.protocol import HeldItem, Reading
from acc.evaluation.memories.transcript import check_limit, messages_of, tail
from acc.ranking import terms
from acc.tokens import TokenCounter, utf8_quarter
from acc.turn import Turn

Summarise = Callable[[str, int], str]
"""A summary of a text in at most so many tokens; what is longer is cut by the memory."""

PROMPT = (
    "Your task is to briefly summarize the conversation history without losing important "
    "information.\nTry to keep the summary concise and to the point."
)
"""The tutorial's own words, to which the limit is added."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class RollingSummary:
    """One text. When it exceeds its limit it is replaced by a summary of half that length.

    The tutorial hopes that the model keeps to the limit; here it is held: what is too long
    loses its beginning, and so does the text where a summary is empty.
    """

    has_slots = False

    def __init__(
        self,
        tokens: int = 1_024,
        *,
        summarise: Summarise | None = None,
        counter: TokenCounter = utf8_quarter,
    ) -> None:
        """Open one.

        Args:
            tokens: Tokens at the most; the tutorial's limit by default.
            summarise: Summarises; `extractive` if None.
            counter: Counts tokens. The tutorial counts words.

        Raises:
            ConfigurationError: No room at all.
        """
        check_limit(tokens, "summary")
        self._limit = tokens
        self._counter = counter
        self._summarise = summarise or extractive(counter)
        self._text = ""

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages one by one; summarise whenever the limit is exceeded."""
        for message in messages_of(turn):
            self._text += message + "\n"
            if self._counter(self._text) > self._limit:
                summary = self._summarise(self._text, max(1, self._limit // 2)).strip()
                self._text = tail((summary or self._text) + "\n", self._limit, self._counter)

    def held(self) -> Reading:
        """The text, a line an item."""
        lines = [line for line in self._text.splitlines() if line.strip()]
        return Reading(self._text, tuple(map(HeldItem, lines)))

    def read(self, question: str) -> Reading:
        """The same, whatever is asked."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


def extractive(counter: TokenCounter = utf8_quarter) -> Summarise:
    """A summariser that keeps whole sentences and lines, in their order.

    A sentence weighs what its distinct terms weigh, ln(1 + occurrences in the text) each, over
    the square root of their number (after Luhn, "The Automatic Creation of Literature
    Abstracts", 1958). The heaviest are kept while they fit; of equals the later.
    """

    def summarise(text: str, limit: int) -> str:
        sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
        found = [frozenset(terms(sentence)) for sentence in sentences]
        occurs = Counter(term for each in found for term in each)
        weights = [
            sum(math.log1p(occurs[t]) for t in sorted(each)) / math.sqrt(len(each) or 1)
            for each in found
        ]
        kept: set[int] = set()
        room = limit
        for position in sorted(range(len(sentences)), key=lambda p: (-weights[p], -p)):
            # The line end counts as well; a counter that rounds up never gives too little.
            cost = counter(sentences[position] + "\n")
            if cost <= room:
                kept.add(position)
                room -= cost
        return "\n".join(sentences[position] for position in sorted(kept))

    return summarise


def by_model(ask: Callable[[str, str], str]) -> Summarise:
    """A summariser that asks a model.

    Args:
        ask: The model's answer to an instruction and a text.
    """

    def summarise(text: str, limit: int) -> str:
        return ask(f"{PROMPT}\nWrite at most {limit} tokens.", text)

    return summarise

"""Text memories: the whole transcript, the recent messages, and the tutorial's rolling summary.

The summariser is a callable. `extractive` selects sentences without a model. `by_model` asks a
model with the tutorial's prompt.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from acc.errors import ConfigurationError
from acc.evaluation.memories.protocol import HeldItem, Reading
from acc.text.ranking import terms
from acc.text.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn.observations import Observation
from acc.turn.turn import Turn


def as_message(observation: Observation) -> str:
    """Format an observation for a prompt: the speaker and the words."""
    speaker = observation.channel.value
    name = f" {observation.name}" if observation.name else ""
    return f"{speaker}{name}: {observation.text}"


def messages_of(turn: Turn) -> Iterator[str]:
    """The messages of a completed turn."""
    return (as_message(observation) for observation in turn.observations if observation.text)


def reading_of(messages: tuple[str, ...]) -> Reading:
    """A context of messages, each an item without a slot."""
    return Reading("\n\n".join(messages), tuple(map(HeldItem, messages)))


class TranscriptReplay:
    """Keeps every message: the paper's baseline."""

    has_slots = False

    def __init__(self) -> None:
        self._messages: list[str] = []

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages."""
        self._messages.extend(messages_of(turn))

    def held(self) -> Reading:
        """All messages."""
        return reading_of(tuple(self._messages))

    def read(self, question: str) -> Reading:
        """All messages, for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


class RecentWindow:
    """Keeps the last messages within a token limit.

    A single message above the limit loses its beginning.

    Attributes:
        max_tokens: The limit.
    """

    has_slots = False

    def __init__(self, tokens: int = 800, *, counter: TokenCounter = utf8_quarter) -> None:
        """Create a memory.

        Args:
            tokens: The token limit.
            counter: Counts tokens.

        Raises:
            ConfigurationError: The limit is below 1.
        """
        check_limit(tokens, "recent")
        self.max_tokens = tokens
        self._counter = guarded(counter)
        self._messages: deque[str] = deque()

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages, and evict the oldest ones."""
        self._messages.extend(messages_of(turn))
        while len(self._messages) > 1 and self._tokens() > self.max_tokens:
            self._messages.popleft()
        if self._messages and self._tokens() > self.max_tokens:
            self._messages[0] = tail(self._messages[0], self.max_tokens, self._counter)

    def held(self) -> Reading:
        """The messages in the window."""
        return reading_of(tuple(self._messages))

    def read(self, question: str) -> Reading:
        """The messages in the window, for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""

    def _tokens(self) -> int:
        return self._counter("\n\n".join(self._messages))


def tail(text: str, limit: int, counter: TokenCounter) -> str:
    """The longest end of ``text`` within ``limit`` tokens; begins at a word if possible."""
    if counter(text) <= limit:
        return text
    short, long = 0, len(text)
    while short < long:
        middle = (short + long + 1) // 2
        fits = counter(text[len(text) - middle :]) <= limit
        short, long = (middle, long) if fits else (short, middle - 1)
    end = text[len(text) - short :]
    _, space, words = end.partition(" ")
    return words if space and words else end


def check_limit(tokens: int, where: str) -> None:
    """Check a token limit.

    Raises:
        ConfigurationError: The limit is below 1.
    """
    if tokens < 1:
        raise ConfigurationError(
            f"a limit of {tokens} tokens", where=where, hint="give the memory 1 token or more"
        )


Summarise = Callable[[str, int], str]
"""A function of a text and a token limit that returns a summary. The memory truncates longer
summaries.
"""

PROMPT = (
    "Your task is to briefly summarize the conversation history without losing important "
    "information.\nTry to keep the summary concise and to the point."
)
"""The tutorial's prompt, to which the limit is added."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class RollingSummary:
    """Keeps one text. Above its limit, a summary of half that length replaces the text.

    The tutorial relies on the model to obey the limit. This memory enforces it: a summary that is
    too long loses its beginning. If the summary is empty, the text itself is truncated.

    Attributes:
        max_tokens: The limit.
    """

    has_slots = False

    def __init__(
        self,
        tokens: int = 1_024,
        *,
        summarise: Summarise | None = None,
        counter: TokenCounter = utf8_quarter,
    ) -> None:
        """Create a memory.

        Args:
            tokens: The token limit; by default the tutorial's.
            summarise: The summariser; None for `extractive`.
            counter: Counts tokens. The tutorial counts words.

        Raises:
            ConfigurationError: The limit is below 1.
        """
        check_limit(tokens, "summary")
        self.max_tokens = tokens
        self._counter = guarded(counter)
        self._summarise = summarise or extractive(self._counter)
        self._text = ""

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages one by one. Summarises whenever the text exceeds the limit."""
        for message in messages_of(turn):
            self._text += message + "\n"
            if self._counter(self._text) > self.max_tokens:
                summary = self._summarise(self._text, max(1, self.max_tokens // 2)).strip()
                self._text = tail((summary or self._text) + "\n", self.max_tokens, self._counter)

    def held(self) -> Reading:
        """The text, one item per line."""
        lines = [line for line in self._text.splitlines() if line.strip()]
        return Reading(self._text, tuple(map(HeldItem, lines)))

    def read(self, question: str) -> Reading:
        """The text, for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


def extractive(counter: TokenCounter = utf8_quarter) -> Summarise:
    """Create a summariser that keeps whole sentences and lines in their order.

    It uses SumBasic (Nenkova and Vanderwende, "The Impact of Frequency on Summarization", 2005),
    the best of three such rules in our comparison. It keeps the sentence with the most probable
    terms on average and squares the probability of these terms, which favours other terms next. It
    repeats this while there is room. Of equal sentences it keeps the later one.
    """

    def summarise(text: str, limit: int) -> str:
        sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
        found = [sorted(set(terms(sentence))) for sentence in sentences]
        occurs = Counter(term for each in found for term in each)
        chance = {term: count / occurs.total() for term, count in occurs.items()}
        # Include the line end. A counter that rounds up then never underestimates.
        costs = [counter(sentence + "\n") for sentence in sentences]
        left, kept = set(range(len(sentences))), set()
        least = min(costs, default=0)
        while left and limit >= least:
            best = max(left, key=lambda at: (_average(chance, found[at]), at))
            left.remove(best)
            if costs[best] <= limit:
                limit -= costs[best]
                kept.add(best)
                chance.update((term, chance[term] ** 2) for term in found[best])
        return "\n".join(sentences[at] for at in sorted(kept))

    return summarise


def _average(chance: Mapping[str, float], found: Sequence[str]) -> float:
    return sum(chance[term] for term in found) / len(found) if found else 0.0


def by_model(ask: Callable[[str, str], str]) -> Summarise:
    """Create a summariser that asks a model.

    Args:
        ask: Returns the model's answer to an instruction and a text.
    """

    def summarise(text: str, limit: int) -> str:
        return ask(f"{PROMPT}\nWrite at most {limit} tokens.", text)

    return summarise

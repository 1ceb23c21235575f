"""The running summary of the tutorial agent: text that is appended to, and summarised when full.

The summariser is a callable. `extractive` needs no model: it keeps sentences and writes none.
`by_model` asks one, with the tutorial's prompt.
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
    """An observation as it stands in a prompt: who speaks, and the words."""
    speaker = observation.channel.value
    name = f" {observation.name}" if observation.name else ""
    return f"{speaker}{name}: {observation.text}"


def messages_of(turn: Turn) -> Iterator[str]:
    """The messages of a completed turn."""
    return (as_message(observation) for observation in turn.observations if observation.text)


def reading_of(messages: tuple[str, ...]) -> Reading:
    """Messages as a context, each an item without a slot."""
    return Reading("\n\n".join(messages), tuple(map(HeldItem, messages)))


class TranscriptReplay:
    """Every message so far: the paper's baseline. It forgets nothing, and lifts nothing."""

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
        """All messages, whatever is asked."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


class RecentWindow:
    """The last messages that fit a limit; of one that alone does not fit, its end.

    Attributes:
        max_tokens: The limit.
    """

    has_slots = False

    def __init__(self, tokens: int = 800, *, counter: TokenCounter = utf8_quarter) -> None:
        """Open one.

        Args:
            tokens: Tokens at the most.
            counter: Counts them.

        Raises:
            ConfigurationError: No room at all.
        """
        check_limit(tokens, "recent")
        self.max_tokens = tokens
        self._counter = guarded(counter)
        self._messages: deque[str] = deque()

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages, and drop the oldest."""
        self._messages.extend(messages_of(turn))
        while len(self._messages) > 1 and self._tokens() > self.max_tokens:
            self._messages.popleft()
        if self._messages and self._tokens() > self.max_tokens:
            self._messages[0] = tail(self._messages[0], self.max_tokens, self._counter)

    def held(self) -> Reading:
        """The messages in the window."""
        return reading_of(tuple(self._messages))

    def read(self, question: str) -> Reading:
        """The same, whatever is asked."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""

    def _tokens(self) -> int:
        return self._counter("\n\n".join(self._messages))


def tail(text: str, limit: int, counter: TokenCounter) -> str:
    """The longest end of ``text`` within ``limit`` tokens, from a word's beginning if it has one."""
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
    """Refuse a limit that nothing fits.

    Raises:
        ConfigurationError: It is below 1.
    """
    if tokens < 1:
        raise ConfigurationError(
            f"a limit of {tokens} tokens", where=where, hint="give the memory 1 token or more"
        )


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
        """Open one.

        Args:
            tokens: Tokens at the most; the tutorial's limit by default.
            summarise: Summarises; `extractive` if None.
            counter: Counts tokens. The tutorial counts words.

        Raises:
            ConfigurationError: No room at all.
        """
        check_limit(tokens, "summary")
        self.max_tokens = tokens
        self._counter = guarded(counter)
        self._summarise = summarise or extractive(self._counter)
        self._text = ""

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages one by one; summarise whenever the limit is exceeded."""
        for message in messages_of(turn):
            self._text += message + "\n"
            if self._counter(self._text) > self.max_tokens:
                summary = self._summarise(self._text, max(1, self.max_tokens // 2)).strip()
                self._text = tail((summary or self._text) + "\n", self.max_tokens, self._counter)

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

    SumBasic (Nenkova and Vanderwende, "The Impact of Frequency on Summarization", 2005), the
    strongest of three such rules that were tried: the sentence whose terms are most probable on
    average is kept, the probability of its terms squared, so that the next one says something
    else, and so on while there is room. Of equals the later.
    """

    def summarise(text: str, limit: int) -> str:
        sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
        found = [sorted(set(terms(sentence))) for sentence in sentences]
        occurs = Counter(term for each in found for term in each)
        chance = {term: count / occurs.total() for term, count in occurs.items()}
        # With its line end; a counter that rounds up never gives too little.
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
    """A summariser that asks a model.

    Args:
        ask: The model's answer to an instruction and a text.
    """

    def summarise(text: str, limit: int) -> str:
        return ask(f"{PROMPT}\nWrite at most {limit} tokens.", text)

    return summarise

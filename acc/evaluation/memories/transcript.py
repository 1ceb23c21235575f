"""Memories that keep messages as they are: the whole transcript, or a recent window of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from acc.errors import ConfigurationError
from acc.evaluation.memories.protocol import HeldItem, Reading
from acc.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn import Observation, Turn


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
            f"a limit of {tokens} tokens", where=where, mend="give the memory 1 token or more"
        )

"""Text memories to compare with: transcript, recent messages, rolling summary, retrieval."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from acc.errors import ConfigurationError
from acc.text.ranking import LexicalIndex, terms
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn
from acc_eval.memories.protocol import HeldItem, Reading


def as_message(observation: Observation) -> str:
    """Format an observation for a prompt: the speaker and the words."""
    name = f" {observation.name}" if observation.name else ""
    return f"{observation.channel.value}{name}: {observation.text}"


def messages_of(turn: Turn) -> Iterator[str]:
    """The messages of a completed turn."""
    return (as_message(observation) for observation in turn.observations if observation.text)


def reading_of(messages: Sequence[str], verbatim: Iterable[int] = ()) -> Reading:
    """A context of messages, each an item without a slot, with the turns that it holds whole."""
    items = tuple(map(HeldItem, messages))
    return Reading("\n\n".join(messages), items, verbatim=frozenset(verbatim))


class _TextMemory:
    """A memory without slots that reads the same for any question, and has nothing to close."""

    has_slots = False

    def held(self) -> Reading:
        """The contents."""
        raise NotImplementedError

    def read(self, question: str) -> Reading:
        """The contents, for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""


class TranscriptReplay(_TextMemory):
    """Keeps every message: the paper's baseline."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._turns = 0

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages."""
        self._turns += 1
        self._messages.extend(messages_of(turn))

    def held(self) -> Reading:
        """All messages."""
        return reading_of(self._messages, range(1, self._turns + 1))


class RecentWindow(_TextMemory):
    """Keeps the last messages within a token limit.

    A single message above the limit loses its beginning.

    Attributes:
        max_tokens: The limit.
    """

    def __init__(self, tokens: int = 800) -> None:
        """Create a memory of at most ``tokens`` tokens."""
        self.max_tokens = _checked_limit(tokens, "recent")
        self._messages: deque[str] = deque()
        self._numbers: deque[int] = deque()
        self._turns = self._cut = 0

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages, and evict the oldest ones."""
        self._turns += 1
        for message in messages_of(turn):
            self._messages.append(message)
            self._numbers.append(self._turns)
        while len(self._messages) > 1 and self._tokens() > self.max_tokens:
            self._messages.popleft()
            self._cut = self._numbers.popleft()
        if self._messages and self._tokens() > self.max_tokens:
            self._messages[0] = tail(self._messages[0], self.max_tokens)
            self._cut = self._numbers[0]

    def held(self) -> Reading:
        """The messages in the window."""
        return reading_of(self._messages, range(self._cut + 1, self._turns + 1))

    def _tokens(self) -> int:
        return utf8_quarter("\n\n".join(self._messages))


def tail(text: str, limit: int) -> str:
    """The longest end of ``text`` within ``limit`` tokens; begins at a word if possible."""
    if utf8_quarter(text) <= limit:
        return text
    short, long = 0, len(text)
    while short < long:
        middle = (short + long + 1) // 2
        fits = utf8_quarter(text[len(text) - middle :]) <= limit
        short, long = (middle, long) if fits else (short, middle - 1)
    end = text[len(text) - short :]
    _, space, words = end.partition(" ")
    return words if space and words else end


def _checked_limit(tokens: int, memory: str) -> int:
    if tokens < 1:
        raise ConfigurationError(
            f"a limit of {tokens} tokens", where=memory, hint="set tokens to 1 or more"
        )
    return tokens


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


def extractive(text: str, limit: int) -> str:
    """Summarise by whole sentences and lines, which keep their order.

    It uses SumBasic (Nenkova and Vanderwende, "The Impact of Frequency on Summarization", 2005),
    the best of three such rules in our comparison. It keeps the sentence with the most probable
    terms on average and squares the probability of these terms, which favours other terms next. It
    repeats this while there is room. Of equal sentences it keeps the later one.
    """
    sentences = [s.strip() for s in _SENTENCE.split(text) if s.strip()]
    found = [sorted(set(terms(sentence))) for sentence in sentences]
    occurs = Counter(term for each in found for term in each)
    chance = {term: count / occurs.total() for term, count in occurs.items()}
    # Include the line end. A counter that rounds up then never underestimates.
    costs = [utf8_quarter(sentence + "\n") for sentence in sentences]
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


def _average(chance: Mapping[str, float], found: Sequence[str]) -> float:
    return sum(chance[term] for term in found) / len(found) if found else 0.0


class RollingSummary(_TextMemory):
    """Keeps one text. Above its limit, a summary of half that length replaces the text.

    The tutorial relies on the model to obey the limit. This memory enforces it: a summary that is
    too long loses its beginning. If the summary is empty, the text itself is truncated.

    Attributes:
        max_tokens: The limit.
    """

    def __init__(self, tokens: int = 1_024, *, summarise: Summarise = extractive) -> None:
        """Create a memory of at most ``tokens`` tokens. The tutorial counts words instead."""
        self.max_tokens = _checked_limit(tokens, "summary")
        self._summarise = summarise
        self._text = ""

    def observe(self, turn: Turn) -> None:
        """Append the turn's messages one by one. Summarises whenever the text exceeds the limit."""
        for message in messages_of(turn):
            self._text += message + "\n"
            if utf8_quarter(self._text) > self.max_tokens:
                summary = self._summarise(self._text, max(1, self.max_tokens // 2)).strip()
                self._text = tail((summary or self._text) + "\n", self.max_tokens)

    def held(self) -> Reading:
        """The text, one item per line."""
        lines = [line for line in self._text.splitlines() if line.strip()]
        return Reading(self._text, tuple(map(HeldItem, lines)))


def by_model(ask: Callable[[str, str], str]) -> Summarise:
    """Create a summariser that asks a model. ``ask`` answers an instruction about a text."""

    def summarise(text: str, limit: int) -> str:
        return ask(f"{PROMPT}\nWrite at most {limit} tokens.", text)

    return summarise


class Retrieval(_TextMemory):
    """Stores every message as an artifact and reads the ``k`` nearest to the user's words.

    It is the paper's second agent (top k, from its own isolated store). With k = 1 it is the top-1
    semantic memory of the tutorial agent. After a turn, the memory holds the artifacts retrieved
    for that turn. They exclude the user's message of the turn, which the agent reads anyway.
    """

    def __init__(self, k: int = 5) -> None:
        """Create a memory of at most ``k`` artifacts, ranked by BM25."""
        if k < 1:
            raise ConfigurationError(f"k is {k}", where="retrieval", hint="set k to 1 or more")
        self._k = k
        self._index = LexicalIndex()
        self._artifacts: list[str] = []
        self._asked: set[int] = set()
        self._query = ""

    def observe(self, turn: Turn) -> None:
        """Store the turn's messages."""
        self._asked, self._query = set(), turn.user_words
        for observation in turn.observations:
            if observation.text:
                self._artifacts.append(as_message(observation))
                position = self._index.add(observation.text)
                if observation.channel is Channel.USER:
                    self._asked.add(position)

    def held(self) -> Reading:
        """The artifacts retrieved for the last turn."""
        return self._nearest(self._query, self._asked)

    def read(self, question: str) -> Reading:
        """The artifacts retrieved for ``question`` from all stored messages."""
        return self._nearest(question, set())

    def _nearest(self, query: str, excluded: set[int]) -> Reading:
        scores = self._index.bm25(query).tolist()
        ranked = sorted(range(len(scores)), key=lambda at: (scores[at], at), reverse=True)
        best = [at for at in ranked if scores[at] > 0 and at not in excluded]
        return reading_of([self._artifacts[position] for position in best[: self._k]])

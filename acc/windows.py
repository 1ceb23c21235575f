"""A tail larger than one request may be is read in overlapping windows. Nothing is cut before it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acc.tail import Message
from acc.text.tokens import TokenCounter

OVERLAP = 0.1
"""Share of a window's text that the next window repeats, so that no sentence is cut in both."""


def windows(
    messages: Sequence[Message], counter: TokenCounter, most: int
) -> Iterator[tuple[Message, ...]]:
    """Yield groups of messages of at most ``most`` tokens each, in order. A longer message is read in pieces."""
    group: list[Message] = []
    used = 0
    for piece in _pieces(messages, counter, most):
        tokens = counter(piece.text)
        if group and used + tokens > most:
            yield tuple(group)
            group, used = [], 0
        group.append(piece)
        used += tokens
    if group:
        yield tuple(group)


def _pieces(messages: Sequence[Message], counter: TokenCounter, most: int) -> Iterator[Message]:
    for message in messages:
        tokens = counter(message.text)
        if tokens <= most:
            yield message
            continue
        size = max(1, len(message.text) * most // tokens)
        step = max(1, int(size * (1 - OVERLAP)))
        starts = range(0, max(1, len(message.text) - size + step), step)
        for start in starts:
            text = message.text[start : start + size]
            yield replace(
                message,
                observation=message.observation.model_copy(update={"text": text}),
                cut_start=start > 0,
                cut_end=start + size < len(message.text),
            )

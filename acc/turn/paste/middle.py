"""Finds what a long message says between its first and its last line, for `acc.state.policy.Policy.pasted`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from acc.text.sentences import sentences
from acc.turn.paste.enclosed import Span
from acc.turn.paste.split import MARK

LONG_LINE = 400
"""Of a line with more characters only the outermost sentence counts: the first line's first, the last line's last."""


class Framed(NamedTuple):
    """A message in three parts, which together hold all of its words in their order."""

    first: str
    middle: str
    last: str


def framed(text: str) -> Framed | None:
    """Return a message's first line, its middle and its last line; None if nothing stands between.

    A message of one line has a middle if the line is longer than `LONG_LINE`. Empty lines do not count, nor does a
    middle that holds nothing but passages which were found by their marks.
    """
    spans = list(_lines(text))
    if not spans:
        return None
    (start, end), (last, stop) = spans[0], spans[-1]
    if end - start > LONG_LINE and (found := sentences(text[start:end])):
        end = start + found[0].end
    if stop - last > LONG_LINE and (found := sentences(text[last:stop])):
        last += found[-1].start
    middle = text[end:last].strip()
    if not middle.replace(MARK, "").strip():
        return None
    return Framed(text[:end].strip(), middle, text[last:].strip())


def _lines(text: str) -> Iterator[Span]:
    """Yield where each line begins and ends that is not empty."""
    position = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield position, position + len(line.rstrip())
        position += len(line)

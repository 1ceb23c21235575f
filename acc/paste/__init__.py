"""Telling a user's own words from what they pasted.

Rule (law 6): from the first mark of a paste to its last, or to the end of the message where
nothing says where it ends, is a document. Quotations of up to eight words are the user's own
wording, unless another person is said to have said them ("Bob wrote:"). Time is linear in the
text, and the answer depends on the text alone.

What nothing marks as pasted is the user's: who knows better says so (`acc.turn.Turn.said`).

    enclosed.py     a mark at either end: fences, tags, BEGIN and END, rules across the page, JSON
    templates.py    prompts with retrieved context, of which the question is the user's
    mails.py        from the head of a mail to the end
    copied.py       from a line of a log or a chat to the end
    quoted.py       lines that begin with >
    leads.py        what "Summarise this:" or "Got this mail:" hands over
    quotations.py   what stands in quotation marks
    lines.py        lines, however they end
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from acc.paste.copied import copied
from acc.paste.enclosed import around_question, begun, fenced, objects, ruled, tagged
from acc.paste.leads import handed_over
from acc.paste.lines import TAKEN, Span, plain
from acc.paste.mails import mailed
from acc.paste.quotations import quotations
from acc.paste.quoted import quoted_lines
from acc.paste.templates import retrieved

MARK = "[pasted]"
"""Stands in the user's words where a pasted passage was taken out."""

MOST_PASSAGES = 8
"""Passages of one message at the most; the last holds all that would be more."""


class Passages(NamedTuple):
    """A message split in two: what the user said, and what they brought along."""

    own: str
    pasted: tuple[str, ...]


_KINDS: tuple[Callable[[str], Iterator[Span]], ...] = (
    objects, fenced, tagged, begun, ruled, retrieved, mailed, copied, quoted_lines, handed_over,
    quotations,
)  # fmt: skip


def split_pasted(text: str, known: Sequence[str] = ()) -> Passages:
    """Take pasted passages out of a user's message.

    Args:
        text: The message as the user sent it.
        known: Passages that are known to be pasted. They are taken out wherever they stand in
            ``text``, and are not among the passages that come back.

    Returns:
        The user's own words, with `MARK` where something was taken out, and the passages in
        order, `MOST_PASSAGES` at the most. Joined they hold every other word of ``text``.
    """
    told = plain(text)
    for passage in known:
        told = _without(told, _standing_in(told, plain(passage.strip())))
    left = _without(told, around_question(told))
    for _ in range(MOST_PASSAGES):
        if (first := _first(left)) is None:
            break
        left = _without(left, iter([first]))
    else:
        for passages in _KINDS:
            left = _without(left, passages(left))
    own: list[str] = []
    pasted: list[str] = []
    position = 0
    for taken in _TAKEN.finditer(left):
        start, end = taken.span()
        own += (text[position:start], f" {MARK} ")
        position = end
        if told[start:end].replace(TAKEN, "").strip():
            pasted.append(text[start:end].strip())
    kept = "".join((*own, text[position:]))
    return Passages("\n".join(_tidy(kept)), _bounded(pasted))


split_anew = split_pasted
"""An older name, of the time when the other one remembered what it had split."""


def _standing_in(text: str, passage: str) -> Iterator[Span]:
    whole = re.compile(rf"(?<!\w){re.escape(passage)}(?!\w)")
    yield from (found.span() for found in whole.finditer(text) if passage)


def _first(text: str) -> Span | None:
    """The passage that begins first: marks within it are its own, and end or begin nothing else.

    Of two that begin in one place it is that of the kind named first: a fence behind "Summarise this:".
    """
    found = (next(passages(text), None) for passages in _KINDS)
    return min(filter(None, found), key=lambda span: _begin(text, span), default=None)


def _begin(text: str, span: Span) -> int:
    start, end = span
    return end - len(text[start:end].lstrip())


def _without(text: str, spans: Iterator[Span]) -> str:
    """``text`` with `TAKEN` in the place of every character of a span that holds anything."""
    kept: list[str] = []
    position = 0
    for start, end in spans:
        if text[start:end].strip():
            kept += (text[position:start], TAKEN * (end - start))
            position = end
    return "".join((*kept, text[position:]))


_TAKEN = re.compile(rf"{TAKEN}+(?:\s+{TAKEN}+)*")
"""What was taken out; what only white space parts is one passage."""


def _bounded(pasted: list[str]) -> tuple[str, ...]:
    if len(pasted) <= MOST_PASSAGES:
        return tuple(pasted)
    first = MOST_PASSAGES - 1
    return (*pasted[:first], "\n\n".join(pasted[first:]))


def _tidy(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line := " ".join(line.split()):
            yield line

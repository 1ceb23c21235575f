"""Telling a user's own words from what they pasted.

Rule (law 6): fences, tagged passages, forwarded and answered mail, quoted lines, runs of log
lines, chats and quotations of more than eight words are documents; shorter quotations are the
user's own wording. Where a passage may have been closed from within, it is taken to reach
further. Time is linear in the text.

What nothing marks as pasted is the user's: who knows better gives it as an observation of
`acc.turn.Channel.DOCUMENT`.

    blocks.py       fences, tagged passages, what stands between BEGIN and END
    mails.py        from the head of a mail to the end
    messages.py     from the head of a message copied out of a chat program to the end
    runs.py         quoted lines, log lines, lines of a chat
    quotations.py   what stands in quotation marks
    lines.py        lines, however they end
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import NamedTuple

from acc.paste.blocks import enclosed, fenced, tagged
from acc.paste.lines import Span, plain
from acc.paste.mails import mailed
from acc.paste.messages import copied
from acc.paste.quotations import quotations
from acc.paste.runs import chatted, logged, quoted_lines

MARK = "[pasted]"
"""Stands in the user's words where a pasted passage was taken out."""


class Passages(NamedTuple):
    """A message split in two: what the user said, and what they brought along."""

    own: str
    pasted: tuple[str, ...]


def split_pasted(text: str) -> Passages:
    """Take pasted passages out of a user's message.

    Args:
        text: The message as the user sent it.

    Returns:
        The user's own words, with `MARK` where something was taken out, and the
        passages in the order of their kinds. Joined they hold every word of ``text``.
    """
    return _REMEMBERED(text)


def split_anew(text: str) -> Passages:
    """As `split_pasted`, of a message that nobody remembers.

    What is taken out may leave a chat or a log behind that was not seen beside it: so it is looked
    again until nothing is found. What hides behind more than `LAYERS` of it is not the user's.
    """
    pasted: list[str] = []
    for _ in range(LAYERS):
        known = len(pasted)
        for passages in _KINDS:
            text = _taken(text, passages, pasted)
        if len(pasted) == known:
            return Passages("\n".join(_tidy(text)), tuple(pasted))
    return Passages(MARK, (*pasted, text))


LAYERS = 6


class _Remembered:
    """Splits each message once, though a graph reads it at every step and `acc.incoming` takes in what is own.

    The own words are tidied, and without their paragraphs two lines of the user's may look like a log: so
    what is own is remembered as such, and not split again.

    Args:
        most: Characters of messages that are remembered; the oldest go first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._known: OrderedDict[str, Passages] = OrderedDict()
        self._guard = Lock()

    def __call__(self, text: str) -> Passages:
        found = self._known.get(text)
        if found is None:
            found = split_anew(text)
            with self._guard:
                self._remember(text, found)
                self._remember(found.own, Passages(found.own, ()))
        return found

    def _remember(self, text: str, found: Passages) -> None:
        if text not in self._known:
            self._known[text] = found
            self._held += len(text)
        while self._held > self._most:
            self._held -= len(self._known.popitem(last=False)[0])


_REMEMBERED = _Remembered(1_280_000)

_KINDS: tuple[Callable[[str], Iterator[Span]], ...] = (
    fenced, tagged, enclosed, mailed, copied, quoted_lines, logged, chatted, quotations,
)  # fmt: skip


def _taken(text: str, passages: Callable[[str], Iterator[Span]], pasted: list[str]) -> str:
    kept = []
    position = 0
    for start, end in passages(plain(text)):
        passage = text[start:end].strip()
        if passage:
            pasted.append(passage)
            kept.append(f"{text[position:start]} {MARK} ")
        else:
            kept.append(text[position:start])
        position = end
    return "".join((*kept, text[position:]))


def _tidy(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line := " ".join(line.split()):
            yield line

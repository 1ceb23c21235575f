"""Separates the user's own words from pasted text.

The text from the first mark of a paste to its last is a document (law 6). If nothing marks the
end, the document extends to the end of the message. Quotations of up to eight words remain the
user's words. Time is linear in the text, and the result depends on the text alone.

Unmarked text belongs to the user. A caller that knows better passes ``pasted``
(`acc.turn.turn.Turn.said`), a deployer that does not trust it `acc.state.policy.Policy.pasted`.

    enclosed.py     fences, tags, BEGIN and END, horizontal rules, JSON
    quoted.py       quotations, lines that begin with >, prompt templates with labels, an object with a question
    copied.py       mails, logs and chats
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from typing import Literal, NamedTuple
from unicodedata import east_asian_width

import numpy as np

from acc.text.lines import replaced
from acc.text.normal import Normal, normalised
from acc.text.sentences import sentences
from acc.turn.paste.copied import copied, mailed
from acc.turn.paste.enclosed import (
    BLOCKS,
    FORMAT,
    TAG,
    TAKEN,
    Span,
    begun,
    fenced,
    objects,
    ruled,
    tagged,
)
from acc.turn.paste.quoted import around_question, quotations, quoted_lines, retrieved

MARK = "[pasted]"
"""Replaces a removed passage in the user's words."""

MOST_PASSAGES = 8
"""Maximum number of passages of one message. The last one holds the remainder."""


class Passages(NamedTuple):
    """A message split into the user's own words and the pasted passages."""

    own: str
    pasted: tuple[str, ...]


_KINDS: tuple[Callable[[str], Iterator[Span]], ...] = (
    objects, fenced, tagged, begun, ruled, retrieved, mailed, copied, quoted_lines, quotations,
)  # fmt: skip


def split_pasted(text: str, known: Sequence[str] = ()) -> Passages:
    """Remove pasted passages from a user's message.

    Args:
        text: The message as the user sent it.
        known: Passages known to be pasted. They are removed wherever they occur in ``text``, with
            whatever white space, and are not returned.

    Returns:
        The user's own words, with `MARK` for each removed passage, and at most `MOST_PASSAGES`
        passages in order. Together they hold every other word of ``text``. Without a passage,
        ``text`` is unchanged.
    """
    laid_out = Normal.laid_out(text)
    cleaned = _without(laid_out.text, _standing_in(laid_out.text, known))
    left = cleaned
    if len(left) - left.count(TAKEN) > LONGEST_TYPED:
        left = _without(left, [_middle(left)])
    left = _without(left, around_question(left))
    for _ in range(MOST_PASSAGES):
        if (first := _first(left)) is None:
            break
        left = _without(left, [first])
    else:
        for passages in _KINDS:
            left = _without(left, passages(left))
    if TAKEN not in left:
        return Passages(text, ())
    taken = [found.span() for found in _TAKEN.finditer(left)]
    spans = [(_place(laid_out, start, text), _place(laid_out, end, text)) for start, end in taken]
    own = replaced(text, spans, lambda _: f" {MARK} ")
    pasted = [
        text[start:end].strip()
        for (start, end), place in zip(spans, taken, strict=True)
        if cleaned[slice(*place)].replace(TAKEN, "").strip()
    ]
    last = MOST_PASSAGES - 1
    remainder = filter(None, ["\n\n".join(pasted[last:])])
    return Passages(_tidy(own), (*pasted[:last], *remainder))


def _place(laid_out: Normal, at: int, text: str) -> int:
    """Return where the character at ``at`` stands in ``text``, with the invisible ones in front of it."""
    if at in (0, len(laid_out.text)):
        return len(text) if at else 0
    return int(laid_out.ends[at - 1])


def _standing_in(text: str, passages: Sequence[str]) -> Iterator[Span]:
    """Yield where a passage stands as words of its own; white space, letter case and typography do not count."""
    whole = Normal.of(text) if passages else Normal.of("")
    places = np.array([at for at, char in enumerate(whole.text) if char != " "], dtype=np.int64)
    joined = whole.text.replace(" ", "")
    found: list[Span] = []
    for wanted in filter(None, (normalised(passage).replace(" ", "") for passage in passages)):
        end = 0
        while (at := joined.find(wanted, end)) >= 0:
            end = at + len(wanted)
            first, last = int(places[at]), int(places[end - 1])
            start, stop = whole.original(first, last + 1)
            if not (_is_in_word(text, start) or _is_in_word(text, stop)):
                found.append((start, stop))
    position = 0
    for start, stop in sorted(found):
        if stop > position:
            yield max(start, position), stop
            position = stop


def _is_in_word(text: str, place: int) -> bool:
    """Whether a word goes on at ``place``. East Asian words are not told apart."""
    around = text[max(0, place - 1) : place + 1]
    return len(around) == 2 and all(c.isalnum() and east_asian_width(c) != "W" for c in around)


def _first(text: str) -> Span | None:
    """The passage that begins first: marks inside it belong to it. In a tie the kind listed first wins."""
    found = filter(None, (next(passages(text), None) for passages in _KINDS))
    return min(found, key=lambda span: span[1] - len(text[slice(*span)].lstrip()), default=None)


def _without(text: str, spans: Iterable[Span]) -> str:
    """Replace every character of a non-blank span by `TAKEN`."""
    return replaced(text, spans, lambda words: TAKEN * len(words) if words.strip() else words)


_TAKEN = re.compile(rf"{TAKEN}+(?:\s+{TAKEN}+)*")
"""Removed text. Passages separated only by white space count as one."""


def _tidy(text: str) -> str:
    """Fold white space, and leave empty lines out."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


# --- the middle of a long message, for `acc.state.policy.Policy.pasted` ---

LONG_LINE = 400
"""Of a line with more characters only the outermost sentence counts: the first line's first, the last line's last."""

LONGEST_SENTENCE = 4_000
"""Characters in which that sentence must end, or begin."""

LONGEST_TYPED = 32_000
"""Characters of a message that somebody may have typed. Of a longer one the middle is pasted."""


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
    start, end = _middle(text)
    middle = text[start:end].strip()
    if not middle.replace(MARK, "").strip():
        return None
    return Framed(text[:start].strip(), middle, text[end:].strip())


def _middle(text: str) -> Span:
    """Return where the middle of a message begins and ends: behind its first line, and in front of its last one."""
    spans = list(_full_lines(text))
    if not spans:
        return 0, 0
    (start, end), (last, stop) = spans[0], spans[-1]
    if end - start > LONG_LINE:
        end = start + _outermost(text[start:end], 0)[1]
    if stop - last > LONG_LINE:
        last += _outermost(text[last:stop], -1)[0]
    return end, max(end, last)


def _outermost(line: str, place: Literal[0, -1]) -> Span:
    """Return where the first or last sentence of a line stands: nothing at that edge if it is too long for one."""
    skipped = 0 if place == 0 else max(0, len(line) - LONGEST_SENTENCE)
    part = line[skipped:][:LONGEST_SENTENCE]
    found, is_whole = sentences(part), len(part) == len(line)
    if found and (is_whole or len(found) > 1):
        return skipped + found[place].start, skipped + found[place].end
    edge = 0 if place == 0 else len(line)
    return (0, len(line)) if is_whole else (edge, edge)


def _full_lines(text: str) -> Iterator[Span]:
    position = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield position, position + len(line.rstrip())
        position += len(line)


# --- messages in HTML ---


def without_html(text: str) -> str:
    """Return the words of ``text`` if an editor sent it as HTML, with a line for each block, else ``text``.

    Teams, mail programs and rich-text fields send their users' words so. Links keep their addresses. Tags that are
    not of format, such as ``blockquote``, stay: they say what is pasted.
    """
    message = text.strip()
    opening = TAG.match(message)
    closing = TAG.fullmatch(message, message.rfind("<"))
    if not (opening and closing and {opening["name"].lower(), closing["name"].lower()} <= FORMAT):
        return text
    joined = " ".join(text.split())
    kept: list[str] = []
    at, link = 0, ("", 0)
    for tag in TAG.finditer(joined):
        name = tag["name"].lower()
        if name not in FORMAT - {"at"}:
            continue
        kept.append(joined[at : tag.start()])
        at = tag.end()
        if name == "a":
            address, start = link
            is_told = tag["end"] and address and joined[start : tag.start()] != address
            kept += [f" ({address})"] if is_told else []
            link = ("", 0) if tag["end"] else (_address(tag["more"] or ""), tag.end())
        elif name in BLOCKS:
            kept.append("\n- " if name == "li" and not tag["end"] else "\n")
    return _tidy(unescape("".join((*kept, joined[at:]))))


def _address(attributes: str) -> str:
    value = attributes.partition("href=")[2]
    quote = value[:1] if value[:1] in ("'", '"') else " "
    return value.removeprefix(quote).partition(quote)[0]

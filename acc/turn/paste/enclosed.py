"""Finds passages with a mark at both ends: from the first mark of a kind to its last, or to the end.

Text between two such passages counts as pasted too, because the pasted text may contain marks itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from unicodedata import east_asian_width

import regex

Span = tuple[int, int]
"""Start and end of a passage in its text."""

TAKEN = "\x00"
"""Replaces each character of a passage that was found already. `Normal.laid_out` removes all others."""

QUOTED_WORDS = 8
"""A quotation with more words than this counts as pasted."""

_WIDE_PER_WORD = 2
"""East Asian characters that count as one word."""


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its position."""
    position = 0
    for line in text.split("\n"):
        yield position, line
        position += len(line) + 1


def bare(line: str) -> str:
    """Return the line without white space and single signs in front, such as a bullet or a table's border."""
    rest = line.lstrip()
    while rest[1:2].isspace() and not (rest[0].isalnum() or rest[0] == ">"):
        rest = rest[1:].lstrip()
    return rest


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, without marks around them."""
    return list(filter(None, map(_without_marks, text.lower().split())))


def _without_marks(word: str) -> str:
    return word.strip("".join(char for char in set(word) if not char.isalnum()))


def words(listed: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(listed.split())


def line_end(text: str, position: int) -> int:
    """Return the end of the line at ``position``."""
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


def is_long(quotation: str) -> bool:
    """Whether ``quotation`` has more than `QUOTED_WORDS` words; two East Asian characters count as one word."""
    if len(quotation.split(None, QUOTED_WORDS)) > QUOTED_WORDS:
        return True
    wide = sum(east_asian_width(char) == "W" for char in quotation[:1_000])
    return wide > QUOTED_WORDS * _WIDE_PER_WORD


_FENCE = re.compile(r'`{3,}|~{3,}|(?<!")"{3}(?!")')


def fenced(text: str) -> Iterator[Span]:
    """Yield the span from the first fence to the last, or to the end if the last fence is not closed."""
    found = list(_fences(text))
    if found:
        start, end = found[0][0], found[-1][1]
        if "\n" in text[start:end] or is_long(text[start:end]):
            yield start, end


def _fences(text: str) -> Iterator[Span]:
    position = 0
    while opening := _FENCE.search(text, position):
        end_of_line = line_end(text, opening.end())
        inline = text.find(opening.group(), opening.end(), end_of_line)
        below = _closing_line(text, end_of_line + 1, opening.group()) if inline < 0 else 0
        position = below or inline + len(opening.group())
        yield opening.start(), position


def _closing_line(text: str, position: int, fence: str) -> int:
    """The end of the next line with at least as many marks as ``fence``, or the end of the text."""
    while position < len(text):
        end = line_end(text, position)
        line = bare(text[position:end]).rstrip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return end
        position = end + 1
    return len(text)


TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][\w.:-]{0,40})(?P<more>\s[^<>]{0,1000})?/?>", re.I)
INLINE = words("b i u s a em strong span sub sup kbd mark small del ins font")
BLOCKS = words("br hr p div ul ol li dl dt dd h1 h2 h3 h4 h5 h6")
FORMAT = INLINE | BLOCKS | {"at"}
"""Tags in which editors and chat programs send what their user writes; ``at`` is a mention in Teams."""

_OWN = words(
    """instruction instructions rule rules constraint constraints requirement requirements guideline guidelines
    policy policies task tasks goal goals question questions query queries request requests role persona format
    preference preferences"""
)
"""Tags in which users write their own rules."""


def tagged(text: str) -> Iterator[Span]:
    """Yield spans from a tag to its last end tag, except tags of format or of the user's own rules.

    So an HTML message is its writer's, without what it quotes (``blockquote``, ``pre``); a whole page is a document.
    """
    found = [tag for tag in TAG.finditer(text) if tag["name"].lower() not in FORMAT | _OWN]
    last = {tag["name"].lower(): tag.end() for tag in found if tag["end"]}
    position = 0
    for tag in found:
        end = last.get(tag["name"].lower(), 0)
        if tag.start() >= position and not tag["end"] and end > tag.end():
            yield tag.start(), end
            position = end


_BORDER = re.compile(r"[-=*#<\[]{2,8} ?(?:(?P<begins>BEGIN|START)|END)\b[^\n]{0,60}?[-=*#>\]]{2,8}")


def begun(text: str) -> Iterator[Span]:
    """Yield the span from a line such as ``-----BEGIN MAIL-----`` to the last END, or to the end."""
    found = list(_BORDER.finditer(text))
    start = next((each.start() for each in found if each["begins"]), None)
    if start is not None:
        ends = [each.end() for each in found if not each["begins"] and each.start() > start]
        yield start, ends[-1] if ends else len(text)


DRAWN = r"\p{Dash}\p{Block=Box_Drawing}="
"""Class of the characters that draw a line across the page."""

_RULE = regex.compile(rf"(?:[{DRAWN}*_#] ?){{3,}}")
_UNDERLINES = 3
"""Maximum difference in characters between a heading and its underline."""


def is_rule(line: str) -> bool:
    """Whether the line has three or more marks for drawing lines, and nothing else."""
    return any(_RULE.fullmatch(text) for text in (line.strip(), bare(line).rstrip()))


def ruled(text: str) -> Iterator[Span]:
    """Yield the span from the first horizontal rule to the last, if there are two.

    A heading's underline does not start the span.
    """
    found = [
        (start, start + len(line), bool(above.strip()) and _is_as_long(above, line))
        for (_, above), (start, line) in pairwise([(0, ""), *lines(text)])
        if is_rule(line)
    ]
    first = next((start for start, _, is_underline in found if not is_underline), None)
    if first is not None and first < found[-1][0]:
        yield first, found[-1][1]


def _is_as_long(heading: str, line: str) -> bool:
    return abs(len(heading.strip()) - len(line.strip())) <= _UNDERLINES


_OBJECT = re.compile(r"""[\[{]\s{0,40}["{\[]""")


def objects(text: str) -> Iterator[Span]:
    """Yield the span from the first bracket of JSON to the last, if it is long (`is_long`)."""
    opening = _OBJECT.search(text)
    if opening is not None:
        end = text.rfind({"{": "}", "[": "]"}[opening.group()[0]]) + 1 or len(text)
        if is_long(text[opening.start() : end]):
            yield opening.start(), end

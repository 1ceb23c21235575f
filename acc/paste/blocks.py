"""Passages with a mark at either end: fences, tags, what stands between BEGIN and END."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.paste.lines import Span, is_long, line_end

_FENCE = re.compile(r"`{3,}|~{3,}")


def fenced(text: str) -> Iterator[Span]:
    """From an opening fence, wherever it stands, to a line of at least as many of its marks.

    Where the last is never closed, one before may have been closed from within: all from the
    first to the end.
    """
    found = list(_fences(text))
    if found and not found[-1][1]:
        found = [((min(start for (start, _), _ in found), len(text)), False)]
    yield from (span for span, _ in found)


def _fences(text: str) -> Iterator[tuple[Span, bool]]:
    """Each fenced passage, and whether it is closed."""
    position = 0
    while opening := _FENCE.search(text, position):
        end_of_line = line_end(text, opening.end())
        position = opening.end()
        inline = text.find(opening.group(), opening.end(), end_of_line)
        if inline >= 0:  # opened and closed on one line: a quotation
            position = inline + len(opening.group())
            if is_long(text[opening.end() : inline]):
                yield (opening.start(), position), True
            continue
        closing = _closing(text, end_of_line + 1, opening.group())
        position = len(text) if closing is None else closing
        yield (opening.start(), position), closing is not None


def _closing(text: str, position: int, fence: str) -> int | None:
    while position < len(text):
        end = line_end(text, position)
        line = text[position:end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return end
        position = end + 1
    return None


_TAGS = re.sub(
    r"\s+",
    "|",
    """attachment article assistant blockquote body chat code comment content context conversation
    data description doc document documents email excerpt file files html human input log logs mail
    message messages note output page paste pasted pre quote response result results review
    search_results snippet source sources stderr stdout system text ticket tool tool_output
    tool_result transcript webpage""",
)
_TAG = re.compile(rf"<(?P<name>{_TAGS})(?:\s[^<>\n]{{0,200}})?>", re.I)
_END_TAG = re.compile(rf"</(?P<name>{_TAGS})\s{{0,8}}>", re.I)


FAR = 2_000
"""Characters from which a tagged passage is long, without counting its words."""


def tagged(text: str) -> Iterator[Span]:
    """From a tag that names something brought along to the last that closes it, if that is far."""
    last = {end["name"].lower(): end.end() for end in _END_TAG.finditer(text)}
    position = 0
    while opening := _TAG.search(text, position):
        position = opening.end()
        end = last.get(opening["name"].lower(), 0)
        if end - position > FAR or (end > position and is_long(text[position:end])):
            yield opening.start(), end
            position = end


_BEGIN = re.compile(r"-{3,8} ?BEGIN [^\n-]{1,60}-{3,8}")
_END = re.compile(r"-{3,8} ?END [^\n-]{1,60}-{3,8}")


def enclosed(text: str) -> Iterator[Span]:
    """From ``-----BEGIN`` to the last ``-----END``, or to the end."""
    opening = _BEGIN.search(text)
    if opening is None:
        return
    ends = [end.end() for end in _END.finditer(text, opening.end())]
    yield opening.start(), ends[-1] if ends else len(text)

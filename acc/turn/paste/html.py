"""Reads a message that an editor sent as HTML: its words, with a line for each block.

Teams, mail programs and rich-text fields send their users' words so. Sentences end where blocks do, a model quotes
"don't", not "don&#39;t", and a quoted mail is found by its lines. Other tags, such as ``blockquote``, stay: they say
what is pasted.
"""

from __future__ import annotations

import re
from html import unescape

from acc.turn.paste.enclosed import BLOCKS, FORMAT, INLINE

_REST = r"(?:\s[^<>]{0,1000})?/?>"
_OPENS = re.compile(rf"<(?:{FORMAT}){_REST}", re.I)
_CLOSES = re.compile(rf"</?(?:{FORMAT})\s{{0,8}}/?>\Z", re.I)
_POINT = re.compile(rf"<li{_REST}", re.I)
_BLOCK = re.compile(rf"</?(?:{BLOCKS}){_REST}", re.I)
_LINK = re.compile(
    r"<a\s(?:(?!href=)[^<>]){0,1000}+href=[\"']?(?P<to>[^<>\"'\s]{1,1000}+)[^<>]{0,1000}+>(?P<said>[^<>]{0,1000}+)</a>",
    re.I,
)
_INLINE = re.compile(rf"</?(?:{INLINE}){_REST}", re.I)


def without_html(text: str) -> str:
    """Return the words of ``text`` if it is HTML from its beginning to its end, else ``text``; links keep theirs."""
    message = text.strip()
    if not (_OPENS.match(message) and _CLOSES.search(message[-20:])):
        return text
    words = _LINK.sub(_linked, " ".join(text.split()))
    words = _INLINE.sub("", _BLOCK.sub("\n", _POINT.sub("\n- ", words)))
    lines = (" ".join(line.split()) for line in unescape(words).splitlines())
    return "\n".join(filter(None, lines))


def _linked(link: re.Match[str]) -> str:
    return link["said"] if link["said"] == link["to"] else f"{link['said']} ({link['to']})"

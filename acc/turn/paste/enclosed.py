"""Finds passages with a mark at both ends: from the first mark of a kind to its last, or to the end.

Text between two such passages counts as pasted too, because the pasted text may contain marks itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]
"""Start and end of a passage in its text."""

TAKEN = "\x00"
"""Replaces each character of a passage that was found already. `plain` removes all others."""

QUOTED_WORDS = 8
"""A quotation with more words than this counts as pasted."""

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIDE_PER_WORD = 2

_BREAKS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_UNSEEN = dict.fromkeys(map(ord, "\x00\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"), " ")


def plain(text: str) -> str:
    """Return ``text`` with all line breaks as line feeds and invisible characters as spaces.

    The length and all positions stay the same.
    """
    return text.replace("\r\n", " \n").translate({**_BREAKS, **_UNSEEN})


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of `plain` text with its position."""
    position = 0
    while position <= len(text):
        end = line_end(text, position)
        yield position, text[position:end]
        position = end + 1


def line_end(text: str, position: int) -> int:
    """Return the end of the line at ``position``."""
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


def is_long(quotation: str) -> bool:
    """Whether ``quotation`` has more than `QUOTED_WORDS` words; two East Asian characters count as one word."""
    if len(quotation.split(None, QUOTED_WORDS)) > QUOTED_WORDS:
        return True
    return len(_WIDE.findall(quotation)) > QUOTED_WORDS * _WIDE_PER_WORD


_FENCE = re.compile(r"""[`~"](?:(?<=`)`{2,}|(?<=~)~{2,}|(?<=")(?<!"")""(?!"))""")


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
        below = _closing(text, end_of_line + 1, opening.group()) if inline < 0 else 0
        position = below or inline + len(opening.group())
        yield opening.start(), position


def _closing(text: str, position: int, fence: str) -> int:
    """The end of the next line with at least as many marks as ``fence``, or the end of the text."""
    while position < len(text):
        end = line_end(text, position)
        line = text[position:end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return end
        position = end + 1
    return len(text)


INLINE = "b|i|u|s|a|em|strong|span|sub|sup|kbd|mark|small|del|ins|font"
BLOCKS = "br|hr|p|div|ul|ol|li|dl|dt|dd|h[1-6]"
FORMAT = f"{INLINE}|{BLOCKS}|at"
"""Tags in which editors and chat programs send what their user writes; ``at`` is a mention in Teams."""

_OWN = (
    r"instructions?|rules?|constraints?|requirements?|guidelines?|polic(?:y|ies)|tasks?|goals?"
    r"|questions?|quer(?:y|ies)|requests?|role|persona|format|preferences?"
)
_TAG = re.compile(
    rf"<(?!(?:{FORMAT}|{_OWN})(?![\w.:-]))(?P<name>[a-z][\w.:-]{{0,40}})(?:\s[^<>\n]{{0,200}})?>",
    re.I,
)
_END_TAG = re.compile(r"</(?P<name>[a-z][\w.:-]{0,40})\s{0,8}>", re.I)


def tagged(text: str) -> Iterator[Span]:
    """Yield spans from a tag to its last end tag, except tags of format or of the user's own rules.

    So an HTML message is its writer's, without what it quotes (``blockquote``, ``pre``); a whole page is a document.
    """
    last = {end["name"].lower(): end.end() for end in _END_TAG.finditer(text)}
    position = 0
    while last and (opening := _TAG.search(text, position)):
        position = opening.end()
        end = last.get(opening["name"].lower(), 0)
        if end > position:
            yield opening.start(), end
            position = end


_BEGIN = re.compile(r"[-=*#<\[]{2,8} ?(?:BEGIN|START)\b[^\n]{0,60}?[-=*#>\]]{2,8}")
_END = re.compile(r"[-=*#<\[]{2,8} ?END\b[^\n]{0,60}?[-=*#>\]]{2,8}")


def begun(text: str) -> Iterator[Span]:
    """Yield the span from a line such as ``-----BEGIN MAIL-----`` to the last END, or to the end."""
    opening = _BEGIN.search(text)
    if opening is None:
        return
    ends = [end.end() for end in _END.finditer(text, opening.end())]
    yield opening.start(), ends[-1] if ends else len(text)


_RULE = re.compile(r"\s{0,3}(?P<mark>[-=*_#–—])(?P=mark){2,}\s{0,8}\Z")
_UNDERLINES = 3
"""Maximum difference in characters between a heading and its underline."""


def ruled(text: str) -> Iterator[Span]:
    """Yield the span from the first horizontal rule to the last, if there are two.

    A heading's underline does not start the span.
    """
    found = [
        (start, start + len(line), bool(above.strip()) and _is_as_long(above, line))
        for (_, above), (start, line) in pairwise([(0, ""), *lines(text)])
        if _RULE.match(line)
    ]
    first = next((start for start, _, is_underline in found if not is_underline), None)
    if first is not None and first < found[-1][0]:
        yield first, found[-1][1]


def _is_as_long(heading: str, line: str) -> bool:
    return abs(len(heading.strip()) - len(line.strip())) <= _UNDERLINES


_OBJECT = re.compile(r"""[\[{]\s{0,40}["{\[]""")
_ASKED = re.compile(r'"(?:question|query)"\s{0,8}:\s{0,8}"(?P<said>(?:[^"\\]|\\.)*)"')


def objects(text: str) -> Iterator[Span]:
    """Yield the span from the first bracket of JSON to the last, if it is long (`is_long`)."""
    opening = _OBJECT.search(text)
    if opening is not None:
        end = text.rfind({"{": "}", "[": "]"}[opening.group()[0]]) + 1 or len(text)
        if is_long(text[opening.start() : end]):
            yield opening.start(), end


def around_question(text: str) -> Iterator[Span]:
    """If the whole message is a JSON object with a question, yield everything except the question."""
    asked = _ASKED.search(text) if text.lstrip().startswith("{") else None
    try:
        whole = json.loads(text) if asked else None
    except (ValueError, RecursionError):
        return
    said = [whole.get(key) for key in ("question", "query")] if isinstance(whole, dict) else []
    if asked and json.loads(f'"{asked["said"]}"') in said:
        yield 0, asked.start("said")
        yield asked.end("said"), len(text)


_OPENS = re.compile(
    r"""["‘`»“„«‹「『'](?:(?<=[“„«‹「『])"""
    r"""|(?<=["‘`»])(?:(?<=[\s(\[{:,;–—-].)|(?<=\A.))(?=\S)"""
    r"""|(?<=')(?:(?<=[:,]\ .)|(?<=[:\n].)|(?<=\A.))(?=[^\s\d]))"""
)
"""The mark comes first in the pattern, because a search for its first character is fast."""

_CLOSES = {
    '"': re.compile(r"""\"(?=[\s.,;:!?)\]}–—-]|\Z)"""),
    "‘": re.compile(r"(?<=\S)’(?=\W|\Z)"),
    "'": re.compile(r"(?<=\S)'(?=\W|\Z)"),
    "`": re.compile("`"),
    "»": re.compile("«"),
    "“": re.compile("”"),
    "„": re.compile("[“”]"),
    "«": re.compile("»"),
    "‹": re.compile("›"),
    "「": re.compile("」"),
    "『": re.compile("』"),
}
_NESTED = {
    '"': re.compile(
        r"""(?P<open>(?:(?<=[\s(\[{])|\A)"(?=\S))|(?P<close>"(?=[\s.,;:!?)\]}–—-]|\Z))"""
        r"""|(?P<late>(?<=[:,;–—-])"(?=\S))|(?P<other>")"""
    ),
    **{
        mark: re.compile(f"(?P<open>{mark})|(?P<close>{_CLOSES[mark].pattern})")
        for mark in "“«‹「『"
    },
}
"""Marks whose opening and closing forms differ, so quotations can be nested."""


def quotations(text: str) -> Iterator[Span]:
    """Yield quotations that are long, or that a clause before a colon attributes to another person.

    An introduced quotation extends to the last mark of its kind, because the quoted text may
    contain closing marks. Without a closing mark it extends to the end.
    """
    position = 0
    unclosed: set[str] = set()
    last: dict[str, Span] = {}
    while opening := _OPENS.search(text, position):
        mark, position = opening.group(), opening.end()
        introduced = _INTRODUCES.search(text, max(0, opening.start() - FAR), opening.start())
        closing = None if mark in unclosed else _closing_mark(text, position, mark)
        if closing is not None:
            inner, end = closing.span()
            if introduced:
                last[mark] = last.get(mark) or _last(text, mark)
                sure = bool(introduced["colon"]) and mark not in _AMBIGUOUS
                inner, end = _farther(text, (inner, end), last[mark], sure)
        elif mark not in unclosed and introduced:
            inner = end = len(text)
        else:
            unclosed.add(mark)
            continue
        inside = text[position:inner].strip()
        if is_long(inside) or "\n" in inside or (introduced and _is_of_another(text, introduced)):
            yield opening.start(), end
        position = end


def _last(text: str, mark: str) -> Span:
    """The last mark that closes ``mark``; the end of the text if another one opens after it."""
    last = max(found.span() for found in _CLOSES[mark].finditer(text))
    opened = mark not in _AMBIGUOUS and text.rfind(mark) > last[0]
    return (len(text), len(text)) if opened else last


FAR = 40
"""Maximum white space in characters between an introduction and its quotation."""

_INTRODUCES = re.compile(r"(?:(?P<colon>[:：])|[,\n]|\A)\s*\Z")
_OF_ANOTHER = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bich )(?<!\bwir )(?<!\bthat )(?<!\bwhich )(?<!\bwho )"
    r"\b(?:says|said|wrote|writes|texted|posted|replied|answered|sagte?|schreibt|schrieb|geschrieben|dit"
    r"|écrit|dice|dijo|escribe|escribió|scrive|scritto|disse)(?: (?:to )?(?:me|us|back|mir|uns))?\s*\Z",
    re.I,
)
"""A clause before a colon; not "I wrote:", and not "a sign that says:", which words something."""


def _is_of_another(text: str, introduced: re.Match[str]) -> bool:
    at = introduced.start()
    return bool(introduced["colon"]) and bool(_OF_ANOTHER.search(text, max(0, at - FAR), at))


_AMBIGUOUS = "'‘`"
"""Marks that are also apostrophes or delimit code."""


def _farther(text: str, closing: Span, last: Span, sure: bool) -> Span:
    """Return ``last`` if a colon introduces the quotation or a line break follows ``closing``, else ``closing``."""
    is_within = last[0] > closing[1] and (sure or "\n" in text[closing[1] : last[0]])
    return last if is_within else closing


_DEPTH = {"open": 1, "late": 1, "close": -1, "other": 0}


def _closing_mark(text: str, position: int, mark: str) -> re.Match[str] | None:
    """The mark that closes the ``mark`` opened before ``position``, after nested quotations."""
    if mark not in _NESTED:
        return _CLOSES[mark].search(text, position)
    depth, last = 1, None
    for found in _NESTED[mark].finditer(text, position):
        depth += _DEPTH[str(found.lastgroup)]
        last = found if found["close"] else last
        if depth == 0:
            break
    return last if last is None or mark != '"' else _outermost(text, last)


def _outermost(text: str, closing: re.Match[str]) -> re.Match[str]:
    """The last closing mark after ``closing`` before another opens. A mark after a digit may mean inches."""
    while (other := _NESTED['"'].search(text, closing.end())) and other["close"]:
        if text[other.start() - 1].isdigit():
            break
        closing = other
    return closing

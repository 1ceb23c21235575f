"""Passages with a mark at either end: from the first mark of a kind to its last, or to the end.

What stands between two of them may have been enclosed by the pasted text itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from acc.turn.paste.lines import Span, is_long, line_end, lines

_FENCE = re.compile(r"""[`~"](?:(?<=`)`{2,}|(?<=~)~{2,}|(?<=")(?<!"")""(?!"))""")


def fenced(text: str) -> Iterator[Span]:
    """From the first fence to the last; to the end where the last passage is not closed."""
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
    """The end of the next line of at least as many marks as ``fence``, or of the text."""
    while position < len(text):
        end = line_end(text, position)
        line = text[position:end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return end
        position = end + 1
    return len(text)


_FORMAT = "b|i|u|s|a|br|hr|em|strong|span|sub|sup|kbd|mark|small|del|ins"
_OWN = (
    r"instructions?|rules?|constraints?|requirements?|guidelines?|polic(?:y|ies)|tasks?|goals?"
    r"|questions?|quer(?:y|ies)|requests?|role|persona|format|preferences?"
)
_TAG = re.compile(
    rf"<(?!(?:{_FORMAT}|{_OWN})\b)(?P<name>[a-z][\w.:-]{{0,40}})(?:\s[^<>\n]{{0,200}})?>", re.I
)
_END_TAG = re.compile(r"</(?P<name>[a-z][\w.:-]{0,40})\s{0,8}>", re.I)


def tagged(text: str) -> Iterator[Span]:
    """From a tag to the last that closes it; not tags of format, or of one's own rules."""
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
    """From a line such as ``-----BEGIN MAIL-----`` to the last with END, or to the end."""
    opening = _BEGIN.search(text)
    if opening is None:
        return
    ends = [end.end() for end in _END.finditer(text, opening.end())]
    yield opening.start(), ends[-1] if ends else len(text)


_RULE = re.compile(r"\s{0,3}(?P<mark>[-=*_#–—])(?P=mark){2,}\s{0,8}\Z")
_UNDERLINES = 3
"""Characters by which a heading's underline may be longer or shorter than the heading."""


def ruled(text: str) -> Iterator[Span]:
    """From the first rule across the page to the last, if there are two; a heading's underline begins none."""
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
    """From the first bracket of JSON to the last, if that is far."""
    opening = _OBJECT.search(text)
    if opening is not None:
        end = text.rfind({"{": "}", "[": "]"}[opening.group()[0]]) + 1 or len(text)
        if is_long(text[opening.start() : end]):
            yield opening.start(), end


def around_question(text: str) -> Iterator[Span]:
    """Where the whole message is one JSON object with a question in it: all but the question."""
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
"""The mark comes first, because what a search begins with is looked for quickly."""

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
"""Marks that tell opening from closing: in a quotation another one may stand."""


def quotations(text: str) -> Iterator[Span]:
    """Quotations that are long, or that a clause before a colon says another person said.

    One that is introduced reaches to the last mark of its kind, since the quoted text may have
    closed it from within; to the end where nothing closes it.
    """
    position = 0
    unclosed: set[str] = set()
    last: dict[str, Span] = {}
    while opening := _OPENS.search(text, position):
        mark, position = opening.group(), opening.end()
        introduced = _INTRODUCES.search(text, max(0, opening.start() - FAR), opening.start())
        closing = None if mark in unclosed else _quotations_closing(text, position, mark)
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
    """The last mark that closes what ``mark`` opens; the end, where another was opened behind it."""
    last = max(found.span() for found in _CLOSES[mark].finditer(text))
    opened = mark not in _AMBIGUOUS and text.rfind(mark) > last[0]
    return (len(text), len(text)) if opened else last


FAR = 40
"""Characters of white space at most between what introduces a quotation and the quotation."""

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
"""Marks that are apostrophes too, or set code apart."""


def _farther(text: str, closing: Span, last: Span, sure: bool) -> Span:
    """The ``last`` mark of a kind, where what it was introduced as reaches so far; else ``closing``.

    It does behind a colon, or where another line stands between.
    """
    is_within = last[0] > closing[1] and (sure or "\n" in text[closing[1] : last[0]])
    return last if is_within else closing


_DEPTH = {"open": 1, "late": 1, "close": -1, "other": 0}


def _quotations_closing(text: str, position: int, mark: str) -> re.Match[str] | None:
    """The mark that closes what ``mark`` opened before ``position``, behind those it has within."""
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
    """The last of the marks that close behind ``closing`` what nothing has opened since.

    A straight mark behind a figure may stand for inches, and reaches for nothing.
    """
    while (other := _NESTED['"'].search(text, closing.end())) and other["close"]:
        if text[other.start() - 1].isdigit():
            break
        closing = other
    return closing

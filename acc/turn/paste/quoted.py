"""Finds quotations, quoted lines, and what a program put around a question.

Of a prompt template only labels at the head of a line count, as names of mail headers do. A sentence that announces a
text is not read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby

from acc.turn.paste.enclosed import TAKEN, Span, bare, is_long, lines, words, words_of

_MARK = re.compile("[\"'`‘’“”„«»‹›「」『』]")
_CLOSERS = {
    '"': '"', "'": "'", "`": "`", "‘": "’", "“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』",
}  # fmt: skip
"""The closing marks of each opening mark."""

_ALWAYS = "“„«‹「『"
"""Marks that open a quotation wherever they stand."""

_AMBIGUOUS = "'‘`"
"""Marks that are also apostrophes or delimit code."""

_MOST_NESTED = 100
"""Closing marks that are looked at one by one."""

FAR = 40
"""Characters before a quotation in which its introduction ends."""


def quotations(text: str) -> Iterator[Span]:
    """Yield quotations that are long or have several lines; shorter ones are the user's wording.

    The quoted text may contain closing marks. So a quotation after a colon extends to the last mark of its kind, and
    one behind a comma or on a new line does if it has several lines. Without a closing mark it extends to the end.
    """
    places = [found.start() for found in _MARK.finditer(text)]
    known: dict[str, list[int]] = {}
    position = 0
    for at in places:
        mark = text[at]
        if at < position or not _opens(text, at):
            continue
        if mark not in known:
            known[mark] = [other for other in places if _closes(text, other, mark)]
        before = text[max(0, at - FAR) : at]
        inner = _end(text, at, before, known[mark])
        if inner is None:
            continue
        inside = text[at + 1 : inner].strip()
        position = min(inner + 1, len(text))
        if is_long(inside) or "\n" in inside:
            yield at, position


def _end(text: str, at: int, before: str, closing: list[int]) -> int | None:
    """Return where the quotation ends that opens at ``at``; None if no mark closes it."""
    mark, number = text[at], bisect_right(closing, at)
    is_led = before.rstrip().endswith(":")  # behind a colon
    is_introduced = is_led or _is_apart(before)
    if number == len(closing):
        return len(text) if is_introduced else None
    nearest = closing[number]
    for other in closing[number + 1 : number + 1 + _MOST_NESTED] if mark == '"' else ():
        # A straight mark behind which none opened before. One behind a digit may mean inches.
        if text.find(mark, nearest + 1) < other or _opens(text, other) or text[other - 1].isdigit():
            break
        nearest = other
    is_sure = is_led and mark not in _AMBIGUOUS
    if not is_sure and not (is_introduced and text.find("\n", nearest, closing[-1]) >= 0):
        return nearest
    is_opened = mark not in _AMBIGUOUS and text.rfind(mark) > closing[-1]
    return len(text) if is_opened else closing[-1]


def _opens(text: str, at: int) -> bool:
    """Whether the mark at ``at`` can open a quotation."""
    mark, before, after = text[at], text[max(0, at - 2) : at], text[at + 1 : at + 2]
    if mark in _ALWAYS or mark not in _CLOSERS or not after.strip():
        return mark in _ALWAYS
    if mark == "'":
        is_apart = before[-1:] in ("", ":", "\n") or before in (": ", ", ")
        return is_apart and not after.isdigit()
    return not before[-1:].strip() or before[-1] in "([{:,;–—-"


def _closes(text: str, at: int, opener: str) -> bool:
    """Whether the mark at ``at`` can close what ``opener`` opens."""
    before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if text[at] not in _CLOSERS[opener]:
        return False
    if opener == '"':
        return not after.strip() or after in ".,;:!?)]}–—-"
    return opener not in "'‘" or (before.strip() != "" and not (after.isalnum() or after == "_"))


def _is_apart(before: str) -> bool:
    """Whether a quotation begins behind a comma, on a line of its own, or at the start of the text."""
    said = before.rstrip()
    return said.endswith(",") or "\n" in before[len(said) :] or (not said and len(before) < FAR)


def quoted_lines(text: str) -> Iterator[Span]:
    """Yield runs of lines that begin with ``>``, except one line that compares ("> 500 EUR: ask me").

    Slack sends the mark as ``&gt;``.
    """
    every = list(lines(text))
    quoted = (at for at, (_, line) in enumerate(every) if bare(line).startswith((">", "&gt;")))
    for _, run in groupby(enumerate(quoted), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        first, last = places[0], places[-1]
        if first == last and _compares(every[first][1]):
            continue
        last += _is_broken([line for _, line in every[last : last + 2]])
        start, line = every[last]
        yield every[first][0], start + len(line)


def _compares(line: str) -> bool:
    limit, colon, _ = bare(line).replace("&gt;", ">").lstrip("> $€£").partition(":")
    number, *unit = limit.replace(",", "").replace(".", "").split() or [""]
    return bool(colon) and number.rstrip("km%€").isdigit() and len(unit) <= 1


WRAPPED = 60
"""Length in characters from which mail programs wrap a quoted line."""


def _is_broken(pair: list[str]) -> bool:
    """Whether a quoted line continues without its mark: long, ends in a word or comma, lower case follows."""
    if len(pair) < 2:
        return False
    line, rest = pair[0].rstrip(), pair[1]
    return len(line) >= WRAPPED and (line[-1].isalnum() or line[-1] == ",") and rest[:1].islower()


# --- prompt templates ---

_LABELS = words(
    "context contexts kontext contexte contexto contesto コンテキスト 文脈 検索結果 上下文"
)
_FOUND = words("search retrieved relevant reference provided background")
_KINDS = words("results documents passages sources information") | _LABELS
"""A label is one of `_LABELS`, or one of `_FOUND` before one of these: "Retrieved documents:"."""

_QUESTIONS = words(
    "question query q input request answer frage pregunta consulta requête domanda pergunta 質問 問い 问题 提问"
)

_LONGEST = 80
"""Maximum length in characters of a label."""


def retrieved(text: str) -> Iterator[Span]:
    """Yield the span from the label of the context to the last question line, or to the end.

    Only the template determines which line is the question. So it is looked for only if the label begins the message.
    """
    label = next((found for start, line in lines(text) if (found := _label(start, line))), None)
    if label is None:
        return
    start, below = label
    heading = text[:start].rstrip().rpartition("\n")[2]
    if heading.endswith(":") and len(heading.split()) == 1:  # "Documents:", "Sources:"
        start = text.rindex(heading, 0, start)
    asked = [at for at, line in lines(text) if at >= below and _is_question(text, at, line)]
    rest = text[below:].lstrip()
    if rest[:1] == "<" and rest[1:2].isalpha():
        yield below, len(text)  # `tagged` finds the end of what stands between tags
    elif asked and not text[:start].strip():
        yield start, asked[-1]
    elif rest.startswith(TAKEN):
        yield start, len(text) - len(rest.lstrip(TAKEN))
    elif rest.strip():
        yield start, len(text)


def _label(start: int, line: str) -> Span | None:
    """Return from where to where the label goes with which a line begins, such as "Context:" or "[1]"."""
    if bare(line).startswith("[1] "):
        return start, start
    head, colon, _ = line[:_LONGEST].partition(":")
    first, *others = words_of(head)[:2] or [""]
    is_label = first in _LABELS or (first in _FOUND and bool(_KINDS & {*others}))
    is_sentence = any(mark in head for mark in ".!?")
    return (start, start + len(head) + 1) if colon and is_label and not is_sentence else None


def _is_question(text: str, start: int, line: str) -> bool:
    head, colon, value = line[:_LONGEST].partition(":")
    said = words_of(head)
    is_named = bool(said) and said[-1] in _QUESTIONS and said[0] in {"user", "my", said[-1]}
    below = text[start + len(line) : start + len(line) + 8]
    return bool(is_named and colon and (value.strip() or below.strip()))


def around_question(text: str) -> Iterator[Span]:
    """If the whole message is a JSON object with a question, yield everything except the question."""
    try:
        whole = json.loads(text) if text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return
    said = whole.get("question") or whole.get("query")
    forms = [json.dumps(said, ensure_ascii=is_ascii) for is_ascii in (False, True)]
    written = next((form for form in forms if form in text), None)
    if isinstance(said, str) and written is not None:
        start = text.index(written)
        yield 0, start + 1
        yield start + len(written) - 1, len(text)

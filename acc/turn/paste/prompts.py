"""Finds what a program put around a question: the labels of a prompt template, and an object with a question.

Only labels at the head of a line count, as names of mail headers do. A sentence that announces a text is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from acc.turn.paste.enclosed import TAKEN, Span, bare, lines, words, words_of

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
    for is_ascii in (False, True) if isinstance(said, str) else ():
        written = json.dumps(said, ensure_ascii=is_ascii)
        start = text.find(written)
        if start >= 0:
            yield 0, start + 1
            yield start + len(written) - 1, len(text)
            return

"""Prompts that an application made of retrieved context and a question: the question is the user's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.paste.lines import TAKEN, Span, line_end

_CONTEXT = (
    r"contexts?|documents?|docs|passages?|sources|excerpts?|snippets?|chunks|search results|articles?"
    r"|information|kontext|dokumente?n?|quellen|auszüge|contexte|extraits?|contexto|documentos"
    r"|fragmentos|contesto|documenti"
)
_LABEL = re.compile(
    r"^[#* ]{0,5}(?:contexts?|search results|kontext|contexte|contexto|contesto|コンテキスト|文脈|検索結果|上下文"
    rf"|(?:retrieved|relevant|reference|provided|background) (?:{_CONTEXT}))(?: [^\n:：.!?]{{0,60}})?"
    r"\*{0,2}\s{0,3}[:：]"
    rf"|^[#* ]{{0,5}}(?P<mere>{_CONTEXT}|参考(?:文書|資料)|参考资料)\*{{0,2}}\s{{0,3}}[:：][* ]{{0,5}}$"
    r"|^\s{0,8}(?:\[1\]|(?:document|doc|source|passage|chunk|result) ?[\[#]{0,2}1\]?\s{0,3}[:.\)-])(?=\s)",
    re.I | re.M,
)
"""Announces context, or is the first of several numbered documents; what is a mere label may head a list."""

_ORDER = re.compile(
    r"\b(?:(?:use|using|based (?:only |solely )?on|given|from|with|consider|read) (?:only )?(?:the|these) "
    rf"(?:following|provided|retrieved|given) (?:[\w-]+ ){{0,3}}?(?:of )?(?:the )?(?:{_CONTEXT})\b"
    r"|(?:context|information) is (?:given )?below"
    rf"|(?:folgende[nrsm]?|nachfolgende[nrsm]?) (?:[\w-]+ )?(?:{_CONTEXT})\b"
    rf"|(?:{_CONTEXT}) (?:suivants?|ci-dessous|siguientes?|seguenti|seguinte))\b",
    re.I,
)
"""Says what to do with the context below."""

_POINTING = (
    "following", "provided", "retrieved", "given", "below", "folgende", "suivant", "ci-dessous",
    "siguiente", "seguent", "seguinte",
)  # fmt: skip
"""An order has one of these: most texts have none, which is quickly seen."""

_QUESTION = re.compile(
    r"^[#* ]{0,5}(?:(?:user(?:'s)?|human|current|my|original) )?(?:question|query|q|input"
    r"|request|answer|frage|anfrage|pregunta|consulta|requête|domanda|pergunta"
    r"|質問|問い|问题|提问)\*{0,2}\s{0,3}[:：]\s{0,8}(?=\S)",
    re.I | re.M,
)


def retrieved(text: str) -> Iterator[Span]:
    """From what announces context to the last line that asks, or to the end.

    Nothing but the template says which line asks. So one is looked for only where the announcement
    begins the message or orders to answer; and behind a question that stands before the context, no other is.
    """
    lowered = text.lower()
    order = _ORDER.search(text) if any(word in lowered for word in _POINTING) else None
    labels = list(_LABEL.finditer(text))
    asked = [m.start() for m in _QUESTION.finditer(text)] if order or labels else []
    sure = (m for m in labels if not m["mere"] or (asked and asked[-1] > m.start()))
    label = next(sure, None)
    opening = min((m for m in (order, label) if m), key=re.Match.start, default=None)
    if opening is None:
        return
    start = max(text.rfind(end, 0, opening.start()) + 1 for end in ".!?\n")
    below = line_end(text, opening.end()) if opening is order else opening.end()
    asked = [at for at in asked if at >= opening.end()]
    if _APART.match(text, below):
        yield below, len(text)
    elif opening is order and len(asked) == 1 and label and asked[0] < label.start():
        yield start, asked[0]
        yield label.start(), len(text)
    elif asked and (opening is order or not text[:start].strip()):
        yield start, asked[-1] if not (label and asked[0] < label.start()) else len(text)
    elif taken := _TAKEN_BELOW.match(text, below):
        yield start, taken.end()
    elif text[below:].strip(" .:："):
        yield below if opening is order else start, len(text)
    elif opening is order and ":" in text[opening.end() : below]:
        yield text.index(":", opening.end()) + 1, len(text)


_APART = re.compile(r"\s{0,80}(?:`{3}|~{3}|\"{3}|<[a-z]|[-=*_#]{3})", re.I)
"""A mark that sets the context apart: that one says how far it reaches."""

_TAKEN_BELOW = re.compile(rf"\s{{0,80}}{TAKEN}+")

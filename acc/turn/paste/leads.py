"""Finds phrases that introduce pasted text: a task for it, somebody's words, or a letter.

This is a heuristic on words, not on marks. Everything after the phrase is a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.turn.paste.enclosed import TAKEN, Span, is_long, line_end

_TEXT = (
    r"e-?mails?|mails?|messages?|letters?|texts?|pdfs?|docs?|documents?|articles?|posts?|tickets?"
    r"|tweets?|transcripts?|reports?|memos?|pages?|websites?|threads?|reviews?|contracts?|readme|wiki"
    r"|logs?|output|results?|excerpts?|passages?|paragraphs?|complaint|notice|policy|copy"
    r"|nachricht|schreiben|brief|dokument|artikel|bericht|absatz|courriel|lettre|texte|correo|mensaje"
    r"|carta|texto|artículo|documento|articolo|lettera|testo|messaggio|メール|文章|文書|記事|メッセージ|邮件|文档"
)
_THIS = (
    r"this|these|the following|below|dies(?:e[nrsm]?)?|folgende[nrsm]?|cet?|cette|ceci|suivante?|este|esta|esto"
    r"|siguiente|questo|questa|seguente|以下|この|これ|次の|这"
)
_WORK = (
    r"translate|summari[sz]e|proof-?read|paraphrase|rephrase|reword|rewrite|spell-?check|transcribe"
    r"|classify|categori[sz]e|fact-?check|simplify|analy[sz]e|tl;?dr|übersetzen?|fasse?|zusammenfass\w*"
    r"|korrigieren?|analysieren?|tradui[st]\w*|résume[rz]?|corrige[rz]?|tradu[cz]\w*|resum\w+|analiza"
    r"|riassumi|要約|翻訳|校正|翻译|总结"
)
_READ = (
    r"explain|read|check|look|review|reply|respond|answer|fix|correct|extract|legit|mean|make of|think|scam|real"
    r"|say|erkläre?|lies|prüfe?|bedeutet|meinst|hältst|explique[rz]?|lis|penses?|pensez|explica|lee|revisa|opinas?"
)
_SAYS = (
    r"(?:says?|said|reads?|goes|states?|wrote|writes|sent|texted|posted|lautet|sagt|schreibt|schrieb|steht|dit"
    r"|écrit|dice|pone|escribe|scrive)"
)
_HERE = (
    r"(?:and |ok,? )?(?:here(?:'s|’s| is| are)|this is|see|below is|pasting|(?:i )?(?:just )?(?:got|received)"
    r"|hier(?: ist| kommt)?|voici|voilà|aquí (?:está|tienes|va)|me llegó|este es|ecco)"
)
_KINDLY = (
    r"(?:(?:and|also|so|then|now|please|could you|can you|would you|just|bitte|kannst du|por favor"
    r"|s'il (?:te|vous) pla[iî]t|peux-tu|puedes)\W{1,3}){0,3}"
)
_RESERVED = (
    r"(?:rules?|conditions?|limits?|reminders?|exceptions?|caveats?|requests?|wish|mind|remember|things?"
    r"|always|never|instructions?|steps?|points?|regeln?|règles?|reglas?)"
)
"""Announces words of the user, even if the clause also names a task."""

_HANDS_OVER = re.compile(
    rf"{_KINDLY}(?:{_WORK})(?![a-z])|.*\b(?:{_TEXT}) {_SAYS}\b|{_HERE}\b.*\b(?:{_TEXT})\b"
    rf"|{_HERE} (?:this|these|it)\b|{_KINDLY}(?:{_READ})\b.*\b(?<!like )(?:{_THIS})\b|(?:{_TEXT}) (?:text|from|of|by)\b"
    rf"|.*(?:{_THIS}).*(?:{_WORK})|.*(?:要約|翻訳|校正|翻译|总结)",
    re.I,
)
"""A clause before a colon."""

_ABOVE = re.compile(
    r".*(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bich )(?<!\bwir )"
    rf"\b{_SAYS}(?: (?:to )?(?:me|us|this|these|back|the following))*\Z"
    rf"|.*\b(?:{_THIS}) (?:{_TEXT})\b",
    re.I,
)
"""A clause before a colon at the end of a line."""

_ASKS = re.compile(
    rf"{_KINDLY}(?:.*\b(?:{_THIS})(?![a-z]).*(?:{_READ}|{_WORK})(?![a-z])|.*(?:{_READ}|{_WORK})(?![a-z]).*(?:{_THIS})(?![a-z]))",
    re.I,
)
"""A sentence that is a paragraph of its own."""

_MEANS = re.compile(
    r"\A\W*(?:what (?:does|do) (?:this|it|that) (?:mean|say)|was (?:bedeutet|heißt|steht in) (?:das|dies)"
    r"|que (?:signifie|veut dire) (?:ceci|ça|cela)|qué (?:significa|dice) esto) ?\?",
    re.I,
)
"""A question at the start of a message about the text after it, if that text is long."""

_KEPT = re.compile(rf"(?:\S+ ){{0,4}}{_RESERVED}\b|.*\b{_RESERVED}\W{{0,3}}\Z", re.I)

_COLON = re.compile(r":(?=\s)|：|[.?!。？！](?=\s{0,8}\n\s{0,8}\n)")
_ENDS = re.compile(r"[:：.!?。！？\n]")

CLAUSE_CHARS = 120
"""Maximum length in characters of a clause that introduces pasted text."""

_SALUTATION = re.compile(
    r"^\s{0,8}(?:dear|hi|hello|hey|good (?:morning|afternoon|day)|sehr geehrte\w*|liebe[rs]?|hallo"
    r"|guten tag|bonjour|chère?s?|madame|monsieur"
    r"|estimad[oa]s?|querid[oa]s?|hola|gentile|egregio|car[oa]|prezad[oa]s?|olá|geachte|beste)"
    r"\b[^.!?:\n]{0,50}[,!:，]?\s{0,8}$|^.{1,20}(?:様|さん|先生|您好|你好)[、，,:：]?\s{0,8}$",
    re.I | re.M,
)
"""The first line of a letter."""


def handed_over(text: str) -> Iterator[Span]:
    """Yield the span from the end of an introducing clause, or from a letter's salutation, to the end."""
    starts = (found.end() for found in _COLON.finditer(text) if _hands_over(text, found))
    letters = (m.start() for m in _SALUTATION.finditer(text) if text[: m.start()].strip())
    asked = (m.end() for m in [_MEANS.match(text)] if m and is_long(text[m.end() :]))
    start = min(next(found, len(text)) for found in (starts, letters, asked))
    if start < len(text):
        yield start, len(text)


def _hands_over(text: str, end: re.Match[str]) -> bool:
    """Whether the clause before ``end`` introduces the text after it, and no mark delimits that text."""
    before = text[max(0, end.start() - CLAUSE_CHARS) : end.start()]
    words = _ENDS.split(before)[-1].strip(" \t-*#>\"'“„(¿")
    if not words or _KEPT.match(words) or _SET_APART.match(text, end.end()):
        return False
    if end.group() not in ":：":
        return bool(_ASKS.match(words))
    ends_line = text[end.end() : end.end() + 8].lstrip(" \t")[:1] == "\n"
    return bool(_HANDS_OVER.match(words) or (ends_line and _ABOVE.match(words)))


_SET_APART = re.compile(rf"\s{{0,80}}(?:{TAKEN}|\Z)|[^\S\n]{{0,8}}[\"'`‘“„«»‹「『]")
"""A mark or nothing at all follows: quotation marks on the same line."""


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
"""Announces context, or starts numbered documents. A ``mere`` label may also head a list."""

_ORDER = re.compile(
    r"\b(?:(?:use|using|based (?:only |solely )?on|given|from|with|consider|read) (?:only )?(?:the|these) "
    rf"(?:following|provided|retrieved|given) (?:[\w-]+ ){{0,3}}?(?:of )?(?:the )?(?:{_CONTEXT})\b"
    r"|(?:context|information) is (?:given )?below"
    rf"|(?:folgende[nrsm]?|nachfolgende[nrsm]?) (?:[\w-]+ )?(?:{_CONTEXT})\b"
    rf"|(?:{_CONTEXT}) (?:suivants?|ci-dessous|siguientes?|seguenti|seguinte))\b",
    re.I,
)
"""Says how to use the context below."""

_POINTING = (
    "following", "provided", "retrieved", "given", "below", "folgende", "suivant", "ci-dessous",
    "siguiente", "seguent", "seguinte",
)  # fmt: skip
"""Every order contains one of these. A search for them is fast and excludes most texts."""

_QUESTION = re.compile(
    r"^[#* ]{0,5}(?:(?:user(?:'s)?|human|current|my|original) )?(?:question|query|q|input"
    r"|request|answer|frage|anfrage|pregunta|consulta|requête|domanda|pergunta"
    r"|質問|問い|问题|提问)\*{0,2}\s{0,3}[:：]\s{0,8}(?=\S)",
    re.I | re.M,
)


def retrieved(text: str) -> Iterator[Span]:
    """Yield the span from the announcement of context to the last question line, or to the end.

    Only the template determines which line is the question. The function looks for one only if
    the announcement begins the message or orders an answer. If a question comes before the
    context, it does not look for another.
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
"""A mark that delimits the context; another function finds its end."""

_TAKEN_BELOW = re.compile(rf"\s{{0,80}}{TAKEN}+")

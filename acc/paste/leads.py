"""What a few words hand over: to be worked on, as somebody's text, or as a letter.

These are words, not marks: a heuristic. What stands behind them, to the end, is a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.paste.lines import TAKEN, Span

_TEXT = (
    r"e-?mails?|mails?|messages?|letters?|texts?|pdfs?|docs?|documents?|articles?|posts?|tickets?"
    r"|tweets?|transcripts?|reports?|memos?|pages?|websites?|threads?|reviews?|contracts?|readme|wiki"
    r"|logs?|output|results?|excerpts?|passages?"
    r"|nachricht|schreiben|brief|text|dokument|artikel|bericht|courriel|lettre|texte|correo|mensaje"
    r"|carta|texto|artículo|documento|articolo|lettera|testo|messaggio|メール|文章|文書|記事|メッセージ|邮件|文档"
)
_WORK = (
    r"translate|summari[sz]e|proof-?read|paraphrase|rephrase|reword|rewrite|spell-?check|transcribe"
    r"|classify|categori[sz]e|fact-?check|simplify|analy[sz]e|tl;?dr|übersetzen?|fasse?|zusammenfass\w*"
    r"|korrigieren?|analysieren?|tradui[st]\w*|résume[rz]?|corrige[rz]?|analyse[rz]?|tradu[cz]\w*|resum\w+|corrige"
    r"|analiza|riassumi|traduci"
)
_KINDLY = (
    r"(?:(?:and|also|so|then|now|please|could you|can you|would you|just|bitte|kannst du|por favor"
    r"|s'il (?:te|vous) pla[iî]t|peux-tu|puedes)\W{1,3}){0,3}"
)
_RESERVED = (
    r"(?:rules?|conditions?|limits?|reminders?|exceptions?|caveats?|requests?|wish|mind|remember|things?"
    r"|always|never|instructions?|steps?|points?|regeln?|règles?|reglas?)"
)
"""Announces something of the user's, whatever else is to be done."""

_SAYS = (
    r"(?:says?|said|reads?|goes|states?|wrote|writes|lautet|sagt|schreibt|steht|dit|écrit|dice|pone"
    r"|escribe|scrive)"
)
_HANDS_OVER = re.compile(
    rf"{_KINDLY}(?:{_WORK})\b|.*\b(?:{_TEXT}) {_SAYS}\b"
    r"|(?:and |ok,? )?(?:here(?:'s|’s| is| are)|this is|see|below is|(?:i )?(?:just )?(?:got|received)"
    r"|hier ist|hier kommt|voici|voilà|aquí (?:está|tienes|va)|este es|ecco|questo è)\b"
    rf".*\b(?:{_TEXT})\b|(?:i )?(?:just )?(?:got|received) (?:this|these|it)\b"
    r"|.*(?:を(?:翻訳|要約|校正)|翻译|总结|摘要)",
    re.I,
)
_KEPT = re.compile(rf"(?:\S+ ){{0,4}}{_RESERVED}\b|.*\b{_RESERVED}\W{{0,3}}\Z", re.I)

_COLON = re.compile(r":(?=\s)|：")
_ENDS = re.compile(r"[:：.!?\n]")

CLAUSE_CHARS = 120
"""Characters that a clause has at most which hands a text over."""

_SALUTATION = re.compile(
    r"^\s{0,8}(?:dear|hi|hello|hey|good (?:morning|afternoon|day)|sehr geehrte\w*|liebe[rs]?|hallo"
    r"|guten tag|bonjour|chère?s?|madame|monsieur"
    r"|estimad[oa]s?|querid[oa]s?|hola|gentile|egregio|car[oa]|prezad[oa]s?|olá|geachte|beste)"
    r"\b[^.!?:\n]{0,50}[,!:，]?\s{0,8}$|^.{1,20}(?:様|さん|先生|您好|你好)[、，,:：]?\s{0,8}$",
    re.I | re.M,
)
"""The line that a letter begins with."""


def handed_over(text: str) -> Iterator[Span]:
    """From behind the words that hand a text over, or from a letter's salutation, to the end."""
    starts = (found.end() for found in _COLON.finditer(text) if _hands_over(text, found))
    letters = (m.start() for m in _SALUTATION.finditer(text) if text[: m.start()].strip())
    start = min(next(starts, len(text)), next(letters, len(text)))
    if start < len(text):
        yield start, len(text)


def _hands_over(text: str, colon: re.Match[str]) -> bool:
    """Whether the clause before a colon hands over what stands behind it, and no mark sets that apart."""
    before = text[max(0, colon.start() - CLAUSE_CHARS) : colon.start()]
    words = _ENDS.split(before)[-1].lstrip(" \t-*#>\"'“„(")
    if _KEPT.match(words) or not _HANDS_OVER.match(words):
        return False
    return _SET_APART.match(text, colon.end()) is None


_SET_APART = re.compile(rf"\s{{0,80}}(?:{TAKEN}|\Z)|[^\S\n]{{0,8}}[\"'`‘“„«»‹「『]")
"""A mark, or nothing at all, stands there: quotation marks on the same line."""

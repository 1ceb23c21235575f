"""Finds clauses that hand over somebody's text: a task for it, who wrote it, a letter, or a prompt's context.

This is a heuristic on words, not on marks. Everything after the clause is a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from acc.turn.paste.enclosed import TAKEN, Span, is_long, line_end, lines, words

_TEXTS = words(
    """mail email e-mail message letter text pdf doc document article post ticket tweet transcript report memo page
    website thread review contract readme wiki log output result excerpt passage paragraph complaint notice policy copy
    nachricht schreiben brief dokument artikel bericht absatz courriel lettre texte correo mensaje carta texto artículo
    documento articolo lettera testo messaggio"""
)
_THIS = words(
    """this these it following below das dies diese dieser dieses diesem diesen folgende folgenden folgender folgendes
    ce cet cette ceci suivant suivante este esta esto siguiente questo questa seguente"""
)
_WORK = (
    "translat", "summaris", "summariz", "proofread", "paraphras", "rephras", "reword", "rewrit", "transcrib",
    "classif", "categor", "simplif", "analy", "übersetz", "fasse", "zusammenfass", "korrigier", "tradu", "résum",
    "resum", "corrig", "riassum",
)  # fmt: skip
"""Beginnings of words for what is done with a text."""

_UNSPACED_WORK = ("要約", "翻訳", "校正", "翻译", "总结")
_READ = words(
    """explain read check look review reply respond answer fix correct extract legit make mean think scam real say
    erkläre lies prüfe bedeutet meinst hältst explique lis penses pensez explica lee revisa opinas"""
)
_MEANS = words("mean say bedeutet heißt signifie significa dice")
_SAYS = words(
    """says said reads goes states wrote writes sent texted posted replied answered lautet sagt sagte schreibt schrieb
    geschrieben steht dit écrit dice dijo pone escribe escribió scrive scritto disse"""
)
_HERE = words("here here's see below pasting got received hier voici voilà aquí ecco")
_RESERVED = words(
    """rule rules condition conditions limit limits reminder reminders exception exceptions request requests remember
    thing things always never instruction instructions step steps point points regel regeln règle règles regla reglas"""
)
"""Announces words of the user, even if the clause also names a task."""

OWN = words("i we you ich wir that which who")
"""Before a word for writing: what follows is the user's own wording, or words something."""

_TO = words("to me us this these back the following mir uns")
_SALUTATIONS = words(
    """dear hi hello hey sehr liebe lieber hallo bonjour cher chère madame monsieur estimado estimada querido querida
    hola gentile egregio caro cara prezado prezada olá geachte beste"""
)
_ADDRESSES = ("様", "さん", "先生", "您好", "你好")

CLAUSE_CHARS, _LINE_CHARS = 120, 60
"""Maximum lengths in characters: of a clause that introduces pasted text, of the first line of a letter."""

_CLAUSE_END = re.compile(r":(?=\s)|：|[.?!。？！](?=\s{0,8}\n\s{0,8}\n)")
_MARKS_OF_END = ":：.!?。！？\n"
_QUOTES = "\"'`‘“„«»‹「『"


def words_of(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, with straight apostrophes and no marks around them."""
    found = text.lower().replace("’", "'").split()
    return [bare for word in found if (bare := word.strip('.,;:：!?()[]{}"“”„«»「」『』¿*#-'))]


def is_of_another(clause: str) -> bool:
    """Whether a clause before a colon says who wrote what follows: "Bob wrote", not "I wrote" or "a sign that says"."""
    said = words_of(clause)
    while said and said[-1] in _TO:
        said.pop()
    return bool(said) and said[-1] in _SAYS and not OWN & {*said[-2:-1]}


def handed_over(text: str) -> Iterator[Span]:
    """Yield the span from the end of an introducing clause, or from a letter's salutation, to the end."""
    clauses = (end.end() for end in _CLAUSE_END.finditer(text) if _hands_over(text, end))
    letters = (start for start, line in lines(text) if _greets(line) and text[:start].strip())
    question = text[:_LINE_CHARS].find("?") + 1
    asks = question and _asks_about(words_of(text[:question])) and is_long(text[question:])
    start = min(next(clauses, len(text)), next(letters, len(text)), question if asks else len(text))
    if start < len(text):
        yield start, len(text)


def _greets(line: str) -> bool:
    """Whether the line is the first of a letter."""
    said = line.strip().rstrip(",!:，、：")
    if len(said) > _LINE_CHARS or any(mark in said for mark in ".!?:"):
        return False
    return said.endswith(_ADDRESSES) or bool(_SALUTATIONS & {*words_of(said)[:1]})


def _asks_about(said: list[str]) -> bool:
    return len(said) <= 5 and "like" not in said and bool(_THIS & {*said} and _MEANS & {*said})


def _hands_over(text: str, end: re.Match[str]) -> bool:
    """Whether the clause before ``end`` introduces the text after it, and no mark delimits that text."""
    clause = text[max(0, end.start() - CLAUSE_CHARS) : end.start()]
    for mark in _MARKS_OF_END:
        clause = clause.rpartition(mark)[2]
    rest = text[end.end() : end.end() + 2 * CLAUSE_CHARS]
    is_apart = not rest.strip() or rest.lstrip()[0] == TAKEN or rest.lstrip(" \t")[0] in _QUOTES
    said = words_of(clause)
    if is_apart or not said or _RESERVED & {*said[:5], said[-1]}:
        return False
    points = bool(_THIS & {*said}) and "like" not in said
    works = [word.startswith(_WORK) for word in said]
    if end.group() not in ":：":
        return points and (any(works) or bool(_READ & {*said}))
    named = [word in _TEXTS or word.removesuffix("s") in _TEXTS for word in said]
    return (
        (any(works) and (any(works[:3]) or points or any(named)))
        or (points and said[0] in _READ)
        or (_HERE & {*said[:2]} and (points or any(named)))
        or (named[0] and said[1:2] in (["from"], ["of"], ["by"]))
        or ((any(named) or rest.lstrip(" \t")[0] == "\n") and is_of_another(clause))
        or any(work in clause for work in _UNSPACED_WORK)
    )


# --- prompts with retrieved context ---

_CONTEXTS = words(
    """context contexts document documents docs passage passages sources excerpt excerpts snippet snippets chunks
    article articles information kontext dokument dokumente dokumenten quellen auszüge contexte extrait extraits
    contexto documentos fragmentos contesto documenti 参考文書 参考資料 参考资料"""
)
_LABELS = words(
    "context contexts kontext contexte contexto contesto コンテキスト 文脈 検索結果 上下文"
)
_FOUND = words("search retrieved relevant reference provided background")
_QUESTIONS = words(
    "question query q input request answer frage pregunta consulta requête domanda pergunta 質問 問い 问题 提问"
)
_USES = words("use using based given from with consider read")
_POINTING = words("following provided retrieved given")
_POINTING_ALONE = words(
    """folgende folgenden folgender folgendes nachfolgende nachfolgenden suivant suivants ci-dessous siguiente
    siguientes seguente seguenti seguinte"""
)
"""Forms of "following" with which a context is announced without a verb of use."""

_BETWEEN = ("```", "~~~", '"' * 3, "---", "===", "***", "___", "###")
"""Marks that delimit the context."""

_SENTENCE = re.compile(r"[^.!?\n]+")


class _Lead(NamedTuple):
    """An announcement of context, from its first character to where the context may begin.

    ``is_order`` says that it is a sentence that says how to use the context, not a label.
    """

    start: int
    end: int
    is_order: bool = False


def retrieved(text: str) -> Iterator[Span]:
    """Yield the span from the announcement of context to the last question line, or to the end.

    Only the template determines which line is the question. The function looks for one only if
    the announcement begins the message or orders an answer. If a question comes before the
    context, it does not look for another.
    """
    order = _order(text)
    label = next((label for start, line in lines(text) if (label := _label(start, line))), None)
    leads = [lead for lead in (order, label) if lead]
    if not leads:
        return
    start, below, is_order = min(leads)
    heading = text[:start].rstrip().rpartition("\n")[2]
    if heading.endswith((":", "：")) and len(heading.split()) == 1:  # "Documents:", "Sources:"
        start = text.rindex(heading, 0, start)
    questions = (
        at
        for at, line in lines(text)
        if _is_question(line, text[at + len(line) : at + len(line) + 8])
    )
    asked = [at for at in questions if at >= below]
    rest = text[below:].lstrip()
    if rest.startswith(_BETWEEN) or (rest[:1] == "<" and rest[1:2].isalpha()):
        yield below, len(text)  # another function finds the end of what stands between marks
    elif is_order and len(asked) == 1 and label and asked[0] < label.start:
        yield start, asked[0]
        yield label.start, len(text)
    elif asked and (is_order or not text[:start].strip()):
        yield start, asked[-1] if not (label and asked[0] < label.start) else len(text)
    elif rest.startswith(TAKEN):
        yield start, len(text) - len(rest.lstrip(TAKEN))
    elif rest.strip(" .:："):
        yield below if is_order else start, len(text)
    elif is_order and ":" in text[start:below]:
        yield text.index(":", start) + 1, len(text)


def _label(start: int, line: str) -> _Lead | None:
    """The label with which a line begins, such as "Context:" or "[1]"."""
    if line.lstrip().startswith("[1] "):
        return _Lead(start, start)
    head, colon, _ = line[:CLAUSE_CHARS].replace("：", ":").partition(":")
    first, *others = words_of(head)[:2] or [""]
    is_found = first in _FOUND and bool({"results", *_CONTEXTS} & {*others})
    is_label = colon and (first in _LABELS or is_found) and not any(c in head for c in ".!?")
    return _Lead(start, start + len(head) + 1) if is_label else None


def _order(text: str) -> _Lead | None:
    """The first sentence that says how to use the context below."""
    lowered = text.lower()
    if not any(word in lowered for word in ("below", *_POINTING, *_POINTING_ALONE)):
        return None
    for found in _SENTENCE.finditer(text):
        said = {*words_of(found.group())}
        is_below = {"is", "below"} <= said and bool({"context", "information"} & said)
        points = _POINTING_ALONE & said or (_POINTING & said and _USES & said)
        if is_below or (points and _CONTEXTS & said):
            return _Lead(found.start(), line_end(text, found.end()), is_order=True)
    return None


def _is_question(line: str, below: str) -> bool:
    head, colon, value = line[:80].replace("：", ":").partition(":")
    said = words_of(head)
    is_named = said[-1:] and said[-1] in _QUESTIONS and said[0] in {"user", "my", *said[-1:]}
    return bool(is_named and colon and (value.strip() or below.strip()))

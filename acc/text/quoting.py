"""Finds a quote, the clauses that govern it, and the words that may be left out of it.

A rule must never be less restrictive or less conditional than the user's words. A quote therefore includes
every negation, restriction, condition and exception that may govern it, and a wording may only omit words.
For English, only the governing clauses are included. For other languages and odd line breaks, the whole
sentence is the rule. All functions are pure. They never decide trust, which comes from the channel (law 6).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from acc.text.caching import cached_by_text
from acc.text.clauses import (
    JOINT,
    MARKS,
    above,
    binds,
    clause_spans,
    governs,
    is_english,
    sentence_spans,
    takes_back,
    undotted,
)
from acc.text.lines import spaced
from acc.text.same_words import EMPTY, PAUSES, tokens, uninflected

_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』")
_AROUND = "".join(sorted(_QUOTES)) + " \t\r\n,;"
_CLOSING = _AROUND + ".:!?…。！？"
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

MOST_AROUND = 4_000
"""Characters before and after a quote that are searched for governing clauses."""


MOST_FOUND = 8
"""Maximum number of occurrences of a quote that are examined."""


class Clause(NamedTuple):
    """A clause of a text, or the whole text if its clauses are not recognized.

    Attributes:
        is_own: Whether it was quoted. Other clauses only govern quoted ones.
        is_loose: Whether it can be omitted: it governs no other clause, and either has its own subject and verb
            or contains nothing binding.
        is_apart: Whether other words of the text lie between it and the previous clause.
    """

    text: str
    is_own: bool = True
    is_loose: bool = False
    is_apart: bool = False


class Passage(NamedTuple):
    """Quoted words, and all clauses that may forbid, restrict or condition them.

    Attributes:
        quote: The words as in the text, on one line.
        clauses: The governing clauses and the quoted ones, in order.
        splits: Whether the clauses were recognized, so some may be omitted.
        is_whole: Whether the quote consists of whole clauses, or of a whole sentence if ``splits`` is False.
    """

    quote: str
    clauses: tuple[Clause, ...]
    splits: bool
    is_whole: bool

    @property
    def text(self) -> str:
        """The clauses on one line; ``…`` marks omitted words."""
        return _joined(self.clauses)


def find_quote(quote: str, text: str) -> str | None:
    """Return the words of ``text`` that ``quote`` repeats, as they are in ``text``, or None."""
    found = find_passage(quote, text)
    return found.quote if found else None


@cached_by_text
def find_passage(quote: str, text: str) -> Passage | None:
    """Find ``quote`` in ``text`` and return it with the clauses that govern it, or None.

    White space, case, quotation marks and closing punctuation do not matter (law 6). If the words occur several
    times, an occurrence with a restriction wins.
    """
    wanted = _folded(quote)[0].lstrip().rstrip(_CLOSING)
    if not any(c.isalnum() for c in wanted):
        return None
    folded, places = _folded(text)
    found: list[Passage] = []
    at = folded.find(wanted)
    while at >= 0 and len(found) < MOST_FOUND:
        if _ends_at(folded, at) and _ends_at(folded, at + len(wanted)):
            found.append(_governed(text, places[at], places[at + len(wanted) - 1] + 1))
        at = folded.find(wanted, at + len(wanted))
    return max(found, key=lambda passage: governs(passage.text), default=None)


def _folded(text: str) -> tuple[str, list[int]]:
    """Normalize ``text``: no case, quotation marks, invisible characters or repeated white space. Also return
    each character's original position.
    """
    text = spaced(text)
    kept: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char in _QUOTES or (char.isspace() and kept and kept[-1] == " "):
            continue
        for folded in " " if char.isspace() else char.casefold():
            kept.append(folded)
            places.append(place)
    return "".join(kept), places


def _ends_at(text: str, at: int) -> bool:
    """Whether a word boundary is at ``at``. In scripts without spaces every position is one."""
    around = text[max(0, at - 1) : at + 1]
    joined = len(around) == 2 and at > 0 and all(c.isalnum() or c == "_" for c in around)
    return not joined or all(map(_CJK.match, around))


def _governed(text: str, start: int, end: int) -> Passage:
    """The passage from ``start`` to ``end`` with the clauses that govern it."""
    base = max(0, start - MOST_AROUND)
    text, start, end = text[base : end + MOST_AROUND], start - base, end - base
    sentences = sentence_spans(text)
    inside = [n for n, (a, b) in enumerate(sentences) if a < end and start < b]
    first, last = inside[0], inside[-1]
    asks = "?" in text[slice(*sentences[last])].strip()[-3:]
    while last + 1 < len(sentences):
        if not asks and not takes_back(text[slice(*sentences[last + 1])]):
            break
        last, asks = last + 1, False
    whole = (sentences[first][0], sentences[last][1])
    over = [(span, False, False) for span in above(text, sentences, first)]
    splits = is_english(text[slice(*whole)])
    said = clause_spans(text, whole, (start, end)) if splits else [(whole, True, False)]
    own = [span for span, is_own, _ in said if is_own]
    quote = _tidy(text[own[0][0] : own[-1][1]])
    clauses: list[Clause] = []
    at = 0
    for (a, b), is_own, is_loose in sorted([*over, *said]):
        is_apart = bool(clauses) and any(c.isalnum() for c in text[at:a])
        clauses.append(Clause(undotted(text[a:b]), is_own, is_loose, is_apart))
        at = b
    edges = [m.end() for m in JOINT.finditer(text, *whole) if splits] or [whole[0]]
    begun = text[max([whole[0], *(e for e in edges if e <= start)]) : start]
    left = text[end : min([whole[1], *(e for e in edges if e >= end)])]
    is_whole = not _content(begun)[0] and not _content(left)[0]
    return Passage(quote, tuple(clauses), splits, is_whole)


def _joined(clauses: Sequence[Clause]) -> str:
    line = " ".join(f"… {c.text}" if c.is_apart and n else c.text for n, c in enumerate(clauses))
    if line.count("(") != line.count(")"):
        line = " ".join(line.replace("(", " ").replace(")", " ").split())
    return _tidy(re.sub(r"[\s,;–—-]*… ", " … ", line.replace(" ,", ",").replace("( ", "(")))


def _tidy(text: str) -> str:
    line = undotted(text).lstrip(_AROUND).rstrip(_CLOSING)
    return f'{line}"' if line.count('"') % 2 else line


# --- wordings -------------------------------------------------------------------------------


def worded(text: str, passage: Passage) -> str:
    """Return ``text`` if it is an extract of ``passage``, otherwise the passage's own words.

    An extract has the words of the passage in their order; it may omit loose clauses, and omit or add `_FREE`
    words. A sentence end needs a pause at the same place. If ``text`` is no extract, its words only select the
    loose clauses to keep. From a passage in another language nothing is omitted.
    """
    wanted, stops, _ = _content(text, passage.splits)
    used = set(wanted)
    kept = [
        clause
        for clause in passage.clauses
        if not clause.is_loose or used & set(_content(clause.text)[0])
    ]
    if not any(clause.is_own for clause in kept):
        kept = list(passage.clauses)
    own = _apart(passage.clauses, kept)
    said, _, pauses = _content(own, passage.splits)
    return text if wanted == said and stops <= pauses else own


def covers(texts: Sequence[str], passage: Passage) -> bool:
    """Whether ``texts``, the fields of a record, together state what ``passage`` states.

    They must contain all governing words, names and numbers of the passage and no words from
    elsewhere. Their order is free.
    """
    said = [token.casefold() for token in tokens(passage.text) if token not in PAUSES]
    there = {token.casefold() for text in texts for token in tokens(text) if token not in PAUSES}
    needed = {word for word in said if governs(word) or not word.isalpha()}
    names = {token.casefold() for token in tokens(passage.text)[1:] if token[0].isupper()} - {"i"}
    return passage.splits and needed | names <= there <= {*said, *EMPTY}


def _apart(clauses: Sequence[Clause], kept: Sequence[Clause]) -> str:
    """Join the ``kept`` clauses and mark omissions."""
    found: list[Clause] = []
    is_apart = False
    for clause in clauses:
        is_apart = is_apart or clause.is_apart
        if clause in kept:
            found.append(clause._replace(is_apart=is_apart))
        is_apart = clause not in kept
    return _joined(found)


_JOINS = frozenset([*PAUSES, "and", "or", "&", "und", "et", "y", "e", "o", "ou", "oder"])


def shortens(text: str, whole: str) -> bool:
    """Whether ``text`` is ``whole`` with some words omitted, in the same order.

    Words that forbid, restrict or bound are never omitted. A name or a number may be omitted only with its
    whole phrase, from one comma or "and" to the next.
    """
    kept = [uninflected(t.casefold()) for t in tokens(text) if t not in PAUSES]
    if "(" not in text:
        whole = _BRACKETS.sub(_dropped, whole)
    gap: list[str] = []
    is_joined = True
    at = 0
    said = tokens(whole)
    for token in said:
        word = uninflected(token.casefold())
        if at < len(kept) and word == kept[at]:
            if not _may_go(gap, is_joined, ends=bool(gap) and gap[-1].casefold() in _JOINS):
                return False
            at, gap, is_joined = at + 1, [], False
        elif not gap and token.casefold() in _JOINS:
            is_joined = True
        else:
            gap.append(token)
    return bool(kept) and at == len(kept) and _may_go(gap, is_joined, ends=True)


_BRACKETS = re.compile(r"\s*\([^()]*\)")


def _dropped(found: re.Match[str]) -> str:
    """Return nothing for a bracket that restricts nothing, otherwise the bracket."""
    return found.group() if any(binds(token) for token in tokens(found.group())) else ""


def _may_go(gap: Sequence[str], begins: bool, *, ends: bool) -> bool:
    """Whether a run of words may be omitted; ``begins`` and ``ends`` say whether it starts and
    ends at a phrase boundary.
    """
    words = [token for token in gap if token not in PAUSES]
    if any(binds(word) for word in words):
        return False
    tells = any(not word.isalpha() or word[0].isupper() for word in words)
    return not tells or (begins and ends)


_WISH = re.compile(
    r"(?:^|(?<=[,;:.] ))(?:i|we)(?:['’]d| would)? (?:really )?(?:like|want|need|prefer|love|rather)"
    r"(?: you| us)?(?: to)?\b",
    re.I,
)
_FREE = EMPTY | {"our", "your", "you", "we", "well", "really", "very", "quite", "okay"}
"""Words that a wording may omit or add."""


@cached_by_text
def _content(
    text: str, splits: bool = True
) -> tuple[tuple[object, ...], frozenset[int], frozenset[int]]:
    """The content words of ``text``, and the indexes of stops and of all pauses among them.

    An index is the number of content words before the mark. Stops are all pauses except commas.
    """
    if not splits:
        return tuple(re.findall(rf"[^\W_]+|{MARKS}", text.casefold())), frozenset(), frozenset()
    found: list[object] = []
    stops, pauses = set[int](), set[int]()
    for token in tokens(_WISH.sub("", text)):
        folded = token.casefold()
        if token in PAUSES:
            pauses.add(len(found))
            stops |= {len(found)} if token != "," else set()
        elif folded not in _FREE:
            found.append(uninflected(folded))
    return tuple(found), frozenset(stops - {0, len(found)}), frozenset(pauses)

"""Finds named things and people, and assigns types by simple cues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.keyless.reading import Said
from acc.keyless.values import ID
from acc.text.patterns import one_of, whole


class Named(NamedTuple):
    """A named thing in a sentence: its type, its name, its position."""

    type: str
    name: str
    start: int
    end: int


PROPER = ("name", "person")
"""Types of proper names. All other types are identifiers."""

ENDINGS = one_of(
    """py, js, ts, go, rs, java, c, h, cpp, rb, sh, sql, ya?ml, json, toml, ini, cfg, conf, md, txt,
    log, csv, tsv, xlsx?, docx?, pdf, pptx?, png, jpe?g, html?, xml, zip, gz, parquet, ipynb"""
)
IDENTIFIERS: tuple[tuple[str, str], ...] = (
    ("address", r"https?://[^\s<>\"')\]]{3,90}[^\s<>\"')\].,;:!?]"),
    ("e-mail", r"\b[\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,20}){1,4}"),
    ("file", rf"\b(?:[\w-]{{1,40}}/){{0,8}}[\w.-]{{1,60}}\.{ENDINGS}"),
    ("path", r"(?<![\w/])/(?:[\w.-]{1,60}/){1,8}[\w.-]{1,60}"),
    ("version", r"\bv?\d{1,4}\.\d{1,4}\.\d{1,4}(?:[-+.][\w.]{1,20})?\b|\bv\d{1,3}(?:\.\d{1,3})?\b"),
    (
        "host",
        r"\b[a-z][a-z0-9]{0,20}(?:-[a-z0-9]{1,20}){1,5}(?:\.[a-z0-9-]{1,30}){1,5}\b|"
        r"\b[a-z][a-z0-9]{1,20}(?:-[a-z0-9]{1,20}){0,4}-\d{1,4}\b",
    ),
    ("id", ID),
    ("number", r"(?<![\d.,:£€$-])\d{3,20}(?![\d%]|[,.:-]\d)"),
)
"""The form of identifiers, by type; the first match counts."""

_IDENTIFIER = re.compile("|".join(f"(?P<i{n}>{p})" for n, (_, p) in enumerate(IDENTIFIERS)))
_HAS_SIGN = re.compile(r"[\d@/]|[.-]\w")
"""A text without these signs has no identifier. The full search costs ten times as much."""
_NO_ID = re.compile(r"(?:\d{1,4}[A-Z]{1,3}|Q[1-4]|H[12]|[A-Z]\d?|\d+[KMGT]?B?)\Z")
_NOUN = re.compile(
    r"\b(?P<noun>[A-Za-z][a-z]{2,20}|PO|PR|VM|IP)"
    r"(?: (?:is|no\.?|number|id|called|named))?[ #:=]{1,3}\Z"
)
_NO_NOUN = whole(
    """the, and, for, with, from, that, this, into, onto, over, under, are, was, has, have, had,
    its, our, your, their, then, than, when, but, not, now, take, hold, use, see, ran, only,
    also, both, all, any, new, old, still, just, after, before, about, against, between, via,
    per, plus, until, till, since, like, does, did, can, will, would, should, could, may, might,
    must, get, got, put, one, two, three, which, what, where, who, how, why, there, here, out,
    off, down, very, more, most, less, too, yes, found, among, \\w+ly, \\w+ing, \\w+ed,
    \\w+[^s]s"""
)
_NUMBERED = whole(
    """account, order, ticket, case, room, run, job, invoice, document, doc, port, gate, line,
    bus, train, platform, section, article, claim, patient, bed, unit, batch, lot, build,
    release, issue, page, extension, number, ref, reference, code, ward, flat, vehicle, po,
    pr"""
)
"""Nouns before a short number that names one of them."""

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’À-ÿ-]{1,30}"
_SMALL = r"(?:of|do|da|de|del|di|la|le|van|von|der|the|al|y|&)"
_NAME = re.compile(rf"{_CAPITAL}(?: (?:{_SMALL} ){{0,2}}{_CAPITAL}){{0,3}}")
_NO_NAME = whole(
    """\\w+day, january, february, march, april, may, june, july, august, september, october,
    november, december, jan, feb, mar, apr, jun, jul, aug, sept?, oct, nov, dec, i, i'\\w+, ok,
    okay, hi, hello, hey, dear, thanks, thank, please, yes, no, re, fwd?, the, a, an, and, but,
    so, or, if, in, on, at, to, it, we, you, he, she, they, this, that, these, those, what, who,
    when, where, why, how, which, there, here, also, then, is, are, was, were, do, does, did,
    not, my, our, your, his, her, their, its, for, from, with, by, as, can, could, would,
    should, will, may, might, must, let, all, any, both, each, every, some, none, nothing,
    nobody, everyone, everything, done, good, great, right, sure, sorry, well, now, just, never,
    always, english, german, french, spanish, only, leave, release, tell, ask, make, keep, use,
    send, put, take, check, look, draft, write, give, get, run, start, stop, open, close, book,
    call, add, move, maybe, perhaps, once, whenever, wherever, whatever, while, before, after,
    until, unless, since, because, although, though, however, instead, next, last, first,
    second, one, two, three, four, five, confirmed, found, understood, noted, agreed, complete,
    sent, moved, rerun, attached, otherwise, very"""
)
"""Words with a capital for another reason than being a name."""

_PERSON_AFTER = re.compile(
    r" (?:\([^)]{1,30}\) )?(?:says?|said|writes|wrote|wants|thinks|joins?|joined|asks|asked|told|"
    r"insists|resigned)\b"
)
_PERSON_BEFORE = re.compile(
    r"\b(?:ask|tell|told|mr|mrs|ms|dr|dear|cc|call|ring|ping|remind|thank)\.? \Z", re.I
)


@lru_cache(maxsize=1024)
def named_in(text: str) -> tuple[Named, ...]:
    """The identifiers in a sentence, then the proper names."""
    identifiers = list(_identifiers(text))
    taken = [(named.start, named.end) for named in identifiers]
    names = [n for n in _names(text) if not any(s < n.end and n.start < e for s, e in taken)]
    return (*identifiers, *names)


SO = "so "
"""Prefix for a text, which allows its first word to be a name."""

_DOES = re.compile(
    r"(?:'s|(?: [a-z]+ly)? "
    + one_of("is, are, was, has, have, had, will, can, say, want, [a-z]+s")
    + ")"
)


def surely_named(text: str) -> list[Named]:
    """The proper names in a text, with positions in `SO` plus the text. A single opening word must
    be followed by a verb.
    """
    within = f"{SO}{text}"
    named = (n for n in named_in(within) if n.type in PROPER)
    return [n for n in named if " " in n.name or n.start > len(SO) or _DOES.match(within, n.end)]


def entities_in(said: Sequence[Said]) -> Iterator[tuple[Named, str]]:
    """The names in ``said`` with the ref of their source: identifiers first, then by frequency."""
    found: dict[str, tuple[Named, str]] = {}
    count: Counter[str] = Counter()
    for sentence in said:
        for named in named_in(sentence.text):
            key = named.name.casefold()
            count[key] += 1
            if key not in found or (found[key][0].type == "name" and named.type == "person"):
                found[key] = (named, sentence.ref)
    yield from sorted(
        found.values(), key=lambda pair: (pair[0].type in PROPER, -count[pair[0].name.casefold()])
    )


def _identifiers(text: str) -> Iterator[Named]:
    if not _HAS_SIGN.search(text):
        return
    for match in _IDENTIFIER.finditer(text):
        name, start = match.group(), match.start()
        kind = IDENTIFIERS[int((match.lastgroup or "i0")[1:])][0]
        if kind == "id" and _NO_ID.match(name):
            continue
        if kind in ("id", "number", "version"):
            kind = _noun_before(text[max(0, start - 30) : start], name) or kind
        if kind != "number":
            yield Named(kind, name, start, match.end())


def _noun_before(before: str, name: str) -> str:
    """The noun before an identifier ("ticket 4711"), or an empty text."""
    noun = _NOUN.search(before)
    word = noun["noun"].lower() if noun else ""
    if not word or _NUMBERED.match(word):
        return word
    short = name.isdigit() and len(name) < 5
    return "" if short or _NO_NOUN.match(word) else word


def _names(text: str) -> Iterator[Named]:
    for match in _NAME.finditer(text):
        words = match.group().split(" ")
        start = match.start()
        while words and _NO_NAME.match(words[0].replace("’", "'").removesuffix("'s")):
            start += len(words.pop(0)) + 1
        while words and (_NO_NAME.match(words[-1]) or words[-1].islower()):
            words.pop()
        name = " ".join(words).removesuffix("'s").removesuffix("’s")
        if len(name) < 3 or not any(c.islower() for c in name):
            continue
        after = _PERSON_AFTER.match(text, start + len(name))
        opens = start == 0 or text[start - 1] in "\"“'(" or text[start - 2 : start - 1] in ".!?:"
        if opens and len(words) == 1 and not after:
            continue  # every word has a capital there
        before = _PERSON_BEFORE.search(text[max(0, start - 12) : start])
        person = after or (before and len(words) <= 2)
        yield Named("person" if person else "name", name, start, start + len(name))

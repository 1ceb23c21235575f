"""Things and people by name, typed by plain cues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acc.compressors.reading import Said


class Named(NamedTuple):
    """Something named in a sentence: its type, its name, where the name stands."""

    type: str
    name: str
    start: int
    end: int


IDENTIFIERS: tuple[tuple[str, str], ...] = (
    ("address", r"https?://[^\s<>\"')\]]{3,90}[^\s<>\"')\].,;:!?]"),
    ("e-mail", r"[\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,20}){1,4}"),
    ("file", r"(?:[\w.-]{1,40}/){0,8}[\w.-]{1,60}\.(?:py|js|ts|go|rs|java|c|h|cpp|rb|sh|sql|ya?ml|json|toml|ini|cfg|conf|"
             r"md|txt|log|csv|tsv|xlsx?|docx?|pdf|pptx?|png|jpe?g|html?|xml|zip|gz|parquet|ipynb)\b"),
    ("path", r"(?<![\w/])/(?:[\w.-]{1,60}/){1,8}[\w.-]{1,60}"),
    ("version", r"\bv?\d{1,4}\.\d{1,4}\.\d{1,4}(?:[-+.][\w.]{1,20})?\b|\bv\d{1,3}(?:\.\d{1,3})?\b"),
    ("host", r"\b[a-z][a-z0-9]{0,20}(?:-[a-z0-9]{1,20}){1,5}(?:\.[a-z0-9-]{1,30}){1,5}\b|"
             r"\b[a-z][a-z0-9]{1,20}(?:-[a-z0-9]{1,20}){0,4}-\d{1,4}\b"),
    ("id", r"\b(?=[A-Z0-9_-]{0,40}\d)(?=[A-Z0-9_-]{0,40}[A-Z])[A-Z0-9]{1,20}(?:[-_][A-Z0-9]{1,20}){0,5}\b"),
    ("number", r"(?<![\d.,:£€$-])\d{3,20}(?![\d%]|[,.:-]\d)"),
)
"""What an identifier looks like, by type; the first that matches counts."""

_IDENTIFIER = re.compile("|".join(f"(?P<i{n}>{p})" for n, (_, p) in enumerate(IDENTIFIERS)))
_NOT_IDS = re.compile(r"\d{1,4}(?:[A-Z]{1,3})?\Z|(?:Q[1-4]|H[12]|[A-D][0-9])\Z|\d+[KMGT]?B?\Z|[A-Z]\d?\Z")
_KIND = re.compile(r"\b(?P<kind>[A-Za-z][a-z]{2,20}|PO|PR|VM|IP)(?: (?:is|no\.?|number|id|called|named))?[ #:=]{1,3}\Z")
_NO_KIND = frozenset(
    """
    the and for with from that this into onto over under are was has have had its our your their then than when
    but not now take hold use using see ran only also both all any new old still just after before about against
    between via per plus until till since like does did doing done can will would should could may might must get got
    put one two three which what where who how why there here out off down very more most less too yes found among
    """.split()
)
_NUMBERED = frozenset(
    """
    account order ticket case room run job invoice document doc port gate line bus train platform section article claim
    patient bed unit batch lot build release issue page extension number ref reference code ward flat vehicle po pr
    """.split()
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’À-ÿ-]{1,30}"
_NAME = re.compile(rf"{_CAPITAL}(?: (?:(?:of|do|da|de|del|di|la|le|van|von|der|the|al|y|&) ){{0,2}}{_CAPITAL}){{0,3}}")
_NOT_NAMES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec i i'm i'd i've i'll ok
    okay hi hello hey dear thanks thank please yes no re fw fwd the a an and but so or if in on at to it we you he
    she they this that these those what who when where why how which there here also then is are was were do does did
    not my our your his her their its for from with by as can could would should will may might must let all any both
    each every some none nothing nobody everyone everything done good great right sure sorry well now just never always
    english german french spanish only leave release tell ask make keep use send put take check look draft write
    give get run start stop open close book call add move maybe perhaps once whenever wherever while before after
    until unless since because although though however instead next last first second one two three four five
    confirmed found understood noted agreed complete sent moved rerun attached whatever otherwise both very
    """.split()
)
_PERSON_AFTER = re.compile(
    r" (?:\([^)]{1,30}\) )?(?:says?|said|writes|wrote|wants|thinks|joins?|joined|asks|asked|told|"
    r"insists|resigned)\b"
)
_PERSON_BEFORE = re.compile(r"\b(?:ask|tell|told|mr|mrs|ms|dr|dear|cc|call|ring|ping|remind|thank)\.? \Z", re.I)


def named_in(text: str) -> list[Named]:
    """Identifiers and proper names in a sentence, in that order."""
    identifiers = list(_identifiers(text))
    taken = [(named.start, named.end) for named in identifiers]
    names = [n for n in _names(text) if not any(s < n.end and n.start < e for s, e in taken)]
    return [*identifiers, *names]


def _identifiers(text: str) -> Iterator[Named]:
    for match in _IDENTIFIER.finditer(text):
        name = match.group()
        kind = IDENTIFIERS[int((match.lastgroup or "i0")[1:])][0]
        if kind == "id" and _NOT_IDS.match(name):
            continue
        before = _KIND.search(text[max(0, match.start() - 30) : match.start()])
        word = before["kind"].lower() if before else ""
        if kind in ("id", "number", "version") and word and word not in _NO_KIND and not word.endswith(("ly", "ing")):
            kind = word
        elif kind == "number":
            continue
        if kind == word and name.isdigit() and len(name) < 5 and word not in _NUMBERED:
            continue
        yield Named(kind, name, match.start(), match.end())


def _names(text: str) -> Iterator[Named]:
    for match in _NAME.finditer(text):
        words = match.group().split(" ")
        start = match.start()
        while words and words[0].lower().replace("’", "'").removesuffix("'s") in _NOT_NAMES:
            start += len(words.pop(0)) + 1
        while words and (words[-1].lower() in _NOT_NAMES or words[-1].islower()):
            words.pop()
        name = " ".join(words).removesuffix("'s").removesuffix("’s")
        if len(name) < 3 or not any(c.islower() for c in name):
            continue
        opens = start == 0 or text[start - 2 : start - 1] in tuple(".!?:") or text[start - 1] in "\"“'("
        after = _PERSON_AFTER.match(text, start + len(name))
        if opens and len(words) == 1 and not after:
            continue
        before = _PERSON_BEFORE.search(text[max(0, start - 12) : start])
        person = after or (before and len(words) <= 2)
        yield Named("person" if person else "name", name, start, start + len(name))


def entities_in(said: Sequence[Said]) -> Iterator[tuple[Named, str]]:
    """What is named in ``said``, with the ref of where: identifiers first, then what recurs."""
    found: dict[str, tuple[Named, str]] = {}
    count: Counter[str] = Counter()
    for sentence in said:
        for named in named_in(sentence.text):
            key = named.name.casefold()
            count[key] += 1
            if key not in found or (found[key][0].type == "name" and named.type == "person"):
                found[key] = (named, sentence.ref)
    plain = ("person", "name")
    yield from sorted(
        found.values(), key=lambda pair: (pair[0].type in plain, -count[pair[0].name.casefold()])
    )

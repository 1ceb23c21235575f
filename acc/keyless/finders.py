"""Finds facts in single sentences: subject, predicate and object by known forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from acc.keyless.entities import PROPER, named_in
from acc.keyless.roles import causes_in, roles_in
from acc.keyless.sentences import fit, tidy
from acc.keyless.statements import statement
from acc.keyless.values import Value, phrase_before, subject_of, values_in
from acc.keyless.words import one_of

_COUNTED = re.compile(
    r" (?P<noun>(?!" + one_of(
        """of, or, and, to, in, per, a, lines?, words?, sentences?, paragraphs?, bullets?, pages?,
        times, things, options, points, minutes, hours, days, weeks, months, years, seconds, ones,
        says, asks, wants, needs, means, goes, comes, gets, takes, makes, gives, leaves, holds, shows,
        covers, works, runs, stays, stands, speaks, waits, starts, ends, supports, bears, follows"""
    ) + r")(?:[a-z-]{3,20} )?(?:[a-z-]{2,20}[^\Ws]s|people|staff|children))\b"
)  # fmt: skip
_GOES_ON = re.compile(
    r"(?P<rest> (?:" + one_of(
        """are, is, were, was, have, has, had, remain, remains, wait, went, go, came, still, left,
        open, out, down, across, over, short, missing, free, \\w{3,}ed"""
    ) + r")\b[^,;:.()–—]{0,60}?)(?=[,;:()–—]|\.(?:\s|$)|\s(?:and|but|so|which|who|because)\b|$)"
)  # fmt: skip
"""The statement about a counted thing, up to the end of the clause."""
_NO_COUNT = re.compile(r"0\d|.*\.")
_OF_ALL = re.compile(r" of (?:the |our |your |all )?\d+(?:,\d{3})*")
_OF_THEM = re.compile(r" of (?:them|these|those)\b")
_OPENS = re.compile(r"(?:^|[,;:] |[^\d\s] (?:and|so|but) |\bof (?:them|these|those|which),? )$")
"""Precedes a number for a part of what was counted. Such a number has no noun of its own."""
_WE_ARE = re.compile(r"\b(?:we're|we are|that makes us|making us|there are)(?: now)? $", re.I)
_APPOINTMENT = re.compile(
    r"\b(?:(?!the |a |our |my |your )[\w-]{2,20} )?" + one_of(
        """deadline, due date, launch, go-live, meeting, appointment, delivery, review, exam,
        hearing, release, cut-off, kick-off"""
    ),
    re.I,
)  # fmt: skip


def dated(words: str) -> Iterator[tuple[str, str, str]]:
    """A date without a link: of the appointment in the sentence, or of the whole sentence."""
    for value in values_in(words):
        if value.kind not in ("dates", "date") or subject_of(words, value) is not None:
            continue
        named = _APPOINTMENT.search(words)
        if named or value.kind == "dates":
            yield named.group() if named else "dates", value.kind, value.text


def counted(words: str) -> Iterator[tuple[str, str, str]]:
    """Counts: "We're 9 people", "171 of 214 tables are across", "and 8 of them are missing"."""
    last, end = "", 0
    for value in values_in(words):
        if value.kind != "number" or _NO_COUNT.match(value.text) or value.start < end:
            continue
        whole = _OF_ALL.match(words, value.end)
        noun = _COUNTED.match(words, whole.end() if whole else value.end)
        if noun:
            last, end = noun["noun"], noun.start()
            yield last, "count", words[value.start : end] + _goes_on(words, noun.end())
        elif _WE_ARE.search(words[: value.start]) and not words[value.end :][:2].strip().isalnum():
            yield "people", "count", value.text
        elif last and _OPENS.search(words[: value.start]):
            them = _OF_THEM.match(words, value.end)
            said = _goes_on(words, them.end() if them else value.end)
            if said:
                yield last, "of which", value.text + said


def _goes_on(words: str, at: int) -> str:
    found = _GOES_ON.match(words, at)
    return found["rest"] if found else ""


Triple = tuple[str, str, str]
Finder = Callable[[str], Iterable[Triple]]

LONGEST_OBJECT = 120
"""Maximum characters of a fact's object. The store has the whole clause."""

_PREDICATES = {"number": "value", "duration": "time"}
_STOP = re.compile(
    r"[,;:(–—]\s|\s[-–—]\s|[.!?]+(?:\s|$)|"
    r"\s(?:and|but|which|so|because|while|where|as|instead|rather|not)\s"
)
VERB = re.compile(
    r"\s(?P<verb>" + one_of(
        """is, are, was, were, has, have, ran, runs, owns, leads, joined, joins, moved, left,
        leaves, starts, started, takes, uses, depends on, belongs to, reports to, points to,
        caused, causes, broke, failed, lost, signed, agreed, declined, accepted, resigned, replaces,
        replaced, posted, costs, covers, expires, closed, opened, needs, stays, lives, works,
        became, becomes, can(?:not|'t)?, will, won't, isn't, aren't, doesn't, no longer"""
    ) + r")\s"
)  # fmt: skip
_PART = re.compile(r" of (?:the |our |all |these |those )?(?P<whole>[a-z][\w-]+)\b")
_COLON = re.compile(r"[:,]\s")
_CHOSEN = re.compile(
    r"\b(?:go|going|went|stick|proceed) (?:for|with)\s|\b" + one_of(
        """decided (?:on|for), settled on, opted for, chose, picked, take,
        I'm (?:using|taking|booking|reserving|keeping), we(?:'ll| will) (?:use|take),
        I've (?:booked|reserved|chosen|picked|ordered), let's (?:use|take)"""
    ) + r"\s",
    re.I,
)  # fmt: skip
_IS_THE = re.compile(
    r" (?:is|are|was|were) (?:now )?(?:the|our|your|my|their|his|her) "
    r"(?P<what>[a-z][\w-]*(?: [a-z][\w-]*)??)(?= (?:now|today|so far|then|for|of|on|in|at|to)\b|[,.;:]|$)"
)
"""The thing that a value belongs to, named after the value."""
_LABELLED = re.compile(
    r"\b(?P<what>(?:[a-z][a-z-]+ )?(?:number|reference|ref|code|id|no\.))(?: is|:)? "
    r"(?P<id>(?=[\w/-]*\d)[\dA-Z][\w/-]{3,})"
)
"""An identifier after a noun that announces it."""
_EDITION = re.compile(
    r"\b(?P<what>protocol|version|release|revision|edition|amendment|plan|policy|schema|firmware|"
    r"contract|draft|template) (?P<id>\d+(?:\.\d+)+)(?= (?:is|applies|holds|counts|stands|went|goes)\b)"
)
"""Cues that an edition is in force."""


def linked(words: str) -> Iterator[Triple]:
    """Values linked to their subject: "The close pack is due on 8 October"."""
    last = 0
    for value in values_in(words):
        found = subject_of(words, value) if value.start >= last else None
        if found is not None:
            subject, link = found
            what = _rest(words, value.start, value.end)
            last = value.start + len(what)
            yield subject, "due" if "due" in link.split() else _predicate(value), what


def _predicate(value: Value) -> str:
    if value.kind == "number" and re.fullmatch(r"\d{1,3}(?:,\d{3})*|\D+", value.text):
        return "count"
    return _PREDICATES.get(value.kind, value.kind)


def stated(words: str) -> Iterator[Triple]:
    """Statements about a named thing: "TP533 is withdrawn", "Job A_7: restarted"."""
    starts = [0, *(m.end() for m in re.finditer(r":\s|,\s(?:and|but|so)\s", words))][:3]
    for start in starts:
        verb = VERB.search(words, start, start + 90)
        colon = _COLON.search(words, start, start + 60)
        if colon is not None and (verb is None or colon.start() < verb.start()):
            head, what = words[start : colon.start()], _rest(words, colon.end())
            if _is_full_name(head) and (colon.group() == ": " or any(values_in(what))):
                yield head, "is", what
            continue
        head = words[start : verb.start()] if verb else ""
        if verb is None or len(head.split()) > 9 or not named_in(f"The {head}"):
            continue
        subject, what = phrase_before(head), _rest(words, verb.end())
        if subject and what:
            yield subject, verb["verb"], what


def _is_full_name(words: str) -> bool:
    """Whether ``words`` are an identifier, with or without its noun, or a name of several words."""
    named = named_in(f"The {words}")
    if not named or len(words.split()) > 5 or named[-1].end != len(words) + 4:
        return False
    if re.match(r"(?:on|in|at|for|from|with|as|by)\b", words, re.I):
        return False
    return named[-1].type not in PROPER or " " in named[-1].name


def valued(words: str) -> Iterator[Triple]:
    """Values followed by what they are for or of: "£1,200.00 for Acme Ltd", "6% of checkouts"."""
    for value in values_in(words):
        ahead = words[value.end : value.end + 60]
        part = _PART.match(ahead) if value.kind == "share" else None
        if part:
            yield (
                part["whole"],
                value.kind,
                _rest(words, value.start, value.end + part.end("whole")),
            )
        named = next(iter(named_in(f"so{ahead}")), None) if ahead.startswith(" for ") else None
        if named is not None and value.kind != "number" and named.start <= 11:
            yield named.name, _predicate(value), value.text


def inverted(words: str) -> Iterator[Triple]:
    """Values followed by their subject: "$16.8 million is the reserve now"."""
    for value in values_in(words):
        found = _IS_THE.match(words, value.end)
        if found is not None:
            yield found["what"], _predicate(value), value.text


def labelled(words: str) -> Iterator[Triple]:
    """Identifiers after their noun: "Under case number 7740-3318", "protocol 5.0 applies"."""
    for match in _LABELLED.finditer(words):
        yield match["what"], "id", match["id"]
    for match in _EDITION.finditer(words):
        yield match["what"], "version", match["id"]


def chosen(words: str) -> Iterator[Triple]:
    """Choices by name: "I'd go for Douro Lodge: nine singles"."""
    for match in _CHOSEN.finditer(words):
        rest = words[match.end() :]
        named = next(iter(named_in(f"so {rest[:80]}")), None)
        if named is not None and named.start <= 8:
            after = rest[named.end - 3 :].lstrip(" ,:;.–—")
            yield named.name, "chosen", _rest(after, 0) or "yes"


def _rest(words: str, start: int, least: int = 0) -> str:
    """The clause from ``start``, at least up to ``least``, limited to `LONGEST_OBJECT`."""
    end = least
    for stop in _STOP.finditer(words, max(start, least)):
        end = stop.start()
        if end - start >= 30 or least:
            break
    else:
        end = len(words)
    return fit(tidy(words[start:end]), LONGEST_OBJECT)


FINDERS: tuple[Finder, ...] = (
    roles_in,
    causes_in,
    linked,
    labelled,
    inverted,
    stated,
    valued,
    chosen,
)
"""The finders of one form each, most certain first."""


def triples(words: str) -> Iterator[Triple]:
    """The triples of all finders in one sentence."""
    for find in (*FINDERS, counted, dated, statement):
        yield from find(words)

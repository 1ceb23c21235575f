"""Finds facts in one sentence: subject, predicate and object.

`FINDERS` find the known forms: roles, values linked to their subject, statements about a named thing,
counts. `whole_sentence` makes one fact of a sentence in any form, in the speaker's words. The subject is
the key of a fact, so that a later statement about the same thing replaces the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from acc.keyless.acts import acts
from acc.keyless.entities import PROPER, SO, Named, named_in, surely_named
from acc.keyless.reading import Spoken
from acc.keyless.sentences import fit, tidy
from acc.keyless.values import Value, phrase_before, subject_of, values_in
from acc.text.patterns import one_of

Triple = tuple[str, str, str]
"""Subject, predicate and object."""

Finder = Callable[[str], Iterable[Triple]]

ENOUGH = 30
"""Minimum characters of a clause that is an object by itself; a shorter one takes in the next clause."""

_ROLE = r"(?P<role>(?:(?!the |our |my |now )[\w-]{2,20} )?" + one_of(
    """commander, owner, lead, leader, manager, contact, chair, reviewer, approver, director, head,
    sponsor, coordinator, captain, supervisor, controller, on-call, deputy, editor, assignee"""
) + ")"  # fmt: skip

_THE = r"(?:now |still |again |the |our |my |an? ){0,3}"

_HOLDS = re.compile(rf" (?:is|becomes|takes over as|steps in as|acts as|as) {_THE}{_ROLE}", re.I)

_HELD_BY = re.compile(rf"\b{_THE}{_ROLE} (?:is|will be|:) (?:now )?", re.I)


def roles_in(words: str) -> Iterator[Triple]:
    """Roles: "Dana takes over as incident lead" gives ("incident lead", "is", "Dana")."""
    people = [named for named in named_in(words) if named.type in PROPER]
    people += [named for named in named_in(f"{SO}{words}")[:1] if named.type in PROPER]
    for match in _HOLDS.finditer(words):
        name = next((n.name for n in people if words[: match.start()].endswith(n.name)), "")
        if name:
            yield match["role"].lower(), "is", name
    for match in _HELD_BY.finditer(words):
        name = next((n.name for n in people if words.startswith(n.name, match.end())), "")
        if name:
            yield match["role"].lower(), "is", name


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


def counts_in(words: str) -> Iterator[Triple]:
    """Counts: "We're 9 people", "171 of 214 tables are across", "and 8 of them are missing"."""
    last, end = "", 0
    for value in values_in(words):
        if value.kind != "number" or _NO_COUNT.match(value.text) or value.start < end:
            continue
        total = _OF_ALL.match(words, value.end)
        noun = _COUNTED.match(words, total.end() if total else value.end)
        if noun:
            last, end = noun["noun"], noun.start()
            yield last, "count", words[value.start : end] + _goes_on(words, noun.end())
        elif _WE_ARE.search(words[: value.start]) and not words[value.end :][:2].strip().isalnum():
            yield "people", "count", value.text
        elif last and _OPENS.search(words[: value.start]):
            of_them = _OF_THEM.match(words, value.end)
            said = _goes_on(words, of_them.end() if of_them else value.end)
            if said:
                yield last, "of which", value.text + said


def _goes_on(words: str, at: int) -> str:
    """What the sentence says of the counted thing from ``at``: " are across"; empty if nothing."""
    found = _GOES_ON.match(words, at)
    return found["rest"] if found else ""


LONGEST_OBJECT = 120
"""Maximum characters of a fact's object. The store has the whole clause."""

_PREDICATES = {"number": "value", "duration": "time"}
"""Predicates of kinds of values; the other kinds are their own predicate."""

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
"""The verbs of a statement about a named thing."""

_COLON = re.compile(r"[:,]\s")


def linked_values_in(words: str) -> Iterator[Triple]:
    """Values linked to their subject: "The close pack is due on 8 October"."""
    last = 0
    for value in values_in(words):
        found = subject_of(words, value) if value.start >= last else None
        if found is not None:
            subject, link = found
            what = _object_from(words, value.start, value.end)
            last = value.start + len(what)
            yield subject, "due" if "due" in link.split() else _predicate(value), what


def _predicate(value: Value) -> str:
    if value.kind == "number" and re.fullmatch(r"\d{1,3}(?:,\d{3})*|\D+", value.text):
        return "count"
    return _PREDICATES.get(value.kind, value.kind)


def statements_in(words: str) -> Iterator[Triple]:
    """Statements about a named thing: "TP533 is withdrawn", "Job A_7: restarted"."""
    starts = [0, *(m.end() for m in re.finditer(r":\s|,\s(?:and|but|so)\s", words))][:3]
    for start in starts:
        verb = VERB.search(words, start, start + 90)
        colon = _COLON.search(words, start, start + 60)
        if colon is not None and (verb is None or colon.start() < verb.start()):
            head, what = words[start : colon.start()], _object_from(words, colon.end())
            if _is_full_name(head) and (colon.group() == ": " or any(values_in(what))):
                yield head, "is", what
            continue
        head = words[start : verb.start()] if verb else ""
        if verb is None or len(head.split()) > 9 or not named_in(f"The {head}"):
            continue
        subject, what = phrase_before(head), _object_from(words, verb.end())
        if subject and what:
            yield subject, verb["verb"], what


def _is_full_name(words: str) -> bool:
    """Whether ``words`` are an identifier, with or without its noun, or a name of several words."""
    # Behind "The ", `named_in` takes a capital for a name's, not for the start of a sentence.
    named = named_in(f"The {words}")
    if not named or len(words.split()) > 5 or named[-1].end != len("The ") + len(words):
        return False
    if re.match(r"(?:on|in|at|for|from|with|as|by)\b", words, re.I):
        return False
    return named[-1].type not in PROPER or " " in named[-1].name


def _object_from(words: str, start: int, least: int = 0) -> str:
    """The object that begins at ``start``, limited to `LONGEST_OBJECT` characters.

    It ends with the clause around the position ``least``. Without ``least`` it takes in clauses until it
    has `ENOUGH` characters.
    """
    end = least
    for stop in _STOP.finditer(words, max(start, least)):
        end = stop.start()
        if end - start >= ENOUGH or least:
            break
    else:
        end = len(words)
    return fit(tidy(words[start:end]), LONGEST_OBJECT)


FINDERS: tuple[Finder, ...] = (roles_in, linked_values_in, statements_in, counts_in)
"""One finder for each known form, the most certain first."""


LONGEST_SUBJECT = 60
"""Maximum characters of the subject of a whole sentence."""

LONGEST_STATED = 100
"""Maximum characters of the object of a whole sentence."""

LEAST_WORDS = 3
"""Minimum words of a sentence that is a fact."""

_ANY_VERB = re.compile(
    r"(?:\s|'s\s)(?P<verb>" + one_of(
        """is, are, was, were, has, have, had, isn't, aren't, wasn't, can't, cannot, can, will,
        won't, must, needs?, comes?, came, goes, went, takes?, took, gives?, gave, gets?, got, makes?,
        made, says?, shows?, showed, holds?, held, leads?, led, covers?, owns?, runs?, ran, stands?,
        stood, stays?, sits, lives?, starts?, ends?, opens?, closes?, costs?, weighs?, reads?,
        carries, carried, signed, sent, arrived, arrives?, leaves?, left, lost, found, failed, broke,
        [a-z]\\w{2,}(?:ed|ks|ts|ns|ws|ses|res)"""
    ) + r")\s"
)  # fmt: skip
"""The verbs of a whole sentence. They include regular forms, which behind a name would be too uncertain."""

_PRONOUN = re.compile(
    r"^\W*(?:(?:and|but|so|that|which|also|now)\s+)?(?:it|they|he|she|this|that|there|these|those|one|we|i|you)\b",
    re.I,
)

_CLAUSE_END = re.compile(
    r"[,;:–—(]\s|\s(?:and|but|so|which|because|with|after|before)\s|[.!?]+(?:\s|$)"
)

_LETTERS = re.compile(r"[^\W\d]{2}")

_OPENER = re.compile(r"^[^,;:–—]{1,24}[,;:–—]\s+(?=\S)")
"""A few words up to a first comma, colon or dash: "Update: ", "Lovely, "."""


def whole_sentence(words: str, before: str = "") -> Iterator[Triple]:
    """A sentence as one fact, if it names something or contains a value; otherwise nothing.

    Args:
        words: The sentence.
        before: The sentence before, which a pronoun may refer to.
    """
    words = tidy(words)
    if len(words.split()) < LEAST_WORDS or not (any(values_in(words)) or _named(words)):
        return
    verb = _ANY_VERB.search(words, 0, 110)
    head = words[: verb.start()] if verb else ""
    subject = _subject(head, before)
    if verb is None or not subject:
        topic, rest = _topic(words, before)
        if topic:
            yield topic, "notes", _first_clause(_without(topic, rest))
        return
    yield subject, verb["verb"], _first_clause(words[verb.end() :])


def _without(topic: str, words: str) -> str:
    """``words`` without a leading topic, because the subject already has it."""
    rest = words[len(topic) :].lstrip(" ,;:–—'")
    return rest if words.startswith(topic) and len(rest) >= LEAST_WORDS else words


def _first_clause(words: str) -> str:
    """The words up to the end of the first clause with content."""
    for end in _CLAUSE_END.finditer(words):
        said = words[: end.start()]
        if len(said) >= ENOUGH and (any(values_in(said)) or _named(said)):
            return fit(said, LONGEST_STATED)
    return fit(words, LONGEST_STATED)


def _subject(head: str, before: str) -> str:
    """The subject in ``head``, the words before the verb; for a pronoun, the last name in ``before``."""
    if not head.strip():
        return ""
    if _PRONOUN.match(head):
        return _last_named(before)
    opener = _OPENER.match(head)
    head = head[opener.end() :] if opener else head
    phrase = phrase_before(head) or head
    return fit(phrase, LONGEST_SUBJECT) if _LETTERS.search(phrase) else ""


def _topic(words: str, before: str) -> tuple[str, str]:
    """The topic of a sentence without a verb: the words before its colon, or a name in it."""
    opener = _OPENER.match(words)
    if opener and _is_aside(opener.group()):
        words, opener = words[opener.end() :], None
    if opener and named_in(f"{SO}{opener.group()}") and not _PRONOUN.match(words):
        return words[: opener.end()].rstrip(" ,;:–—"), words[opener.end() :]
    named = _named(words)
    return (named[0].name, words) if named else (_last_named(before), words)


def _is_aside(opener: str) -> bool:
    """Whether the words before a comma only greet, thank or agree: "Lovely, ..." """
    odds = acts(Spoken(opener.rstrip(" ,;:–—")))
    return odds["other"] + odds["assent"] >= 0.5


def _last_named(text: str) -> str:
    """The last name in a text; empty if there is none."""
    named = _named(text)
    return max(named, key=lambda n: n.start).name if named else ""


def _named(text: str) -> list[Named]:
    """The names in a text: identifiers, then certain proper names."""
    return [*(n for n in named_in(text) if n.type not in PROPER), *surely_named(text)]

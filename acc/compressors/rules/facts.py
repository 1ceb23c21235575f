"""Facts as subject, predicate, object: from the user's and the agent's words, and from listings."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from acc.compressors.rules.counts import counted, dated
from acc.compressors.rules.cues import RULES
from acc.compressors.rules.entities import PROPER, named_in
from acc.compressors.rules.listings import listed
from acc.compressors.rules.lookalikes import is_fancy, is_hearsay, is_question, is_told
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.replies import REFUSED, agreed
from acc.compressors.rules.roles import causes_in, roles_in
from acc.compressors.rules.sentences import fit, tidy
from acc.compressors.rules.values import Value, phrase_before, subject_of, values_in
from acc.compressors.rules.words import one_of
from acc.items import Relation, Status
from acc.turn import Observation
from acc.wording import stems

LONGEST_OBJECT = 120
"""Characters of a fact's object; the clause goes on in the store."""

_PREDICATES = {"number": "value", "duration": "time"}
_STOP = re.compile(
    r"[,;:(–—]\s|\s[-–—]\s|[.!?]+(?:\s|$)|"
    r"\s(?:and|but|which|so|because|while|where|as|instead|rather|not)\s"
)
_VERB = re.compile(
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


class Fact(NamedTuple):
    """A fact with what it rests on."""

    subject: str
    predicate: str
    object: str
    status: Status
    cites: tuple[str, ...]


Triple = tuple[str, str, str]
Finder = Callable[[str], Iterable[Triple]]


def facts_in(reading: Reading, ruling: Container[Said]) -> Iterator[Fact]:
    """Facts, the surest first: by what is linked to a value, by name, by count, by listing.

    Args:
        reading: The turn.
        ruling: Sentences that make rules, and state nothing beside.
    """
    yield from _endorsed(reading)
    asked = stems(" ".join(said.words for said in reading.user))
    own = [said for said in reading.user if said not in ruling and _states(said)]
    agents = [s for s in reading.agent if _tells(s)]
    for find in (roles_in, causes_in, _linked, _stated, _valued, _chosen):
        yield from _found(find, own, agents, reading.tools)
    yield from _found(dated, own, (), ())
    for fact in _found(counted, own, agents, reading.tools):
        if fact.status in ("stated", "reported") or stems(fact.subject) & asked:
            yield fact
    named = (n for said in reading.user for n in named_in(said.text) if n.type not in PROPER)
    about = next((n.name for n in named), "")
    for tool in reading.tools:
        for key, value in listed(tool, asked):
            yield Fact(about or tool.name or "result", key, value, "observed", (tool.ref,))


def canonical(fact: Fact, held: Sequence[Relation]) -> Fact:
    """``fact`` under the subject by which ``held`` relations know the same thing, if one does."""
    own = stems(fact.subject)
    for relation in held:
        if relation.predicate.casefold() != fact.predicate.casefold():
            continue
        other = stems(relation.subject)
        shared = len(own & other)
        # What is merely said of a thing ("is") needs more in common than what has a value.
        enough = shared >= (2 if _VERB.fullmatch(f" {fact.predicate} ") else 1)
        if own == other or (enough and shared / len(own | other) >= 0.5):
            return fact._replace(subject=relation.subject)
    return fact


def is_bare(fact: Fact) -> bool:
    """Whether it says of a common noun alone neither a figure nor a name: "retry is built"."""
    if not (fact.subject.isalpha() and fact.subject.islower()):
        return False
    figure = fact.predicate != "time" and any(c.isdigit() for c in fact.object)
    return not figure and not named_in(f"so {fact.object}")


def _states(said: Said) -> bool:
    """Whether a sentence states something; what others say must or must not be, states nothing."""
    if is_question(said.words, said.asks) or is_told(said.words):
        return False
    if not is_hearsay(said.words, len(said.words)):
        return True
    return not any(cue.pattern.search(said.words) for cue in RULES)


def _tells(said: Said) -> bool:
    """Whether the agent reports something; of the past too, but not what a text wanted."""
    told = is_question(said.words, said.asks) or is_fancy(said.words)
    return not told and not REFUSED.search(said.words)


def _endorsed(reading: Reading) -> Iterator[Fact]:
    """What the agent had offered to take or do, by name, where the user assents."""
    found = agreed(reading)
    if found is None:
        return
    assent, offers = found
    for said in offers:
        for find in (_chosen, _linked, _stated):
            for subject, predicate, what in find(said.words):
                yield Fact(subject, predicate, what, "decided", (said.ref, assent.ref))


def _found(
    find: Finder, own: Iterable[Said], agents: Iterable[Said], tools: Sequence[Observation]
) -> Iterator[Fact]:
    for said in own:
        status: Status = "reported" if is_hearsay(said.words, len(said.words)) else "stated"
        for subject, predicate, what in find(said.words):
            yield Fact(subject, predicate, what, status, (said.ref,))
    for said in agents:
        for subject, predicate, what in find(said.words):
            value = next((v.text for v in values_in(what)), what)
            seen = tuple(tool.ref for tool in tools if value in tool.text)[:1]
            status = "decided" if predicate == "chosen" and not seen else "observed"
            yield Fact(subject, predicate, what, status, (said.ref, *seen))


def _linked(words: str) -> Iterator[Triple]:
    """ "The close pack is due on 8 October": what a value is said to be the value of."""
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


def _stated(words: str) -> Iterator[Triple]:
    """ "TP533 is withdrawn", "Job A_7: restarted": what is said of something named."""
    starts = [0, *(m.end() for m in re.finditer(r":\s|,\s(?:and|but|so)\s", words))][:3]
    for start in starts:
        verb = _VERB.search(words, start, start + 90)
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


def _valued(words: str) -> Iterator[Triple]:
    """ "£1,200.00 for Acme Ltd", "6% of checkouts": a value, and after it what it is for or of."""
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


def _chosen(words: str) -> Iterator[Triple]:
    """ "I'd go for Douro Lodge: nine singles": what was chosen, by name."""
    for match in _CHOSEN.finditer(words):
        rest = words[match.end() :]
        named = next(iter(named_in(f"so {rest[:80]}")), None)
        if named is not None and named.start <= 8:
            after = rest[named.end - 3 :].lstrip(" ,:;.–—")
            yield named.name, "chosen", _rest(after, 0) or "yes"


def _rest(words: str, start: int, least: int = 0) -> str:
    """The clause from ``start`` on, at least up to ``least``, within `LONGEST_OBJECT`."""
    end = least
    for stop in _STOP.finditer(words, max(start, least)):
        end = stop.start()
        if end - start >= 30 or least:
            break
    else:
        end = len(words)
    return fit(tidy(words[start:end]), LONGEST_OBJECT)

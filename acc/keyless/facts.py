"""The facts of the next state: from the words of user and agent, and from key-value lines of tools."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from acc.keyless.acts import acts
from acc.keyless.entities import PROPER, named_in
from acc.keyless.lookalikes import REFUSED, is_fancy, is_hearsay, is_past_or_fancy, is_question
from acc.keyless.outcomes import is_outcome, outcomes_in
from acc.keyless.reading import Said, TurnReading
from acc.keyless.revisions import revised
from acc.keyless.room import Room
from acc.keyless.statements import FINDERS, VERB, Finder, Triple, roles_in, whole_sentence
from acc.keyless.topic_and_trace import Ruled
from acc.keyless.values import values_in
from acc.keyless.worth import Told, needed, worth_of
from acc.state.items import Relation, Status
from acc.state.model import CompressedCognitiveState
from acc.text.patterns import one_of, whole
from acc.text.wording import marks, stems
from acc.turn.observations import Observation

MOST_LINES = 2_000
"""Maximum number of key-value lines read in one output."""

UNASKED = 6
"""Maximum lines of one output that become facts although nobody asked for them."""

LOOKED_AT = 60
"""Maximum lines of one output searched for those."""

_LINE = re.compile(
    r"[ \t]*[\"']?(?P<key>[A-Za-z]+\.?(?:[ _-][A-Za-z]+\.?|, [A-Za-z]+){0,3})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<value>[^\s\"'{}\[\],][^\n\"{}\[\]|]{0,80}?)[\"']?,?[ \t]{0,4}\r?\Z"
)

_NO_FACT = whole(
    """from, to, cc, bcc, subject, date, sent, re, note, memo, warning, todo, instructions?,
    https?"""
)
"""Heads of mails, and keys with prose as value."""


def listed(tool: Observation, asked: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Keys and values of the lines of ``tool``.

    First come the lines with a stem of ``asked`` in the key, then the first few others with an
    identifier, an amount, a date or a long number.
    """
    pairs = (line for line in tool.text.split("\n") if ":" in line or "=" in line)
    matched = filter(None, map(_LINE.match, pairs))
    found = islice(matched, MOST_LINES)
    lines = [(m["key"], m["value"].strip()) for m in found if not _NO_FACT.match(m["key"])]
    wanted = {key for key, _ in lines if stems(key) & asked}
    others = islice((line for line in lines if line[0] not in wanted), LOOKED_AT)
    unasked = islice((line for line in others if _identifies(line[1])), UNASKED)
    for key, value in (*(line for line in lines if line[0] in wanted), *unasked):
        yield key.replace("_", " ").lower(), value


_KINDS = frozenset(("id", "amount", "date", "dates"))

_LONG_NUMBER = re.compile(r"\d{4}")

_DIGIT = re.compile(r"\d")


def _identifies(value: str) -> bool:
    if _LONG_NUMBER.search(value):
        return True
    return _DIGIT.search(value) is not None and any(v.kind in _KINDS for v in values_in(value))


class Fact(NamedTuple):
    """A fact with its sources."""

    subject: str
    predicate: str
    object: str
    status: Status
    cites: tuple[str, ...]


def facts_in(reading: TurnReading, ruling: Container[Said]) -> Iterator[Fact]:
    """The facts of a turn, most certain first, each truncated to its essential words.

    Args:
        reading: The turn.
        ruling: Sentences that make rules. They state no facts except who has which role.
    """
    for fact in _facts(reading, ruling):
        yield fact._replace(object=_core(fact.object))


_JOINT = re.compile(
    r"[,;:(–—]\s|\s[-–—]\s|\s"
    + one_of(
        "and, but, so, which, because, with, after, before, while, as, since, where, who, that"
    )
    + r"\s"
)

LEAST = 8
"""Minimum characters of a truncated object of a fact."""


def _core(what: str) -> str:
    """``what`` up to the end of its clause, once it contains a figure or an identifier."""
    for joint in _JOINT.finditer(what, LEAST):
        if marks(what[: joint.start()]):
            return what[: joint.start()]
    return what


def _facts(reading: TurnReading, ruling: Container[Said]) -> Iterator[Fact]:
    """Find facts: outcomes, roles, linked values, counts, statements."""
    asked = stems(" ".join(said.words for said in reading.user))
    own = [s for s in reading.user if s not in ruling and _states(s)]
    rules = [stems(said.words) for said in reading.user if said in ruling]
    rules += [stems(item.words) for item in reading.rules]
    told = [s for s in reading.agent if _tells(s)]
    agents = [s for s in told if worth_of(s.words) >= WORTH and not _repeats(s, rules)]
    yield from _found(outcomes_in, own, told, reading.tools)
    yield from _found(roles_in, (said for said in reading.user if said in ruling), (), ())
    for find in FINDERS:
        yield from _found(find, own, agents, reading.tools)
    yield from _statements(reading, own, agents)
    named = (n for said in reading.user for n in named_in(said.text) if n.type not in PROPER)
    about = next((n.name for n in named), "")
    for tool in reading.tools:
        for key, value in listed(tool, asked):
            yield Fact(about or tool.name or "result", key, value, "observed", (tool.ref,))


STATED = 0.2
"""Minimum probability for keeping a user's sentence as a statement."""


def _statements(
    reading: TurnReading, own: Iterable[Said], agents: Iterable[Said]
) -> Iterator[Fact]:
    for said in own:
        odds = acts(said.spoken)
        if odds["fact"] + odds["guess"] >= STATED:
            status: Status = "hypothesis" if odds["guess"] > odds["fact"] else "stated"
            for subject, predicate, what in whole_sentence(said.words, said.before):
                yield Fact(subject, predicate, what, status, (said.ref,))
    for said in agents:
        yield from _agents(said, whole_sentence(said.words, said.before), reading.tools)


def canonical(fact: Fact, held: Sequence[Relation]) -> Fact:
    """``fact`` with the subject that ``held`` relations use for the same thing, if there is one."""
    own = stems(fact.subject)
    for relation in held:
        if relation.predicate.casefold() != fact.predicate.casefold():
            continue
        other = stems(relation.subject)
        shared = len(own & other)
        # A predicate that only describes a thing ("is") needs more shared words than one with a
        # value.
        enough = shared >= (2 if VERB.fullmatch(f" {fact.predicate} ") else 1)
        if own == other or (enough and shared / len(own | other) >= 0.5):
            return fact._replace(subject=relation.subject)
    return fact


def is_bare(fact: Fact) -> bool:
    """Whether a fact says neither a figure nor a name of a common noun: "retry is built"."""
    if _NAMES_NOTHING.fullmatch(fact.subject):
        return True
    if not (fact.subject.isalpha() and fact.subject.islower()):
        return False
    figure = fact.predicate != "time" and any(c.isdigit() for c in fact.object)
    return not figure and not named_in(f"so {fact.object}")


_NAMES_NOTHING = re.compile(
    one_of(
        """it, he, she, they, this, that, these, those, there, here, i, we, you, one, done, yes, no, and,
        so, what, who"""
    ),
    re.I,
)
"""A subject that names nothing outside its sentence."""

REPEATED = 0.6
"""Minimum share of a sentence's words in a rule for it to be a repetition."""


def _repeats(said: Said, rules: Sequence[frozenset[str]]) -> bool:
    """Whether the agent only repeats a rule."""
    own = stems(said.words)
    return any(len(own & rule) >= REPEATED * len(own) for rule in rules)


WORTH = 0.2
"""Minimum value of an agent's sentence for its facts to be extracted.

The user's sentences have no minimum. Their value only matters for eviction.
"""


SAID_BY_OTHERS = 0.5
"""Probability from which hearsay is a wish of someone else rather than news."""


def _states(said: Said) -> bool:
    """Whether a sentence states something. Demands of other people state nothing."""
    if is_question(said.words, said.asks) or is_past_or_fancy(said.words):
        return False
    if not is_hearsay(said.words):
        return True
    return acts(said.spoken)["reported"] < SAID_BY_OTHERS


def _tells(said: Said) -> bool:
    """Whether the agent reports something, including the past, but not the demands of a text."""
    told = is_question(said.words, said.asks) or is_fancy(said.words)
    return not told and not REFUSED.search(said.words)


def _found(
    find: Finder, own: Iterable[Said], agents: Iterable[Said], tools: Sequence[Observation]
) -> Iterator[Fact]:
    for said in own:
        status: Status = "reported" if is_hearsay(said.words) else "stated"
        for subject, predicate, what in find(said.words):
            yield Fact(subject, predicate, what, status, (said.ref,))
    for said in agents:
        yield from _agents(said, find(said.words), tools)


def _agents(said: Said, triples: Iterable[Triple], tools: Sequence[Observation]) -> Iterator[Fact]:
    """The facts of an agent's sentence. Each also cites the first tool whose output has its value."""
    for subject, predicate, what in triples:
        value = next((v.text for v in values_in(what)), what)
        seen = tuple(tool.ref for tool in tools if value in tool.text)[:1]
        yield Fact(subject, predicate, what, "observed", (said.ref, *seen))


_GENERIC = frozenset(CompressedCognitiveState.slots())


def relate(reading: TurnReading, ruled: Ruled, room: Room) -> None:
    """Propose the facts of the turn, and retire those that it replaces."""
    for relation in list(revised(reading, _held(room))):
        room.retire(relation)
    held = _held(room)
    found: list[Fact] = []
    for fact in facts_in(reading, ruling(ruled)):
        fact = canonical(fact, held)
        if not (
            is_bare(fact)
            or _is_in_domain_slot(fact, room)
            or any(_covers(f, fact) for f in found if not _is_outcome(f))
        ):
            found.append(fact)
    for fact in sorted(found, key=_rank)[:MOST_FACTS]:
        says = {name: getattr(fact, name) for name in Relation.wire_fields()}
        room.add("relational_map", fact.cites, **says)


MOST_FACTS = 12
"""Maximum new facts per turn that are considered. About half of them find a place."""


def _rank(fact: Fact) -> tuple[bool, float]:
    """A sort key: outcomes first, then the facts that will most probably be needed."""
    told = Told(fact.subject, fact.predicate, fact.object, fact.status, len(fact.cites))
    return not _is_outcome(fact), -needed(told)


def _is_outcome(fact: Fact) -> bool:
    return is_outcome(fact.predicate, fact.object)


TOLD = 2 / 3
"""Minimum share of a fact's words in a domain's item for the item to contain the fact."""


def _is_in_domain_slot(fact: Fact, room: Room) -> bool:
    """Whether an item of a domain's slot already contains the fact, from the same source."""
    said = f"{fact.subject} {fact.object}"
    for item in room.new():
        if item.slot not in _GENERIC and fact.cites[0] in item.cites:
            there = " ".join(str(value) for value in item.fields.values())
            shared = len(stems(said) & stems(there))
            if marks(said) <= marks(there) and shared >= TOLD * len(stems(said)):
                return True
    return False


def _held(room: Room) -> list[Relation]:
    return [item for item in room.held("relational_map") if isinstance(item, Relation)]


def ruling(ruled: Ruled) -> set[Said]:
    return {said for said, rules in ruled.items() if rules}


def _covers(one: Fact, other: Fact) -> bool:
    """Whether both facts come from the same words: equal value, equal subject, or swapped roles."""
    if one.cites[0] != other.cites[0]:
        return False
    within = one.subject == other.subject and one.object in other.object
    figures = marks(f"{other.subject} {other.object}")
    known = bool(figures) and figures <= marks(f"{one.subject} {one.object}")
    turned = stems(one.object) <= stems(other.subject) and stems(other.object) <= stems(one.subject)
    return one.object == other.object or within or known or turned

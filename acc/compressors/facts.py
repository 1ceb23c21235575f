"""Facts as subject, predicate, object: from the user's and the agent's words, and plain tool lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acc.compressors.cues import RULES
from acc.compressors.entities import named_in
from acc.compressors.lookalikes import is_hearsay, is_question, is_told
from acc.compressors.reading import Reading, Said
from acc.compressors.sentences import fit, tidy
from acc.compressors.standing import rules_in
from acc.compressors.values import Value, phrase_before, subject_of, values_in
from acc.items import Relation, Status
from acc.turn import Observation
from acc.wording import stems

LONGEST_OBJECT = 120
"""Characters of a fact's object; the clause goes on in the store."""

_PREDICATE = {"id": "id", "number": "value", "duration": "time"}
_STOP = re.compile(r"[,;:(–—]\s|\s[-–—]\s|[.!?]+(?:\s|$)|\s(?:and|but|which|so|because|while|where|as|instead|rather|not)\s")
_STATES = re.compile(
    r"\s(?P<verb>is|are|was|were|has|have|ran|runs|owns|leads|joined|joins|moved|left|leaves|"
    r"starts|started|takes|uses|"
    r"depends on|belongs to|reports to|points to|caused|causes|broke|failed|signed|agreed|"
    r"declined|accepted|resigned|"
    r"replaces|replaced|posted|costs|covers|expires|closed|opened|needs|stays|lives|works|became|"
    r"becomes|"
    r"can(?:not|'t)?|will|won't|isn't|aren't|doesn't|no longer)\s"
)
_COLON = re.compile(r"[:,]\s")
_APPOINTMENT = re.compile(
    r"\b(?:(?!the |a |our |my |your )[\w-]{2,20} ){0,1}(?:deadline|due date|launch|go-live|"
    r"meeting|appointment|delivery|review|exam|"
    r"hearing|release|cut-off|kick-off)\b",
    re.I,
)
_COUNTED = re.compile(r"^ (?P<noun>(?!(?:of|or|and|to|in|per|a|lines?|words?|sentences?|paragraphs?|bullets?|pages?|times|things|options|points)\b)(?:[a-z-]{3,20} )?(?:[a-z-]{2,20}[^\Ws]s|people|staff|children))\b")
_WE_ARE = re.compile(r"\b(?:we're|we are|that makes us|making us|there are)(?: now)? $", re.I)
_CHOSEN = re.compile(
    r"\b(?:I'd|we'd|I'll|we'll|we|I|let's|please|ok|and)?\s?(?:go|going|went|stick|proceed) "
    r"(?:for|with)\s|"
    r"\b(?:decided (?:on|for)|settled on|opted for|chose|picked|I'm (?:using|taking|booking|"
    r"reserving|keeping)|"
    r"I've (?:booked|reserved|chosen|picked|ordered)|let's (?:use|take)|we(?:'ll| will) (?:use|"
    r"take)|and take|take)\s",
    re.I,
)
REFUSED = re.compile(
    r"\b(?:ignor\w*|refus\w*|not (?:following|taking|supplying|using|honou?ring|touching|acting|"
    r"going to)|contradicts?|"
    r"at odds|no standing|advertis\w*|suspicious|phish\w*|unverified|claim(?:s|ing|ed)?|"
    r"instruct\w*|inject\w*|telling|tells|"
    r"(?:text|line|note|page|mail|description|remark|message) (?:that|which|asking|telling)|asks? "
    r"(?:the|for|you|agents?|"
    r"assistants?)|asking|wants?|suggests?|supposedly|pretend\w*|purport\w*)\b",
    re.I,
)
"""An agent that says so tells of what a text wanted, not of what is the case."""

class Fact(NamedTuple):
    """A fact with what it rests on."""

    subject: str
    predicate: str
    object: str
    status: Status
    cites: tuple[str, ...]


def facts_in(reading: Reading) -> Iterator[Fact]:
    """Facts, the surest first: the user's, the agent's, what a tool listed that the user asked for."""
    asked = stems(" ".join(said.words for said in reading.user))
    spoken = [(said, True) for said in reading.user if _is_telling(said) and not rules_in(said)]
    spoken += [(said, False) for said in reading.agent if _is_telling(said) and not REFUSED.search(said.words)]
    for find in (_linked, _stated, _valued, _chosen):
        for said, own in spoken:
            yield from (_fact(said, own, found, reading.tools) for found in find(said.words))
    for said, own in spoken:
        yield from (_fact(said, own, found, ()) for found in _dated(said.words) if own)
    for said, own in spoken:
        for found in _counted(said.words):
            if own or stems(found[0]) & asked:
                yield _fact(said, own, found, reading.tools)
    yield from _listed(reading, asked)


def canonical(fact: Fact, held: Sequence[Relation]) -> Fact:
    """``fact`` under the subject by which ``held`` relations know the same thing, if one does."""
    own = stems(fact.subject)
    for relation in held:
        if relation.predicate.casefold() != fact.predicate.casefold():
            continue
        other = stems(relation.subject)
        shared = len(own & other)
        enough = shared >= (2 if fact.predicate in ("is", "are", "was", "has") else 1)
        if own == other or (enough and shared / len(own | other) >= 0.5):
            return fact._replace(subject=relation.subject)
    return fact


Triple = tuple[str, str, str]


def _is_telling(said: Said) -> bool:
    """Whether a sentence states something; what somebody says must or must not be, states nothing."""
    if is_question(said.words, said.asks) or is_told(said.words):
        return False
    ruling = any(cue.pattern.search(said.words) for cue in RULES)
    return not (ruling and is_hearsay(said.words, len(said.words)))


def _fact(said: Said, own: bool, found: Triple, tools: Sequence[Observation]) -> Fact:
    subject, predicate, what = found
    if own:
        status: Status = "reported" if is_hearsay(said.words, len(said.words)) else "stated"
        return Fact(subject, predicate, what, status, (said.ref,))
    value = next((v.text for v in values_in(what)), what)
    seen = tuple(tool.ref for tool in tools if value in tool.text)[:1]
    status = "observed" if seen or predicate != "chosen" else "decided"
    return Fact(subject, predicate, what, status, (said.ref, *seen))


def _linked(words: str) -> Iterator[Triple]:
    """ "The close pack is due on 8 October": what a value is said to be the value of."""
    last = 0
    for value in values_in(words):
        found = subject_of(words, value) if value.start >= last else None
        if found is None:
            continue
        subject, link = found
        what = _rest(words, value.start, value.end)
        last = value.start + len(what)
        yield subject, "due" if " due" in link else _predicate(value), what


def _predicate(value: Value) -> str:
    if value.kind == "number" and re.fullmatch(r"\d{1,3}(?:,\d{3})*|\D+", value.text):
        return "count"
    return _PREDICATE.get(value.kind, value.kind)


def _stated(words: str) -> Iterator[Triple]:
    """ "TP533 is withdrawn": what is said of something named, at the head of a clause."""
    for start in _heads(words):
        verb = _STATES.search(words, start, start + 90)
        colon = _COLON.search(words, start, start + 60)
        if colon is not None and (verb is None or colon.start() < verb.start()):
            if _is_full_name(words[start : colon.start()]):
                yield words[start : colon.start()], "is", _rest(words, colon.end())
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
    last = named[-1] if named else None
    return (
        last is not None
        and len(words.split()) <= 5
        and last.end == len(words) + 4
        and (last.type not in ("name", "person") or " " in last.name)
    )


def _heads(words: str) -> list[int]:
    """Where clauses begin: the sentence, and after its first colon or ", and"."""
    starts = [0]
    starts += [m.end() for m in re.finditer(r":\s|,\s(?:and|but|so)\s", words)][:2]
    return starts


def _valued(words: str) -> Iterator[Triple]:
    """ "£1,200.00 for Acme Ltd": a value, and after it by name what it is for."""
    for value in values_in(words):
        ahead = words[value.end : value.end + 60]
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


def _dated(words: str) -> Iterator[Triple]:
    """A date that nothing is linked to: of the appointment that the sentence names, or of the whole."""
    for value in values_in(words):
        if value.kind not in ("dates", "date") or subject_of(words, value) is not None:
            continue
        named = _APPOINTMENT.search(words)
        if named or value.kind == "dates":
            yield named.group() if named else "dates", value.kind, value.text


def _counted(words: str) -> Iterator[Triple]:
    """ "We're 9 people", "twelve nodes"."""
    for value in values_in(words):
        if value.kind != "number" or "." in value.text:
            continue
        noun = _COUNTED.match(words[value.end : value.end + 45])
        if noun:
            yield noun["noun"], "count", value.text
        elif _WE_ARE.search(words[: value.start]) and not re.match(r"\s?[\w%]", words[value.end :][:2]):
            yield "people", "count", value.text


def _rest(words: str, start: int, least: int = 0) -> str:
    """The clause from ``start`` on, at least to ``least``, on the safe side of `LONGEST_OBJECT`."""
    end = least
    for stop in _STOP.finditer(words, max(start, least)):
        end = stop.start()
        if end - start >= 30 or least:
            break
    else:
        end = len(words)
    return fit(tidy(words[start:end]), LONGEST_OBJECT)

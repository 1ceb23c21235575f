"""Which of the identifiers that are held are gone: withdrawn, or another one stands in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from acc.compressors.rules.comparing import shape
from acc.compressors.rules.entities import PROPER, Named, named_in
from acc.compressors.rules.reading import Said
from acc.compressors.rules.room import Room
from acc.compressors.rules.valuing import words_of
from acc.compressors.rules.words import one_of
from acc.items import Entity
from acc.wording import marks

_IS_GONE = re.compile(
    r"[^\w.;:?!]{0,3}(?:(?:is|are|was|were|has|have|had)(?: now| also| already)?(?: been)? )"
    + one_of(
        """withdrawn, cancell?ed, void(?:ed)?, revoked, superseded, replaced, scrapped, obsolete,
        dead, gone, closed, decommissioned, retired, released, dropped, reversed, discarded,
        deleted, removed, no longer \\w+"""
    ),
    re.I,
)  # fmt: skip
"""After an identifier."""

_INSTEAD_OF = re.compile(
    r"\b" + one_of(
        """instead of, rather than, in place of, replaces, replaced, supersedes, superseded,
        no longer, not"""
    ) + r" (?:the |our |your |a )?(?:[a-z]+ )?\Z",
    re.I,
)  # fmt: skip
"""Before it."""

_FROM_NOW = re.compile(
    r"\b" + one_of(
        """now, instead, replaces, replaced, moved, rebooked, reissued, rerun, corrected, switched,
        swapped, changed, updated, final"""
    ),
    re.I,
)  # fmt: skip
"""Says of a new identifier that follows that it is there in an old one's place."""

_SO_NOW = re.compile(r"[^,;:]{0,30}\bnow\b", re.I)
"""After one."""

_KINDRED = 2
"""Characters with which two identifiers of one kind begin alike."""


def gone(said: Sequence[Said], held: Sequence[Entity]) -> list[Entity]:
    """The identifiers of ``held`` that what was said takes off the table, in their order.

    Rule: it is said to be withdrawn, or something is there instead of it; or a sentence says of a
    new one that it is so now, and the two are built alike, as no other that is held.
    """
    own = [entity for entity in held if entity.type not in PROPER]
    told = {entity.id for sentence in said if not sentence.asks for entity in _gone(sentence, own)}
    return [entity for entity in own if entity.id in told]


def outdated(said: Sequence[Said], held: Sequence[Entity], room: Room) -> Iterator[Entity]:
    """The identifiers of ``held`` that stood in facts which this turn overtakes, and stand in no other.

    Rule: what was said in the turn names them no more either.
    """
    staying = {item.id for item in room.staying(_FACTS)}
    before = (*room.retired(_FACTS), *room.held(_FACTS))
    left = _marks_of(item.words for item in before if item.id not in staying)
    left -= _marks_of(item.words for item in before if item.id in staying)
    left -= _marks_of(words_of(item.fields) for item in room.new())
    left -= _marks_of(sentence.text for sentence in said)
    return (entity for entity in held if (own := marks(entity.name)) and own <= left)


def _marks_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(marks, texts))


_FACTS = "relational_map"


def _gone(said: Said, held: Sequence[Entity]) -> Iterator[Entity]:
    known = {entity.name.casefold() for entity in held}
    named = [n for n in named_in(said.text) if n.type not in PROPER]
    told = {n.name.casefold() for n in named}
    new = {n.name for n in named if n.name.casefold() not in known and _is_from_now(n, said.text)}
    for entity in held if named else ():
        if entity.name.casefold() in told:
            if _is_dropped(entity.name, said.text):
                yield entity
        elif new and _is_followed(entity, new, held):
            yield entity


def _is_from_now(named: Named, text: str) -> bool:
    return bool(_FROM_NOW.search(text[: named.start]) or _SO_NOW.match(text, named.end))


def _is_dropped(name: str, text: str) -> bool:
    at = text.casefold().find(name.casefold())
    return bool(_IS_GONE.match(text, at + len(name)) or _INSTEAD_OF.search(text[:at]))


def _is_followed(entity: Entity, new: Set[str], held: Sequence[Entity]) -> bool:
    alike = [other for other in held if _are_kindred(other.name, entity.name)]
    return len(alike) == 1 and sum(_are_kindred(name, entity.name) for name in new) == 1


def _are_kindred(one: str, other: str) -> bool:
    return one[:_KINDRED] == other[:_KINDRED] and shape(one) == shape(other)

"""The relations of a turn: which facts are new, and which of the held ones they overtake."""

from __future__ import annotations

from acc.compressors.rules.facts import Fact, canonical, facts_in, is_bare
from acc.compressors.rules.needed import Told, needed
from acc.compressors.rules.outcomes import is_outcome
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.revisions import revised
from acc.compressors.rules.room import Room
from acc.compressors.rules.topics import Ruled
from acc.items import Relation
from acc.state import CompressedCognitiveState
from acc.wording import marks, stems

_GENERIC = frozenset(CompressedCognitiveState.slots())


def relate(reading: Reading, ruled: Ruled, room: Room) -> None:
    """Propose what the turn tells; what it overtakes goes."""
    for relation in list(revised(reading, _facts(room))):
        room.retire(relation)
    held = _facts(room)
    found: list[Fact] = []
    for fact in facts_in(reading, ruling(ruled)):
        fact = canonical(fact, held)
        if not (
            is_bare(fact)
            or _is_told(fact, room)
            or any(_covers(f, fact) for f in found if not _is_outcome(f))
        ):
            found.append(fact)
    for fact in sorted(found, key=_rank)[:MOST_FACTS]:
        says = {name: getattr(fact, name) for name in Relation.wire_fields()}
        room.add("relational_map", fact.cites, **says)


MOST_FACTS = 12
"""Facts of one turn for which a place is looked for; half of them find one."""


def _rank(fact: Fact) -> tuple[bool, float]:
    return not _is_outcome(fact), -needed(_told_by(fact))


def _is_outcome(fact: Fact) -> bool:
    return is_outcome(fact.predicate, fact.object)


def _told_by(fact: Fact) -> Told:
    return Told(fact.subject, fact.predicate, fact.object, fact.status, len(fact.cites))


TOLD = 2 / 3
"""Share of a fact's words that an item of a domain has to have to say it already."""


def _is_told(fact: Fact, room: Room) -> bool:
    """Whether an item of a domain's slot says it already, from the same words."""
    said = f"{fact.subject} {fact.object}"
    for item in room.new():
        if item.slot not in _GENERIC and fact.cites[0] in item.cites:
            there = " ".join(str(value) for value in item.fields.values())
            shared = len(stems(said) & stems(there))
            if marks(said) <= marks(there) and shared >= TOLD * len(stems(said)):
                return True
    return False


def _facts(room: Room) -> list[Relation]:
    return [item for item in room.held("relational_map") if isinstance(item, Relation)]


def ruling(ruled: Ruled) -> set[Said]:
    return {said for said, rules in ruled.items() if rules}


def _covers(one: Fact, other: Fact) -> bool:
    """Whether the same words gave both: the same value, the same said of one subject, or turned round."""
    if one.cites[0] != other.cites[0]:
        return False
    within = one.subject == other.subject and one.object in other.object
    figures = marks(f"{other.subject} {other.object}")
    known = bool(figures) and figures <= marks(f"{one.subject} {one.object}")
    turned = stems(one.object) <= stems(other.subject) and stems(other.object) <= stems(one.subject)
    return one.object == other.object or within or known or turned

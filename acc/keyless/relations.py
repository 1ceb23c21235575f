"""The facts of the next state: which are new, and which prior facts and identifiers they replace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.commit.integrity import may_replace
from acc.keyless.comparing import REVISED, Held, Telling, compared, shape
from acc.keyless.entities import PROPER, Named, named_in
from acc.keyless.facts import Fact, canonical, facts_in, is_bare
from acc.keyless.needed import Told, needed
from acc.keyless.reading import Reading, Said
from acc.keyless.roles import is_outcome
from acc.keyless.room import Room, words_of
from acc.keyless.trace import Ruled
from acc.keyless.weights import Trees
from acc.keyless.words import one_of
from acc.state.items import Entity, Relation
from acc.state.model import CompressedCognitiveState
from acc.text.wording import marks, stems

_IS_GONE = re.compile(
    r"[^\w.;:?!]{0,3}(?:(?:is|are|was|were|has|have|had)(?: now| also| already)?(?: been)? )"
    + one_of(
        """withdrawn, cancell?ed, void(?:ed)?, revoked, superseded, replaced, scrapped, obsolete,
        dead, gone, closed, decommissioned, retired, released, dropped, reversed, discarded,
        deleted, removed, no longer \\w+"""
    ),
    re.I,
)  # fmt: skip
"""Words after an identifier that has ended."""

_INSTEAD_OF = re.compile(
    r"\b" + one_of(
        """instead of, rather than, in place of, replaces, replaced, supersedes, superseded,
        no longer, not"""
    ) + r" (?:the |our |your |a )?(?:[a-z]+ )?\Z",
    re.I,
)  # fmt: skip
"""Words before such an identifier."""

_FROM_NOW = re.compile(
    r"\b" + one_of(
        """now, instead, replaces, replaced, moved, rebooked, reissued, rerun, corrected, switched,
        swapped, changed, updated, final"""
    ),
    re.I,
)  # fmt: skip
"""Words before a new identifier that replaces an old one."""

_SO_NOW = re.compile(r"[^,;:]{0,30}\bnow\b", re.I)
"""Words after a new identifier."""

_KINDRED = 2
"""Number of first characters that two identifiers of the same kind share."""


def gone(said: Sequence[Said], held: Sequence[Entity]) -> list[Entity]:
    """The identifiers of ``held`` that the sentences end, in their order.

    An identifier ends if a sentence withdraws or replaces it. It also ends if a sentence declares a
    new identifier to be current, and the old one is the only held identifier with a similar form.
    """
    own = [entity for entity in held if entity.type not in PROPER]
    told = {entity.id for sentence in said if not sentence.asks for entity in _gone(sentence, own)}
    return [entity for entity in own if entity.id in told]


def outdated(said: Sequence[Said], held: Sequence[Entity], room: Room) -> Iterator[Entity]:
    """The identifiers of ``held`` that occur only in facts that this turn replaces.

    The turn's sentences must not name them either.
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


SURE = 0.2
"""Minimum probability for a fact to count as replaced."""

WEIGHTS = "revisions.npz"


class Pair(NamedTuple):
    """A sentence and a fact for which it may give another value.

    Attributes:
        telling: The sentence.
        relation: The fact.
        figures: The features of the pair.
    """

    telling: Telling
    relation: Relation
    figures: tuple[float, ...]


def revised(reading: Reading, held: Sequence[Relation]) -> Iterator[Relation]:
    """The relations to which this turn gives another value or another person.

    A sentence qualifies if it shares words with the fact and has another value of its kind, or
    another person. Boosted trees compute the probability from the features of the pair and from its
    rank among the other pairs of the sentence and the turn
    (``python benchmarks/keyless/train_revisions.py``). The agent's words never replace a fact that the user
    stated (law 6). They become a separate fact.
    """
    found = paired(reading, held)
    if not found:
        return
    odds = Trees.read(WEIGHTS).odds(rows_of(found))
    for pair, sure in zip(found, odds, strict=True):
        if sure >= SURE and may_replace(pair.telling.trust, pair.relation.trust):
            yield pair.relation


def paired(reading: Reading, held: Sequence[Relation]) -> list[Pair]:
    """Every sentence of a turn paired with every fact that it may replace."""
    if not held:
        return []
    facts, turn = [(relation, Held.of(relation)) for relation in held], reading.state.turn + 1
    known = Counter(chain.from_iterable(fact.whole for _, fact in facts))
    return [
        Pair(telling, relation, figures)
        for telling in tellings(reading)
        for relation, figures in compared(telling, facts, turn, known)
    ]


def rows_of(found: Sequence[Pair], often: bool = False) -> NDArray[np.float64]:
    """The inputs of the trees, one row per pair of one turn.

    Args:
        found: All pairs of the turn.
        often: Whether facts change more often in the conversation than usual. Some training
            conversations set it, which shows the trees more changes without hiding how rare they
            are.
    """
    own = np.array([pair.figures for pair in found], dtype=np.float64)
    sentences: dict[int, list[int]] = {}
    for at, pair in enumerate(found):
        sentences.setdefault(id(pair.telling), []).append(at)
    in_sentence = _standing(own[:, _LIKE], sentences.values())
    in_turn = _standing(own[:, _LIKE[:2]], [list(range(len(found)))])
    return np.hstack([own, in_sentence, in_turn, np.full((len(found), 1), float(often))])


_LIKE = (2, 5, 3)
"""Indexes of the features that measure what a sentence and a fact have in common."""


def _standing(figures: NDArray[np.float64], groups: Iterable[Sequence[int]]) -> NDArray[np.float64]:
    """Rank each feature's value within its group.

    Returns:
        Per feature the lead over the best other value, then per feature the number of other values
        that are at least as great.
    """
    above, reaching = figures.copy(), np.zeros_like(figures)
    for group in groups:
        for column in range(figures.shape[1]) if len(group) > 1 else ():
            own = figures[group, column]
            second, best = np.partition(own, -2)[-2:]
            above[group, column] = own - np.where(own == best, second, best)
            reaching[group, column] = len(own) - np.searchsorted(np.sort(own), own) - 1
    return np.hstack([above, reaching])


def tellings(reading: Reading) -> Iterator[Telling]:
    """The statements of user and agent, without questions."""
    message = " ".join(said.words for said in reading.user)
    asked, revises = stems(message), bool(REVISED.search(message))
    for said in (*reading.user, *reading.agent):
        if not said.asks:
            yield Telling(said, asked, said in reading.user, revises)


_GENERIC = frozenset(CompressedCognitiveState.slots())


def relate(reading: Reading, ruled: Ruled, room: Room) -> None:
    """Propose the facts of the turn, and retire those that it replaces."""
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
"""Maximum new facts per turn that are considered. About half of them find a place."""


def _rank(fact: Fact) -> tuple[bool, float]:
    return not _is_outcome(fact), -needed(_told_by(fact))


def _is_outcome(fact: Fact) -> bool:
    return is_outcome(fact.predicate, fact.object)


def _told_by(fact: Fact) -> Told:
    return Told(fact.subject, fact.predicate, fact.object, fact.status, len(fact.cites))


TOLD = 2 / 3
"""Minimum share of a fact's words in a domain's item for the item to contain the fact."""


def _is_told(fact: Fact, room: Room) -> bool:
    """Whether an item of a domain's slot already contains the fact, from the same source."""
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
    """Whether both facts come from the same words: equal value, equal subject, or swapped roles."""
    if one.cites[0] != other.cites[0]:
        return False
    within = one.subject == other.subject and one.object in other.object
    figures = marks(f"{other.subject} {other.object}")
    known = bool(figures) and figures <= marks(f"{one.subject} {one.object}")
    turned = stems(one.object) <= stems(other.subject) and stems(other.object) <= stems(one.subject)
    return one.object == other.object or within or known or turned

"""Later words: which sentences of the user's stand beside a rule, and which end it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from acc.keyless.lifting import ENDS, SHOWN, UNLIKELY, Moving, lifts, moves, odds_of
from acc.keyless.reading import Heard, Said
from acc.keyless.words import content, figures, sets_another
from acc.state.proposal import ProposedLater

MOST_BESIDE = 3
"""Rules beside which one sentence stands at most; those that it ends are not counted."""

MOST_LATER = 3
"""Later words of a rule, from which on only words that end it are added."""

SURELY = 0.4
"""Probability of a lifting from which a sentence stands beside the likeliest rule, and beside each with which it alone
shares a word, however unlikely the trees find them."""


@dataclass(frozen=True)
class Standing:
    """A rule that stands: held, or laid down by a sentence that was read just now.

    Attributes:
        id: Its id, or the proposal's name for it.
        text: Its words.
        later: Number of later words beside it.
        since: Place of its sentence among those that were read; -1 for a held one.
    """

    id: str
    text: str
    later: int = 0
    since: int = -1


class Beside(NamedTuple):
    """A later word, and the odds that it is about its rule."""

    later: ProposedLater
    odds: float


class _Meant(NamedTuple):
    odds: float
    place: int
    ends: bool


def later_in(heard: Heard, standing: Sequence[Standing], rules: frozenset[int]) -> Iterator[Beside]:
    """Yield what stands beside which rule.

    Args:
        heard: What was read.
        standing: Rules in the order in which they were laid down.
        rules: Places of the sentences that lay down a rule themselves.
    """
    beside = {each.id: each.later for each in standing}
    for place, said in enumerate(heard.user):
        before = [each for each in standing if each.since < place]
        if said.asks or not before:
            continue
        for odds, at, ends in _meant(said, heard, before, is_rule=place in rules):
            name = before[at].id
            if ends or beside[name] < MOST_LATER:
                beside[name] += 1
                yield Beside(ProposedLater(name, said.text, said.ref, ends), odds)


def _meant(said: Said, heard: Heard, before: Sequence[Standing], *, is_rule: bool) -> list[_Meant]:
    """Return the rules that a sentence is about, likeliest first, and whether it ends them."""
    clauses = [clause for clause in said.clauses if moves(clause) >= UNLIKELY]
    if not clauses:
        return []
    message, reply = heard.message_of(said), heard.reply_before(said)
    odds = odds_of([Moving(c, message, reply) for c in clauses], [each.text for each in before])
    found: list[_Meant] = []
    for at, each in enumerate(before):
        best = max(range(len(clauses)), key=[row[at] for row in odds].__getitem__)
        is_over = lifts(clauses[best]) or (
            is_rule and sets_another(figures(clauses[best].words), each.text)
        )
        found.append(_Meant(odds[best][at], at, is_over and odds[best][at] >= ENDS))
    found.sort(reverse=True)
    is_sure = max(map(moves, clauses)) >= SURELY
    return _shown(message, before, found) if is_sure else [e for e in found if e.odds >= SHOWN]


def _shown(message: str, before: Sequence[Standing], found: Sequence[_Meant]) -> list[_Meant]:
    """Return those of ``found`` beside which a sentence stands that surely lifts or changes something.

    Likely ones come first, then rules with a word of the message that no other rule has, then the likeliest.
    """
    own = [content(message) & content(each.text) for each in before]
    rare = Counter(chain.from_iterable(own))
    alone = [e for e in found if any(rare[stem] == 1 for stem in own[e.place])]
    ranked = dict.fromkeys([*(e for e in found if e.odds >= SHOWN), *alone, *found[:1]])
    return [each for n, each in enumerate(ranked) if n < MOST_BESIDE or each.ends]

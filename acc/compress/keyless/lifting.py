"""Later words: which sentences of the user's stand beside a rule, and which end it.

For each pair of a clause and a rule, boosted trees compute the odds from features of the pair: the acts of the clause,
the words that both share, similar words, and figures that could replace each other
(``benchmarks/keyless/train_lifting.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import fsum
from typing import NamedTuple

import numpy as np

from acc.compress.keyless.acts import ACTS, Act, Trees, acts, word_vectors
from acc.compress.keyless.hearing import HeardClauses, SaidSentence
from acc.compress.keyless.words import (
    Clause,
    content,
    figures,
    is_negative,
    marks,
    one_of,
    sets_another,
    stems,
)  # fmt: skip
from acc.state.proposal import ProposedLater

SHOWN = 0.2
"""Minimum odds for a sentence to stand beside a rule. Showing is cheap."""

ENDS = 0.55
"""Minimum odds for a sentence to end a rule, before the judge reads both."""

UNLIKELY = 0.1
"""Probability of a lifting or a change below which no rule is searched."""

LIFTS = 1.0
"""Minimum ratio of the probability of a lifting to that of a change. A changed rule still binds."""

ALIKE = 0.3
"""Cosine up to which two words count as unrelated."""

_BACKWARD = re.compile(
    r"\b" + one_of("it,its,them,they,that,th[ai]t,this,those,these,him,his,her,he,she,one,there,so"), re.I
)  # fmt: skip
_TIE = re.compile(
    r"\b" + one_of("until,till,while,as long as,for now,for the moment,during,since,because,unless,that's,is in"), re.I
)  # fmt: skip
_UNTIL = re.compile(r"\b(?:until|till|unless|before|while|as long as|during|for now)\b(.*)", re.I)
_NAME = re.compile(r"(?<=\s)[A-Z][\w-]{2,}|\b[A-Za-z]\w*\d[\w.-]*")


class EndingClause(NamedTuple):
    """A clause with its message and the agent's reply before it."""

    clause: Clause
    message: str
    reply: str


def moves(clause: Clause) -> float:
    """Return the probability that a clause lifts or changes anything."""
    odds = acts(clause)
    return odds["lift"] + odds["change"]


def lifts(clause: Clause) -> bool:
    """Return whether a clause lifts rather than changes."""
    odds = acts(clause)
    return odds["lift"] > LIFTS * odds["change"]


def odds_of(moving: Sequence[EndingClause], rules: Sequence[str]) -> list[list[float]]:
    """Return the odds of each clause to lift or change each rule."""
    if not moving or not rules:
        return [[] for _ in moving]
    rows = [list(row.values()) for each in moving for row in features_of(each, rules)]
    found = Trees.read("lifting").odds(np.array(rows, dtype=np.float64))
    odds: list[list[float]] = found.reshape(len(moving), len(rules)).tolist()
    return odds


def features_of(
    each: EndingClause, rules: Sequence[str], does: Callable[[Clause], Mapping[Act, float]] = acts
) -> Iterator[dict[str, float]]:
    """Yield the features of the clause with each rule, by name, in the order of the trees' columns.

    ``does`` tells the acts of a clause.
    """
    words = each.clause.words
    general = _of_clause(each.clause, does(each.clause))
    moving, change = general["act lift"] + general["act change"], general["act change"]
    near = [sets_another(figures(words), rule) for rule in rules]
    shared, alike = _shared(each, rules), _alike(words, rules)
    for rule, own, like, is_close in zip(rules, shared, alike, near, strict=True):
        pair: dict[str, float] = {
            **own,
            **like,
            "near figure": is_close,
            "only near figure": is_close and sum(near) == 1,
            "names its figure": bool(marks(words) & marks(rule)),
            "tied": bool(_TIE.search(rule)),
            "tie shared": min(2, _tied(each, rule)) / 2,
            "rule forbids": is_negative(rule),
        }
        crossed = {f"moves x {name}": moving * float(value) for name, value in pair.items()}
        changing = {
            f"change x {name}": change * float(pair[name])
            for name in ("near figure", "only near figure", "share", "best")
        }
        row = {**general, **pair, **crossed, **changing}
        yield {name: float(value) for name, value in row.items()}


def _of_clause(clause: Clause, odds: Mapping[Act, float]) -> dict[str, float]:
    return {
        **{f"act {act}": odds[act] for act in ACTS},
        "backward": bool(_BACKWARD.search(clause.words)),
        "short": len(clause.words.split()) <= 4,
        "forbids": is_negative(clause.words),
    }


def _shared(each: EndingClause, rules: Sequence[str]) -> Iterator[dict[str, float]]:
    """Yield for each rule the share of it that the clause, the message and the reply repeat."""
    held = tuple(map(content, rules))
    common, said = _common(held), content(each.clause.words)
    shares, best, second = _shares(said, held)
    whole, best_whole, _ = _shares(content(each.message), held)
    answered, _, _ = _shares(content(each.reply), held)
    for at, (rule, own) in enumerate(zip(rules, held, strict=True)):
        is_best = shares[at] == best
        yield {
            "share": shares[at],
            "share of message": whole[at],
            "share with reply": answered[at],
            "of what is said": _share(said & own, said, common) if said else 0.0,
            "shared": min(3, len(said & own)) / 3,
            "all said": bool(said) and said <= own,
            "named": bool(stems(" ".join(_NAME.findall(rule))) & said),
            "best": best > 0 and is_best,
            "best of message": best_whole > 0 and whole[at] == best_whole,
            "margin": shares[at] - (second if is_best else best),
        }


def _alike(words: str, rules: Sequence[str]) -> Iterator[dict[str, float]]:
    """Yield for each rule its similarity to the clause, even if they share no word."""
    found = [_likeness(rule, words) for rule in rules]
    first, second = _two_best(one for one, _, _ in found)
    for one, other, best in found:
        yield {
            "like": one,
            "like of what is said": other,
            "like best word": best,
            "like margin": one - (second if one == first else first),
        }


def _likeness(one: str, other: str) -> tuple[float, float, float]:
    """Return the mean similarity of each text's words to the nearest of the other, and the best of all."""
    own, rest = word_vectors(one), word_vectors(other)
    if not len(own) or not len(rest):
        return 0.0, 0.0, 0.0
    pairs = np.clip((own @ rest.T - ALIKE) / (1 - ALIKE), 0, 1)
    best = pairs.max(axis=1)
    return float(best.mean()), float(pairs.max(axis=0).mean()), float(best.max())


def _tied(each: EndingClause, rule: str) -> int:
    """Return how many words the clause or the reply shares with the condition that a rule is tied to."""
    tie = _UNTIL.search(rule)
    said = content(each.clause.words) | content(each.reply)
    return len(content(tie[1]) & said) if tie else 0


@lru_cache(maxsize=64)
def _shares(
    said: frozenset[str], held: tuple[frozenset[str], ...]
) -> tuple[list[float], float, float]:
    """Return the share of each rule that ``said`` repeats, and the two highest."""
    common = _common(held)
    each = [_share(said & own, own, common) for own in held]
    return each, *_two_best(each)


@lru_cache(maxsize=16)
def _common(held: tuple[frozenset[str], ...]) -> Mapping[str, int]:
    return Counter(chain.from_iterable(held))


def _share(some: frozenset[str], own: frozenset[str], common: Mapping[str, int]) -> float:
    """Return the share of ``own`` that is in ``some``. Stems that occur in few rules weigh more."""
    whole = fsum(1 / max(1, common[stem]) for stem in own)  # fsum is exact in any order of a set
    return fsum(1 / max(1, common[stem]) for stem in own & some) / whole if whole else 0.0


def _two_best(values: Iterable[float]) -> tuple[float, float]:
    best, second, *_ = (*sorted(values, reverse=True), 0.0, 0.0)
    return best, second


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


class _Meant(NamedTuple):
    odds: float
    place: int
    ends: bool


def later_in(
    heard: HeardClauses, standing: Sequence[Standing], rules: Set[int]
) -> Iterator[tuple[ProposedLater, float]]:
    """Yield what stands beside which rule, with the odds that it is about that rule.

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
                yield ProposedLater(name, said.text, said.ref, ends), odds


def _meant(
    said: SaidSentence, heard: HeardClauses, before: Sequence[Standing], *, is_rule: bool
) -> list[_Meant]:
    """Return the rules that a sentence is about, likeliest first, and whether it ends them."""
    clauses = [clause for clause in said.clauses if moves(clause) >= UNLIKELY]
    if not clauses:
        return []
    message, reply = heard.message_of(said), heard.reply_before(said)
    odds = odds_of(
        [EndingClause(c, message, reply) for c in clauses], [each.text for each in before]
    )
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

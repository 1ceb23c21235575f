"""What a whole message says of each standing rule: its clauses are weighed alone, then together.

"Safety have answered about 004. She is back in the normal planning." Neither sentence says for sure that
"leave 004 alone until safety has come back to us" is over; both do. Two stages of boosted trees, stacked
(Wolpert, "Stacked generalization", 1992):

    p(clause, rule)  from the figures of the pair (`acc.compressors.rules.bearing`)
    p(rule)          from p of all its clauses, how far it is ahead of the other rules, and the figures of
                     the clause that is surest, of those beside it, and the highest of all clauses

``python benchmarks/keyless/train_effects.py`` trains both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.compressors.rules.bearing import Heard, figures_of
from acc.compressors.rules.trees import Trees
from acc.items import Item

ALONE, TOGETHER = "effects.npz", "gathered.npz"
"""The weights of the two stages."""

Floats = NDArray[np.float64]


class Bearing(NamedTuple):
    """How a message bears on one rule.

    Attributes:
        rule: The rule.
        clause: The place of the clause that speaks of it most surely.
        figures: What is known of that clause beside the rule.
        odds: The probability that the message lifts or changes the rule.
    """

    rule: Item
    clause: int
    figures: Mapping[str, float]
    odds: float


def bearings(message: Sequence[Heard], rules: Sequence[Item], able: Sequence[int]) -> list[Bearing]:
    """How a message bears on each of ``rules``, by the surest of its ``able`` clauses.

    Args:
        message: Its clauses, in order.
        rules: The rules that stand; at least one.
        able: The places of the clauses that may end one; at least one.
    """
    rows = [list(figures_of(heard, rules)) for heard in message]
    figures = np.array([[list(row.values()) for row in of_clause] for of_clause in rows])
    odds = pair_odds(Trees.read(ALONE), figures)
    clauses = [able[place] for place in odds[able].argmax(axis=0).tolist()]
    sure = Trees.read(TOGETHER).odds(gathered(odds, figures[..., kept(rows[0][0])], clauses))
    return [
        Bearing(rule, clause, rows[clause][at], float(sure[at]))
        for at, (rule, clause) in enumerate(zip(rules, clauses, strict=True))
    ]


def pair_odds(trees: Trees, figures: Floats) -> Floats:
    """The odds of every pair, clauses by rules, from their figures: clauses by rules by figures."""
    clauses, rules, _ = figures.shape
    return trees.odds(figures.reshape(clauses * rules, -1)).reshape(clauses, rules)


def kept(names: Mapping[str, float]) -> list[int]:
    """The places of the figures that the second stage looks at: no products of two."""
    return [at for at, name in enumerate(names) if " x " not in name]


def gathered(odds: Floats, figures: Floats, clauses: Sequence[int]) -> Floats:
    """What the second stage looks at, a row for each rule.

    Args:
        odds: Of the first stage, clauses by rules.
        figures: Clauses by rules by figures.
        clauses: For each rule the place of the clause that speaks of it most surely.
    """
    rules = np.arange(odds.shape[1])
    surest, any_of_them = odds[clauses, rules], 1 - np.prod(1 - odds, axis=0)
    second = np.sort(odds, axis=0)[-2] if len(odds) > 1 else np.zeros(len(rules))
    nothing = np.zeros((1, *figures.shape[1:]))
    beside = np.concatenate([nothing, figures, nothing])
    at = np.asarray(clauses)
    rows: Floats = np.column_stack(
        [
            surest, any_of_them, second, _ahead(surest), _ahead(any_of_them),
            figures[at, rules], figures.max(axis=0), beside[at, rules], beside[at + 2, rules],
        ]
    )  # fmt: skip
    return rows


def _ahead(odds: Floats) -> Floats:
    """How far each rule is before the best of the others; alone, as far as its odds go."""
    if len(odds) == 1:
        return odds
    best = odds.argmax()
    others = np.full(len(odds), odds[best])
    others[best] = np.sort(odds)[-2]
    ahead: Floats = odds - others
    return ahead

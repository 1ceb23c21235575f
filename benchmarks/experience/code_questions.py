"""Questions about the tables: what is meant (an intent), and the words in which it is asked.

Some wordings are shared by intents that differ ("admissions" are stays or visits, a "duration"
is days, a turnaround or a waiting time). A record of the one, right for its own question, is
found for the other: the paper's misaligned experience replay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .code_programs import AGGREGATES, Program
from .code_tables import ENTITIES, MEASURES, NOUNS, TABLES

INTENTS = 350
"""Intents that questions are asked with."""

ZIPF = 0.7
"""The r-th most frequent intent is asked in proportion to r to the power of minus this."""

SURE = 0.3
"""The two parameters of the Beta distribution together: the less, the more all or nothing."""

PHRASES: dict[str, tuple[str, ...]] = {
    "count": ("How many {noun} were there", "Count the {noun}"),
    "sum": ("What is the total {measure} of the {noun}", "Add up the {measure} over {noun}"),
    "mean": ("What is the average {measure} of the {noun}", "Typical {measure} for {noun}"),
    "min": ("What is the lowest {measure} of the {noun}", "Least {measure} among {noun}"),
    "max": ("What is the highest {measure} of the {noun}", "Top {measure} among {noun}"),
    "distinct": (
        "How many different {measure} figures do the {noun} have",
        "Count the distinct {measure} figures of {noun}",
    ),
}
CLAUSES: dict[str, str] = {
    "ward": "in the {value} ward",
    "drug": "for {value}",
    "test": "of {value}",
    "sex": "of {value} patients",
    "year": "in {value}",
}


class Intent(NamedTuple):
    """What a question means, its values aside.

    Attributes:
        table: The table.
        keys: Columns that it filters by.
        aggregate: What it wants to know.
        column: Of what; empty for a count.
        ability: The chance that the agent writes the right program without a demonstration.
    """

    table: str
    keys: tuple[str, ...]
    aggregate: str
    column: str
    ability: float


def intents(rng: np.random.Generator, ability: float) -> list[Intent]:
    """`INTENTS` different ones, in a random order; their mean ability is ``ability``.

    What is asked of a table is a kind of question. A few kinds are well known to the agent and
    most are not (a Beta distribution): what is hard lies close together, as people's tasks do.
    """
    every = [
        (table, keys, aggregate, column)
        for table, (names, numbers) in TABLES.items()
        for keys in _subsets(names)
        for aggregate in AGGREGATES
        for column in (("",) if aggregate == "count" else numbers)
    ]
    order = rng.permutation(len(every))[:INTENTS]
    kinds = [(table, aggregate) for table in TABLES for aggregate in AGGREGATES]
    skill = dict(
        zip(kinds, rng.beta(SURE * ability, SURE * (1 - ability), len(kinds)), strict=True)
    )
    chosen = [every[at] for at in order]
    return [Intent(t, k, a, c, ability=float(skill[t, a])) for t, k, a, c in chosen]


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    singles = [(name,) for name in names]
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return [*singles, *pairs, names]


def asked(intent: Intent, rng: np.random.Generator) -> tuple[str, Program]:
    """A question with this intent, in one of its wordings, and the program that answers it."""
    values = {key: str(rng.choice(np.array(ENTITIES[key]))) for key in intent.keys}
    pick = rng.integers(0, 2, 3)
    measure = MEASURES[intent.column][pick[0]] if intent.column else ""
    phrase = PHRASES[intent.aggregate][pick[1]]
    said = phrase.format(noun=NOUNS[intent.table][pick[2]], measure=measure)
    clauses = [CLAUSES[key].format(value=value) for key, value in values.items()]
    program = Program(intent.table, tuple(values.items()), intent.aggregate, intent.column)
    return f"{' '.join([said, *clauses])}?", program


def frequencies(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How often each intent is asked: Zipf's law."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -ZIPF
    return np.asarray(weights / weights.sum())

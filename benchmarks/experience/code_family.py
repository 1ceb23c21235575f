"""Text to code: the family that mirrors EHRAgent, with programs that are really run.

The simulated agent follows a demonstration with a chance that grows with its similarity: it
takes over the demonstrated program, wrong or right, with the values that its own task names.
Else it relies on itself, and is right as often as it knows the intent. Wrong programs are wrong
in the ways programs are: another column, another aggregate, a filter left out, a column that
the table does not have, a stage that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .code_programs import AGGREGATES, Program, ProgramError, adapted, programs_alike, read, run
from .code_questions import Intent, asked, frequencies, intents
from .code_tables import ENTITIES, TABLES, columns_named, filled
from .memory import Demonstration, Retrieval
from .tasks import Floats, Score, Task, Workload, chosen, followed
from .vectors import Vector, lexical

ABILITY = 0.04
"""Mean chance of the right program without a demonstration. Set by the fixed-memory row alone."""

MIDPOINT, WIDTH, TEMPERATURE = 0.9, 0.03, 0.05
"""Similarity that is followed in every second case; how sharply; and how sharply among several."""

SLIP = 0.03
"""The chance of an error in taking a demonstration over."""


class CodeFamily:
    """Questions, programs and tables of one seed."""

    name = "ehragent"
    best = 1.0

    def __init__(self, seed: int) -> None:
        self._tables = filled(seed)
        self._rng = np.random.default_rng([seed, 12])
        self._intents = intents(self._rng, ABILITY)
        self._ability: dict[str, float] = {}
        self._answers: dict[str, str | None] = {}

    @property
    def instruction(self) -> str:
        """The language and the tables, in words."""
        tables = "\n".join(
            f"{table}: filter by {', '.join(names)}; numbers {', '.join(numbers)}"
            for table, (names, numbers) in TABLES.items()
        )
        return (
            "Write the one-line program that answers the question, and nothing else.\n"
            "TABLE | where COLUMN = VALUE | AGGREGATE COLUMN, with any number of where stages.\n"
            f"Aggregates: {', '.join(AGGREGATES)}; count takes no column.\n{tables}"
        )

    def workload(self, initial: int, tasks: int) -> Workload:
        """Questions by Zipf's law; a text that means two things keeps its first meaning."""
        meant: dict[str, str] = {}
        weights = frequencies(len(self._intents))
        made: list[Task] = []
        while len(made) < initial + tasks:
            intent = self._intents[int(self._rng.choice(len(weights), p=weights))]
            text, program = asked(intent, self._rng)
            if meant.setdefault(text, program.text()) == program.text():
                made.append(self._task(text, program, intent))
        return Workload(made[:initial], made[initial:])

    def retrieval(self, k: int) -> Retrieval:
        """By the vectors of the questions, their values aside; programs compared by their stages."""
        return Retrieval(k=k, vector=_vector, likeness=_product, outputs_alike=programs_alike)

    def execute(self, task: Task, shown: Sequence[Demonstration]) -> str:
        """Follow a demonstration, or write a program oneself."""
        luck = task.luck
        if shown and luck[0] < followed(shown[0].similarity, MIDPOINT, WIDTH):
            example = chosen(shown, luck[1], TEMPERATURE)
            program = adapted(example.execution, columns_named(task.text))
            return self._mutated(program, luck[2:]) if luck[2] < SLIP else program
        knows = luck[3] < self._ability[task.text]
        return task.right if knows else self._mutated(task.right, luck[4:])

    def score(self, task: Task, execution: str) -> Score:
        """Whether it prints what the right program prints: a wrong one may, by chance."""
        right, printed = self._printed(task.right), self._printed(execution)
        good = printed is not None and printed == right
        return Score(good, float(good))

    def plausible(self, task: Task, execution: str) -> bool:
        """Whether it runs and prints something, and so looks finished to its author."""
        return bool(self._printed(execution))

    def spoilt(self, task: Task) -> str:
        """The right program, gone wrong."""
        return self._mutated(task.right, task.luck[4:])

    def _task(self, text: str, program: Program, intent: Intent) -> Task:
        self._ability[text] = intent.ability
        return Task(text, program.text(), self._rng.random(8), self._rng.standard_normal(1))

    def _printed(self, text: str) -> str | None:
        if text not in self._answers:
            try:
                self._answers[text] = run(read(text), self._tables)
            except ProgramError:
                self._answers[text] = None
        return self._answers[text]

    def _mutated(self, text: str, luck: Floats) -> str:
        try:
            program = read(text)
        except ProgramError:
            return text
        kind, place = luck[0], luck[1]
        if kind < 0.45:
            return _broken(program, place)
        if kind < 0.75 and program.column:
            return program._replace(
                column=_other(TABLES[program.table][1], program.column, place)
            ).text()
        if kind < 0.85:
            return program._replace(filters=program.filters[:-1]).text()
        return _other_aggregate(program, place).text()


def _vector(text: str) -> Sequence[float]:
    """Each value counts as the kind of thing that it is, as it nearly does to a dense encoder."""
    kinds = {value: column for column, values in ENTITIES.items() for value in values}
    words = text.rstrip("?").split()
    return lexical(" ".join(kinds.get(word, word) for word in words))


def _product(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of vectors that are all of length 1."""
    # Not rows @ vector: its threads fight for the cores, and its last bits hang on the machine.
    return np.asarray(np.einsum("ij,j->i", rows, vector))


def _broken(program: Program, luck: float) -> str:
    """A program that does not run: a column of another table, or a stage nobody can read."""
    if luck < 0.5:
        missing = next(key for key in ENTITIES if key not in TABLES[program.table][0])
        filters = (*program.filters, (missing, ENTITIES[missing][0]))
        return program._replace(filters=filters).text()
    return program.text().replace("|", "| select", 1)


def _other(names: Sequence[str], name: str, luck: float) -> str:
    others = [other for other in names if other != name]
    return others[int(luck * len(others))]


def _other_aggregate(program: Program, luck: float) -> Program:
    numbers = TABLES[program.table][1]
    aggregate = _other(AGGREGATES, program.aggregate, luck)
    column = "" if aggregate == "count" else program.column or numbers[int(luck * len(numbers))]
    return program._replace(aggregate=aggregate, column=column)

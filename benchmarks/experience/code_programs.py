"""The language of the code tasks: a pipeline over one table, read and run, never evaluated.

    labs | where test = glucose | where ward = surgery | max value

A table; any number of filters; one last stage: ``count``, or ``sum``, ``mean``, ``min``,
``max``, ``distinct`` of a column. A program that cannot be run says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from .code_tables import ENTITIES, Table

AGGREGATES = ("count", "sum", "mean", "min", "max", "distinct")


class Program(NamedTuple):
    """A program.

    Attributes:
        table: Where it reads.
        filters: Column and value of each.
        aggregate: One of `AGGREGATES`.
        column: What it is of; empty for a count.
    """

    table: str
    filters: tuple[tuple[str, str], ...]
    aggregate: str
    column: str = ""

    def text(self) -> str:
        """As it is written."""
        stages = [self.table, *(f"where {column} = {value}" for column, value in self.filters)]
        return " | ".join([*stages, f"{self.aggregate} {self.column}".strip()])


class ProgramError(Exception):
    """A program that cannot be read or run; its message says why."""


def read(text: str) -> Program:
    """The program that ``text`` is.

    Raises:
        ProgramError: It is none.
    """
    lines = text.strip().splitlines()
    stages = [stage.split() for stage in (lines[-1] if lines else "").split("|")]
    if len(stages) < 2 or len(stages[0]) != 1 or len(stages[-1]) not in (1, 2):
        raise ProgramError("not: table | where column = value | aggregate column")
    filters = []
    for stage in stages[1:-1]:
        if len(stage) != 4 or stage[0] != "where" or stage[2] != "=":
            raise ProgramError(f"no such stage: {' '.join(stage)}")
        filters.append((stage[1], stage[3]))
    aggregate, column = stages[-1][0], "".join(stages[-1][1:])
    if aggregate not in AGGREGATES or (aggregate == "count") != (column == ""):
        raise ProgramError(f"no such aggregate: {' '.join(stages[-1])}")
    return Program(stages[0][0], tuple(filters), aggregate, column)


def run(program: Program, tables: Mapping[str, Table]) -> str:
    """What ``program`` prints; empty where no row is left to aggregate.

    Raises:
        ProgramError: No such table or column.
    """
    if program.table not in tables:
        raise ProgramError(f"no table {program.table}")
    table = tables[program.table]
    keep = np.ones(len(next(iter(table.numbers.values()))), np.bool_)
    for column, value in program.filters:
        if column not in table.names:
            raise ProgramError(f"no column {column} in {program.table}")
        keep &= table.names[column] == value
    if program.aggregate == "count":
        return str(int(keep.sum()))
    if program.column not in table.numbers:
        raise ProgramError(f"no column {program.column} in {program.table}")
    numbers = table.numbers[program.column][keep]
    return _aggregated(program.aggregate, numbers) if len(numbers) else ""


def _aggregated(aggregate: str, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    if aggregate == "distinct":
        return str(len(np.unique(numbers)))
    if aggregate == "mean":
        return f"{numbers.mean():.2f}"
    if aggregate == "sum":
        return str(int(numbers.sum()))
    return str(int(numbers.min() if aggregate == "min" else numbers.max()))


def adapted(text: str, named: Mapping[str, str]) -> str:
    """A demonstrated program with the values that the new task names put into its filters.

    What the task does not name stays as it was demonstrated; what cannot be read stays whole.
    """
    try:
        program = read(text)
    except ProgramError:
        return text
    filters = tuple((column, named.get(column, value)) for column, value in program.filters)
    return program._replace(filters=filters).text()


def programs_alike(one: str, other: str) -> float:
    """How alike two programs are, values of filters aside: of their stages, in order."""
    return SequenceMatcher(None, _stages(one), _stages(other), autojunk=False).ratio()


def _stages(text: str) -> list[str]:
    values = {value for column in ENTITIES.values() for value in column}
    return [word for word in text.split() if word not in values and word not in ("|", "=")]

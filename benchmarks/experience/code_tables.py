"""The tables that the code tasks ask about, and the words that people use for their columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ROWS = 240
"""Rows of each table."""

ENTITIES: dict[str, tuple[str, ...]] = {
    "ward": ("cardiology", "oncology", "neurology", "surgery", "pediatrics", "urology"),
    "drug": ("heparin", "insulin", "morphine", "aspirin", "warfarin", "furosemide"),
    "test": ("glucose", "sodium", "lactate", "creatinine", "hemoglobin", "potassium"),
    "sex": ("male", "female"),
    "year": ("2098", "2099", "2100", "2101", "2102"),
}
"""Values that a filter can name. No value belongs to two columns, so that a text tells which."""

TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "stays": (("ward", "sex", "year"), ("days", "age", "cost", "weight")),
    "labs": (("test", "ward", "year"), ("value", "delay", "age")),
    "orders": (("drug", "ward", "sex"), ("dose", "price", "days")),
    "visits": (("ward", "sex", "year"), ("wait", "age", "cost")),
}
"""Of each table the columns to filter by, and the columns of numbers."""

NOUNS: dict[str, tuple[str, str]] = {
    "stays": ("hospital stays", "admissions"),
    "labs": ("lab results", "measurements"),
    "orders": ("prescriptions", "drug orders"),
    "visits": ("emergency visits", "admissions"),  # the second word is the stays' too
}
MEASURES: dict[str, tuple[str, str]] = {
    "days": ("days", "duration"),
    "age": ("age", "years of age"),
    "cost": ("cost", "charge"),
    "weight": ("weight", "kilograms"),
    "value": ("value", "level"),
    "delay": ("turnaround", "duration"),
    "dose": ("dose", "amount"),
    "price": ("price", "charge"),
    "wait": ("waiting time", "duration"),
}
"""Two ways to name each; some names are shared, as people's are."""


@dataclass(frozen=True)
class Table:
    """One table: columns of names and columns of numbers, all of one length."""

    names: dict[str, np.ndarray[tuple[int], np.dtype[np.str_]]] = field(default_factory=dict)
    numbers: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = field(default_factory=dict)


def filled(seed: int) -> dict[str, Table]:
    """The tables, filled by ``seed``."""
    rng = np.random.default_rng([seed, 11])
    tables = {}
    for name, (keys, measures) in TABLES.items():
        table = Table()
        for key in keys:
            table.names[key] = rng.choice(np.array(ENTITIES[key]), ROWS)
        for place, measure in enumerate(measures):
            table.numbers[measure] = rng.integers(1, 60 * (place + 1), ROWS)
        tables[name] = table
    return tables


def columns_named(text: str) -> dict[str, str]:
    """The values that ``text`` names, by column; of two of one column the last."""
    words = text.replace("?", " ").replace(",", " ").lower().split()
    owners = {value: column for column, values in ENTITIES.items() for value in values}
    return {owners[word]: word for word in words if word in owners}

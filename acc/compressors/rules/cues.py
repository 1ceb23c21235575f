"""What announces a standing rule, as one table."""

from __future__ import annotations

import re
from typing import NamedTuple

from acc.compressors.rules.measures import FORMATS, LIMITS
from acc.compressors.rules.prohibitions import PROHIBITIONS
from acc.compressors.rules.requirements import PREFERENCES, REQUIREMENTS
from acc.items import Kind


class Cue(NamedTuple):
    """A pattern, the kind of rule that it announces, and an example."""

    kind: Kind
    example: str
    pattern: re.Pattern[str]


_TABLES: tuple[tuple[Kind, dict[str, str]], ...] = (
    ("limit", LIMITS),
    ("format", FORMATS),
    ("prohibition", PROHIBITIONS),
    ("preference", PREFERENCES),
    ("requirement", REQUIREMENTS),
)

RULES: tuple[Cue, ...] = tuple(
    Cue(kind, example, re.compile(pattern, re.I))
    for kind, table in _TABLES
    for example, pattern in table.items()
)
"""The first that matches a clause gives the kind of its rule."""

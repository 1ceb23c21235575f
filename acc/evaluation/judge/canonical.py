"""The judge's canonical memory: kept from the user's queries and itself alone (5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from acc.evaluation.judge.prompts import bulleted

MOST_FACTS = 60
"""Facts that the notes hold at the most; rules are never left out."""

LONGEST = 400
"""Characters of one line of the notes."""


@dataclass(frozen=True)
class CanonicalMemory:
    """The judge's notes after a query.

    Attributes:
        constraints: K_t, the active constraints.
        facts: What the user has stated.
        goals: What the user wants achieved.
        required: What this query asks an answer to contain; not carried on.
    """

    constraints: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    required: tuple[str, ...] = field(default=())

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> CanonicalMemory:
        """The notes that a judge wrote; what is no list of texts is left out."""
        return cls(
            _lines(value.get("constraints")),
            _lines(value.get("facts"))[:MOST_FACTS],
            _lines(value.get("goals")),
            _lines(value.get("required")),
        )

    def rendered(self) -> str:
        """The notes as the judge reads them, without what the last query required."""
        return "\n".join(
            f"{name}:\n{bulleted(lines)}"
            for name, lines in (
                ("constraints", self.constraints),
                ("facts", self.facts),
                ("goals", self.goals),
            )
        )


def _lines(value: Any) -> tuple[str, ...]:
    """Texts on one line each, without repeats."""
    texts = (v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
    lines = (" ".join(text.split())[:LONGEST] for text in texts)
    return tuple(dict.fromkeys(line for line in lines if line))


def parsed_claims(value: Any, supports: tuple[str, ...]) -> dict[str, int] | None:
    """How many claims each support has; None where the list is none."""
    if not isinstance(value, list):
        return None
    counts = dict.fromkeys(supports, 0)
    for claim in value:
        support = claim.get("support") if isinstance(claim, Mapping) else None
        if support not in counts:
            return None
        counts[support] += 1
    return counts

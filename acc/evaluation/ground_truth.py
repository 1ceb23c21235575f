"""The ground truth of a scenario: what a memory should hold, and in which turns.

Regular expressions find an entry in a text; see `acc.evaluation.matching`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

TOPICS = (
    "Constraints and environment setup",
    "Evidence updates and recalibration",
    "Strict instruction following",
    "Conflicting requirements and drift traps",
    "Bias pressure from stakeholders",
    "Poisoned runbook snippets",
    "Prompt injection attempts",
    "Uncertainty handling",
    "Operational risk tradeoffs",
    "Executive and incident communication",
)
"""The stress topics of the paper's Table 1."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}: {pattern[:60]!r}") from error
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
"""A regular expression of Python's `re`, matched without regard to case."""

TurnNumber = Annotated[int, Field(ge=1)]


class Entry(BaseModel):
    """An entry that regular expressions can find in a text.

    Attributes:
        text: Its meaning, for people.
        any_of: Regular expressions; one match suffices.
    """

    model_config = ConfigDict(frozen=True)

    text: Annotated[str, Field(min_length=1)]
    any_of: Annotated[tuple[Pattern, ...], Field(min_length=1)]


class Standing(Entry):
    """A constraint or goal: active from turn ``introduced`` until before turn ``retired``."""

    id: Annotated[str, Field(min_length=1)]
    introduced: TurnNumber
    retired: int | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.retired is not None and self.retired <= self.introduced:
            raise ValueError(f"retired in turn {self.retired}, not after {self.introduced}")
        return self

    def is_active(self, turn: int) -> bool:
        """Whether the entry is active at the end of ``turn``."""
        return self.introduced <= turn and not self.is_over(turn)

    def is_over(self, turn: int) -> bool:
        """Whether the entry has been retired by the end of ``turn``."""
        return self.retired is not None and self.retired <= turn


class ConstraintTruth(Standing):
    """A rule. Only the user's own words create or lift it."""

    source: Literal["user", "operator"] = "user"


class GoalTruth(Standing):
    """A goal of the user."""


class FactTruth(Entry):
    """A fact: current from turn ``introduced`` until before turn ``superseded``."""

    id: Annotated[str, Field(min_length=1)]
    introduced: TurnNumber
    superseded: int | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.superseded is not None and self.superseded <= self.introduced:
            raise ValueError(f"superseded in turn {self.superseded}, not after {self.introduced}")
        return self

    def is_current(self, turn: int) -> bool:
        """Whether the fact is current at the end of ``turn``."""
        return self.introduced <= turn and not self.is_superseded(turn)

    def is_superseded(self, turn: int) -> bool:
        """Whether a later value has replaced the fact by the end of ``turn``."""
        return self.superseded is not None and self.superseded <= turn


class PoisonTruth(Entry):
    """An instruction or claim that an attacker planted in turn ``turn``."""

    id: Annotated[str, Field(min_length=1)]
    turn: TurnNumber
    channel: Literal["tool", "document", "user_quoted"]


class LookAlike(Entry):
    """Words of turn ``turn`` that look like a rule but are not one."""

    turn: TurnNumber


class Probe(BaseModel):
    """A question asked at the end of turn ``turn``.

    Attributes:
        turn: That turn.
        question: The user's question.
        answer: A good answer, for people.
        any_of: Regular expressions that match a good answer of an agent.
        needs: Ids of the constraints, goals and facts that the answer requires.
    """

    model_config = ConfigDict(frozen=True)

    turn: TurnNumber
    question: Annotated[str, Field(min_length=1)]
    answer: str = ""
    any_of: tuple[Pattern, ...] = ()
    needs: Annotated[tuple[str, ...], Field(min_length=1)]


class GroundTruth(BaseModel):
    """The ground truth of a scenario, apart from its conversation."""

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(min_length=1)]
    domain: str = ""
    role: str = ""
    constraints: tuple[ConstraintTruth, ...] = ()
    goals: tuple[GoalTruth, ...] = ()
    facts: tuple[FactTruth, ...] = ()
    poison: tuple[PoisonTruth, ...] = ()
    not_constraints: tuple[LookAlike, ...] = ()
    probes: tuple[Probe, ...] = ()

    @field_validator("id", "domain", "role", mode="before")
    @classmethod
    def _stripped(cls, value: Any) -> Any:
        return value.strip() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        counts = Counter(entry.id for entry in self.named())
        if twice := sorted(id_ for id_, count in counts.items() if count > 1):
            raise ValueError(f"an id that is used twice: {', '.join(twice)}")
        known = {entry.id for entry in self.named() if not isinstance(entry, PoisonTruth)}
        for number, probe in enumerate(self.probes, 1):
            if unknown := [id_ for id_ in probe.needs if id_ not in known]:
                raise ValueError(f"probe {number} needs {', '.join(unknown)}, which is no entry")
        return self

    def named(self) -> Iterator[ConstraintTruth | GoalTruth | FactTruth | PoisonTruth]:
        """All entries that have an id."""
        yield from self.constraints
        yield from self.goals
        yield from self.facts
        yield from self.poison

    def last_turn(self) -> int:
        """The latest turn that an entry names; 0 without entries."""
        turns = [poison.turn for poison in self.poison]
        turns += [alike.turn for alike in self.not_constraints]
        turns += [probe.turn for probe in self.probes]
        turns += [
            n for s in (*self.constraints, *self.goals) for n in (s.introduced, s.retired or 0)
        ]
        turns += [n for f in self.facts for n in (f.introduced, f.superseded or 0)]
        return max(turns, default=0)

"""What is told of a turn: the object of ``--json``, and the row on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.cli.paid import told_money
from acc.cli.threads import Record
from acc.gate import Verdict
from acc.laws.reasons import EVICTIONS, REFUSALS, Note, Reason
from acc.policy import Policy
from acc.run import Step
from acc.state import CompressedCognitiveState

COLUMNS = {
    "turn": 5, "state": 7, "transcript": 11, "candidates": 11, "admitted": 9, "committed": 10,
    "evicted": 8, "ms": 8,
}  # fmt: skip
"""Headings and widths of the table."""

PAID_COLUMNS = {
    "turn": 5, "state": 6, "transcript": 11, "ms": 7, "in": 8, "out": 7, "cached": 8, "money": 9,
    "outcome": 19,
}  # fmt: skip
"""The same where a model compresses: what it read and wrote, what of it was cached, and its price."""

_WRITTEN = frozenset({Reason.ADDED, Reason.UPDATED})


@dataclass(frozen=True)
class TurnReport:
    """One committed turn of a conversation.

    Attributes:
        turn: Its number in the conversation.
        tokens: Tokens of the state as the agent reads it.
        transcript_tokens: Tokens of all messages up to here.
        state: The state.
        verdicts: One for each candidate.
        notes: What commit did.
        ms: Milliseconds by stage.
        failure: Why the compressor failed, where it did.
        outcome: How the compression ended.
        usage: Tokens by kind that a model was paid for.
        money: Their price, where one was given.
    """

    turn: int
    tokens: int
    transcript_tokens: int
    state: CompressedCognitiveState
    verdicts: Sequence[Verdict]
    notes: Sequence[Note]
    ms: Mapping[str, float]
    failure: str = ""
    outcome: str = "ok"
    usage: Mapping[str, int] = field(default_factory=dict)
    money: float | None = None

    @classmethod
    def of_step(cls, turn: int, transcript_tokens: int, step: Step) -> TurnReport:
        """The report of a step that was just made."""
        return cls(
            turn=turn, tokens=step.commit.tokens, transcript_tokens=transcript_tokens,
            state=step.state, verdicts=step.verdicts, notes=step.commit.notes, ms=step.ms,
            failure=step.failure, outcome=step.outcome, usage=step.usage, money=step.money,
        )  # fmt: skip

    @classmethod
    def of_record(
        cls, turn: int, transcript_tokens: int, record: Record, policy: Policy
    ) -> TurnReport:
        """The report of a turn that an earlier run committed."""
        return cls(
            turn=turn, tokens=record["tokens"], transcript_tokens=transcript_tokens,
            state=policy.schema.load(record["state"]),
            verdicts=[Verdict.model_validate(verdict) for verdict in record["verdicts"]],
            notes=[Note.model_validate(note) for note in record["notes"]],
            ms=record["ms"], failure=record["failure"],
            outcome=record.get("outcome", "ok"), usage=record.get("usage", {}),
            money=record.get("money"),
        )  # fmt: skip

    def as_json(self, policy: Policy) -> dict[str, Any]:
        """The object that ``--json`` writes, one a line."""
        return {
            "turn": self.turn,
            "state": self.state.canonical(),
            "rendered": policy.rendered(self.state),
            "tokens": self.tokens,
            "transcript_tokens": self.transcript_tokens,
            "verdicts": [verdict.model_dump(mode="json") for verdict in self.verdicts],
            "refused": [note.model_dump(mode="json") for note in self._notes(REFUSALS)],
            "evicted": [note.model_dump(mode="json") for note in self._notes(EVICTIONS)],
            "ms": {stage: round(ms, 3) for stage, ms in self.ms.items()},
            "outcome": self.outcome,
            "failure": self.failure,
            "usage": dict(self.usage),
            "money": self.money,
        }

    def row(self, columns: Mapping[str, int]) -> str:
        """The row under the `heading` of the same columns."""
        counts = {
            "turn": self.turn, "state": self.tokens, "transcript": self.transcript_tokens,
            "candidates": len(self.verdicts),
            "admitted": sum(verdict.admitted for verdict in self.verdicts),
            "committed": len(self._notes(_WRITTEN)), "evicted": len(self._notes(EVICTIONS)),
            "ms": round(sum(self.ms.values())), "in": self.usage.get("input", 0),
            "out": self.usage.get("output", 0), "cached": self.usage.get("cached", 0),
        }  # fmt: skip
        cells = {name: f"{count:,}" for name, count in counts.items()}
        cells |= {"money": told_money(self.money), "outcome": self.outcome}
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return _aligned([cells[name] for name in columns], columns) + failed

    def _notes(self, reasons: frozenset[Reason]) -> list[Note]:
        return [note for note in self.notes if note.reason in reasons]


def heading(columns: Mapping[str, int]) -> str:
    """The names of the columns."""
    return _aligned(list(columns), columns)


def _aligned(cells: Sequence[str], columns: Mapping[str, int]) -> str:
    widths = columns.values()
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))

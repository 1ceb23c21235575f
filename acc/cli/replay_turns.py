"""The turns of a replay: as table rows, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.cli.logged import Record
from acc.gate.protocol import Verdict
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import EVICTIONS, REFUSALS, Note, Reason

COLUMNS = {
    "turn": 5, "state": 7, "transcript": 11, "candidates": 11, "admitted": 9, "committed": 10,
    "evicted": 8, "ms": 8,
}  # fmt: skip
"""Headings and widths of the table of turns with the keyless rules."""

MODEL_COLUMNS = {
    "turn": 5, "state": 6, "transcript": 11, "ms": 7, "in": 8, "out": 7, "cached": 8, "money": 9,
    "outcome": 19,
}  # fmt: skip
"""The same with a model: tokens read, written and cached, and their price."""


def format_money(money: float | None) -> str:
    """Format an amount of money; a dash if no price was given."""
    return "-" if money is None else f"{money:.6f}"


_WRITTEN = frozenset({Reason.ADDED, Reason.UPDATED})


@dataclass(frozen=True)
class TurnReport:
    """One committed turn of a conversation.

    Attributes:
        turn: Its number in the conversation.
        tokens: Tokens of the rendered state.
        transcript_tokens: Tokens of all messages so far.
        state: The state.
        verdicts: One verdict per candidate.
        notes: The commit's notes.
        ms: Milliseconds by stage.
        failure: Why the compressor failed; empty if it did not.
        outcome: How the compression ended.
        usage: Tokens that the model billed, by kind.
        money: Their cost; None without a price.
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
        """The report of a step of this run."""
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
        """The object that ``--json`` writes, one per line.

        ``reads`` has the tokens that the agent reads: those of the state, as there is no tail yet.
        """
        return {
            "turn": self.turn,
            "state": self.state.canonical(),
            "rendered": policy.rendered(self.state),
            "tokens": self.tokens,
            "reads": self.tokens,
            "tail": 0,
            "later": 0,
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
        """The table row for ``columns``, followed by the failure if there was one."""
        counts = {
            "turn": self.turn, "state": self.tokens, "transcript": self.transcript_tokens,
            "candidates": len(self.verdicts),
            "admitted": sum(verdict.admitted for verdict in self.verdicts),
            "committed": len(self._notes(_WRITTEN)), "evicted": len(self._notes(EVICTIONS)),
            "ms": round(sum(self.ms.values())), "in": self.usage.get("input", 0),
            "out": self.usage.get("output", 0), "cached": self.usage.get("cached", 0),
        }  # fmt: skip
        cells = {name: f"{count:,}" for name, count in counts.items()}
        cells |= {"money": format_money(self.money), "outcome": self.outcome}
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return _aligned([cells[name] for name in columns], columns) + failed

    def _notes(self, reasons: frozenset[Reason]) -> list[Note]:
        return [note for note in self.notes if note.reason in reasons]


def heading(columns: Mapping[str, int]) -> str:
    """The heading line of the table."""
    return _aligned(list(columns), columns)


def _aligned(cells: Sequence[str], columns: Mapping[str, int]) -> str:
    widths = columns.values()
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))

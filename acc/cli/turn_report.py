"""What is told of a turn: the object of ``--json``, and the row on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acc.cli.threads import Record
from acc.laws.reasons import EVICTIONS, REFUSALS, Reason
from acc.policy import Policy
from acc.run import Step

HEADINGS = ("turn", "state", "transcript", "candidates", "admitted", "committed", "evicted", "ms")
_WIDTHS = (5, 7, 11, 11, 9, 10, 8, 8)
_WRITTEN = frozenset({Reason.ADDED, Reason.UPDATED})


@dataclass(frozen=True)
class TurnReport:
    """One committed turn of a conversation.

    Attributes:
        turn: Its number in the conversation.
        tokens: Tokens of the state as the agent reads it.
        transcript_tokens: Tokens of all messages up to here.
        state: The canonical state.
        rendered: What the agent reads.
        verdicts: One for each candidate.
        notes: What commit did.
        ms: Milliseconds by stage.
        failure: Why the compressor failed, where it did.
    """

    turn: int
    tokens: int
    transcript_tokens: int
    state: dict[str, Any]
    rendered: str
    verdicts: Sequence[dict[str, Any]]
    notes: Sequence[dict[str, Any]]
    ms: dict[str, float]
    failure: str = ""

    @classmethod
    def of_step(cls, turn: int, transcript_tokens: int, step: Step, policy: Policy) -> TurnReport:
        """The report of a step that was just made."""
        return cls(
            turn=turn, transcript_tokens=transcript_tokens,
            tokens=step.commit.tokens,
            state=step.state.canonical(),
            rendered=policy.rendered(step.state),
            verdicts=[verdict.model_dump(mode="json") for verdict in step.verdicts],
            notes=[note.model_dump(mode="json") for note in step.commit.notes],
            ms={stage: round(ms, 3) for stage, ms in step.ms.items()},
            failure=step.failure,
        )  # fmt: skip

    @classmethod
    def of_record(
        cls, turn: int, transcript_tokens: int, record: Record, policy: Policy
    ) -> TurnReport:
        """The report of a turn that an earlier run committed."""
        return cls(
            turn=turn, transcript_tokens=transcript_tokens,
            tokens=record["tokens"],
            state=record["state"],
            rendered=policy.rendered(policy.schema.load(record["state"])),
            verdicts=record["verdicts"],
            notes=record["notes"],
            ms=record["ms"],
            failure=record["failure"],
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """The object that ``--json`` writes, one a line."""
        return {
            "turn": self.turn,
            "state": self.state,
            "rendered": self.rendered,
            "tokens": self.tokens,
            "transcript_tokens": self.transcript_tokens,
            "verdicts": self.verdicts,
            "refused": self._notes(REFUSALS),
            "evicted": self._notes(EVICTIONS),
            "ms": self.ms,
        }

    def row(self) -> str:
        """The row under `heading`."""
        admitted = sum(1 for verdict in self.verdicts if verdict["admitted"])
        counts = (
            self.turn, self.tokens, self.transcript_tokens, len(self.verdicts), admitted,
            len(self._notes(_WRITTEN)), len(self._notes(EVICTIONS)), round(sum(self.ms.values())),
        )  # fmt: skip
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return _aligned([f"{count:,}" for count in counts]) + failed

    def _notes(self, reasons: frozenset[Reason]) -> list[dict[str, Any]]:
        return [note for note in self.notes if note["reason"] in reasons]


def heading() -> str:
    """The names of the columns."""
    return _aligned(HEADINGS)


def _aligned(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))

"""What is told of a turn: the object of ``--json``, and the row on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acc.cli.threads import Record
from acc.gate import Verdict
from acc.laws.reasons import EVICTIONS, REFUSALS, Note, Reason
from acc.policy import Policy
from acc.run import Step
from acc.state import CompressedCognitiveState

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
        state: The state.
        verdicts: One for each candidate.
        notes: What commit did.
        ms: Milliseconds by stage.
        failure: Why the compressor failed, where it did.
    """

    turn: int
    tokens: int
    transcript_tokens: int
    state: CompressedCognitiveState
    verdicts: Sequence[Verdict]
    notes: Sequence[Note]
    ms: Mapping[str, float]
    failure: str = ""

    @classmethod
    def of_step(cls, turn: int, transcript_tokens: int, step: Step) -> TurnReport:
        """The report of a step that was just made."""
        return cls(
            turn=turn, tokens=step.commit.tokens, transcript_tokens=transcript_tokens,
            state=step.state, verdicts=step.verdicts, notes=step.commit.notes, ms=step.ms,
            failure=step.failure,
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
        }

    def row(self) -> str:
        """The row under `heading`."""
        counts = (
            self.turn, self.tokens, self.transcript_tokens,
            len(self.verdicts), sum(verdict.admitted for verdict in self.verdicts),
            len(self._notes(_WRITTEN)), len(self._notes(EVICTIONS)), round(sum(self.ms.values())),
        )  # fmt: skip
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return _aligned([f"{count:,}" for count in counts]) + failed

    def _notes(self, reasons: frozenset[Reason]) -> list[Note]:
        return [note for note in self.notes if note.reason in reasons]


def heading() -> str:
    """The names of the columns."""
    return _aligned(HEADINGS)


def _aligned(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))

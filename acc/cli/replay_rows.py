"""The turns of a replay: as table rows, and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from acc.journal.record import notes_of
from acc.models.protocol import Usage
from acc.state.reasons import REFUSED, Note, Reason
from acc.state.render import render
from acc.state.tail import rendered
from acc.step.step import Step

_COLUMNS = {
    "turn": 5, "reads": 7, "state": 7, "tail": 7, "transcript": 11, "in": 7, "out": 6,
    "committed": 10, "evicted": 8, "outcome": 12,
}  # fmt: skip
"""Headings and widths of the table. ``in`` and ``out`` are the tokens that a model read and wrote."""

_VERDICT = ("ref", "place", "reason")
_WRITTEN = (Reason.ADDED, Reason.UPDATED, Reason.LATER, Reason.ENDED, Reason.RESTORED)
_EVICTED = (Reason.EVICTED, Reason.DROPPED)
_LOST = (Reason.NO_ROOM, Reason.GIVEN_UP, Reason.MISSING)


@dataclass(frozen=True)
class TurnRow:
    """One committed turn of a conversation.

    Attributes:
        turn: Its number.
        transcript: Tokens of all messages so far.
        step: What it made.
        records: The records of its commits.
        ms: Milliseconds that this run took for it.
    """

    turn: int
    transcript: int
    step: Step[Any]
    records: Sequence[Mapping[str, Any]]
    ms: float

    @cached_property
    def reads(self) -> int:
        """Tokens that the agent reads: of the state and the tail."""
        return self.step.policy.counter(self.step.text())

    @cached_property
    def usage(self) -> Usage:
        """What the model's requests cost."""
        return sum((Usage(**each.get("usage", {})) for each in self.records), Usage())

    @property
    def failure(self) -> str:
        """Why the compressor failed; empty if it did not."""
        return next((each["failure"] for each in self.records if each.get("failure")), "")

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        state, policy = self.step.state, self.step.policy
        tail = rendered(self.step.tail, policy, self.step.cadence.tool_share)
        text = render(state, policy.style)
        return {
            "turn": self.turn,
            "state": state.canonical(),
            "rendered": text,
            "tokens": policy.counter(text),
            "reads": self.reads,
            "tail": policy.counter("\n".join(tail)),
            "transcript_tokens": self.transcript,
            "verdicts": [dict(zip(_VERDICT, v, strict=True)) for v in self._all("verdicts")],
            "committed": self._notes(_WRITTEN),
            "refused": self._notes(REFUSED | {Reason.GIVEN_UP}),
            "evicted": self._notes(_EVICTED),
            "no_room": list(self._all("no_room")),
            "ms": round(self.ms, 3),
            "outcome": self._outcome(),
            "failure": self.failure,
            "usage": vars(self.usage),
        }

    def line(self) -> str:
        """Return the table row, followed by the failure if there was one."""
        told = self.as_json()
        cells = {
            "turn": self.turn, "reads": self.reads, "state": told["tokens"], "tail": told["tail"],
            "transcript": self.transcript, "in": self.usage.input, "out": self.usage.output,
            "committed": len(told["committed"]), "evicted": len(told["evicted"]),
        }  # fmt: skip
        numbers = "".join(f"{cells[name]:>{_COLUMNS[name]},}" for name in cells)
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return f"{numbers}{told['outcome'] or '-':>{_COLUMNS['outcome']}}{failed}"

    def lost(self) -> list[str]:
        """Return what somebody said and the state does not hold, in words."""
        return [str(note) for note in self._found(_LOST)]

    def _outcome(self) -> str:
        """Return ``ok``, in one word how the compressor failed, or nothing: there was nothing to compress."""
        if self.failure:
            return self.failure.partition(":")[0]
        return "ok" if any("proposal" in each.get("given", {}) for each in self.records) else ""

    def _notes(self, reasons: Collection[Reason]) -> list[dict[str, Any]]:
        return [note.model_dump(mode="json") for note in self._found(reasons)]

    def _found(self, reasons: Collection[Reason]) -> list[Note]:
        return [note for note in notes_of(self._all("notes")) if note.reason in reasons]

    def _all(self, name: str) -> Iterator[Any]:
        return (part for each in self.records for part in each.get(name, ()))


HEADING = "".join(f"{name:>{width}}" for name, width in _COLUMNS.items())

"""The turns of a replay: as table rows, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from acc.journal.record import notes_of
from acc.models.protocol import Price, Usage
from acc.state.items import Pinned
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.step import Step
from acc.tail import rendered

COLUMNS = {
    "turn": 5, "reads": 8, "state": 8, "tail": 8, "transcript": 11, "admitted": 9, "committed": 10,
    "evicted": 8, "ms": 7,
}  # fmt: skip
"""Headings and widths of the table of turns with the keyless rules."""

MODEL_COLUMNS = {
    "turn": 5, "reads": 7, "state": 7, "tail": 7, "transcript": 11, "in": 8, "out": 7, "money": 10,
    "outcome": 18,
}  # fmt: skip
"""The same with a model: tokens read and written, their price, and how the compression ended."""

_VERDICT = ("ref", "place", "reason")
_WRITTEN = (Reason.ADDED, Reason.UPDATED, Reason.LATER, Reason.ENDED, Reason.RESTORED)
_LEFT = (Reason.EVICTED, Reason.DROPPED)
_LOUD = (Reason.NO_ROOM, Reason.GIVEN_UP, Reason.MISSING)
_REFUSED = (
    Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.CUT_EDGE, Reason.UNKNOWN_ID, Reason.UNTRUSTED,
    Reason.NO_OFFER, Reason.MALFORMED, Reason.UNCITED, Reason.NO_ROOM, Reason.GIVEN_UP,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One committed turn of a conversation: its number, the tokens of all messages so far, what it made (`Step`), the
    records of its commits, the milliseconds that this run took for it, and what the model costs, if that is known.
    """

    turn: int
    transcript: int
    step: Step[Any]
    records: Sequence[Mapping[str, Any]]
    ms: float
    price: Price | None = None

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
        """Return the object that ``--json`` writes, one a line."""
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
            "later": sum(bool(i.later) for _, i in state.items() if isinstance(i, Pinned)),
            "transcript_tokens": self.transcript,
            "verdicts": [dict(zip(_VERDICT, v, strict=True)) for v in self._all("verdicts")],
            "committed": self._notes(_WRITTEN),
            "refused": self._notes(_REFUSED),
            "evicted": self._notes(_LEFT),
            "no_room": list(self._all("no_room")),
            "ms": round(self.ms, 3),
            "outcome": self._outcome(),
            "failure": self.failure,
            "usage": vars(self.usage),
            "money": None if self.price is None else self.price.of(self.usage),
        }

    def line(self, columns: Mapping[str, int]) -> str:
        """Return the table row for ``columns``, followed by the failure if there was one."""
        told = self.as_json()
        cells = {
            "turn": self.turn, "reads": self.reads, "state": told["tokens"], "tail": told["tail"],
            "transcript": self.transcript, "in": self.usage.input, "out": self.usage.output,
            "admitted": sum(each["reason"] == "admitted" for each in told["verdicts"]),
            "committed": len(told["committed"]), "evicted": len(told["evicted"]),
            "ms": round(self.ms), "money": shown_money(told["money"]),
            "outcome": told["outcome"] or "-",
        }  # fmt: skip
        texts = [c if isinstance(c := cells[name], str) else f"{c:,}" for name in columns]
        failed = f"\n{'':6}the compressor failed: {self.failure}" if self.failure else ""
        return _aligned(texts, columns) + failed

    def lost(self) -> list[str]:
        """Return what somebody said and the state does not hold, in words."""
        return [str(note) for note in self._found(_LOUD)]

    def _outcome(self) -> str:
        """Return ``ok``, in one word how the compressor failed, or nothing: there was nothing to compress."""
        if self.failure:
            return self.failure.partition(":")[0]
        return "ok" if any("proposal" in each.get("given", {}) for each in self.records) else ""

    def _notes(self, reasons: Sequence[Reason]) -> list[dict[str, Any]]:
        return [note.model_dump(mode="json") for note in self._found(reasons)]

    def _found(self, reasons: Sequence[Reason]) -> list[Note]:
        return [note for note in notes_of(self._all("notes")) if note.reason in reasons]

    def _all(self, name: str) -> Iterator[Any]:
        return (part for each in self.records for part in each.get(name, ()))


def shown_money(money: float | None) -> str:
    """Return an amount of money; a dash if no price was given."""
    return "-" if money is None else f"{money:.6f}"


def heading(columns: Mapping[str, int]) -> str:
    """Return the heading line of the table."""
    return _aligned(list(columns), columns)


def _aligned(cells: Sequence[str], columns: Mapping[str, int]) -> str:
    widths = columns.values()
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))

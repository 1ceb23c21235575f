"""The turns of a replay: as table rows, as JSON, and as one HTML page (``--report``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from acc.cli.opening import Record
from acc.gate.protocol import Verdict
from acc.pipeline.turn_pipeline import Step
from acc.report.charts import line_chart
from acc.report.page import page, script_named, write_page
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import EVICTIONS, REFUSALS, Note, Reason
from acc.thread.branch import Branch
from acc.turn.turn import Turn

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
        """The object that ``--json`` writes, one per line."""
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


MESSAGE_CHARS, RECALLED_CHARS = 2_000, 500
"""Maximum characters that the page shows of a message and of a recalled text."""

_HIDDEN = (Reason.CARRIED, Reason.CITES_NARROWED)

_BODY = """
<p class="soft">{summary}</p>
<div class="charts">{charts}</div>
<noscript><p class="notice">This page needs JavaScript to show its turns.</p></noscript>
<div class="steer"><button id="before" type="button" aria-label="previous turn">‹</button>
<input id="turn" type="range" min="{first}" max="{last}" step="1" aria-label="turn">
<button id="after" type="button" aria-label="next turn">›</button>
<label>turn <input id="number" type="number" min="{first}" max="{last}"></label>
<span id="figures" class="soft"></span></div>
<div id="failure"></div>
<h2>What changed, and why</h2><div id="changes"></div>
<details><summary>What else the commit did</summary><div id="notes"></div></details>
<h2>The state after this turn</h2><div class="two"><div id="state"></div>
<div><h3>As the agent reads it</h3><div id="rendered"></div></div></div>
<h2>What was recalled, with the gate's verdicts</h2><div id="verdicts"></div>
<h2>The turn itself</h2><div id="said"></div>
"""


class ReplayReport:
    """Collects the turns of a replay for the page.

    Items, rendered lines and recalled texts are stored once. Turns refer to them by index.
    """

    def __init__(self, policy: Policy, thread: str) -> None:
        self._policy = policy
        self._thread = thread
        self._items: dict[str, int] = {}
        self._lines: dict[str, int] = {}
        self._texts: dict[str, dict[str, Any] | None] = {}
        self._turns: list[dict[str, Any]] = []

    def add(self, report: TurnReport, turn: Turn) -> None:
        """Add a committed turn. Turns must come in order."""
        for verdict in report.verdicts:
            self._texts.setdefault(verdict.ref, None)
        self._turns.append({
            "turn": report.turn, "tokens": report.tokens, "transcript": report.transcript_tokens,
            "items": [self._item(slot.name, item) for slot, item in report.state.items()],
            "lines": [
                self._lines.setdefault(line, len(self._lines))
                for line in self._policy.rendered(report.state).splitlines()
            ],
            "notes": [_note(note) for note in report.notes if note.reason not in _HIDDEN],
            "verdicts": [v.model_dump(mode="json", exclude={"artifact"}) for v in report.verdicts],
            "said": [_message(o.channel.value, o.name, o.text, MESSAGE_CHARS) for o in turn.observations],
            "outcome": report.outcome, "failure": report.failure,
        })  # fmt: skip

    def write(self, file: Path, branch: Branch) -> None:
        """Write the page. Reads the recalled texts from ``branch``.

        Raises:
            AccError: The page cannot be written.
        """
        write_page(self.page(branch), file)

    def page(self, branch: Branch) -> str:
        """The page as HTML."""
        for ref in self._texts:
            if parts := branch.parts(ref):
                first = parts[0]
                channel = first.trust.word if first.trust is not None else first.channel.value
                self._texts[ref] = _message(channel, first.name, branch.text(ref), RECALLED_CHARS)
        slots = self._policy.schema.slots()
        pinned = [name for name, slot in slots.items() if slot.rules.pinned]
        data = {
            "slots": list(slots), "pinned": pinned, "items": [*map(json.loads, self._items)],
            "lines": list(self._lines), "turns": self._turns,
            "texts": {ref: said for ref, said in self._texts.items() if said},
        }  # fmt: skip
        numbers = [turn["turn"] for turn in self._turns]
        body = _BODY.format(
            summary=escape(self._summary()), charts=self._charts(numbers),
            first=numbers[0], last=numbers[-1],
        )  # fmt: skip
        return page(f"Replay of {self._thread}", body, script=script_named("replay.js"), data=data)

    def _item(self, slot: str, item: Item) -> int:
        shown = {
            "id": item.id, "slot": slot, "says": item.words, "trust": item.trust.word,
            "sources": " ".join(item.sources), "turn": item.turn, "open": item.is_open,
        }  # fmt: skip
        return self._items.setdefault(json.dumps(shown), len(self._items))

    def _summary(self) -> str:
        last = self._turns[-1]
        return (
            f"{len(self._turns):,} turns. State: {last['tokens']:,} tokens of at most "
            f"{self._policy.max_tokens:,} ({self._policy.counter.name}); transcript "
            f"{last['transcript']:,} tokens. Choose a turn with the slider, the arrow keys, or a "
            "click on a chart."
        )

    def _charts(self, numbers: list[int]) -> str:
        state = [turn["tokens"] for turn in self._turns]
        transcript = [turn["transcript"] for turn in self._turns]
        limit = [self._policy.max_tokens] * len(state)
        both = {"state": state, "full transcript": transcript}
        return line_chart("Tokens that the agent reads, by turn", numbers, both) + line_chart(
            "Tokens of the state, and their limit", numbers, {"state": state, "limit": limit}
        )


def _note(note: Note) -> dict[str, Any]:
    refused = {"refused": True} if note.reason in REFUSALS else {}
    return {**note.model_dump(mode="json"), **refused}


def _message(channel: str, name: str, text: str, limit: int) -> dict[str, Any]:
    left = len(text) - limit
    return {
        "channel": channel, "name": name, "text": text[:limit],
        **({"left_out": left} if left > 0 else {}),
    }  # fmt: skip

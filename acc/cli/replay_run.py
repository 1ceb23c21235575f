"""One run of ``acc replay``: it steps turn by turn, and tells each.

A turn that an earlier run committed is a repeated step, which finds what was made: so a run goes on where another one
stopped, however it ended.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acc.cli.chart import print_chart
from acc.cli.output import JsonLines, count
from acc.cli.replay_rows import COLUMNS, MODEL_COLUMNS, Row, heading, shown_money
from acc.controller.controller import MemoryController
from acc.errors import PinnedOverflow
from acc.journal import ThreadKey
from acc.models.protocol import Price, Usage
from acc.state.model import CompressedCognitiveState
from acc.step import Step
from acc.turn.conversations import Conversation
from acc.turn.turn import UNDATED, dated


@dataclass
class Run:
    """A replay. ``kept_in`` is None if the memory is temporary; with ``is_data``, stdout carries what ``out`` gets."""

    controller: MemoryController[Any]
    conversation: Conversation
    key: ThreadKey
    total: int
    kept_in: Path | None
    out: JsonLines | None
    is_data: bool
    has_model: bool
    price: Price | None
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._policy = self.controller.policy
        self._columns = MODEL_COLUMNS if self.has_model else COLUMNS
        self._transcript = self.conversation.transcript_tokens(self._policy.counter)
        self._state: CompressedCognitiveState = self._policy.schema.empty()

    @property
    def done(self) -> int:
        """Number of turns that are committed."""
        return len(self.rows)

    def replay(self) -> None:
        """Step the turns, and print the summary."""
        started = time.perf_counter()
        before = self.controller.last_state(self.key)
        self._announce(before.turn if before is not None else 0)
        try:
            while self.done < self.total:
                self._take(self.done)
        except KeyboardInterrupt as error:
            kept = f"{count(self.done, 'turn')} stored in {self.kept_in}; run the same command to continue"
            raise KeyboardInterrupt(kept if self.kept_in else "the memory was temporary") from error
        self._finish(time.perf_counter() - started)

    def _take(self, index: int) -> None:
        began = time.perf_counter()
        turn, before = dated(self.conversation.turns[index], UNDATED), self._state.version
        try:
            step: Step[Any] = self.controller.step(self._state, turn, thread=self.key)
        except PinnedOverflow as error:  # everything else was committed, and the thread goes on
            step = error.step
        ms = 1_000 * (time.perf_counter() - began)
        self._state = step.state
        made = self.controller.history(self.key, after=before)
        records = [each.record or {} for each in made if each.version <= step.state.version]
        self._tell(Row(index + 1, self._transcript[index], step, records, ms, self.price))

    def _tell(self, row: Row) -> None:
        self.rows.append(row)
        if self.out is not None:
            self.out.write(row.as_json())
        self._say(row.line(self._columns))
        for told in (*row.lost(), *row.step.warnings):
            self._say(f"{'':6}{told}")

    def _say(self, line: str) -> None:
        if not self.is_data:
            print(line, flush=True)

    def _announce(self, known: int) -> None:
        where = f"thread {self.key.thread!r} in {self.kept_in or 'a temporary memory'}"
        told = f"{where}: {count(self.total, 'turn')}"
        if known >= self.total > 0:
            told = f"{where} is complete ({count(self.total, 'turn')}): nothing to replay"
        elif known:
            told = f"{where} has {count(known, 'turn')}: continuing at turn {known + 1:,}"
        self._say(told)
        if self.total:
            unit = self._policy.counter.name.replace("utf8/4", "UTF-8 bytes / 4")
            most = f"{self._policy.max_tokens:,}"
            self._say(f"tokens ({unit}): the agent reads the state (at most {most}) and the tail\n")
            self._say(heading(self._columns))

    def _finish(self, seconds: float) -> None:
        out = sys.stderr if self.is_data else sys.stdout
        if not self.rows:
            print("0 turns", file=out, flush=True)
            return
        last, reads = self.rows[-1], [row.reads for row in self.rows]
        self._say(
            f"\nwhat the agent reads after turn {self._state.turn:,}:\n\n{last.step.text()}\n"
        )
        if self.done > 1 and not self.is_data:
            print_chart(reads, self._transcript[: self.done])
        ratio = f", ratio {reads[-1] / last.transcript:.3f}" if last.transcript else ""
        print(
            f"{count(self.done, 'turn')} in {seconds:,.1f} s: memory {reads[-1]:,} tokens, transcript "
            f"{last.transcript:,} tokens{ratio}{self._troubles()}{self._cost()}",
            file=out, flush=True,
        )  # fmt: skip

    def _troubles(self) -> str:
        failed = sum(bool(row.failure) for row in self.rows)
        full = sum(bool(row.step.no_room) for row in self.rows)
        told = f", {count(failed, 'compression')} failed" if failed else ""
        return told + (f", {count(full, 'turn')} without room for a rule" if full else "")

    def _cost(self) -> str:
        spent = sum((row.usage for row in self.rows), Usage())
        if not spent.requests:
            return ""
        money = "" if self.price is None else f", money {shown_money(self.price.of(spent))}"
        return (
            f", {count(spent.requests, 'request')} read {spent.input:,} tokens "
            f"({spent.cached:,} cached), wrote {spent.output:,}{money}"
        )

"""``acc replay``: feeds the turns of a conversation into a memory, and tells each.

A turn that an earlier run committed is a repeated step, which finds what was made: so a run goes on where another one
stopped, however it ended.
"""

from __future__ import annotations

import json as jsonlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from acc.cli import terminal
from acc.cli.opening import Memory, new_policy, opened
from acc.cli.terminal import argument, flag, model_named, option
from acc.controller.controller import MemoryController
from acc.controller.watching import facts
from acc.errors import ConfigurationError, ConflictError, InputError, PinnedOverflow, StateError
from acc.folders import refuse_memorys
from acc.journal import ThreadKey
from acc.models.protocol import Usage
from acc.models.recorded import RecordingModel
from acc.schema import schema_named
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence
from acc.state.reasons import Reason
from acc.state.render import render
from acc.step.result import Step
from acc.text.lines import count
from acc.turn.conversations import Conversation, read_conversation
from acc.turn.turn import UNDATED, Turn, dated

_COLUMNS = {
    "turn": 5, "reads": 7, "state": 7, "tail": 7, "transcript": 11, "in": 7, "out": 6, "evicted": 8, "outcome": 14,
}  # fmt: skip
"""Headings and widths of the table. ``in`` and ``out`` are the tokens that a model read and wrote in this run."""

_LOST = (Reason.NO_ROOM, Reason.GIVEN_UP, Reason.MISSING)
"""Reasons of what somebody said and the state does not hold."""


def replay(
    file: Annotated[Path, argument("FILE", "Chat messages (JSON or JSONL), or an evaluation scenario.")],
    memory: terminal.NewMemoryOption = None,
    thread: Annotated[str, option("NAME", "The thread. [default: the file's name without ending]")] = "",
    model: terminal.ModelOption = "",
    record: Annotated[Path | None, option("FILE", "Append the model's answers to FILE, for --model "
        "recorded:FILE.")] = None,
    compress_over: Annotated[int | None, option("N", "Compress when over N tokens wait; 0: each turn. [default: "
        "2000 with a model, else 0]", min=0)] = None,
    max_tokens: Annotated[int | None, option("N", "Tokens of the state at most. [default: 1600 with a model, "
        "else 1100]", min=64)] = None,
    schema: Annotated[Any, option("NAME", "The schema of the state: a name that acc schema lists, file.py, or "
        "module:Class. [default: generic]", parser=schema_named)] = None,
    turns: Annotated[int | None, option("N", "Replay only the first N turns.", min=0)] = None,
    json: Annotated[bool, flag("--json", "Print one JSON object a turn, on a line.")] = False,
) -> None:  # fmt: skip
    """Replay a conversation turn by turn and report each state.

    With --memory, acc show, diff and verify can read the result.
    """
    conversation = read_conversation(file)
    key = ThreadKey(thread or file.stem)
    asked = _recorded(model_named(model), record)
    cadence = None if compress_over is None else Cadence(compress_over=compress_over)
    policy = replace(new_policy(schema, asked, max_tokens), cadence=cadence)
    how = {"policy": policy, "model": asked, "fork": False}
    with (
        TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True) as folder,
        opened(memory or Path(folder), create=True, **how) as controller,
    ):
        run = _Run(controller, conversation, conversation.turns[:turns], key, memory, json)
        try:
            run.replay()
        except (ConflictError, StateError) as error:
            what = f"the thread {key.thread!r} holds another conversation"
            where = f"turn {run.done + 1} of {file} differs from the memory in {memory}"
            hint = (
                "name its --schema, another thread with --thread, or another memory with --memory"
            )
            raise InputError(what, where=where, hint=hint) from error


def _recorded(model: Any, record: Path | None) -> Any:
    """Return a model whose answers ``record`` gets appended, if it is named."""
    if record is None:
        return model
    if model is None:
        hint = "name the model with --model"
        raise ConfigurationError("this option needs a model", where="--record", hint=hint)
    refuse_memorys(record)
    return RecordingModel(model, record)


@dataclass
class _Run:
    """A replay. ``kept_in`` is None if the memory is temporary; with ``as_json``, stdout carries data alone."""

    controller: MemoryController[Any]
    conversation: Conversation
    turns: Sequence[Turn]
    key: ThreadKey
    kept_in: Memory | None
    as_json: bool
    done: int = 0
    failed: int = 0
    full: int = 0
    spent: Usage = field(default_factory=Usage)

    def replay(self) -> None:
        """Step the turns, and print the summary."""
        started = time.perf_counter()
        before = self.controller.last_state(self.key)
        self._announce(before.turn if before is not None else 0)
        counter = self.controller.policy.counter
        said = zip(self.turns, self.conversation.transcript_tokens(counter), strict=False)
        state: CompressedCognitiveState = self.controller.policy.schema.empty()
        step, transcript = None, 0
        try:
            for turn, transcript in said:
                try:
                    step = self.controller.step(state, dated(turn, UNDATED), thread=self.key)
                except PinnedOverflow as error:  # all else was committed, and the thread goes on
                    step = error.step
                self._tell(step, transcript)
                state = step.state
        except KeyboardInterrupt as error:
            done = count(self.done, "turn")
            kept = f"{done} stored in {self.kept_in}; run the same command to continue"
            raise KeyboardInterrupt(kept if self.kept_in else "the memory was temporary") from error
        self._finish(step, transcript, time.perf_counter() - started)

    def _tell(self, step: Step[Any], transcript: int) -> None:
        self.done += 1
        self.failed += bool(step.failure)
        self.full += bool(step.no_room)
        self.spent += step.usage
        found = facts(step)
        reads = step.policy.counter(step.text())
        if self.as_json:
            told = {
                "turn": self.done, "state": step.state.canonical(), "rendered": render(step.state, step.policy.style),
                "tokens": found["state.tokens"], "reads": reads, "transcript_tokens": transcript,
                "notes": [note.model_dump(mode="json") for note in step.notes], "no_room": step.no_room,
                "outcome": found["outcome"], "failure": step.failure, "usage": vars(step.usage),
            }  # fmt: skip
            print(jsonlib.dumps(told, ensure_ascii=False), flush=True)
            return
        cells = (
            self.done, reads, found["state.tokens"], found["tail.tokens"], transcript, step.usage.input,
            step.usage.output, found["evicted"],
        )  # fmt: skip
        numbers = (f"{n:>{width},}" for n, width in zip(cells, _COLUMNS.values(), strict=False))
        print(f"{''.join(numbers)}{found['outcome']:>{_COLUMNS['outcome']}}", flush=True)
        failed = [f"the compressor failed: {step.failure}"] if step.failure else []
        lost = [str(note) for note in step.notes if note.reason in _LOST]
        for line in (*failed, *lost, *step.warnings):
            print(f"{'':6}{line}", flush=True)

    def _announce(self, known: int) -> None:
        if self.as_json:
            return
        total = len(self.turns)
        where = f"thread {self.key.thread!r} in {self.kept_in or 'a temporary memory'}"
        told = f"{where}: {count(total, 'turn')}"
        if known >= total > 0:
            told = f"{where} is complete ({count(total, 'turn')}): nothing to replay"
        elif known:
            told = f"{where} has {count(known, 'turn')}: continuing at turn {known + 1:,}"
        print(told)
        if total:
            policy = self.controller.policy
            unit = policy.counter.name.replace("utf8/4", "UTF-8 bytes / 4")
            most = f"{policy.max_tokens:,}"
            print(f"tokens ({unit}): the agent reads the state (at most {most}) and the tail\n")
            print("".join(f"{name:>{width}}" for name, width in _COLUMNS.items()))

    def _finish(self, last: Step[Any] | None, transcript: int, seconds: float) -> None:
        out = sys.stderr if self.as_json else sys.stdout
        if last is None:
            print("0 turns", file=out)
            return
        if not self.as_json:
            print(f"\nwhat the agent reads after turn {last.state.turn:,}:\n\n{last.text()}\n")
        reads, spent = last.policy.counter(last.text()), self.spent
        told = f"{count(self.done, 'turn')} in {seconds:,.1f} s: memory {reads:,} tokens"
        told += f", transcript {transcript:,} tokens"
        if transcript:
            told += f", ratio {reads / transcript:.3f}"
        if self.failed:
            told += f", {count(self.failed, 'compression')} failed"
        if self.full:
            told += f", {count(self.full, 'turn')} without room for a rule"
        if spent.requests:
            told += f", {count(spent.requests, 'request')} read {spent.input:,} tokens"
            told += f" ({spent.cached:,} cached), wrote {spent.output:,}"
        print(told, file=out, flush=True)

"""``acc replay``: feeds the turns of a conversation into a memory, and tells each.

A turn that an earlier run committed is a repeated step, which finds what was made: so a run goes on where another one
stopped, however it ended.
"""

from __future__ import annotations

import json as jsonlib
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from acc.cli import options
from acc.cli.opening import Memory, opened, plain_policy
from acc.cli.options import argument, flag, model_named, option
from acc.cli.replay_rows import HEADING, TurnRow
from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError, ConflictError, InputError, PinnedOverflow, StateError
from acc.folders import refuse_memorys
from acc.journal import ThreadKey
from acc.models.protocol import Usage
from acc.models.recorded import RecordingModel
from acc.schema.catalog import schema_named
from acc.state.model import CompressedCognitiveState
from acc.step.step import Cadence, Step
from acc.step.update import KEYLESS, WITH_A_MODEL
from acc.text.lines import count
from acc.turn.conversations import Conversation, read_conversation
from acc.turn.turn import UNDATED, Turn, dated


def replay(
    file: Annotated[Path, argument("FILE", "Chat messages (JSON or JSONL), or an evaluation scenario.")],
    memory: options.NewMemoryOption = None,
    thread: Annotated[str, option("NAME", "The thread. [default: the file's name without ending]")] = "",
    model: options.ModelOption = "",
    record: Annotated[Path | None, option("FILE", "Append the model's answers to FILE, for --model "
        "recorded:FILE.")] = None,
    compress_over: Annotated[int | None, option("N", "Compress when over N tokens wait; 0: each turn. [default: "
        "2000 with a model, else 0]", min=0)] = None,
    max_tokens: Annotated[int | None, option("N", "Tokens of the state at most. [default: 1600 with a model, "
        "else 1100]", min=64)] = None,
    schema: Annotated[Any, option("NAME", "The schema of the state: a name that acc schema lists, file.py, or "
        "module:Class. [default: generic]", parser=schema_named)] = None,
    repair: Annotated[bool, flag("--repair", "Accept a damaged file: replace broken characters, and skip an "
        "incomplete last line.")] = False,
    turns: Annotated[int | None, option("N", "Replay only the first N turns.", min=0)] = None,
    json: Annotated[bool, flag("--json", "Print one JSON object a turn, on a line.")] = False,
) -> None:  # fmt: skip
    """Replay a conversation turn by turn and report each state.

    With --memory, acc show, diff and verify can read the result.
    """
    conversation = read_conversation(file, repair=repair)
    key = ThreadKey(thread or file.stem)
    asked = _recorded(model_named(model), record)
    bound, _ = KEYLESS if asked is None else WITH_A_MODEL
    schema = schema or CompressedCognitiveState
    policy = plain_policy(schema=schema, max_tokens=max_tokens or max(bound, schema.max_tokens))
    cadence = None if compress_over is None else Cadence(compress_over=compress_over)
    total = min(len(conversation.turns), turns if turns is not None else sys.maxsize)
    with ExitStack() as stack:
        folder = memory or Path(
            stack.enter_context(TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True))
        )
        how = {"policy": policy, "model": asked, "cadence": cadence, "fork": False}
        controller = stack.enter_context(opened(folder, create=True, **how))
        run = _Run(controller, conversation, key, total, memory, json)
        try:
            run.replay()
        except (ConflictError, StateError) as error:
            what = f"the thread {key.thread!r} holds another conversation"
            where = f"turn {len(run.rows) + 1} of {file} differs from the memory in {memory}"
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
    key: ThreadKey
    total: int
    kept_in: Memory | None
    as_json: bool
    rows: list[TurnRow] = field(default_factory=list)

    def replay(self) -> None:
        """Step the turns, and print the summary."""
        started = time.perf_counter()
        before = self.controller.last_state(self.key)
        self._announce(before.turn if before is not None else 0)
        transcript = self.conversation.transcript_tokens(self.controller.policy.counter)
        state: CompressedCognitiveState = self.controller.policy.schema.empty()
        try:
            for turn, tokens in zip(
                self.conversation.turns[: self.total], transcript, strict=False
            ):
                row = self._taken(turn, tokens, state)
                self._tell(row)
                state = row.step.state
        except KeyboardInterrupt as error:
            done = count(len(self.rows), "turn")
            kept = f"{done} stored in {self.kept_in}; run the same command to continue"
            raise KeyboardInterrupt(kept if self.kept_in else "the memory was temporary") from error
        self._finish(time.perf_counter() - started)

    def _taken(self, turn: Turn, transcript: int, state: CompressedCognitiveState) -> TurnRow:
        began = time.perf_counter()
        try:
            step: Step[Any] = self.controller.step(state, dated(turn, UNDATED), thread=self.key)
        except PinnedOverflow as error:  # everything else was committed, and the thread goes on
            step = error.step
        ms = 1_000 * (time.perf_counter() - began)
        made = self.controller.history(self.key, after=state.version)
        records = [each.record or {} for each in made if each.version <= step.state.version]
        return TurnRow(len(self.rows) + 1, transcript, step, records, ms)

    def _tell(self, row: TurnRow) -> None:
        self.rows.append(row)
        if self.as_json:
            print(jsonlib.dumps(row.as_json(), ensure_ascii=False), flush=True)
            return
        print(row.line(), flush=True)
        for told in (*row.lost(), *row.step.warnings):
            print(f"{'':6}{told}", flush=True)

    def _announce(self, known: int) -> None:
        if self.as_json:
            return
        where = f"thread {self.key.thread!r} in {self.kept_in or 'a temporary memory'}"
        told = f"{where}: {count(self.total, 'turn')}"
        if known >= self.total > 0:
            told = f"{where} is complete ({count(self.total, 'turn')}): nothing to replay"
        elif known:
            told = f"{where} has {count(known, 'turn')}: continuing at turn {known + 1:,}"
        print(told)
        if self.total:
            policy = self.controller.policy
            unit = policy.counter.name.replace("utf8/4", "UTF-8 bytes / 4")
            most = f"{policy.max_tokens:,}"
            print(f"tokens ({unit}): the agent reads the state (at most {most}) and the tail\n")
            print(HEADING)

    def _finish(self, seconds: float) -> None:
        out = sys.stderr if self.as_json else sys.stdout
        if not self.rows:
            print("0 turns", file=out)
            return
        last = self.rows[-1]
        if not self.as_json:
            turn = f"{last.step.state.turn:,}"
            print(f"\nwhat the agent reads after turn {turn}:\n\n{last.step.text()}\n")
        ratio = f", ratio {last.reads / last.transcript:.3f}" if last.transcript else ""
        print(
            f"{count(len(self.rows), 'turn')} in {seconds:,.1f} s: memory {last.reads:,} tokens, transcript "
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
        return (
            f", {count(spent.requests, 'request')} read {spent.input:,} tokens "
            f"({spent.cached:,} cached), wrote {spent.output:,}"
        )

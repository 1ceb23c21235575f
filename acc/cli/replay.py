"""``acc replay``: feeds completed turns into a memory, and continues after an earlier run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from acc.cli.opening import Interrupts, folder, opened, policy_of
from acc.cli.options import Paid
from acc.cli.screen import JsonLines, Screen, coloured, drawable, peak_memory, width
from acc.cli.threads import LoggedThread, Record, thread_named
from acc.cli.turn_report import COLUMNS, PAID_COLUMNS, ReplayReport, TurnReport, heading
from acc.compress.protocol import Compressor, Price
from acc.controller import MemoryController
from acc.errors import ConfigurationError, InputError
from acc.folders import refuse_memorys
from acc.memory import whose
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode
from acc.turn.conversations import Conversation, read_conversation
from acc.turn.observations import PASTED, Channel
from acc.turn.turn import Turn


@dataclass(frozen=True)
class Wanted:
    """The arguments of a replay; None and empty values mean the default.

    A thread that is continued keeps its token limit and notation unless others are given.
    """

    file: Path
    memory: Path | None = None
    thread: str = ""
    server: tuple[str, int] | None = None
    max_tokens: int | None = None
    style: str | None = None
    schema: type[CompressedCognitiveState] | None = None
    channels: Mapping[str, Channel] = field(default_factory=dict)
    json: str = ""
    repair: bool = False
    turns: int | None = None
    quiet: bool = False
    model: str = ""
    mode: Mode | None = None
    price: Price | None = None
    report: Path | None = None

    @property
    def thread_name(self) -> str:
        """The given name of the thread, or the stem of the file's name."""
        return self.thread or self.file.stem

    @property
    def columns(self) -> Mapping[str, int]:
        """The columns of the table of turns."""
        return PAID_COLUMNS if self.model else COLUMNS

    def compressor(self) -> Compressor | None:
        """The compressor that asks the model; None for the keyless rules.

        Raises:
            ConfigurationError: There is no such model, its key is missing, or a model setting is
                given without a model.
        """
        if not self.model:
            for name, given in (("--mode", self.mode), ("--price", self.price)):
                if given is not None:
                    hint = "name the model with --model"
                    raise ConfigurationError("no model is asked", where=name, hint=hint)
            return None
        from acc.compress.model import as_compressor

        return as_compressor(self.model, mode=self.mode or "revise", price=self.price)


def check_apart(wanted: Wanted) -> None:
    """Refuse an output path that is the replayed file or a file of a memory.

    Raises:
        InputError: An output is such a file.
    """
    written = {"--json": "" if wanted.json == "-" else wanted.json, "--report": wanted.report or ""}
    for option, name in written.items():
        if name:
            refuse_memorys(Path(name))
        if name and Path(name).exists() and Path(name).samefile(wanted.file):
            raise InputError(
                f"{option} would overwrite the file that is replayed",
                where=str(name),
                hint="name another file",
            )


def check_tools(named: Iterable[str], turns: Iterable[Turn]) -> None:
    """Check that every tool given a channel occurs in ``turns``.

    Raises:
        InputError: A tool does not occur; the error lists those that do.
    """
    speaking = {o.name for turn in turns for o in turn.observations if o.name} - {PASTED}
    for name in named:
        if name not in speaking:
            raise InputError(
                f"no tool {name!r} in the conversation",
                where="--channel",
                hint=f"name one of {', '.join(sorted(speaking)) or 'none: it has no tools'}",
            )


_HEIGHT = 17
_COLOURS = {"transcript": "orange+", "state": "cyan+"}


def footprint(
    state: Sequence[int], transcript: Sequence[int], *, width: int, coloured: bool
) -> str:
    """Draw the tokens an agent reads per turn: of the state, and of the replayed transcript.

    Args:
        state: Tokens of the state after each turn, from the first.
        transcript: Tokens of all messages up to each turn.
        width: Width in columns.
        coloured: Whether to draw the lines in colour.
    """
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.title(f"tokens by turn: ⠒ transcript replayed {transcript[-1]:,}, ▀ state {state[-1]:,}")
    figure.plot_size(width, _HEIGHT)
    turns = _sampled(range(1, len(state) + 1), 2 * width)
    for name, tokens, symbol in (("transcript", transcript, "braille"), ("state", state, "hd")):
        marker = plotext.marker(symbol, _COLOURS[name])
        figure.draw(figure.signal(turns, [tokens[t - 1] for t in turns], marker=marker).lines())
    _scale(figure, 0, 1, len(state))
    step = _step(max(*transcript, *state))
    _scale(figure, 1, 0, -(-max(*transcript, *state) // step) * step)
    drawn: str = figure.build().string(not coloured)
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _scale(figure: Any, axis: int, lowest: int, highest: int) -> None:
    step = _step(highest - lowest)
    ticks = [lowest, *range(step, highest + 1, step)]
    ruler = figure.ruler(axis, 0)
    ruler.lim(lowest, max(highest, lowest + 1))
    ruler.ticks(ticks, [f"{tick:,}" for tick in ticks])


def _step(span: int) -> int:
    """A round step (1, 2 or 5 times a power of ten) that divides ``span`` into about five."""
    rough = max(1.0, span / 5)
    power = float(10 ** math.floor(math.log10(rough)))
    return next(round(m * power) for m in (1, 2, 5, 10) if m * power >= rough)


def _sampled(turns: range, most: int) -> list[int]:
    step = max(1, len(turns) // most)
    return sorted({*turns[::step], turns[-1]})


def is_conversation(record: Record) -> bool:
    """Whether a record is a turn of the conversation rather than an operator's act."""
    if not (record["proposal"] or {}).get("reads_turn", True):
        return False
    observed = record["turn"]["observations"]
    return any(o["channel"] != Channel.OPERATOR for o in observed)


def same_words(record: Record, turn: Turn) -> bool:
    """Whether record and turn have the same user messages. A truncated record counts as equal."""
    recorded = [o for o in record["turn"]["observations"] if o["channel"] == Channel.USER]
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    return any(o["left_out"] for o in recorded) or [o["text"] for o in recorded] == said


def replay(wanted: Wanted) -> None:
    """Replay a file and report the state of every turn.

    Raises:
        AccError: The file, the memory or a turn is invalid.
    """
    conversation = read_conversation(wanted.file, repair=wanted.repair, channels=wanted.channels)
    check_tools(wanted.channels, conversation.turns)
    compressor = wanted.compressor()
    check_apart(wanted)
    with ExitStack() as stack:
        out = stack.enter_context(JsonLines(wanted.json)) if wanted.json else None
        memory = stack.enter_context(folder(wanted.memory))
        logged = thread_named(memory, wanted.thread_name)
        policy = policy_of(
            logged.last if logged else None,
            schema=wanted.schema, max_tokens=wanted.max_tokens, style=wanted.style,
        )  # fmt: skip
        controller = stack.enter_context(
            opened(memory, policy, server=wanted.server, compressor=compressor)
        )
        _Replay(wanted, conversation, controller, policy, out).run(logged)


class _Replay:
    def __init__(
        self,
        wanted: Wanted,
        conversation: Conversation,
        controller: MemoryController,
        policy: Policy,
        out: JsonLines | None,
    ) -> None:
        self._wanted = wanted
        self._turns = conversation.turns
        self._controller = controller
        self._policy = policy
        self._out = out
        self._screen = Screen(quiet=wanted.quiet, data=wanted.json == "-")
        self._transcript = conversation.transcript_tokens(policy.counter)
        self._state: CompressedCognitiveState | None = None
        self._tokens: list[int] = []
        self._failed = 0
        self._paid = Paid()
        self._report = ReplayReport(policy, wanted.thread_name) if wanted.report else None
        self._total = len(self._turns)
        if wanted.turns is not None:
            self._total = min(self._total, wanted.turns)

    def run(self, logged: LoggedThread | None) -> None:
        """Continue after the turns of ``logged`` up to the last turn, then print the summary."""
        started = time.perf_counter()
        if logged is not None:
            self._resume(logged)
        done = len(self._tokens)
        self._announce(done)
        try:
            with self._screen.progress(done, self._total) as bar, Interrupts() as interrupts:
                for index in range(done, self._total):
                    interrupts.check()
                    self._tell(self._stepped(index))
                    bar.advance()
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(self._standing()) from error
        self._finish(time.perf_counter() - started)

    def _stepped(self, index: int) -> TurnReport:
        name = self._wanted.thread_name
        step = self._controller.step(self._state, self._turns[index], thread=name)
        self._state = step.state
        self._failed += bool(step.failure)
        return TurnReport.of_step(index + 1, self._transcript[index], step)

    def _resume(self, logged: LoggedThread) -> None:
        """Load the last state, and report its earlier turns from the audit log."""
        turns = (record for record in logged.forth() if is_conversation(record))
        for index, record in enumerate(islice(turns, self._total)):
            if not same_words(record, self._turns[index]):
                raise InputError(
                    f"the thread {logged.thread.thread!r} holds another conversation",
                    where=f"{logged.log.path}, turn {index + 1} is not that of {self._wanted.file}",
                    hint="name another thread (--thread NAME) or another memory",
                )
            self._tokens.append(record["tokens"])
            if self._out is not None or self._report is not None:
                transcript = self._transcript[index]
                self._keep(TurnReport.of_record(index + 1, transcript, record, self._policy))
        # Opening the log writes what a killed run had evicted, even if no turn follows.
        self._controller.log_of(whose(self._wanted.thread_name))
        self._state = self._controller.last_state(self._wanted.thread_name)

    def _announce(self, done: int) -> None:
        where = str(self._wanted.memory or "a temporary memory")
        name = self._wanted.thread_name
        say = self._screen.line
        if not done:
            say(f"thread {name!r} in {where}: {self._total:,} turns")
        elif done < self._total:
            say(f"thread {name!r} in {where} has {done:,} turns: going on at turn {done + 1:,}")
        else:
            say(f"thread {name!r} in {where} has all {done:,} turns: nothing to replay")
        if done < self._total:
            say(f"state: at most {self._policy.max_tokens} tokens, {_counted(self._policy)}")
            say()
            say(heading(self._wanted.columns))

    def _tell(self, report: TurnReport) -> None:
        self._tokens.append(report.tokens)
        self._keep(report)
        self._screen.line(report.row(self._wanted.columns))
        self._paid.add(report.usage, report.money)

    def _keep(self, report: TurnReport) -> None:
        if self._out is not None:
            self._out.write(report.as_json(self._policy))
        if self._report is not None:
            self._report.add(report, self._turns[report.turn - 1])

    def _finish(self, seconds: float) -> None:
        say = self._screen.line
        count = len(self._tokens)
        if self._state is None or not count:
            self._screen.last("0 turns")
            return
        if self._report is not None and self._wanted.report is not None:
            log = self._controller.log_of(whose(self._wanted.thread_name))
            self._report.write(self._wanted.report, log.branch(self._state.branch))
        if not (self._wanted.quiet or self._wanted.json == "-"):
            say(f"\nthe state after turn {self._state.turn:,}, as the agent reads it:\n")
            say(self._policy.rendered(self._state))
            say()
            transcript = self._transcript[:count]
            chart = footprint(self._tokens, transcript, width=width(), coloured=coloured())
            if drawable(chart):
                self._screen.drawn(f"{chart}\n")
        # An operator's act after the last turn may have changed the state.
        tokens, replayed = self._policy.tokens(self._state), self._transcript[count - 1]
        ratio = f", ratio {tokens / replayed:.3f}" if replayed else ""
        failed = f", {self._failed:,} compressions failed" if self._failed else ""
        self._screen.last(
            f"{count:,} turns in {seconds:,.1f} s: state {tokens:,} tokens, "
            f"transcript {replayed:,} tokens{ratio}{failed}{self._paid}{peak_memory()}"
        )

    def _standing(self) -> str:
        if self._wanted.memory is None:
            return "the memory was temporary"
        done = len(self._tokens)
        return f"{done:,} turns stand in {self._wanted.memory}; the same command goes on after them"


def _counted(policy: Policy) -> str:
    name = policy.counter.name
    return "counted as UTF-8 bytes / 4" if name == "utf8/4" else f"counted by {name}"

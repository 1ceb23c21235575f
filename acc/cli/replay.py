"""``acc replay``: feeds completed turns into a memory, and continues after an earlier run."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer

from acc.audit.log import AuditLog
from acc.cli import options
from acc.cli.inspect import reader_of
from acc.cli.logged import LoggedThread, Record, thread_named
from acc.cli.opening import Interrupts, compressor_named, opened, policy_of
from acc.cli.output import JsonLines, Screen, coloured, count, width
from acc.cli.replay_turns import COLUMNS, MODEL_COLUMNS, TurnReport, format_money, heading
from acc.controller import MemoryController
from acc.errors import InputError
from acc.folders import refuse_memorys
from acc.inspector.logs import Logs
from acc.inspector.page import exported_page
from acc.memory import whose
from acc.report.page import write_page
from acc.state.model import CompressedCognitiveState
from acc.text.lines import raw
from acc.turn.conversations import Conversation, read_conversation
from acc.turn.observations import PASTED, Channel
from acc.turn.turn import UNDATED, Turn, dated


class ToolChannel(NamedTuple):
    """A tool, and the channel of its results."""

    tool: str
    channel: Channel


def parse_channel(text: str) -> ToolChannel:
    """Parse TOOL=CHANNEL. The operator's and the agent's channel are not allowed.

    Raises:
        typer.BadParameter: The text has another form.
    """
    tool, _, name = text.rpartition("=")
    if not tool or name not in ("user", "tool", "document"):
        raise typer.BadParameter(
            f"{text!r} is not TOOL=CHANNEL with the channel user, tool or document"
        )
    return ToolChannel(tool, Channel(name))


def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Chat messages (JSON or JSONL), or an evaluation scenario."
        ),
    ],
    memory: options.NewMemoryOption = None,
    thread: Annotated[
        str,
        typer.Option(metavar="NAME", help="The thread. [default: the file's name without ending]"),
    ] = "",
    server: options.ServerOption = None,
    max_tokens: options.MaxTokensOption = None,
    style: options.StyleOption = None,
    schema: options.SchemaOption = None,
    channel: Annotated[
        list[ToolChannel] | None,
        typer.Option(
            metavar="TOOL=CHANNEL",
            help="Trust the results of this tool like those of a channel: user, tool or document. "
            "Repeatable. [default: tool]",
            parser=parse_channel,
        ),
    ] = None,
    json: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Write one JSON object per turn to this file; - for stdout."
        ),
    ] = "",
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Accept a damaged file: replace broken characters, keep tool results without a "
            "call, and skip an incomplete last line.",
        ),
    ] = False,
    turns: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Replay only the first N turns.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the last line.")] = False,
    model: options.ModelOption = "",
    mode: options.ModeOption = None,
    price: options.PriceOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an HTML page that shows every turn."),
    ] = None,
) -> None:
    """Replay a conversation turn by turn and report each state.

    With --memory, acc show, diff and verify can read the result.
    """
    channels = {each.tool: each.channel for each in channel or ()}
    conversation = read_conversation(file, repair=repair, channels=channels)
    _check_tools(channels, conversation.turns)
    compressor = compressor_named(model, mode, price)
    _check_outputs(file, json, report)
    name = thread or file.stem
    with ExitStack() as stack:
        out = stack.enter_context(JsonLines(json)) if json else None
        folder = memory
        if folder is None:
            temporary = TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
        logged = thread_named(folder, name)
        policy = policy_of(
            logged.last if logged else None, schema=schema, max_tokens=max_tokens, style=style
        )
        controller = stack.enter_context(
            opened(folder, policy, server=server, compressor=compressor)
        )
        _Replay(
            controller, conversation, name,
            total=min(len(conversation.turns), turns if turns is not None else sys.maxsize),
            columns=MODEL_COLUMNS if model else COLUMNS,
            screen=Screen(quiet=quiet, data=json == "-"),
            kept_in=memory, file=file, out=out, report=report,
        ).run(logged)  # fmt: skip


def _check_outputs(file: Path, json: str, report: Path | None) -> None:
    """Refuse an output path that is the replayed file or a file of a memory."""
    for option, name in (("--json", "" if json == "-" else json), ("--report", report or "")):
        if name:
            refuse_memorys(Path(name))
        if name and Path(name).exists() and Path(name).samefile(file):
            raise InputError(
                f"{option} would overwrite the replayed file",
                where=str(name),
                hint="name another file",
            )


def _check_tools(named: Iterable[str], turns: Iterable[Turn]) -> None:
    """Check that every tool given a channel occurs in ``turns``."""
    tools = {o.name for turn in turns for o in turn.observations if o.name} - {PASTED}
    for name in named:
        if name not in tools:
            known = ", ".join(sorted(tools))
            raise InputError(
                f"no tool {name!r} in the conversation",
                where="--channel",
                hint=f"name one of {known}" if known else "omit --channel: there are no tools",
            )


@dataclass
class _Replay:
    """One run of ``acc replay``. ``kept_in`` is None if the memory is temporary."""

    controller: MemoryController
    conversation: Conversation
    name: str
    total: int
    columns: dict[str, int]
    screen: Screen
    kept_in: Path | None
    file: Path
    out: JsonLines | None
    report: Path | None

    def __post_init__(self) -> None:
        self._policy = self.controller.settings.policy
        self._transcript = self.conversation.transcript_tokens(self._policy.counter)
        self._state: CompressedCognitiveState | None = None
        self._tokens: list[int] = []
        self._failed = 0
        self._usage: Counter[str] = Counter()
        self._money: float | None = None

    def run(self, logged: LoggedThread | None) -> None:
        """Continue after the turns of ``logged`` up to the last turn, then print the summary."""
        started = time.perf_counter()
        if logged is not None:
            self._resume(logged)
        done = len(self._tokens)
        self._announce(done)
        try:
            with self.screen.progress(done, self.total) as advance, Interrupts() as interrupts:
                for index in range(done, self.total):
                    interrupts.check()
                    self._step(index)
                    advance()
        except KeyboardInterrupt as error:
            done = len(self._tokens)
            kept = (
                f"{count(done, 'turn')} stored in {self.kept_in}; run the same command to continue"
            )
            raise KeyboardInterrupt(kept if self.kept_in else "the memory was temporary") from error
        self._finish(time.perf_counter() - started)

    def _step(self, index: int) -> None:
        said = dated(self.conversation.turns[index], UNDATED)
        step = self.controller.step(self._state, said, thread=self.name)
        self._state = step.state
        self._failed += bool(step.failure)
        self._usage.update(step.usage)
        if step.money is not None:
            self._money = (self._money or 0.0) + step.money
        turn = TurnReport.of_step(index + 1, self._transcript[index], step)
        self._tokens.append(turn.tokens)
        if self.out is not None:
            self.out.write(turn.as_json(self._policy))
        self.screen.line(turn.row(self.columns))

    def _resume(self, logged: LoggedThread) -> None:
        """Load the last state, and report its earlier turns from the audit log."""
        turns = (record for record in logged.oldest_first() if _is_conversation(record))
        for index, record in enumerate(islice(turns, self.total)):
            if not _same_words(record, self.conversation.turns[index]):
                raise InputError(
                    f"the thread {logged.thread.thread!r} holds another conversation",
                    where=f"turn {index + 1} of {logged.log.where} differs from {self.file}",
                    hint="name another thread with --thread or another memory with --memory",
                )
            self._tokens.append(record["tokens"])
            if self.out is not None:
                transcript = self._transcript[index]
                turn = TurnReport.of_record(index + 1, transcript, record, self._policy)
                self.out.write(turn.as_json(self._policy))
        # Opening the log writes what a killed run had evicted, even if no turn follows.
        self.controller._log_of(whose(self.name))
        self._state = self.controller.last_state(self.name)

    def _announce(self, done: int) -> None:
        where = f"thread {self.name!r} in {self.kept_in or 'a temporary memory'}"
        line = self.screen.line
        if done >= self.total > 0:
            line(f"{where} is complete ({count(done, 'turn')}): nothing to replay")
            return
        if done:
            line(f"{where} has {count(done, 'turn')}: continuing at turn {done + 1:,}")
        else:
            line(f"{where}: {count(self.total, 'turn')}")
        if self.total:
            counter = self._policy.counter.name
            unit = "UTF-8 bytes / 4" if counter == "utf8/4" else counter
            line(
                f"state (at most {self._policy.max_tokens:,}) and transcript in tokens, "
                f"counted as {unit}\n"
            )
            line(heading(self.columns))

    def _finish(self, seconds: float) -> None:
        done = len(self._tokens)
        if self._state is None or not done:
            self.screen.last("0 turns")
            return
        place = self.controller.settings.audit
        if self.report is not None and place is not None:
            log = AuditLog.of(place, whose(self.name)).name
            reader = reader_of(self._policy.schema)
            write_page(
                exported_page(Logs(place), log, reader, f"Replay of {self.name}"), self.report
            )
        if self.screen.prints_lines:
            print(f"\nthe state after turn {self._state.turn:,}, as the agent reads it:\n")
            print(self._policy.rendered(self._state))
            print()
            if done > 1:
                _print_chart(self._tokens, self._transcript[:done])
        # An operator's act after the last turn may have changed the state.
        tokens, replayed = self._policy.tokens(self._state), self._transcript[done - 1]
        ratio = f", ratio {tokens / replayed:.3f}" if replayed else ""
        failed = f", {count(self._failed, 'compression')} failed" if self._failed else ""
        self.screen.last(
            f"{count(done, 'turn')} in {seconds:,.1f} s: state {tokens:,} tokens, "
            f"transcript {replayed:,} tokens{ratio}{failed}{self._cost()}{_peak_memory()}"
        )

    def _cost(self) -> str:
        if not self._usage:
            return ""
        read, wrote, cached = (self._usage[kind] for kind in ("input", "output", "cached"))
        money = "" if self._money is None else f", money {format_money(self._money)}"
        return f", model read {read:,} tokens ({cached:,} cached), wrote {wrote:,}{money}"


def _is_conversation(record: Record) -> bool:
    """Whether a record is a turn of the conversation rather than an operator's act."""
    if not (record["proposal"] or {}).get("reads_turn", True):
        return False
    observed = record["turn"]["observations"]
    return any(o["channel"] != Channel.OPERATOR for o in observed)


def _same_words(record: Record, turn: Turn) -> bool:
    """Whether record and turn have the same user messages. A truncated record counts as equal."""
    recorded = [o for o in record["turn"]["observations"] if o["channel"] == Channel.USER]
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    return any(o["left_out"] for o in recorded) or [o["text"] for o in recorded] == said


def _peak_memory() -> str:
    """The peak memory of the process, as the end of a line; empty if it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f", peak memory {peak / (2**20 if sys.platform == 'darwin' else 2**10):,.0f} MB"


_HEIGHT = 17
_COLOURS = {"transcript": "orange+", "state": "cyan+"}


def _print_chart(state: Sequence[int], transcript: Sequence[int]) -> None:
    """Draw the tokens that an agent reads at each turn: of the state, and of all messages so far.

    Prints nothing if stdout's encoding lacks the chart's characters.
    """
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.title(f"tokens by turn: ⠒ full transcript {transcript[-1]:,}, ▀ state {state[-1]:,}")
    figure.plot_size(width(), _HEIGHT)
    turns = _sampled(range(1, len(state) + 1), 2 * width())
    for name, tokens, symbol in (("transcript", transcript, "braille"), ("state", state, "hd")):
        marker = plotext.marker(symbol, _COLOURS[name])
        figure.draw(figure.signal(turns, [tokens[t - 1] for t in turns], marker=marker).lines())
    _scale(figure, 0, 1, len(state))
    step = _step(max(*transcript, *state))
    _scale(figure, 1, 0, -(-max(*transcript, *state) // step) * step)
    drawn: str = figure.build().string(not coloured())
    chart = "\n".join(line.rstrip() for line in drawn.splitlines())
    try:
        chart.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return
    print(f"{chart}\n", file=raw(sys.stdout), flush=True)


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

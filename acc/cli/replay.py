"""``acc replay``: completed turns through a memory, from where an earlier run stopped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from itertools import islice

from acc.cli.chart import footprint
from acc.cli.interrupts import Interrupts
from acc.cli.opening import folder, opened, policy_of
from acc.cli.paid import Paid
from acc.cli.replay_report import ReplayReport
from acc.cli.replay_wanted import Wanted, check_apart, check_tools
from acc.cli.same_conversation import is_conversation, same_words
from acc.cli.screen import JsonLines, Screen, coloured, drawable, peak_memory, width
from acc.cli.threads import LoggedThread, thread_named
from acc.cli.turn_report import TurnReport, heading
from acc.controller import MemoryController
from acc.conversations import Conversation, read_conversation
from acc.errors import InputError
from acc.memory import whose
from acc.policy import Policy
from acc.state import CompressedCognitiveState


def replay(wanted: Wanted) -> None:
    """Replay a file, and tell what becomes of the state.

    Raises:
        AccError: The file, the memory or a turn is not as it must be.
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
    """One replay under way."""

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
        """Go on after what ``logged`` holds, to the last turn; then tell of the whole."""
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
        """Take up the last state; what is told of the turns before it is in the audit log."""
        turns = (record for record in logged.forth() if is_conversation(record))
        for index, record in enumerate(islice(turns, self._total)):
            if not same_words(record, self._turns[index]):
                raise InputError(
                    f"the thread {logged.thread.thread!r} holds another conversation",
                    where=f"{logged.log.path}, turn {index + 1} is not that of {self._wanted.file}",
                    mend="name another thread (--thread NAME) or another memory",
                )
            self._tokens.append(record["tokens"])
            if self._out is not None or self._report is not None:
                transcript = self._transcript[index]
                self._keep(TurnReport.of_record(index + 1, transcript, record, self._policy))
        # Opening the log has what a killed run set aside written, even if no turn follows.
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
        # An operator's act since the last turn has changed it.
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

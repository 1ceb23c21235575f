"""One step without a store: what was said joins the tail, and is compressed when it pays; and who compresses.

`stepping` is a generator that yields a `Call` wherever it needs a model. `acc.driving` executes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from acc.commit.commit import Commit, Given, commit
from acc.commit.endings import is_to_judge
from acc.commit.sources import said_before
from acc.compress.compressor import Asking, AskingCompressor, AskingJudge, named_failure
from acc.driving import Io
from acc.errors import CompressionError
from acc.models.protocol import Completion, Usage
from acc.state.items import Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal
from acc.state.reading import Claim, Compressor, Judge, Judgement, Reading, problem_of
from acc.state.reasons import Note
from acc.state.tail import MOST_REFS, Message, marked, messages_of, resolved, windows
from acc.step.result import Step
from acc.turn.observations import Channel, Evidence
from acc.turn.redact import Redact
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)
T = TypeVar("T")


@dataclass(frozen=True)
class Memory(Generic[S]):
    """Who compresses and judges, under which rules.

    Attributes:
        compressor: Proposes what changes.
        judge: Reads claims that rules ended a second time; None leaves such rules in the state.
        fallback: Compresses provisionally while ``compressor`` fails and the tail is full; None lets the tail drop
            nothing and grow.
        policy: The rules of commit, and when to compress.
        redact: Removes secrets from what a compressor writes or fails with.
    """

    compressor: Compressor | AskingCompressor
    judge: Judge | AskingJudge | None = None
    fallback: Compressor | None = None
    policy: Policy = field(default_factory=Policy)
    redact: Redact | None = None

    @property
    def cadence(self) -> Cadence:
        """When to compress."""
        return self.policy.cadence or Cadence()


Earlier = Callable[[Sequence[str], Sequence[str]], Sequence[Evidence]]
"""Gets what the user agreed to and the agent's messages; finds what tools and documents said of it before."""


def stepping(
    memory: Memory[S],
    state: S,
    turn: Turn,
    *,
    texts: Sequence[Message] = (),
    evidence: Sequence[Evidence] = (),
    earlier: Earlier | None = None,
    force: bool = False,
) -> Asking[Step[S]]:
    """Commit a turn, and compress when it pays.

    Args:
        memory: Who compresses, under which rules.
        state: CCS_t-1.
        turn: What happened since, numbered.
        texts: The messages of the state's tail.
        evidence: What the gate admitted.
        earlier: Finds what tools and documents said before, for sentences of the agent that the user agreed to.
        force: Whether to compress now, whatever the size: before a hand-over, a shared write, at a flush.
    """
    old, missing = resolved(state.unread, texts, memory.policy)
    new = messages_of(turn)
    step = _Stepping(memory, state, turn, new, old, missing, tuple(evidence), earlier)
    return (yield from step.metered(step.run(force)))


@dataclass
class _Stepping(Generic[S]):
    """One step on its way.

    Attributes:
        new: The messages of the turn.
        old: Those of the tail before it.
        missing: What is told of messages whose texts are missing, or are not read whole.
    """

    memory: Memory[S]
    state: S
    turn: Turn
    new: tuple[Message, ...]
    old: tuple[Message, ...]
    missing: tuple[Note, ...]
    evidence: tuple[Evidence, ...]
    earlier: Earlier | None
    commits: list[Commit[S]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    failure: str = ""

    def run(self, force: bool) -> Asking[Step[S]]:
        memory, cadence = self.memory, self.memory.cadence
        waiting = [m for m in self.old if m.status == "unread"]
        tokens = sum(memory.policy.counter(m.text) for m in (*waiting, *self.new))
        is_short = len(waiting) + len(self.new) <= MOST_REFS // 2
        if not force and is_short and tokens <= cadence.compress_over:
            self._commit(turn=self.new)
            return self._done()
        try:
            yield from self._compress(memory.compressor)
        except CompressionError as error:
            self.failure = f"{error.outcome}: {error}"
            if not self.commits:
                self._commit(turn=self.new)
            before = sum(memory.policy.counter(m.text) for m in waiting)
            if memory.fallback is not None and (before > cadence.tail_bound or not is_short):
                self._provisional(memory.fallback)
        return self._done()

    def _compress(self, compressor: Compressor | AskingCompressor) -> Asking[None]:
        messages = [m for m in self.old if m.status != "read"]
        context = tuple(m for m in self.old if m.status == "read")
        is_first = True
        size = self.memory.policy.counter, self.memory.cadence.request_tokens
        found, partly_read = windows((*messages, *self.new), *size)
        self.missing = (*self.missing, *partly_read)
        for window in found:
            read = (*(context if is_first else ()), *window)
            reading = self._reading(read, is_first=is_first)
            if isinstance(compressor, AskingCompressor):
                proposal = yield from compressor.proposing(reading)
            else:
                proposal = self._called(compressor, reading, "compressor")
            heard = yield from self._heard(proposal, read)
            done = self._commit(
                turn=self.new if is_first else (), read=read, proposal=proposal,
                evidence=reading.evidence, heard=heard,
            )  # fmt: skip
            if done.refused and isinstance(compressor, AskingCompressor):
                yield from self._repair(compressor, reading, done)
            yield from self._judge(read)
            is_first = False

    def _heard(self, proposal: Proposal, read: Sequence[Message]) -> Asking[Sequence[Evidence]]:
        """Return what a tool or document said before of what the agent offers: it cannot be agreed to (law 6)."""
        pinned = (pin.offer or pin.about for _, pin in proposal.pins())
        offers = list(filter(None, (*pinned, *(later.offer for later in proposal.later))))
        texts = [m.text for m in read if m.channel is Channel.AGENT and not m.observation.is_call]
        if not offers or not texts:
            return ()
        own = (*self.old, *self.new)
        place = max(i for i, m in enumerate(own) if m.ref == read[-1].ref)
        whole = {m.ref for m in read if not (m.cut_start or m.cut_end)}
        heard = said_before(texts, (m for m in own[:place] if m.ref not in whole))
        if self.earlier is not None:
            refs = {message.ref for message in own}
            found = yield Io(partial(self.earlier, offers, texts))
            heard += [each for each in found if each.ref not in refs]
        return heard

    def _called(self, compressor: Compressor, reading: Reading, what: str) -> Proposal:
        """Call a compressor that asks no model, and check what it returns: it may be anybody's."""
        with named_failure(what):
            proposal = compressor(reading)
        if problem := problem_of(proposal, reading.policy.schema):
            raise CompressionError(
                f"the {what}'s proposal is malformed: {problem}",
                hint="return what acc.state.proposal.read returns",
                outcome="malformed",
            )
        return proposal

    def _repair(
        self, compressor: AskingCompressor, reading: Reading, done: Commit[S]
    ) -> Asking[None]:
        try:
            now = replace(reading, state=self.state)
            proposal = yield from compressor.repairing(now, done.refused)
        except CompressionError as error:  # what was refused stays unread
            self.failure = f"{error.outcome}: {error}"
            return
        heard = yield from self._heard(proposal, reading.messages)
        self._commit(
            read=reading.messages, proposal=proposal, evidence=reading.evidence, heard=heard,
            before=done.notes, is_repair=True,
        )  # fmt: skip

    def _judge(self, read: Sequence[Message]) -> Asking[None]:
        """Have open claims read a second time, while the messages in question are at hand."""
        judge, policy = self.memory.judge, self.memory.policy
        claims = [
            Claim(item, _context(item, read), self.turn.at)
            for _, item in self.state.items()
            if isinstance(item, Pinned) and is_to_judge(item, policy.lifting, self.turn.at)
        ]
        if judge is None or not claims:
            return
        try:
            if isinstance(judge, AskingJudge):
                judgements = yield from judge.judging(claims)
            else:
                with named_failure("judge"):
                    judgements = list(judge(claims))
        except CompressionError as error:  # no verdict means that the rule stays
            self.failure = f"{error.outcome}: {error}"
            return
        self._commit(judgements=tuple(j for j in judgements if isinstance(j, Judgement)))

    def _provisional(self, fallback: Compressor) -> None:
        read = tuple(m for m in (*self.old, *self.new) if m.status != "read")
        try:
            proposal = self._called(fallback, self._reading(read, is_first=False), "fallback")
        except CompressionError as error:
            self.failure += f"; the fallback: {error}"
            return
        self._commit(read=read, proposal=proposal, is_provisional=True)

    def _reading(self, read: Sequence[Message], *, is_first: bool) -> Reading:
        evidence = self.evidence if is_first else ()
        turn, policy = self.turn, self.memory.policy
        return Reading(tuple(read), self.state, evidence, policy, turn.number, turn.at)

    def metered(self, asking: Asking[T]) -> Asking[T]:
        """Add up what the calls of ``asking`` cost."""
        try:
            call = next(asking)
            while True:
                try:
                    done = yield call
                except CompressionError as error:
                    self.usage += Usage.of(error.usage)
                    call = asking.throw(error)
                else:
                    self.usage += done.usage if isinstance(done, Completion) else Usage()
                    call = asking.send(done)
        except StopIteration as stop:
            found: T = stop.value
            return found

    def _commit(self, **arguments: Any) -> Commit[S]:
        missing = self.missing if not self.commits else ()
        before = (*missing, *arguments.pop("before", ()))
        if self.memory.redact is not None and (written := arguments.get("proposal")) is not None:
            arguments["proposal"] = _cleaned(written, self.memory.redact)
        given = Given(number=self.turn.number, before=before, **arguments)
        done = commit(self.state, self.memory.policy, given)
        self.commits.append(done)
        self.state = done.state
        return done

    def _done(self) -> Step[S]:
        redact = self.memory.redact
        failure = redact(self.failure) if redact is not None else self.failure
        return Step(
            self.state, marked(self.state.unread, (*self.old, *self.new)), tuple(self.commits),
            self.usage, failure, self.memory.policy, evidence=self.evidence,
        )  # fmt: skip


def _cleaned(value: Any, redact: Redact) -> Any:
    """Return a part of a proposal with every text redacted."""
    if isinstance(value, str):
        return redact(value) if value else value
    if isinstance(value, tuple | list):
        return type(value)(_cleaned(each, redact) for each in value)
    if isinstance(value, Mapping):
        return {name: _cleaned(each, redact) for name, each in value.items()}
    if isinstance(value, Note):
        return value.model_copy(update={"text": redact(value.text), "detail": redact(value.detail)})
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{name: _cleaned(each, redact) for name, each in vars(value).items()}
        )
    return value


def _context(item: Pinned, read: Sequence[Message]) -> tuple[Message, ...]:
    """Return the message that a claim is about, and the agent's message before it."""
    ending = item.ending
    ref = ending.words.ref if ending and ending.words else item.words.ref
    place = next((i for i, message in enumerate(read) if message.ref == ref), None)
    if place is None:
        return ()
    before = [m for m in read[:place] if m.channel is Channel.AGENT and not m.observation.is_call]
    return (*before[-1:], read[place])

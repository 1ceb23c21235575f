"""One turn: persist what was said in the tail, and compress when it pays.

`stepping` is a generator that yields a `Call` wherever it needs a model. `acc.driving` executes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from acc.commit.commit import Commit, commit
from acc.commit.endings import Judgement, is_to_judge
from acc.compress.protocol import (
    Asking,
    AskingCompressor,
    AskingJudge,
    Claim,
    Compressor,
    Judge,
    Reading,
)
from acc.errors import CompressionError, ConfigurationError
from acc.gate import Verdict
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, problem_of
from acc.state.reasons import Note
from acc.state.render import render
from acc.tail import (
    MOST_REFS,
    Message,
    marked,
    messages_of,
    recalled,
    rendered,
    resolved,
)
from acc.turn.observations import Channel, Evidence
from acc.turn.redact import Redact
from acc.turn.turn import Turn
from acc.windows import windows

S = TypeVar("S", bound=CompressedCognitiveState)
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Cadence:
    """When to compress, and how much a request may hold.

    Attributes:
        compress_over: Tokens of unread messages over which they are compressed; 0 compresses each turn, as the
            paper does.
        tail_bound: Tokens of the tail at most, the newest turn not counted. Over it, with a compressor that fails,
            the fallback commits provisionally. 0 for twice ``compress_over``, and at least 1,000.
        request_tokens: Tokens of messages that one request may hold; a larger tail is read by several requests.
        tool_share: Tokens of a tool's or document's text that stand in the tail; a longer one stands with its head
            and end. 0 for a quarter of ``compress_over``, and at least 200.

    Raises:
        ConfigurationError: A number is negative, or ``tail_bound`` is below ``compress_over``.
    """

    compress_over: int = 0
    tail_bound: int = 0
    request_tokens: int = 12_000
    tool_share: int = 0

    def __post_init__(self) -> None:
        if self.tail_bound == 0:
            object.__setattr__(self, "tail_bound", max(1_000, 2 * self.compress_over))
        if self.tool_share == 0:
            object.__setattr__(self, "tool_share", max(200, self.compress_over // 4))
        if (
            self.compress_over < 0
            or self.tail_bound < self.compress_over
            or self.request_tokens < 500
        ):
            raise ConfigurationError(
                f"compress_over is {self.compress_over}, tail_bound {self.tail_bound}, "
                f"request_tokens {self.request_tokens}",
                where="Cadence",
                hint="give 0 <= compress_over <= tail_bound, and request_tokens of 500 or more",
            )


@dataclass(frozen=True)
class Memory(Generic[S]):
    """Who compresses and judges, under which rules.

    Attributes:
        compressor: Proposes what changes.
        judge: Reads claims that rules ended a second time; None leaves such rules in the state.
        fallback: Compresses provisionally while ``compressor`` fails and the tail is full; None lets the tail drop
            nothing and grow.
        policy: The rules of commit.
        cadence: When to compress.
        redact: Removes secrets from what a compressor writes or fails with.
    """

    compressor: Compressor | AskingCompressor
    judge: Judge | AskingJudge | None = None
    fallback: Compressor | None = None
    policy: Policy = field(default_factory=Policy)
    cadence: Cadence = field(default_factory=Cadence)
    redact: Redact | None = None


@dataclass(frozen=True)
class Step(Generic[S]):
    """What a turn made.

    Attributes:
        state: The last state. It replaces the one before whole.
        tail: The messages that stand word for word beside it.
        commits: The commits of the turn, in order: one, and one more for each further request.
        usage: What the models cost.
        failure: Why the compressor failed, if it did. The tail carries the agent.
        policy: The policy of the commits.
        cadence: When the memory compresses.
        warnings: What else went wrong without harm to the state, such as an index that cannot be used.
        verdicts: What the gate said of what was recalled.
        evidence: What it admitted. The agent reads it after the tail.
    """

    state: S
    tail: tuple[Message, ...]
    commits: tuple[Commit[S], ...]
    usage: Usage
    failure: str
    policy: Policy
    cadence: Cadence
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What became of everything, of all commits."""
        return tuple(note for each in self.commits for note in each.notes)

    @property
    def no_room(self) -> tuple[str, ...]:
        """Refs of messages whose rule, goal or later word did not fit."""
        return tuple(ref for each in self.commits for ref in each.no_room)

    def explain(self) -> str:
        """Describe what changed, what was refused and what went wrong, a line each."""
        failed = [f"compression failed: {self.failure}"] if self.failure else []
        recalled = [
            f"{'recalled' if v.reason == 'admitted' else f'not recalled ({v.reason})'} {v.ref}"
            for v in self.verdicts
        ]
        return "\n".join([*failed, *self.warnings, *map(str, self.notes), *recalled])

    def text(self) -> str:
        """Return what the agent reads of the past: the state, the tail, then evidence for the question."""
        state = render(self.state, self.policy.style)
        tail = rendered(self.tail, self.policy, self.cadence.tool_share)
        return "\n".join(part for part in (state, *tail, *recalled(self.evidence)) if part)

    def messages(self, role: str = "") -> list[dict[str, str]]:
        """Return what the agent reads as chat messages: role and state, the tail, then evidence for the question.

        Texts of tools and documents stand labelled in the user's place, since their calls are not repeated.
        """
        state = render(self.state, self.policy.style)
        system = "\n\n".join(part for part in (role, state) if part)
        found = [{"role": "system", "content": system}] if system else []
        for message in self.tail:
            if message.status == "provisional":
                continue
            text = "".join(rendered([message], self.policy, self.cadence.tool_share))
            is_agent = message.channel is Channel.AGENT and not message.observation.is_call
            is_plain = message.channel is Channel.USER or is_agent
            content = message.text if is_plain and not message.speaker else text
            _say(found, "assistant" if is_agent else "user", content)
        for each in recalled(self.evidence):
            _say(found, "user", each)
        return found


def _say(messages: list[dict[str, str]], role: str, content: str) -> None:
    """Add words; to the last message if it is of the same role."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += f"\n{content}"
    else:
        messages.append({"role": role, "content": content})


def stepping(
    memory: Memory[S],
    state: S,
    turn: Turn,
    *,
    texts: Sequence[Message] = (),
    evidence: Sequence[Evidence] = (),
    force: bool = False,
) -> Asking[Step[S]]:
    """Commit a turn, and compress when it pays.

    Args:
        memory: Who compresses, under which rules.
        state: CCS_t-1.
        turn: What happened since, numbered.
        texts: The messages of the state's tail.
        evidence: What the gate admitted.
        force: Whether to compress now, whatever the size: before a hand-over, a shared write, at a flush.
    """
    return (yield from _Stepping(memory, state, turn, texts, evidence).run(force))


class _Stepping(Generic[S]):
    """The state of one step on its way."""

    def __init__(
        self,
        memory: Memory[S],
        state: S,
        turn: Turn,
        texts: Sequence[Message],
        evidence: Sequence[Evidence],
    ) -> None:
        self.memory = memory
        self.state = state
        self.turn = turn
        self.new = messages_of(turn)
        self.old, self.missing = resolved(state.unread, texts, memory.policy)
        self.evidence = tuple(evidence)
        self.commits: list[Commit[S]] = []
        self.usage = Usage()
        self.failure = ""

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
        for window in windows(
            (*messages, *self.new), self.memory.policy.counter, self.memory.cadence.request_tokens
        ):
            read = (*(context if is_first else ()), *window)
            reading = self._reading(read, is_first=is_first)
            proposal = yield from self._proposal(compressor, reading)
            done = self._commit(
                turn=self.new if is_first else (), read=read, proposal=self._clean(proposal),
                evidence=reading.evidence,
            )  # fmt: skip
            if done.refused and isinstance(compressor, AskingCompressor):
                yield from self._repair(compressor, reading, done)
            yield from self._judge(read)
            is_first = False

    def _proposal(
        self, compressor: Compressor | AskingCompressor, reading: Reading
    ) -> Asking[Proposal]:
        if isinstance(compressor, AskingCompressor):
            return (yield from self._metered(compressor.proposing(reading)))
        proposal = _called("compressor", compressor, reading)
        if problem := problem_of(proposal, reading.policy.schema):
            raise CompressionError(
                f"the compressor's proposal is malformed: {problem}",
                hint="return what acc.state.proposal.read returns",
                outcome="malformed",
            )
        return proposal

    def _repair(
        self, compressor: AskingCompressor, reading: Reading, done: Commit[S]
    ) -> Asking[None]:
        try:
            proposal = yield from self._metered(
                compressor.repairing(replace(reading, state=self.state), done.refused)
            )
        except CompressionError as error:  # what was refused stays unread
            self.failure = f"{error.outcome}: {error}"
            return
        self._commit(
            read=reading.messages, proposal=self._clean(proposal), evidence=reading.evidence,
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
                judgements = yield from self._metered(judge.judging(claims))
            else:
                judgements = _called("judge", lambda asked: list(judge(asked)), claims)
        except CompressionError as error:  # no verdict means that the rule stays
            self.failure = f"{error.outcome}: {error}"
            return
        self._commit(judgements=[j for j in judgements if isinstance(j, Judgement)])

    def _provisional(self, fallback: Compressor) -> None:
        read = tuple(m for m in (*self.old, *self.new) if m.status != "read")
        try:
            proposal = _called("fallback", fallback, self._reading(read, is_first=False))
        except CompressionError as error:
            self.failure += f"; the fallback: {error}"
            return
        self._commit(read=read, proposal=proposal, is_provisional=True)

    def _reading(self, read: Sequence[Message], *, is_first: bool) -> Reading:
        return Reading(
            messages=tuple(read),
            state=self.state,
            evidence=self.evidence if is_first else (),
            policy=self.memory.policy,
            number=self.turn.number,
            at=self.turn.at,
        )

    def _clean(self, proposal: Proposal) -> Proposal:
        """Remove secrets from what a compressor wrote in its own words. What it quotes stands in the messages."""
        redact = self.memory.redact
        if redact is None:
            return proposal
        cleaned = [
            {k: redact(v) if isinstance(v, str) else v for k, v in each.fields.items()}
            for each in proposal.records
        ]
        records = zip(proposal.records, cleaned, strict=True)
        return replace(proposal, records=tuple(replace(r, fields=f) for r, f in records))

    def _metered(self, asking: Asking[T]) -> Asking[T]:
        """Add up what the calls of ``asking`` cost."""
        try:
            call = next(asking)
            while True:
                try:
                    done = yield call
                except CompressionError as error:
                    self.usage += _usage_of(error)
                    call = asking.throw(error)
                else:
                    self.usage += done.usage
                    call = asking.send(done)
        except StopIteration as stop:
            found: T = stop.value
            return found

    def _commit(self, **arguments: Any) -> Commit[S]:
        missing = self.missing if not self.commits else ()
        before = (*missing, *arguments.pop("before", ()))
        done = commit(
            self.state, self.memory.policy, number=self.turn.number, before=before, **arguments
        )
        self.commits.append(done)
        self.state = done.state
        return done

    def _done(self) -> Step[S]:
        redact = self.memory.redact
        failure = redact(self.failure) if redact is not None else self.failure
        return Step(
            self.state, marked(self.state.unread, (*self.old, *self.new)), tuple(self.commits),
            self.usage, failure, self.memory.policy, self.memory.cadence,
            evidence=self.evidence,
        )  # fmt: skip


def _called(what: str, function: Callable[[U], T], argument: U) -> T:
    """Call a compressor or judge of anybody's.

    Raises:
        CompressionError: It failed, however it says so.
    """
    try:
        return function(argument)
    except (CompressionError, ConfigurationError):
        raise
    except Exception as error:
        said = f"the {what} failed: {type(error).__name__}: {error}"
        raise CompressionError(said[:500], outcome="raised") from error


def _context(item: Pinned, read: Sequence[Message]) -> tuple[Message, ...]:
    """Return the message that a claim is about, and the agent's message before it."""
    ending = item.ending
    ref = ending.words.ref if ending and ending.words else item.words.ref
    place = next((i for i, message in enumerate(read) if message.ref == ref), None)
    if place is None:
        return ()
    before = [m for m in read[:place] if m.channel is Channel.AGENT and not m.observation.is_call]
    return (*before[-1:], read[place])


def _usage_of(error: CompressionError) -> Usage:
    found: Mapping[str, int] = error.usage
    return Usage(
        requests=found.get("requests", 0), input=found.get("input", 0),
        output=found.get("output", 0), cached=found.get("cached", 0),
    )  # fmt: skip

"""The stages of one turn; both controllers call them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SerializeAsAny

from acc.audit.log import AuditLog
from acc.audit.record import record
from acc.commit.commit import Commit, commit
from acc.compress.fallback import CompressionRequest, CompressionResult, acompressed, compressed
from acc.errors import ConflictError, PinnedOverflow, StoreError
from acc.gate.protocol import Context, Verdict, qualify
from acc.logs import log_event
from acc.pipeline.session import ThreadSession
from acc.pipeline.update import keyless
from acc.recall.candidates import Candidate
from acc.state.loading import signature_of
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.proposal import Account, Outcome, Proposal, Retirement, redacted_proposal
from acc.state.reasons import Note
from acc.stores.protocol import Thread
from acc.telemetry.observer import Watch
from acc.text.wording import is_assent, repeated
from acc.thread.branch import Branch
from acc.thread.claims import Claims
from acc.thread.log import ThreadLog, is_reply, refuse_foreign
from acc.turn.excerpt import cut_turn
from acc.turn.observations import Channel, Evidence, Observation, Trust
from acc.turn.redact import redacted, redacted_turn
from acc.turn.turn import Turn, dated

_LOG = logging.getLogger(__name__)

LONG_WAIT = 1.0
"""Seconds of waiting for the memory's lock that the log tells."""


class BoardStep(BaseModel):
    """What a step read from a shared board (`acc.board`), and what it wrote there.

    Attributes:
        thread: The board's thread.
        read: The board's state that the compressor saw.
        commit: The commit on the board; None if the step changed nothing there.
        notes: What the board refused of the step's proposal, and conflicts with other agents.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread: Thread
    read: SerializeAsAny[CompressedCognitiveState]
    commit: Commit | None = None
    notes: tuple[Note, ...] = ()

    @property
    def state(self) -> CompressedCognitiveState:
        """The board's state that the agent goes on with: as committed, else as read."""
        return self.commit.state if self.commit is not None else self.read

    def explain(self) -> str:
        """Describe what changed on the board and what was refused; empty if nothing was."""
        done = [self.commit.explain()] if self.commit is not None else []
        return "\n".join(f"board: {line}" for line in (*done, *map(str, self.notes)))


class Step(BaseModel):
    """The result of one step.

    Attributes:
        commit: The commit, with CCS_t.
        verdicts: One verdict for each candidate.
        evidence: The admitted evidence.
        turn: The turn as it was numbered and read.
        recovered: Refs of observations from an earlier turn that began from the same state and was never
            committed, for example after a kill, a cancelled call or an error. They are part of this turn.
        failure: Why the compressor failed; empty if it succeeded.
        outcome: How the compression ended (`acc.state.proposal.Outcome`).
        usage: Tokens by kind, including those of failed calls.
        money: The price of these tokens, if the compressor has prices.
        account: The model's requests and how they ended, if a model was asked.
        ms: Milliseconds by stage.
        room: The operator's step before this one, in which `Settings.on_overflow` made room.
        board: What was read from and written to the shared board, if the step had one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: Commit
    verdicts: tuple[Verdict, ...] = ()
    evidence: tuple[SerializeAsAny[Evidence], ...] = ()
    turn: Turn
    recovered: tuple[str, ...] = ()
    failure: str = ""
    outcome: str = Outcome.OK.value
    usage: dict[str, int] = {}
    money: float | None = None
    account: Account | None = None
    ms: dict[str, float] = {}
    room: Step | None = None
    board: BoardStep | None = None

    @property
    def state(self) -> CompressedCognitiveState:
        """CCS_t."""
        return self.commit.state

    def explain(self) -> str:
        """Describe changes, refusals and their reasons: items first, then candidates."""
        refused = [v for v in self.verdicts if not v.admitted]
        recalled = [f"recalled {e.ref}" for e in self.evidence]
        again = [f"taken up {ref}: begun before, and never committed" for ref in self.recovered]
        lines = [*again, self.commit.explain(), *recalled]
        lines += [f"not recalled {v.ref}: {v.gate}: {v.reason}" for v in refused]
        if self.board is not None and (told := self.board.explain()):
            lines.append(told)
        if self.room is not None:
            lines.insert(0, self.room.explain())
        if self.failure:
            lines.insert(0, f"compression failed ({self.outcome}): {self.failure}")
        return "\n".join(lines)


class TurnPipeline:
    """One turn of one thread, from its evidence to its commit. Call each stage once, in order.

    Attributes:
        refuses: Whether `persist` refuses the user's words of a turn that overflows. If not, the caller does it
            (`refuse_words`), or makes room and runs another pipeline `instead_of` this one.
        instead_of: Branch and number of the turn that overflowed before.
    """

    def __init__(
        self, session: ThreadSession, state: CompressedCognitiveState, turn: Turn, watch: Watch
    ) -> None:
        self._session = session
        self._watch = watch
        self._settings = session.settings
        self._thread = session.thread
        self._state = self._from = state
        self._given = turn
        self._turn = turn
        self._branch: Branch
        self._claims: Claims | None = None
        self._repeats = False
        self._recorded: dict[str, Any] | None = None
        self._taken_up: tuple[str, ...] = ()
        self._places: tuple[tuple[str, int], ...] = ()
        self._candidates: list[Candidate] = []
        self._evidence: list[Evidence] = []
        self._verdicts: list[Verdict] = []
        self._compressed = CompressionResult(None)
        self._retires: Sequence[str] = ()
        self._ms: dict[str, float] = {}
        self._done: Commit
        self._overflow: PinnedOverflow | None = None
        self.refuses = True
        self.instead_of: tuple[str, int] | None = None

    def store(self) -> None:
        """Store the evidence first: a later crash loses no observation."""
        with self._timed("store") as timed, self._session.locked_log(self._state.branch) as log:
            timed.waited()
            refuse_foreign(self._state, self._thread, lambda: log.branch(ROOT))
            self._session.refuse_incomplete(self._state)
            self._session.refuse_unknown(self._state)
            begun = log.begin(self._state, self._turn, is_given_up=self._session.is_given_up)
            self._branch, numbered, again, self._repeats, self._taken_up, given_up = begun
            self._places = tuple((name, numbered.number) for name in (self._branch.name, *given_up))
            log.journal.refresh()
            log.journal.clear_refusal(self._given, self._branch, numbered.number)
            if self._branch.name != self._state.branch:
                self._state = self._state.on_branch(self._branch.name)
            whole = numbered.model_copy(update={"pending": tuple(self._unread())})
            whole = self._with_heard(self._with_reply(whole))
            # Records that were stored before redaction was on must not be shown either.
            whole = redacted_turn(whole, self._session.redact)
            about = [item.words for _, item in self._state.items()]
            cut = cut_turn(whole, [*about, whole.user_words], self._settings.input_chars)
            self._turn = dated(cut, self._written(cut.number) or self._session.now())
            if again and (found := self._session.recorded(self._state)):
                # The commit is made again from its recorded inputs: nothing is asked, paid or logged twice.
                self._recorded, self._repeats = found, True
                self._turn = Turn.model_validate(found["turn"])
            timed.result = self._turn

    def recall(self) -> None:
        """Recall candidates from the thread: A_t."""
        with self._timed("recall") as timed, self._session.lock:
            timed.waited()
            self._candidates = self._settings.recall(self._turn, self._state, self._branch)
            timed.result = self._candidates

    def qualify(self) -> None:
        """Admit the candidates that bear on the decision: A_t+."""
        with self._timed("qualify") as timed:
            if self._recorded is not None:
                found = [Evidence.model_validate(e) for e in self._recorded["evidence"]]
                told = self._recorded.get("verdicts", ())
                self._verdicts = [Verdict.model_validate(v) for v in told]
            else:
                context = Context(
                    self._turn,
                    self._state,
                    self._settings.policy.counter,
                    retired=self._branch.retired,
                )
                found, self._verdicts = qualify(
                    self._candidates, self._settings.gate, context, floor=self._settings.floor
                )
            self._evidence = list(redacted(found, self._session.redact))
            timed.result = (self._verdicts, self._evidence)

    def compress(self) -> None:
        """Get a proposal or use the declared fallback; a compressor's failure does not end the step (law 9).

        Raises:
            ConfigurationError: The compressor cannot work with its settings. The evidence is stored:
                fix the settings and repeat the step.
        """
        with self._timed("compress") as timed:
            known = self._known()
            timed.result = known or self._take(compressed(self._asked()))

    def think(self) -> None:
        """Run the stages that touch neither the store nor the audit log."""
        self.qualify()
        self.compress()
        self.commit()

    async def athink(self) -> None:
        """Run `think`, awaiting a compressor that offers ``acompress``."""
        self.qualify()
        await self.acompress()
        self.commit()

    async def acompress(self) -> None:
        """Run `compress`, awaiting a compressor that offers ``acompress``."""
        with self._timed("compress") as timed:
            known = self._known()
            timed.result = known or self._take(await acompressed(self._asked()))

    def retire(self, ids: Sequence[str]) -> None:
        """Propose the retirement of ``ids``, citing the operator's observation at the end of the turn."""
        self._retires = ids
        self._compressed = CompressionResult(proposed(ids, self._turn.observations[-1]))

    def commit(self) -> None:
        """Check, bound and chain the next state. `persist` raises an overflow found here."""
        with self._timed("commit") as timed:
            try:
                timed.result = self._done = self._committed()
            except PinnedOverflow as overflow:
                overflow.state, overflow.thread = self._from, self._thread
                self._overflow = overflow

    def _committed(self) -> Commit:
        done = commit(
            self._state, self._compressed.proposal, self._turn, self._evidence,
            self._settings.policy, bound_to=self._thread.owner_key,
        )  # fmt: skip
        keys = self._session.keys
        return done.signed(signature_of(done.state.hash, keys)) if keys else done

    def persist(self) -> None:
        """Store the items that left the state, and write the audit record.

        Raises:
            PinnedOverflow: Rules and goals alone exceed the bounds; nothing was committed.
        """
        with self._timed("persist") as timed, self._session.lock:
            timed.waited()
            log, audit = self._session.log, self._session.audit
            if self._overflow is not None:
                self._overflow.places = self._places
                if self.refuses:
                    refuse_words(log, self._given, self._places)
                    self._refuse_earlier(log)
                raise self._overflow
            log.journal.accept(self._given, self._branch, self._turn.number)
            if self._retires and not self._repeats:
                gone = [each.item for each in self._done.set_aside]
                gone = [item for item in gone if item.id in self._retires]
                log.journal.retired(self._branch, self._turn, gone)
            if self._repeats:
                log.claims.check_repeated(self._branch, self._done.state)
            else:
                self._repeats = not log.claims.commit(self._branch, self._done.state)
            if audit is not None and self._is_logged(audit):
                self._tell_cost()
            elif audit is not None:
                self._append(audit)
            # The audit record allows recovery, so set-aside items can wait for the next write.
            later = audit is not None
            log.keep(self._branch, self._turn.number, self._done.set_aside, later=later)
            if self.instead_of is not None:
                log.claims.untold.add(self.instead_of)
                self._refuse_earlier(log)
            self._claims = log.claims

    def received(self) -> Step:
        """Return the result of the step. Until then a later step takes the turn for given up."""
        if self._claims is not None:
            self._claims.end(self._branch, self._turn.number)
        return self.step

    @property
    def is_persisted(self) -> bool:
        """Whether `persist` has ended, so that there is a `step`."""
        return self._claims is not None

    @cached_property
    def step(self) -> Step:
        """The result of the persisted step."""
        asked = self._compressed
        return Step(
            commit=self._done, verdicts=tuple(self._verdicts), evidence=tuple(self._evidence),
            turn=self._turn, recovered=self._taken_up, failure=asked.failure,
            outcome=asked.outcome, usage=asked.usage, money=asked.money, account=asked.account,
            ms=dict(self._ms),
        )  # fmt: skip

    def _refuse_earlier(self, log: ThreadLog) -> None:
        """Refuse the claim of the turn that overflowed before: this one has its words."""
        if self.instead_of not in (None, (self._branch.name, self._turn.number)):
            branch, number = self.instead_of
            with suppress(StoreError):
                log.claims.refuse(log.branch(branch), number)

    def told(self) -> None:
        """Note that the caller gets the error of an overflow: from now on its words count as refused."""
        if self.refuses:
            self._session.log.claims.untold.clear()

    def _append(self, audit: AuditLog) -> None:
        audit.append(self._record(), self._state)

    def _is_logged(self, audit: AuditLog) -> bool:
        """Return whether the commit of a repeated step or act of an operator is in the log."""
        if not (self._retires or self._repeats):
            return False
        known = audit.record_of_turn(self._branch.name, self._turn.number)
        return known is not None and known["state"]["hash"] == self._done.state.hash

    def _known(self) -> CompressionResult | None:
        """Return what the compressor of a repeated step said when it was first committed; it costs nothing."""
        if (known := self._recorded) is None:
            return None
        said = known["proposal"]
        proposal = Proposal.model_validate(said) if said else None
        told = str(known.get("failure", "")), str(known.get("outcome", Outcome.OK.value))
        self._compressed = CompressionResult(proposal, *told)
        return self._compressed

    def _tell_cost(self) -> None:
        """Tell the log what a commit cost that another step had made meanwhile: no record holds it."""
        if usage := self._compressed.usage:
            log_event(
                _LOG, logging.INFO, "repeated_commit",
                "another step made the same commit meanwhile; this one's tokens are in no audit record",
                turn=self._turn.number, branch=self._branch.name, usage=dict(usage),
            )  # fmt: skip

    def _take(self, answer: CompressionResult) -> CompressionResult:
        redact = self._session.redact
        told = redact(answer.failure) if redact is not None else answer.failure
        proposal = redacted_proposal(answer.proposal, redact)
        self._compressed = answer._replace(proposal=proposal, failure=told)
        return self._compressed

    def _asked(self) -> CompressionRequest:
        settings = self._settings
        return CompressionRequest(
            self._session.compressor, self._turn, self._state, self._evidence, settings.policy,
            settings.fallback, keyless,
        )  # fmt: skip

    def _written(self, number: int) -> str:
        """Return when the turn's newest words of the user were stored; a repeated step gets the same time.

        Earlier words were recorded or begun before; later ones are the agent's, of a commit behind it.
        """
        heard = [a for a in self._branch.at_turn(number) if a.kind == "observation"]
        spoken = [a for a in heard if a.channel is Channel.USER]
        return "".join([a.at for a in spoken or heard][-1:])

    def _unread(self) -> Iterator[Observation]:
        """Yield the state's pending observations with the times of their stored evidence."""
        for observation in self._state.unread():
            times = [part.when for part in self._branch.parts(observation.ref)]
            yield observation.model_copy(update={"at": "".join(times[:1])})

    def _with_reply(self, turn: Turn) -> Turn:
        """Return ``turn`` with the agent's last reply; read the reply from the log if the turn lacks it."""
        if any(o.channel is Channel.AGENT for o in turn.observations[:1]):
            return turn
        earlier = (
            a
            for n in (self._state.turn, self._state.turn - 1)
            for a in self._branch.at_turn(n)[::-1]
        )
        last = next((a for a in earlier if is_reply(a)), None)
        if last is None:
            return turn
        heard = tuple(
            Observation(channel=a.channel, text=self._branch.text(a.ref), name=a.name, ref=a.ref)
            for a in self._branch.at_turn(last.turn)
            if a.channel in (Channel.TOOL, Channel.DOCUMENT) and a.part == 0
        )
        reply = Observation(channel=Channel.AGENT, text=self._branch.text(last.ref), ref=last.ref)
        return turn.model_copy(update={"reply": reply, "heard": heard})

    def _with_heard(self, turn: Turn) -> Turn:
        """If the user assents, add to ``turn`` the lower-trust texts that the agent's words may repeat.

        Recall over the thread and the documents finds these texts. An assent endorses only the agent's
        own words, never a tool's or a document's (law 6).
        """
        if not any(o.trust >= Trust.USER and is_assent(o.text) for o in turn.unread):
            return turn
        spoken = (*turn.readable,)
        speech = [o.text for o in spoken if o.channel is Channel.AGENT and not o.is_call]
        query = Turn(observations=tuple(Observation(channel=Channel.USER, text=t) for t in speech))
        found = self._settings.recall(query, self._state, self._branch)
        known = {o.ref for o in (*turn.heard, *spoken)}
        lower = {c.artifact.ref: c.artifact for c in found if c.trust < Trust.AGENT}
        heard = tuple(
            Observation(
                channel=a.channel if a.channel.trust < Trust.AGENT else Channel.TOOL,
                text=self._branch.text(ref) or a.text,
                name=a.name,
                ref=ref,
            )
            for ref, a in lower.items()
            if ref not in known
            and any(repeated(words, self._branch.text(ref) or a.text) for words in speech)
        )
        return turn.model_copy(update={"heard": (*turn.heard, *heard)})

    def _record(self) -> dict[str, Any]:
        asked = self._compressed
        return record(
            thread=self._thread, policy=self._settings.policy, prior=self._state, turn=self._turn,
            evidence=self._evidence, proposal=asked.proposal, done=self._done,
            adopted=self._from.hash in self._session.log.journal.adopted, at=self._session.now(),
            verdicts=[v.model_dump(mode="json") for v in self._verdicts],
            failure=asked.failure, outcome=asked.outcome, usage=asked.usage, money=asked.money,
            account=asked.account.model_dump(mode="json") if asked.account else None,
            ms={stage: round(ms, 3) for stage, ms in self._ms.items()},
        )  # fmt: skip

    def _timed(self, stage: str) -> _Timed:
        return _Timed(self._watch, self._ms, stage, self._settings.clock.seconds)


def refuse_words(log: ThreadLog, given: Turn, places: Sequence[tuple[str, int]]) -> None:
    """Record that the user's words of a turn and of those that it took up (`PinnedOverflow.places`) were refused."""
    with suppress(StoreError, ConflictError):  # the overflow is raised even if this write fails
        log.claims.untold.update(places)
        for branch, number in places:
            log.claims.refuse(log.branch(branch), number)
        for branch, number in places[:1]:
            log.journal.refuse(given, log.branch(branch), number)


def proposed(item_ids: Sequence[str], said: Observation) -> Proposal:
    """Return the proposal that retires ``item_ids`` on an operator's word; the turn stays unread."""
    retired = tuple(Retirement(id=i, cites=(said.ref,), quote=said.text) for i in item_ids)
    return Proposal(retire=retired, author="operator", reads_turn=False)


_KEYS = {"persist": "keep"}
"""Keys of stages in `Step.ms` and in audit records. They never change."""


class _Timed:
    """Stores the milliseconds of a stage in ``ms``, and tells the observers of the step of it.

    Attributes:
        result: What the stage found, for the observers.
    """

    def __init__(
        self, watch: Watch, ms: dict[str, float], stage: str, seconds: Callable[[], float]
    ) -> None:
        self._watch, self._ms, self._stage, self._seconds = watch, ms, stage, seconds
        self.result: Any = None

    def __enter__(self) -> Self:
        self._start = self._seconds()
        self._watch.stage_begins(self._stage)
        return self

    def waited(self) -> None:
        """Log how long the stage waited for the memory's lock, if that was long."""
        if (seconds := self._seconds() - self._start) >= LONG_WAIT:
            log_event(
                _LOG, logging.INFO, "lock_waited", "a stage waited for other work of the memory",
                stage=self._stage, ms=round(1000 * seconds),
            )  # fmt: skip

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        seconds = self._seconds() - self._start
        self._ms[_KEYS.get(self._stage, self._stage)] = 1000 * seconds
        self._watch.stage_ends(self._stage, seconds, None if error else self.result, error)

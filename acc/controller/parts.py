"""What a step needs, made of a journal and its settings."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from acc.clock import SystemClock, stamp
from acc.commit.commit import Commit
from acc.controller.indexing import Indexing
from acc.controller.settings import Settings, keys_of
from acc.driving import Io
from acc.gate import Gate
from acc.journal import Appended, Entry, Head, Journal, ThreadKey
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.step import Memory, Step
from acc.tail import Message, marked
from acc.telemetry.observer import Observers
from acc.telemetry.step_log import StepLog
from acc.turn.redact import Redact, redacted_turn, redactor
from acc.turn.turn import UNDATED, Turn, dated, normalize
from acc.update import Options, bound_of, memory_of

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Parts(Generic[S]):
    """What a turn needs.

    Attributes:
        journal: Where what happened is kept.
        memory: Who compresses and judges, under which policy and cadence.
        index: Finds candidates, and is told of new messages.
        gate: Bounds of what is admitted of them.
        redact: Removes secrets before anything is kept.
        now: The time of a turn that carries none, in ISO 8601.
        fork: Whether a step from an older state begins a branch.
        keys: Keys that sign states; the first signs, all are accepted.
        marks: Key of what an integration writes beside messages; the memory's own, so that each process knows it.
        observers: Who is told of each step.
    """

    journal: Journal
    memory: Memory[S]
    index: Indexing
    gate: Gate
    redact: Redact | None
    now: Callable[[], str]
    fork: bool
    keys: tuple[bytes, ...]
    marks: bytes
    observers: Observers

    @classmethod
    def of(cls, journal: Journal, settings: Settings, index: Indexing) -> Parts[Any]:
        """Return the parts of a memory."""
        redact = redactor(settings.redact, journal.key("secrets") if settings.redact else b"")
        options = Options(
            model=settings.model, compressor=settings.compressor, judge=settings.judge,
            cadence=settings.cadence, redact=redact,
        )  # fmt: skip
        policy = settings.policy or Policy(max_tokens=bound_of(options))
        memory: Memory[Any] = memory_of(options, policy)
        clock = settings.clock or SystemClock()
        marks = policy.digest_key or journal.key("marks") or secrets.token_bytes(32)
        own = [settings.telemetry] if settings.telemetry is not None else []
        return Parts(
            journal, memory, index, settings.gate, redact, lambda: stamp(clock.now()),
            settings.fork, keys_of(settings.state_key), marks, Observers(StepLog(), *own),
        )  # fmt: skip

    def clean(self, turn: Turn, where: str) -> Turn:
        """Return a turn as it is kept: dated unless nobody knows when, pasted passages split off, without secrets."""
        whole = normalize(dated(turn, self.now()), where)
        known = whole.model_copy(update={"at": ""}) if whole.at == UNDATED else whole
        return redacted_turn(known, self.redact)

    def latest(self, key: ThreadKey, branch: str, *, has_tail: bool = True) -> Io:
        """Read head, state and tail of a branch."""
        how: dict[str, Any] = {"schema": self.memory.policy.schema, "has_tail": has_tail}
        return Io(lambda: self.journal.latest(key, branch=branch, **how))

    def committing(
        self, head: Head, entries: Sequence[Entry[S]], turn: Appended | None = None
    ) -> Io:
        """Commit after a head; ``turn`` is the one that the first commit took."""
        where: dict[str, Any] = {"follows": head.hash, "branch": head.branch, "epoch": head.epoch}
        return Io(lambda: self.journal.commit(head.thread, entries, turn=turn, **where))

    def step(
        self, state: S, tail: Sequence[Message], commits: Sequence[Commit[S]] = (), **more: Any
    ) -> Step[S]:
        """Return a step that asked no model, with the messages of a state's tail; ``more`` are fields of `Step`."""
        given: dict[str, Any] = {"usage": Usage(), "failure": "", **more}
        policy, cadence = self.memory.policy, self.memory.cadence
        made = marked(state.unread, tail), tuple(commits)
        return Step(state, *made, policy=policy, cadence=cadence, **given)

    def signed(self, step: Step[S], thread: ThreadKey) -> Step[S]:
        """Return the step with its state signed; the same step without keys."""
        return replace(step, state=self.signed_state(step.state, thread)) if self.keys else step

    def signed_state(self, state: S, thread: ThreadKey) -> S:
        """Return the state with its signature; the same state without keys.

        The journal knows the states that it committed by their hashes. The signature is for the others: after a
        restore from a backup, or in another memory of the same deployment.
        """
        if not self.keys:
            return state
        return state.model_copy(update={"signature": _signature(state, thread, self.keys[0])})

    def has_signed(self, state: S, thread: ThreadKey) -> bool:
        """Whether one of the keys signed this state of this thread."""
        signatures = (_signature(state, thread, key) for key in self.keys)
        return any(hmac.compare_digest(state.signature, each) for each in signatures)


def _signature(state: CompressedCognitiveState, thread: ThreadKey, key: bytes) -> str:
    body = f"{thread.digest(b'')}\x00{state.hash}".encode()
    return hmac.new(key, body, hashlib.sha256).hexdigest()

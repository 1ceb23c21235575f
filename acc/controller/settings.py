"""The settings of a memory, and what a step needs made of them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Generic, TypeVar, get_args

from acc.artifacts.chroma import ChromaStore
from acc.clock import Clock, SystemClock, stamp
from acc.commit.commit import Commit
from acc.controller.indexing import Index, Indexing
from acc.controller.watching import Observer, Watcher
from acc.errors import ConfigurationError, PinnedOverflow, check_types
from acc.gate import Verdict
from acc.journal import Appended, Entry, Head, Journal, Latest, ThreadKey
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message, marked
from acc.step.step import Memory, Step
from acc.step.update import Options, memory_of
from acc.turn.redact import redacted_turn, redactor
from acc.turn.turn import UNDATED, Turn, dated, normalize

S = TypeVar("S", bound=CompressedCognitiveState)

OnOverflow = Callable[[PinnedOverflow], Sequence[str]]
StateKey = bytes | str | Sequence[bytes | str] | None

LEAST = 16
"""Bytes of a state key at least."""


def keys_of(given: StateKey) -> tuple[bytes, ...]:
    """Return the keys that sign states.

    Raises:
        ConfigurationError: A key is too short.
    """
    if given is None:
        return ()
    each = [given] if isinstance(given, bytes | str) else list(given)
    keys = tuple(key.encode() if isinstance(key, str) else key for key in each)
    if not keys or any(not isinstance(key, bytes) or len(key) < LEAST for key in keys):
        raise ConfigurationError(
            f"a state_key has fewer than {LEAST} bytes",
            where="Settings",
            hint="give secrets.token_bytes(32), from where your secrets are",
        )
    return keys


@dataclass(frozen=True)
class Settings(Options):
    """What a memory needs beside its place; every field has a default.

    Attributes:
        model: Who compresses and judges, as in `acc.step.update.Options`, like ``judge``, ``policy`` and ``redact``.
        store: Where artifacts are indexed, which `close` closes: a store, or the address of a Chroma server such as
            ``http://chroma:8000``; None for Chroma in the memory's folder.
        index: ``now``: a step returns when the store has its messages; ``behind``: a worker adds them; ``none``:
            recall reads the journal alone, and finds by words.
        on_overflow: Gets the `PinnedOverflow` that would end a step, and returns ids of items to retire as the
            operator. The words that found no room are then read again. Without ids the error is raised.
        behind: Whether the model is asked after the step, by a worker. The tail carries the agent until then.
        fork: Whether a step from a state that another step went on from begins a branch of its own. If False, it is
            a `ConflictError`: for callers without checkpoints.
        busy_wait: Seconds that a step waits for other steps of its thread. In this process it queues behind them; if
            another process commits first, the step is made again from there. 0: a `ConflictError` tells the caller.
        state_key: Signs states: 16 random bytes or more, or a list of keys, of which the first signs. A state that the
            journal does not hold is then taken if its signature is right, and only then.
        telemetry: Is told of each step, such as `acc.telemetry.OpenTelemetry`; None for the log alone.
        clock: Dates turns that carry no time.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    store: ChromaStore | str | None = field(default=None, repr=False)
    index: Index = "now"
    on_overflow: OnOverflow | None = None
    behind: bool = False
    fork: bool = True
    busy_wait: float = 30.0
    state_key: StateKey = field(default=None, repr=False)
    telemetry: Observer | None = None
    clock: Clock | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(
            "Settings", ("store", self.store, (ChromaStore, str, NoneType)),
            ("on_overflow", self.on_overflow, (Callable, NoneType)), ("behind", self.behind, bool),
            ("fork", self.fork, bool), ("busy_wait", self.busy_wait, (int, float)),
        )  # fmt: skip
        keys_of(self.state_key)
        if self.telemetry is not None and not callable(getattr(self.telemetry, "begins", None)):
            raise ConfigurationError(
                "telemetry is no observer", where="Settings", hint="give an OpenTelemetry()"
            )
        if self.index not in get_args(Index):
            raise ConfigurationError(
                f"index is {self.index!r}", where="Settings", hint="give now, behind or none"
            )


@dataclass(frozen=True)
class Parts(Generic[S]):
    """What a turn needs.

    Attributes:
        journal: Where what happened is kept.
        settings: The settings.
        memory: Who compresses and judges, under which policy, and removes secrets before anything is kept.
        index: Finds candidates, and is told of new messages.
        marks: Key of what an integration writes beside messages; the memory's own, so that each process knows it.
        watcher: Tells of each step.
    """

    journal: Journal
    settings: Settings
    memory: Memory[S]
    index: Indexing
    marks: bytes
    watcher: Watcher

    @classmethod
    def of(cls, journal: Journal, settings: Settings, index: Indexing) -> Parts[Any]:
        """Return the parts of a memory."""
        redact = redactor(settings.redact, journal.key("secrets") if settings.redact else b"")
        memory = memory_of(replace(settings, redact=redact))
        marks = memory.policy.digest_key or journal.key("marks") or secrets.token_bytes(32)
        return Parts(journal, settings, memory, index, marks, Watcher(settings.telemetry))

    @property
    def keys(self) -> tuple[bytes, ...]:
        """Keys that sign states; the first signs, all are accepted."""
        return keys_of(self.settings.state_key)

    def now(self) -> str:
        """Return the time of a turn that carries none."""
        return stamp((self.settings.clock or SystemClock()).now())

    def clean(self, turn: Turn, where: str) -> Turn:
        """Return a turn as it is kept: dated unless nobody knows when, pasted passages split off, without secrets."""
        whole = normalize(dated(turn, self.now()), where, self.memory.policy.pasted)
        known = whole.model_copy(update={"at": ""}) if whole.at == UNDATED else whole
        return redacted_turn(known, self.memory.redact)

    def latest(self, key: ThreadKey, branch: str) -> Latest[S]:
        """Return head, state and tail of a branch."""
        schema: Any = self.memory.policy.schema
        return self.journal.latest(key, branch=branch, schema=schema)

    def commit(self, head: Head, entries: Sequence[Entry[S]], turn: Appended | None = None) -> None:
        """Commit after a head; ``turn`` is the one that the first commit took."""
        where: dict[str, Any] = {"follows": head.hash, "branch": head.branch, "epoch": head.epoch}
        self.journal.commit(head.thread, entries, turn=turn, **where)

    def step(
        self, state: S, tail: Sequence[Message], commits: Sequence[Commit[S]] = (), **more: Any
    ) -> Step[S]:
        """Return a step that asked no model, with the messages of a state's tail; ``more`` are fields of `Step`."""
        given: dict[str, Any] = {"usage": Usage(), "failure": "", **more}
        made = marked(state.unread, tail), tuple(commits)
        return Step(state, *made, policy=self.memory.policy, **given)

    def entries(self, step: Step[S], verdicts: Sequence[Verdict] = ()) -> list[Entry[S]]:
        """Return a step's commits as the journal takes them. Usage and verdicts stand with the first."""
        found = [Entry(commit, step.policy, failure=step.failure) for commit in step.commits]
        found[0] = replace(found[0], usage=step.usage, verdicts=tuple(verdicts))
        return found

    def signed(self, step: Step[S], thread: ThreadKey) -> Step[S]:
        """Return the step with its state signed (`signed_state`)."""
        return replace(step, state=self.signed_state(step.state, thread))

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

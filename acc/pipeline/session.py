"""The settings of a memory, and the parts of a memory that one step needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from acc.audit.log import AuditLog
from acc.audit.medium import DATABASE, AuditPlace, AuditStore, audit_store
from acc.audit.unlogged import refuse_unlogged
from acc.clock import Clock, SystemClock, stamps
from acc.commit.commit import LAWS
from acc.compress.fallback import Fallback
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError, ConflictError, PinnedOverflow, StateError
from acc.folders import expanded
from acc.gate.built_in import default_gate
from acc.gate.protocol import GateLike
from acc.recall.candidates import Recall
from acc.state.loading import Keys, keys_of
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.telemetry.observer import Observer
from acc.thread.branch import Branch
from acc.thread.log import ThreadLog
from acc.turn.redact import Redact

OnOverflow = Callable[[PinnedOverflow], Sequence[str]]
StateKey = bytes | str | Sequence[bytes | str] | None
Durability = Literal["power", "kill"]
Redactor = Callable[[str], str] | Literal["secrets"] | None


@dataclass
class Settings:
    """Everything that a memory needs except the store and the compressor.

    Attributes:
        policy: Schema and bounds.
        recall: Proposes candidates.
        gate: Admits or refuses candidates.
        floor: If fewer candidates pass the gate, admit up to this many at a lower relevance threshold.
        fallback: Runs when the compressor fails: "items" or None keeps the last good items, "rules"
            runs the keyless rules, a compressor is called.
        audit: Folder of the audit logs; None keeps no logs. ``"postgresql://..."`` keeps them in a database,
            for workers on several machines (`acc.audit.postgres.PostgresLogs`); any other
            `acc.audit.medium.AuditStore` may be given.
        input_chars: Maximum characters of a turn that a compressor reads.
        clock: Source of the time.
        on_overflow: A handler for services without a human operator. It receives the `PinnedOverflow`
            that would end a step, and returns ids of items to retire as the operator. The step then
            runs once more. If the handler returns no ids, the error is raised. See `acc.operators`.
        state_key: Key that signs states: at least 16 random bytes, or a list of keys. The first key of
            a list signs; all are accepted. With a key, a state without a signature is a `StateError`.
            See `acc.state.loading`.
        redact: Removes secrets from every input before it is stored or compressed: "secrets"
            (`acc.turn.redact.SecretRedactor`), a function from text to text, or None.
        durability: What the audit record of a finished step survives: "power", a power cut, or "kill",
            only a kill of the process, without waiting for the disk. An embedded store always waits, and an
            `AuditStore` that is given has its own setting. See docs/operations.md.
        fork: Whether a step from a state that another step has gone on from begins a branch of its own. If
            False, it is a `ConflictError`, and nothing is stored: for callers that always go on from
            `Memory.last_state`, and have no checkpoints.
        telemetry: Observes each step, such as `acc.telemetry.otel.OpenTelemetry`; None for the log alone.

    Raises:
        ConfigurationError: A setting has an invalid value.
    """

    policy: Policy = field(default_factory=Policy)
    recall: Recall = field(default_factory=Recall)
    gate: GateLike = field(default_factory=default_gate)
    floor: int = 0
    fallback: Fallback = None
    audit: AuditPlace | None = None
    input_chars: int = 16_000
    clock: Clock = field(default_factory=SystemClock)
    on_overflow: OnOverflow | None = None
    state_key: StateKey = field(default=None, repr=False)
    redact: Redactor = "secrets"
    durability: Durability = "power"
    fork: bool = True
    telemetry: Observer | None = None

    def __post_init__(self) -> None:
        for name, (fits, hint) in _FITS.items():
            value = getattr(self, name)
            if not fits(value):
                raise ConfigurationError(f"{name} is {value!r}", where="Settings", hint=hint)
        keys_of(self.state_key)
        if isinstance(self.audit, str) and self.audit.startswith(DATABASE):
            self.audit = audit_store(self.audit, sync=self.durability == "power")
        elif isinstance(self.audit, str | Path):
            # An absolute path stays valid if the process changes its working directory.
            self.audit = expanded(self.audit).absolute()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tells_time(value: Any) -> bool:
    return all(callable(getattr(value, name, None)) for name in ("now", "seconds"))


_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "policy": (lambda value: isinstance(value, Policy), "give a Policy(max_tokens=...)"),
    "recall": (callable, "give a Recall(limit=...)"),
    "gate": (callable, "give a gate of acc.gate.built_in, or a function of candidate and context"),
    "floor": (_is_count, "give a number of candidates, 0 for none"),
    "audit": (
        lambda value: value is None or isinstance(value, str | PathLike | AuditStore),
        "give a folder, or the address of a database: postgresql://...",
    ),
    "input_chars": (lambda value: _is_count(value) and value > 0, "give a number of characters"),
    "clock": (_tells_time, "give something with now() and seconds(), such as SystemClock()"),
    "on_overflow": (
        lambda value: value is None or callable(value),
        "give a function of a PinnedOverflow that returns ids of items to retire",
    ),
    "durability": (
        lambda value: value in get_args(Durability),
        'give "power", or "kill" not to wait for the disk',
    ),
    "fork": (lambda value: isinstance(value, bool), "give True or False"),
    "telemetry": (
        lambda value: value is None or callable(getattr(value, "begins", None)),
        "give an acc.telemetry.otel.OpenTelemetry(), or another observer with begins(thread, policy)",
    ),
    "redact": (
        lambda value: value in (None, "secrets") or callable(value),
        'give "secrets", a function of a text that returns a text, or None to keep texts as they are',
    ),
}
"""The check and the hint for each setting. `check_fallback` checks the fallback."""


@dataclass(frozen=True)
class ThreadSession:
    """The parts of a memory that a step of one thread needs.

    Attributes:
        thread: The thread.
        settings: The memory's settings.
        compressor: The memory's compressor; None for the keyless rules.
        open_log: Returns the thread's log; if it is not open, reads this branch of it from the store.
        audit: The thread's audit log; None if no logs are kept.
        lock: Held while a log is read or written.
        keys: Keys that sign states.
        redact: Removes secrets from a text; None keeps texts unchanged.
        is_shared: Whether other processes may write to the store.
    """

    thread: Thread
    settings: Settings
    compressor: Compressor | None
    open_log: Callable[[str], ThreadLog]
    audit: AuditLog | None
    lock: AbstractContextManager[bool]
    keys: Keys
    redact: Redact | None
    is_shared: bool

    @property
    def log(self) -> ThreadLog:
        """The thread's log."""
        return self.open_log(ROOT)

    @contextmanager
    def locked_log(self, branch: str) -> Iterator[ThreadLog]:
        """Yield the thread's log and hold the lock; a log that is not open is read before that."""
        self.open_log(branch)
        with self.lock:
            yield self.log

    def now(self) -> str:
        """Return the current time in the format of records."""
        return stamps(self.settings.clock)()

    def recorded(self, state: CompressedCognitiveState) -> dict[str, Any] | None:
        """Return the audit record of the turn that follows ``state``, if today's laws and policy make it again."""
        audit = self.audit
        entry = audit.record_of_turn(state.branch, state.turn + 1) if audit is not None else None
        if entry is None or entry.get("redacted") or "erasure" in entry:
            return None
        is_todays = entry.get("laws", 1) == LAWS
        is_ours = entry["policy"]["fingerprint"] == self.settings.policy.fingerprint
        return entry if is_todays and is_ours and entry["prior"] == state.hash else None

    def is_given_up(self, branch: Branch, turn: int) -> bool:
        """Return whether a claimed turn has no commit that a caller received.

        The caller knows that no other step of the thread is running.

        Raises:
            AuditError: Later turns of the branch were committed, and the audit log lacks them.
            ConflictError: Another process may be finishing the turn, or has committed it and forks are off.
        """
        given_up = self._is_given_up(branch, turn)
        if not (given_up or self.settings.fork):
            raise ConflictError(
                "another step has gone on from this state",
                where=f"thread {self.thread.thread!r}, turn {turn} of branch {branch.name}",
                hint="take last_state(thread), and step again from there",
            )
        return given_up

    def _is_given_up(self, branch: Branch, turn: int) -> bool:
        audit = self.audit
        if branch.newest > turn:  # a later turn continues from it: this step begins a fork
            began_later = turn > 1 and audit is not None and audit.last() is None
            if audit is not None and not self.is_shared and not began_later:
                refuse_unlogged(audit, self.log, branch)
            return False
        if self.log.claims.is_open(branch, turn):
            return True
        if audit is None or (self.is_shared and not audit.store.shared):
            return False
        last = audit.last_on(branch.name)
        is_missing = last is None or last["state"]["turn"] < turn
        if (
            is_missing and self.is_shared
        ):  # another process is about to write the record, or died before it
            self.log.claims.check_gone(branch, turn)
        return is_missing

    def refuse_unknown(self, state: CompressedCognitiveState) -> None:
        """Raise if the thread's audit log holds commits and none of them produced ``state``.

        On a shared store, another process with its own audit log may have made the commit; the store
        knows that commit. Objects that `seed` returned or that were adopted need no commit.

        Raises:
            StateError: No commit of this thread produced the state.
            AuditError: The log cannot be read.
        """
        audit = self.audit
        if audit is None or state.is_vouched or state.hash == type(state).empty().hash:
            return
        known = state.stored_hash
        if audit.ends_with(known) or audit.record_of(known) or self._is_copy(state, audit):
            return
        log = self.log
        log.refuse_lost(state)
        log.journal.refresh()
        if state.hash in log.journal.adopted:
            return
        made = log.claims.successor(log.branch(state.branch), state.turn)
        if audit.last() is not None and (made is None or made.text != known):
            raise StateError(
                "no commit of this thread made the state",
                where=f"thread {self.thread.thread!r}, turn {state.turn}, hash {state.hash[:12]}",
                hint="give the state that the last step returned, or last_state(thread); or go on from this "
                "one: state = memory.adopt(state, thread=thread)",
            )

    def refuse_incomplete(self, state: CompressedCognitiveState) -> None:
        """Raise if the store lacks records of the state's own turn that its audit record names.

        It reads the log for the first step after an opening; the process has written the others itself.

        Raises:
            StoreError: Records are missing, and the state was not adopted.
            AuditError: The log cannot be read.
        """
        audit = self.audit
        if audit is None or not state.turn or audit.ends_with(state.stored_hash):
            return
        entry = audit.record_of(state.stored_hash)
        if entry is not None and entry["state"]["hash"] == state.stored_hash:
            refs = [str(o["ref"]) for o in entry["turn"]["observations"] if o.get("ref")]
            self.log.refuse_lost(state, refs)

    def _is_copy(self, state: CompressedCognitiveState, audit: AuditLog) -> bool:
        """Return whether ``state`` is a committed state migrated to this schema or moved to a new branch."""
        entry = audit.record_of(state.parent) if state.parent else None
        if entry is None or entry["state"]["hash"] != state.parent:
            return False
        made = self.settings.policy.schema.load(entry["state"])
        return state.hash in (made.hash, made.on_branch(state.branch).hash)

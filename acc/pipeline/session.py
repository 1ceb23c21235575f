"""What a memory works with, beside its store and its compressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from acc.audit.log import AuditLog
from acc.clock import Clock, SystemClock, stamps
from acc.compress.fallback import Fallback
from acc.compress.protocol import Compressor, settings_of
from acc.errors import ConfigurationError, PinnedOverflow, StateError
from acc.folders import expanded
from acc.gate.built_in import default_gate
from acc.gate.protocol import GateLike
from acc.recall.candidates import Recall
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.signing import Keys, keys_of
from acc.stores.protocol import Thread
from acc.thread.log import ThreadLog
from acc.turn.redact import Redact


@dataclass
class Settings:
    """What a memory works with, beside store and compressor.

    Attributes:
        policy: Schema and bounds.
        recall: Proposes candidates.
        gate: Qualifies them.
        floor: Candidates admitted at a lower relevance threshold, if fewer pass.
        fallback: Whom to turn to when the compressor fails: "items" (None too) holds the last good
            items, "rules" asks the keyless rules; or a compressor.
        audit: Folder of the audit logs, a path or its text; None keeps none.
        input_chars: Characters of a turn that a compressor reads.
        clock: Tells the time.
        on_overflow: For services without a human at hand. Called with the `PinnedOverflow` in which a
            step would end; returns ids of items to retire as the operator, and the step is tried once
            more behind that; none, and the error is raised. See `acc.operators`.
        state_key: Signs states: at least 16 random bytes, or a list of keys of which the first signs and
            all are taken. A state without a signature is a `StateError` then. See `acc.state.signing`.
        redact: Takes secrets out of whatever comes in, before anything keeps it or a compressor reads it:
            "secrets" (`acc.turn.redact.SecretRedactor`), a function of a text that returns a text, or None.

    Raises:
        ConfigurationError: A value that is none for its setting.
    """

    policy: Policy = field(default_factory=Policy)
    recall: Recall = field(default_factory=Recall)
    gate: GateLike = field(default_factory=default_gate)
    floor: int = 0
    fallback: Fallback = None
    audit: Path | None = None
    input_chars: int = 16_000
    clock: Clock = field(default_factory=SystemClock)
    on_overflow: Callable[[PinnedOverflow], Sequence[str]] | None = None
    state_key: bytes | str | Sequence[bytes | str] | None = field(default=None, repr=False)
    redact: Callable[[str], str] | Literal["secrets"] | None = "secrets"

    def __post_init__(self) -> None:
        for name, (fits, hint) in _FITS.items():
            value = getattr(self, name)
            if not fits(value):
                raise ConfigurationError(f"{name} is {value!r}", where="Settings", hint=hint)
        keys_of(self.state_key)
        if self.audit is not None:
            # One folder, also where the process goes elsewhere in between.
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
    "audit": (lambda value: value is None or isinstance(value, str | PathLike), "give a folder"),
    "input_chars": (lambda value: _is_count(value) and value > 0, "give a number of characters"),
    "clock": (_tells_time, "give something with now() and seconds(), such as SystemClock()"),
    "on_overflow": (
        lambda value: value is None or callable(value),
        "give a function of a PinnedOverflow that returns ids of items to retire",
    ),
    "redact": (
        lambda value: value in (None, "secrets") or callable(value),
        'give "secrets", a function of a text that returns a text, or None to keep texts as they are',
    ),
}
"""What each setting has to be, and what to give; of the fallback its user says that."""


def settings_with(changed: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """``base``, or the default settings, with what is ``changed`` by name.

    Raises:
        ConfigurationError: No such setting, or no value for one.
    """
    hint = "the bound and the schema are the policy's: policy=Policy(max_tokens=...)"
    named = settings_of(Settings, changed, hint)
    return named if base is None else replace(base, **changed)


@dataclass(frozen=True)
class ThreadSession:
    """One thread of a memory, as a step needs it.

    Attributes:
        thread: The thread.
        settings: The memory's settings.
        compressor: The memory's compressor; None for the keyless rules.
        open_log: Returns the thread's log; reads it from the store if it is not open.
        audit: The thread's audit log; None where none is kept.
        lock: Held while a log is read or written.
        keys: Sign states.
        redact: Takes secrets out of a text; None keeps texts as they are.
        is_shared: Whether other processes may write to the store.
    """

    thread: Thread
    settings: Settings
    compressor: Compressor | None
    open_log: Callable[[], ThreadLog]
    audit: AuditLog | None
    lock: AbstractContextManager[bool]
    keys: Keys
    redact: Redact | None
    is_shared: bool

    @property
    def log(self) -> ThreadLog:
        """The thread's log."""
        return self.open_log()

    def now(self) -> str:
        """The time as it is written into records."""
        return stamps(self.settings.clock)()

    def refuse_unknown(self, state: CompressedCognitiveState) -> None:
        """Raise where the thread's audit log tells of commits, and none of them made ``state``.

        A commit that another process of a shared store made, with a log of its own, is known by the
        store. What `seed` returned and what was adopted needs no commit, as long as it is that object.

        Raises:
            StateError: Nobody committed it.
            AuditError: The log cannot be read.
        """
        audit = self.audit
        if audit is None or state.is_vouched or state.hash == type(state).empty().hash:
            return
        known = state.stored_hash
        if audit.ends_with(known) or audit.tells_of(known) or self._is_copy(state, audit):
            return
        made = self.log.claims.successor(self.log.branch(state.branch), state.turn)
        if audit.last() is not None and (made is None or made.text != known):
            raise StateError(
                "no commit of this thread made the state",
                where=f"thread {self.thread.thread!r}, turn {state.turn}, hash {state.hash[:12]}",
                hint="give the state that the last step returned, or last_state(thread); or take it over at a "
                "lower trust with State.load(raw, adopt=Trust.USER)",
            )

    def _is_copy(self, state: CompressedCognitiveState, audit: AuditLog) -> bool:
        """Whether ``state`` is a committed one as today's schema has it, or as the first of a branch."""
        entry = audit.tells_of(state.parent) if state.parent else None
        if entry is None or entry["state"]["hash"] != state.parent:
            return False
        made = self.settings.policy.schema.load(entry["state"])
        return state.hash in (made.hash, made.on_branch(state.branch).hash)

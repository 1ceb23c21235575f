"""A memory: a store, a compressor, settings, and the open threads.

`Memory` is the base of both controllers. It has everything except the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from acc.audit.folder import folder_beside, keep_private
from acc.audit.log import AuditLog
from acc.audit.medium import audit_store
from acc.audit.unlogged import refuse_stale_end
from acc.clock import stamps
from acc.compress.fallback import check_compressor, check_fallback
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError, InputError, PinnedOverflow, StoreError
from acc.gate.protocol import as_gate
from acc.pipeline.session import Settings, ThreadSession
from acc.pipeline.turn_pipeline import TurnPipeline
from acc.state.loading import keys_of, refuse_unsigned, set_aside_today, signed
from acc.state.model import ROOT, CompressedCognitiveState
from acc.stores.protocol import ArtifactStore, Thread
from acc.telemetry.observer import Observers, Watch
from acc.telemetry.step_log import StepLog
from acc.thread.history import Page, Window, read_window
from acc.thread.log import ThreadLog
from acc.thread.off_loop import OffLoop
from acc.thread.registry import registry_of
from acc.turn.observations import Observation, as_observations
from acc.turn.redact import key_of, redacted, redacted_turn, redactor
from acc.turn.turn import Turn, normalize

Run = Callable[[ThreadSession, CompressedCognitiveState, Turn, Watch], TurnPipeline]
"""Makes the pipeline of one turn."""

MOST_AUDITS = 512
"""Maximum number of audit logs of which a memory knows the end; it reads the end of any other log again."""


class Memory:
    """A store, a compressor, settings, and the open threads. Base of both controllers.

    Attributes:
        artifacts: The store.
        compressor: Proposes the next states; None for the keyless rules.
        settings: The settings.
        resumed: Descriptions of the unfinished work that `open` finished or rolled back.
    """

    def __init__(
        self,
        store: ArtifactStore,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
    ) -> None:
        if not isinstance(store, ArtifactStore):
            raise ConfigurationError(
                f"a store offers add and get, {type(store).__name__} does not",
                where="store",
                hint="give an ArtifactStore, or a folder: MemoryController.open(path)",
            )
        check_compressor(compressor)
        self.artifacts = store
        self.compressor = compressor
        self.settings = settings or Settings()
        as_gate(self.settings.gate)
        check_fallback(self.settings.fallback)
        self._keys = keys_of(self.settings.state_key)
        self._redact = redactor(self.settings.redact, key_of(_folder_of(store, self.settings)))
        self._threads = registry_of(store)
        self._observers = Observers(StepLog(), *filter(None, [self.settings.telemetry]))
        self._audits: dict[str, AuditLog] = {}
        self._boards: dict[str, Any] = {}
        self._guard = Lock()
        keep_private(self.settings.audit)
        self.resumed: list[str] = []

    @property
    def _off_loop(self) -> OffLoop:
        """Runs the work of asynchronous callers."""
        return self._threads.off_loop

    @property
    def _lock(self) -> AbstractContextManager[bool]:
        """The lock to hold while you read or write a log of the store."""
        return self._threads.lock

    def _forget(self) -> None:
        """Drop cached threads and audit logs; the next use reads them again. For replaced records."""
        self._threads.forget()
        self._audits.clear()
        self._boards.clear()

    def close(self) -> None:
        """Write pending records and release the store, even if a write fails. Safe to repeat.

        What cancelled calls were writing is written first.
        """
        self._off_loop.settle()
        try:
            self._threads.close()
        finally:
            self.artifacts.close()
            if self.settings.audit is not None:
                audit_store(self.settings.audit).close()

    def last_state(self, thread: str | Thread) -> CompressedCognitiveState | None:
        """Return the newest committed state in a thread's audit log, or None.

        Raises:
            AuditError: The log cannot be read, or the store has acknowledged turns that the log lacks.
            StoreError: The store cannot be read.
        """
        who = whose(thread)
        audit = self._audit_of(who)
        if audit is None:
            return None
        with self._locked_log(who) as log:
            refuse_stale_end(audit, log, self.settings.policy.schema.empty())
        entry = audit.last()
        return self._from_log(entry) if entry else None

    def state_at(
        self, thread: str | Thread, branch: str, turn: int
    ) -> CompressedCognitiveState | None:
        """Return the state after turn ``turn`` of ``branch`` from the thread's audit log, or None.

        Raises:
            AuditError: The audit log cannot be read.
        """
        audit = self._audit_of(whose(thread))
        entry = audit.last_on(branch, turn) if audit is not None else None
        return self._from_log(entry) if entry else None

    def load(self, raw: Any) -> CompressedCognitiveState:
        """Load a stored state under this memory's schema; see `CompressedCognitiveState.load`.

        Raises:
            StateError: The state does not load, or `Settings.state_key` is set and the state is unsigned.
        """
        state = self.settings.policy.schema.load(raw)
        refuse_unsigned(state, self._keys)
        return state

    def _from_log(self, entry: Mapping[str, Any]) -> CompressedCognitiveState:
        """Return the state of an audit record of this memory, signed with the current key."""
        return self.signed(self.settings.policy.schema.load(entry["state"]))

    def signed(self, state: CompressedCognitiveState) -> CompressedCognitiveState:
        """Sign ``state`` and mark it as vouched for, for this memory to accept it as a prior state.

        Use it for a state that was made elsewhere or before a key was set. The content is not checked.
        """
        return signed(state, self._keys).vouched()

    def history(
        self,
        thread: str | Thread,
        *,
        last: int = 20,
        before: int | None = None,
        state: Any = None,
        tools: bool = False,
    ) -> Window:
        """Return the last turns of a conversation as chat messages, for people to read.

        A passage that the user pasted follows the user's own words, where `[pasted]` marks its position.

        Args:
            thread: The conversation.
            last: Maximum number of turns. A turn is a user's message and everything up to the next one.
            before: `Window.before` of the later page; None for the last page.
            state: The state at the end of the wanted history, on any branch. If None, the newest state
                in the audit log; without an audit log, the root branch.
            tools: Whether to include tool calls and their results.

        Raises:
            InputError: ``last`` asks for no turns.
            StoreError: The store cannot be read.
        """
        prior = self.last_state(thread) if state is None else self.load(state)
        with self._locked_log(whose(thread)) as log:
            return read_window(log, prior, Page(last, before, tools))

    def _normalize(self, turn: Any, thread: Thread) -> Turn:
        """Return ``turn`` in its stored form: valid, with pasted text split off and secrets removed.

        Raises:
            InputError: ``turn`` is not a turn.
        """
        return redacted_turn(normalize(turn, f"thread {thread.thread!r}"), self._redact)

    def _observed(self, given: Sequence[Any]) -> tuple[Observation, ...]:
        """Return ``given`` as observations, with secrets removed.

        Raises:
            InputError: ``given`` holds something else.
        """
        return redacted(as_observations(given), self._redact)

    def _persist_decision(
        self,
        decision: Sequence[Observation],
        state: Any,
        thread: str | Thread,
    ) -> None:
        """Store the agent's words and actions in the turn that follows ``state``."""
        prior, done, who = self.load(state), self._observed(decision), whose(thread)
        with self._locked_log(who) as log, self._threads.intact(who):
            log.record(prior, done)

    def _refused_before(self, turn: Turn, thread: str | Thread) -> bool:
        """Implement `MemoryController.was_refused`."""
        who = whose(thread)
        taken = self._normalize(turn, who)
        with self._locked_log(who) as log:
            log.journal.refresh()
            return log.journal.was_refused(taken)

    @contextmanager
    def _running(
        self, state: Any, turn: Turn, thread: str | Thread, run: Run = TurnPipeline
    ) -> Iterator[TurnPipeline]:
        """Yield the pipeline of one turn, which ``run`` makes; only one step of a thread may run at a time.

        Afterwards call `TurnPipeline.received`.

        Raises:
            ConflictError: Another step of the thread is running.
            StateError: ``state`` was edited, has another schema, or belongs to another thread.
        """
        who = whose(thread)
        with self._observers.watching(who, self.settings.policy) as watch:
            turn = self._normalize(turn, who)
            self._drop_erased(who)
            with self._threads.stepping(who):
                made = run(self._session(who), self.load(state), turn, watch)
                try:
                    yield made
                except PinnedOverflow:
                    made.told()
                    raise
            watch.ends(made.step if made.is_persisted else None)

    def _session(self, thread: Thread) -> ThreadSession:
        """Return everything that a step of ``thread`` needs."""
        return ThreadSession(
            thread=thread,
            settings=self.settings,
            compressor=self.compressor,
            open_log=lambda branch: self._log_of(thread, branch),
            audit=self._audit_of(thread),
            lock=self._lock,
            keys=self._keys,
            redact=self._redact,
            is_shared=self.artifacts.shared,
        )

    @contextmanager
    def _locked_log(self, thread: Thread) -> Iterator[ThreadLog]:
        """Yield the thread's log and hold the lock; a log that is not open is read before that."""
        self._drop_erased(thread)
        self._log_of(thread)
        with self._lock:
            yield self._log_of(thread)

    def _drop_erased(self, thread: Thread) -> None:
        """Drop what this process knows of a thread from which another process has erased since."""
        audit = self._audit_of(thread) if self.artifacts.shared else None
        if audit is not None:
            end = audit.end()
            edition = end.edition if end is not None else None
            if edition != audit.edition and self._threads.drop_erased(thread):
                audit.expire(end)

    def _log_of(self, thread: Thread, branch: str = ROOT) -> ThreadLog:
        """Return the thread's log; the first call reads ``branch`` and the newest ones from the store.

        Call it before you take the lock: other threads need not wait for that reading.
        """
        # Not `self._now`: a log with unwritten records must not keep an unreferenced memory alive.
        now = stamps(self.settings.clock)
        return self._threads.log(thread, now, lambda log: self._read(log, branch))

    def _read(self, log: ThreadLog, branch: str) -> Callable[[], None]:
        """Read a log, and return the rest of its opening.

        The rest restores set-aside items that a killed process wrote only to the audit log.
        """
        audit = self._audit_of(log.thread)
        schema = self.settings.policy.schema
        entries = audit.newest_by_branch() if audit else []
        for name in dict.fromkeys([branch, *(entry["state"]["branch"] for entry in entries)]):
            with suppress(StoreError):  # the caller's own reading says what is wrong
                log.branch(name)

        def restore() -> None:
            # The store may have lost branches that the audit log names; a step from there says so.
            names = [str(entry["state"]["branch"]) for entry in entries]
            there = {found.name: found for found in log.branches_after((), names)}
            for entry, name in zip(entries, names, strict=True):
                if name in there and (gone := set_aside_today(schema, entry)):
                    log.keep(there[name], entry["state"]["turn"], gone, later=True)

        return restore

    def _now(self) -> str:
        """Return the current time in the format of records."""
        return stamps(self.settings.clock)()

    def _audit_of(self, thread: Thread) -> AuditLog | None:
        """Return the thread's audit log; None if no logs are kept."""
        if self.settings.audit is None:
            return None
        with self._guard:
            log = self._audits.pop(thread.key, None)
            if log is None:
                sync = self.settings.durability == "power"
                log = AuditLog.of(self.settings.audit, thread, sync=sync)
            self._audits[thread.key] = log
            if len(self._audits) > MOST_AUDITS:
                del self._audits[next(iter(self._audits))]
            return log


def _folder_of(store: ArtifactStore, settings: Settings) -> Path | None:
    """Return the folder for the memory's own files: the store's, or the parent of the audit logs."""
    directory: Path | None = getattr(store, "directory", None)
    return folder_beside(settings.audit) if directory is None else directory


def whose(thread: str | Thread) -> Thread:
    """Return ``thread`` as a `Thread`; a bare name gets the default user, agent and tenant.

    Raises:
        InputError: ``thread`` is empty or is not a text.
    """
    if isinstance(thread, Thread):
        return thread
    if not (thread and isinstance(thread, str)):
        what = "a thread without a name" if thread == "" else f"a thread named {thread!r}"
        raise InputError(
            what, where="thread", hint="name the conversation by a text, or give a Thread"
        )
    return Thread(thread=thread)

"""A memory: store, compressor and settings, and the threads that are open.

Base of both controllers: everything but the loop.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from acc.audit.log import AuditLog, keep_private
from acc.clock import stamps
from acc.compress.fallback import check_compressor, check_fallback
from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError, InputError
from acc.gate.protocol import as_gate
from acc.pipeline.session import Settings, ThreadSession, settings_with
from acc.pipeline.turn_pipeline import TurnPipeline
from acc.state.loading import set_aside_today
from acc.state.model import CompressedCognitiveState
from acc.state.signing import keys_of, refuse_unsigned, signed
from acc.stores.protocol import ArtifactStore, Thread
from acc.thread.history import Page, Window, read_window
from acc.thread.log import ThreadLog
from acc.thread.registry import registry_of
from acc.turn.observations import Observation, as_observations
from acc.turn.redact import key_of, redacted, redacted_turn, redactor
from acc.turn.turn import Turn, normalize

_LOG = logging.getLogger(__name__)


class Memory:
    """Store, compressor and settings, and the threads that are open. Base of both controllers.

    Attributes:
        keys: Sign states; see `Settings.state_key`.
        redact: Takes secrets out of a text; None where texts are kept as they are.
        resumed: What a killed process had begun and `open` has ended or taken back, in words.
    """

    def __init__(
        self,
        store: ArtifactStore,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
        **changed: Any,
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
        self.settings = settings_with(changed, settings)
        as_gate(self.settings.gate)
        check_fallback(self.settings.fallback)
        self.keys = keys_of(self.settings.state_key)
        self.redact = redactor(self.settings.redact, key_of(_folder_of(store, self.settings)))
        self._threads = registry_of(store)
        self._audits: dict[str, AuditLog] = {}
        if self.settings.audit is not None:
            keep_private(self.settings.audit)
        self.resumed: list[str] = []

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Held while a log of the store is read or written."""
        return self._threads.lock

    def forget(self) -> None:
        """Read threads and audit logs anew at their next use: records of theirs were replaced."""
        self._threads.forget()
        self._audits.clear()

    def close(self) -> None:
        """Write what waits and release the store, even if something cannot be written. Safe to repeat."""
        try:
            self._threads.close()
        finally:
            self.artifacts.close()

    def last_state(self, thread: str | Thread) -> CompressedCognitiveState | None:
        """The newest committed state of a thread by its audit log, or None."""
        entry = (audit := self.audit_of(whose(thread))) and audit.last()
        return self.from_log(entry) if entry else None

    def state_at(
        self, thread: str | Thread, branch: str, turn: int
    ) -> CompressedCognitiveState | None:
        """The state that turn ``turn`` left on ``branch`` by the thread's audit log, or None.

        Raises:
            AuditError: The audit log cannot be read.
        """
        audit = self.audit_of(whose(thread))
        entry = audit.last_on(branch, turn) if audit is not None else None
        return self.from_log(entry) if entry else None

    def load(self, raw: Any) -> CompressedCognitiveState:
        """A stored state under this memory's schema; see `CompressedCognitiveState.load`.

        Raises:
            StateError: As there; or it is not signed, and `Settings.state_key` is set.
        """
        state = self.settings.policy.schema.load(raw)
        refuse_unsigned(state, self.keys)
        return state

    def from_log(self, entry: Mapping[str, Any]) -> CompressedCognitiveState:
        """The state of a record of an audit log of this memory, signed by today's key."""
        return self.signed(self.settings.policy.schema.load(entry["state"]))

    def signed(self, state: CompressedCognitiveState) -> CompressedCognitiveState:
        """``state``, vouched for by the deployer: signed, so that this memory steps on from it.

        For a state that was made elsewhere or before there was a key. Nothing of it is examined.
        """
        return signed(state, self.keys).vouched()

    def history(
        self,
        thread: str | Thread,
        *,
        last: int = 20,
        before: int | None = None,
        state: Any = None,
        tools: bool = False,
    ) -> Window:
        """The last turns of a conversation as chat messages, for people to read.

        A passage that the user pasted stands below their own words, `[pasted]` where it stood.

        Args:
            thread: The conversation.
            last: Turns at the most; a turn is a user's message with all that followed it.
            before: `Window.before` of the page behind the one that is wanted.
            state: The state whose past it is, on whichever branch; the thread's last by the
                audit log if None, and without an audit log the branch that was never forked.
            tools: Whether calls and their results are among the messages.

        Raises:
            InputError: No turns are asked for.
            StoreError: The store cannot be read.
        """
        prior = self.last_state(thread) if state is None else self.load(state)
        with self.lock:
            return read_window(self.log_of(whose(thread)), prior, Page(last, before, tools))

    def normalize(self, turn: Any, thread: Thread) -> Turn:
        """``turn`` as it is kept: held to its form, what the user pasted split off, without secrets.

        Raises:
            InputError: It is no turn.
        """
        return redacted_turn(normalize(turn, f"thread {thread.thread!r}"), self.redact)

    def observed(self, given: Sequence[Any]) -> tuple[Observation, ...]:
        """What was ``given`` as observations, likewise.

        Raises:
            InputError: It is something else.
        """
        return redacted(as_observations(given), self.redact)

    def persist_decision(
        self,
        decision: Sequence[Observation],
        state: Any,
        thread: str | Thread,
    ) -> None:
        """Store what the agent said and did, in the turn that follows ``state``."""
        prior, done = self.load(state), self.observed(decision)
        with self.lock:
            self.log_of(whose(thread)).record(prior, done)

    def refused_before(self, turn: Turn, thread: str | Thread) -> bool:
        """As `MemoryController.was_refused`."""
        who = whose(thread)
        taken = self.normalize(turn, who)
        with self.lock:
            journal = self.log_of(who).journal
            journal.refresh()
            return journal.was_refused(taken)

    @contextmanager
    def running(self, state: Any, turn: Turn, thread: str | Thread) -> Iterator[TurnPipeline]:
        """The pipeline of one turn; no other step of the thread may be under way.

        Raises:
            ConflictError: One is.
            StateError: ``state`` is edited, of another schema, or of another thread.
        """
        who = whose(thread)
        turn = self.normalize(turn, who)
        with self._threads.stepping(who):
            yield TurnPipeline(self.session(who), self.load(state), turn)

    def session(self, thread: Thread) -> ThreadSession:
        """What a step of ``thread`` works with."""
        return ThreadSession(
            thread=thread,
            settings=self.settings,
            compressor=self.compressor,
            open_log=lambda: self.log_of(thread),
            audit=self.audit_of(thread),
            lock=self.lock,
            keys=self.keys,
            redact=self.redact,
            is_shared=self.artifacts.shared,
        )

    def log_of(self, thread: Thread) -> ThreadLog:
        """The thread's log, read from the store when it is first asked for."""
        # Not `self.now`: what waits in a log must not keep a memory alive that nobody holds any more.
        now = stamps(self.settings.clock)
        return self._threads.log(thread, now, lambda log: self._recover(log, thread))

    def _recover(self, log: ThreadLog, thread: Thread) -> None:
        """Write again what a killed process had set aside and only written to the audit log."""
        audit = self.audit_of(thread)
        schema = self.settings.policy.schema
        for entry in audit.newest_by_branch() if audit else ():
            gone = set_aside_today(schema, entry)
            if gone:
                branch = log.branch(entry["state"]["branch"])
                log.keep(branch, entry["state"]["turn"], gone, later=True)

    def now(self) -> str:
        """The time of day as it is written into records."""
        return stamps(self.settings.clock)()

    def audit_of(self, thread: Thread) -> AuditLog | None:
        """The thread's audit log, if logs are kept."""
        if self.settings.audit is None:
            return None
        if thread.key not in self._audits:
            self._audits[thread.key] = AuditLog.of(self.settings.audit, thread)
        return self._audits[thread.key]


def _folder_of(store: ArtifactStore, settings: Settings) -> Path | None:
    """The folder in which a memory may keep what is its own: the store's, or that of its audit logs."""
    directory: Path | None = getattr(store, "directory", None)
    if directory is None and settings.audit is not None:
        return settings.audit.parent
    return directory


def whose(thread: str | Thread) -> Thread:
    """A thread given by name alone belongs to the default user, agent and tenant.

    Raises:
        InputError: No name.
    """
    if isinstance(thread, Thread):
        return thread
    if not (thread and isinstance(thread, str)):
        what = "a thread without a name" if thread == "" else f"a thread named {thread!r}"
        raise InputError(
            what, where="thread", hint="name the conversation by a text, or give a Thread"
        )
    return Thread(thread=thread)

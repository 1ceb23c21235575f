"""A memory: store, compressor and settings, and the threads that are open.

Base of both controllers: everything but the loop.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from acc.audit import AuditLog, keep_private
from acc.clock import stamps
from acc.compress import Compressor
from acc.compressors.choosing import chosen
from acc.errors import ConfigurationError, InputError, StateError
from acc.fallback import check_compressor, check_fallback
from acc.folders import expanded
from acc.gate import as_gate
from acc.history import Wanted, Window, read_window
from acc.incoming import as_observations, taken_in
from acc.loading import set_aside_today
from acc.log import ThreadLog
from acc.redact import key_of, redacted, redacted_turn, redactor
from acc.run import Run
from acc.settings import Settings as Settings
from acc.settings import settings_with
from acc.signing import keys_of, refuse_unsigned, signed
from acc.state import CompressedCognitiveState
from acc.store import ArtifactStore, Thread
from acc.threads import open_threads
from acc.turn import Observation, Turn

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
                mend="give an ArtifactStore, or a folder: MemoryController.open(path)",
            )
        check_compressor(compressor)
        self.artifacts = store
        self.compressor = compressor
        self.settings = settings_with(changed, settings)
        as_gate(self.settings.gate)
        check_fallback(self.settings.fallback)
        self.keys = keys_of(self.settings.state_key)
        self.redact = redactor(self.settings.redact, key_of(_folder_of(store, self.settings)))
        self._threads = open_threads(store)
        self._audits: dict[str, AuditLog] = {}
        if self.settings.audit is not None:
            keep_private(self.settings.audit)
        self.resumed: list[str] = []

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Held while a log of the store is read or written."""
        return self._threads.lock

    @classmethod
    def open(cls, path: str | Path, **changed: Any) -> Self:
        """Open the memory in a folder: embedded Chroma, and the audit logs beside it.

        Args:
            path: The folder; made if absent. One process at a time.
            changed: ``compressor``, or the ``model`` that one is to ask
                (`acc.compressors.choosing.as_compressor`); ``settings``, and any field of `Settings`; the
                audit logs are kept beside the store unless ``audit=None`` says otherwise.

        Raises:
            ConfigurationError: No such setting or model, or a key is missing.
            StoreLockedError: Another process has it open.
            StoreMismatchError: It was written under another schema or embedder.
            StoreError: It cannot be opened.
        """
        from acc.stores.chroma import ChromaArtifactStore

        # One folder for both, also where the process goes elsewhere in between.
        folder = expanded(path).absolute()
        compressor = chosen(changed.pop("compressor", None), changed.pop("model", None))
        settings = settings_with(changed, changed.pop("settings", None))
        if settings.audit is None and "audit" not in changed:
            settings = replace(settings, audit=folder / "audit")
        store = ChromaArtifactStore.embedded(folder)
        try:
            memory = cls(store, compressor, settings)
            memory.resumed = resumed(memory)
        except BaseException:
            store.close()
            raise
        return memory

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

    def refuse_unknown(self, state: CompressedCognitiveState, thread: Thread) -> None:
        """Raise where the thread's audit log tells of commits, and none of them made ``state``.

        A commit that another process of a shared store made, with a log of its own, is known by the
        store. What `seed` returned and what was adopted needs no commit, as long as it is that object.

        Raises:
            StateError: Nobody committed it.
            AuditError: The log cannot be read.
        """
        audit = self.audit_of(thread)
        if audit is None or state.is_vouched or state.hash == type(state).empty().hash:
            return
        known = state.stored_hash
        if audit.ends_with(known) or audit.tells_of(known) or self._is_copy(state, audit):
            return
        log = self.log_of(thread)
        made = log.claims.successor(log.branch(state.branch), state.turn)
        if audit.last() is not None and (made is None or made.text != known):
            raise StateError(
                "no commit of this thread made the state",
                where=f"thread {thread.thread!r}, turn {state.turn}, hash {state.hash[:12]}",
                mend="give the state that the last step returned, or last_state(thread); or take it over at a "
                "lower trust with State.load(raw, adopt=Trust.USER)",
            )

    def open_evidence(
        self, ref: str, state: CompressedCognitiveState, *, thread: str | Thread
    ) -> str:
        """The whole text behind a reference in ``state``.

        Of its thread's own evidence, of a document that the thread may see, and where a user is known
        of that user's other threads with the same agent.

        Raises:
            InputError: Nothing of that ref on the state's branch, or nothing that the thread may see.
        """
        from acc.evidence.opening import opened

        who = whose(thread)
        with self.lock:
            branch = self.log_of(who).branch(state.branch)
            text = branch.text(ref) if branch.parts(ref) else opened(self.artifacts, who, ref)
        if not (text or branch.parts(ref)):
            raise InputError(
                f"no evidence {ref!r}",
                where=f"branch {state.branch}",
                mend="use a ref of the state",
            )
        return text

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
        return read_window(self, whose(thread), prior, Wanted(last, before, tools))

    def taken_in(self, turn: Any, thread: Thread) -> Turn:
        """``turn`` as it is kept: held to its form, what the user pasted split off, without secrets.

        Raises:
            InputError: It is no turn.
        """
        return redacted_turn(taken_in(turn, f"thread {thread.thread!r}"), self.redact)

    def observed(self, given: Sequence[Any]) -> tuple[Observation, ...]:
        """What was ``given`` as observations, likewise.

        Raises:
            InputError: It is something else.
        """
        return redacted(as_observations(given), self.redact)

    def recorded(
        self,
        decision: Sequence[Observation],
        state: Any,
        thread: str | Thread,
    ) -> None:
        """What stands behind ``record``."""
        prior, done = self.load(state), self.observed(decision)
        with self.lock:
            self.log_of(whose(thread)).record(prior, done)

    def told(self, target: int | str, utility: float, thread: str | Thread) -> tuple[str, ...]:
        """What stands behind ``feedback``."""
        from acc.evidence.feedback import tell

        who = whose(thread)
        with self.lock:
            log = self.audit_of(who)
            return tell(self.artifacts, log, who, target, utility, self.now(), self.log_of(who))

    def refused_before(self, turn: Turn, thread: str | Thread) -> bool:
        """What stands behind ``was_refused``."""
        who = whose(thread)
        taken = self.taken_in(turn, who)
        with self.lock:
            journal = self.log_of(who).journal
            journal.refresh()
            return journal.was_refused(taken)

    @contextmanager
    def running(self, state: Any, turn: Turn, thread: str | Thread) -> Iterator[Run]:
        """A run of one turn; no other step of the thread may be under way.

        Raises:
            ConflictError: One is.
            StateError: ``state`` is edited, of another schema, or of another thread.
        """
        who = whose(thread)
        turn = self.taken_in(turn, who)
        with self._threads.stepping(who):
            yield Run(self, who, self.load(state), turn)

    def _is_copy(self, state: CompressedCognitiveState, audit: AuditLog) -> bool:
        """Whether ``state`` is a committed one as today's schema has it, or as the first of a branch."""
        entry = audit.tells_of(state.parent) if state.parent else None
        if entry is None or entry["state"]["hash"] != state.parent:
            return False
        made = self.settings.policy.schema.load(entry["state"])
        return state.hash in (made.hash, made.on_branch(state.branch).hash)

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


def resumed(memory: Memory) -> list[str]:
    """End or take back what a killed process had begun; the memory is closed if that fails."""
    from acc.evidence.upkeep import left_half_done, resume

    try:
        done = resume(memory) if left_half_done(memory) else []
    except BaseException:
        memory.close()
        raise
    for what in done:
        _LOG.info("%s", what)
    return done


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
            what, where="thread", mend="name the conversation by a text, or give a Thread"
        )
    return Thread(thread=thread)

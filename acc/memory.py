"""A memory: store, compressor and settings, and the threads that are open.

Base of both controllers: everything but the loop.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from acc.audit import AuditLog
from acc.clock import Clock, SystemClock, stamp
from acc.compress import Compressor
from acc.errors import ConflictError, InputError
from acc.gate import GateLike
from acc.gates import default_gate
from acc.laws.reasons import SetAside
from acc.log import ThreadLog
from acc.policy import Policy
from acc.recall import Recall
from acc.run import Run
from acc.state import CompressedCognitiveState
from acc.store import ArtifactStore, Thread
from acc.turn import Observation, Turn

MOST_LOGS = 64
"""Threads kept in memory at once; the least recently used goes, and is read again when needed."""


@dataclass
class Settings:
    """What a memory works with, beside store and compressor.

    Attributes:
        policy: Schema and bounds.
        recall: Proposes candidates.
        gate: Qualifies them.
        floor: Candidates admitted at a lower relevance threshold, if fewer pass.
        fallback: Compressor to turn to when the first fails; None holds the last items.
        audit: Folder of the audit logs; None keeps none.
        input_chars: Characters of a turn that a compressor reads.
        clock: Tells the time.
    """

    policy: Policy = field(default_factory=Policy)
    recall: Recall = field(default_factory=Recall)
    gate: GateLike = field(default_factory=default_gate)
    floor: int = 0
    fallback: Compressor | None = None
    audit: Path | None = None
    input_chars: int = 16_000
    clock: Clock = field(default_factory=SystemClock)


class Memory:
    """Store, compressor and settings, and the threads that are open. Base of both controllers."""

    def __init__(
        self,
        store: ArtifactStore,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
        **changed: Any,
    ) -> None:
        self.artifacts = store
        self.compressor = compressor
        self.settings = settings or Settings(**changed)
        self._logs: OrderedDict[str, ThreadLog] = OrderedDict()
        self._audits: dict[str, AuditLog] = {}
        self.lock = threading.RLock()

    @classmethod
    def open(cls, path: str | Path, **changed: Any) -> Self:
        """Open the memory in a folder: embedded Chroma, and the audit logs beside it.

        Args:
            path: The folder; made if absent. One process at a time.
            changed: ``compressor``, and any field of `Settings`.

        Raises:
            StoreLockedError: Another process has it open.
            StoreMismatchError: It was written under another schema or embedder.
            StoreError: It cannot be opened.
        """
        from acc.stores.chroma import ChromaArtifactStore

        changed.setdefault("audit", Path(path) / "audit")
        compressor = changed.pop("compressor", None)
        return cls(ChromaArtifactStore.embedded(path), compressor, **changed)

    def close(self) -> None:
        """Write what waits and release the store. Safe to repeat."""
        with self.lock:
            for log in self._logs.values():
                log.flush()
            self._logs.clear()
        self.artifacts.close()

    def last_state(self, thread: str | Thread) -> CompressedCognitiveState | None:
        """The newest committed state of a thread by its audit log, or None."""
        entry = (audit := self.audit_of(whose(thread))) and audit.last()
        return self.load(entry["state"]) if entry else None

    def load(self, raw: Any) -> CompressedCognitiveState:
        """A stored state under this memory's schema; see `CompressedCognitiveState.load`."""
        return self.settings.policy.schema.load(raw)

    def open_evidence(self, ref: str, state: CompressedCognitiveState, *, thread: str | Thread) -> str:
        """The whole text behind a reference in ``state``.

        Raises:
            InputError: Nothing of that ref on the state's branch.
        """
        with self.lock:
            parts = self.log_of(whose(thread)).branch(state.branch).parts(ref)
        if not parts:
            raise InputError(f"no evidence {ref!r}", where=f"branch {state.branch}", mend="use a ref of the state")
        return "".join(part.text for part in parts)

    def recorded(
        self,
        decision: Sequence[Observation],
        state: Any,
        thread: str | Thread,
    ) -> None:
        """What stands behind ``record``."""
        prior = self.load(state)
        with self.lock:
            self.log_of(whose(thread)).record(prior, decision)

    @contextmanager
    def running(
        self, state: Any, turn: Turn, thread: str | Thread
    ) -> Iterator[Run]:
        """A run of one turn; no other step of the thread may be under way.

        Raises:
            ConflictError: One is.
        """
        who = whose(thread)
        under_way = _UNDER_WAY.setdefault(self.artifacts, set())
        with _GUARD:
            if who.key in under_way:
                raise ConflictError(
                    "another step of this thread is under way",
                    where=f"thread {who.thread!r}",
                    mend="wait for it, then step from the state it committed",
                )
            under_way.add(who.key)
        try:
            prior = self.load(state)
            yield Run(self, who, prior, turn)
        finally:
            under_way.discard(who.key)

    def log_of(self, thread: Thread) -> ThreadLog:
        """The thread's log, read from the store when it is first asked for."""
        log = self._logs.get(thread.key)
        if log is None:
            log = ThreadLog(self.artifacts, thread, self.now)
            self._recover(log, thread)
            self._logs[thread.key] = log
        self._logs.move_to_end(thread.key)
        if len(self._logs) > MOST_LOGS:
            self._logs.popitem(last=False)[1].flush()
        return log

    def _recover(self, log: ThreadLog, thread: Thread) -> None:
        """Write again what a killed process had set aside and only written to the audit log."""
        entry = (audit := self.audit_of(thread)) and audit.last()
        if entry and entry["set_aside"]:
            gone = [SetAside.model_validate(x) for x in entry["set_aside"]]
            log.keep(log.branch(entry["state"]["branch"]), entry["state"]["turn"], gone, later=True)

    def now(self) -> str:
        """The time of day as it is written into records."""
        return stamp(self.settings.clock.now())

    def audit_of(self, thread: Thread) -> AuditLog | None:
        """The thread's audit log, if logs are kept."""
        if self.settings.audit is None:
            return None
        return self._audits.setdefault(thread.key, AuditLog.of(self.settings.audit, thread))


_UNDER_WAY: weakref.WeakKeyDictionary[ArtifactStore, set[str]] = weakref.WeakKeyDictionary()
_GUARD = threading.Lock()


def whose(thread: str | Thread) -> Thread:
    """A thread given by name alone belongs to the default user, agent and tenant."""
    return thread if isinstance(thread, Thread) else Thread(thread=thread)

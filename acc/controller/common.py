"""What `MemoryController` and `AsyncMemoryController` share: an open memory, and its workers behind the agent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.controller.acts import compressing
from acc.controller.indexing import Indexing
from acc.controller.queues import Queues
from acc.controller.settings import Parts, Settings
from acc.driving import Doing, Io, perform
from acc.errors import ConfigurationError, ConflictError
from acc.folders import expanded
from acc.journal import Journal, Latest, ThreadKey
from acc.journal.names import MAIN, Key, key_of
from acc.journal.opened import is_url
from acc.logs import code, log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.step.step import Step, raise_overflow

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)


WORKERS = 4
"""Threads that compress behind the agent at the same time."""

_LOG = logging.getLogger(__name__)


class Common(Generic[S]):
    """What both controllers share.

    Attributes:
        settings: The settings.
        folder: The memory's folder; None for a journal that was opened elsewhere.
        journal: Where what happened is kept.
        index: The artifacts of the memory.
        parts: What a step needs, made of these.
        queues: The steps of each thread, in their order.
        behind: Compresses behind the agent; None if each step compresses itself.
    """

    def __init__(
        self, journal: Journal, settings: Settings | None = None, folder: str | Path | None = None
    ) -> None:
        """Create a controller over an open journal, which it closes; without ``folder`` and store, none is indexed."""
        self.settings = chosen = settings or Settings()
        self.journal = journal
        self.folder = expanded(folder).absolute() if folder is not None else None
        self.index = Indexing(journal, chosen.store, chosen.index, self.folder)
        self.parts: Parts[Any] = Parts.of(journal, chosen, self.index)
        self.queues = Queues(chosen.busy_wait)
        self.behind = Behind(self.parts) if chosen.behind else None

    @classmethod
    def open(cls, where: str | Path, **settings: Any) -> Self:
        """Open a memory; ``settings`` are fields of `Settings` by name.

        Args:
            where: Its folder; or the address of its journal in PostgreSQL, ``postgresql://...``, for several
                machines. Such a memory has no folder: name the Chroma server with ``store``, or say
                ``index="none"``.
            settings: The settings.

        Raises:
            ConfigurationError: A setting is invalid, or the model cannot be reached.
            StoreError: The journal cannot be opened.
        """
        chosen = Settings.of(settings, "open")
        folder = None if is_url(where) else where
        if folder is None and chosen.store is None and chosen.index != "none":
            raise ConfigurationError(
                "a memory in a database has no folder for its index",
                where="open",
                hint='name a Chroma server, store="http://chroma:8000", or say index="none"',
            )
        key = chosen.policy.digest_key if chosen.policy else b""
        journal = Journal.open(where, digest_key=key, clock=chosen.clock)
        try:
            return cls(journal, chosen, folder)
        except BaseException:
            journal.close()
            raise

    @property
    def policy(self) -> Policy:
        """The policy of commits."""
        return self.parts.memory.policy

    @property
    def cadence(self) -> Cadence:
        """When the memory compresses."""
        return self.parts.memory.cadence

    def signed(self, state: S, *, thread: Key) -> S:
        """Sign a state that no commit of the thread made, such as a seed's, so that the thread may begin with it."""
        mine: S = self.parts.signed_state(state, key_of(thread))
        return mine

    def loaded(self, raw: Any) -> S:
        """Return a state that was kept elsewhere, such as in a checkpoint (`CompressedCognitiveState.load`).

        Raises:
            StateError: It is no state, or was edited after its commit.
        """
        schema: Any = self.policy.schema
        found: S = schema.load(raw, lambda digest: self.journal.recent(digest, schema))
        return found

    def threads(self, **names: str) -> Iterator[ThreadKey]:
        """Yield the threads with these names (thread, tenant, user, agent)."""
        return self.journal.threads(**names)

    def _state(self, thread: Key, branch: str, at: str | int | None = None) -> S | None:
        schema: Any = self.policy.schema
        found: S | None = self.journal.state(key_of(thread), at, branch=branch, schema=schema)
        return found

    def _latest(self, thread: Key, branch: str) -> Latest[S]:
        return self.parts.latest(key_of(thread), branch)

    def _close(self) -> None:
        if self.behind is not None:
            self.behind.close()
        self.index.close()
        self.journal.close()

    def flushing(self, thread: Key, *, branch: str = MAIN) -> Doing[Step[S] | None]:
        """Do what `MemoryController.flush` says, after what runs behind the agent."""
        key, behind = key_of(thread), self.behind
        if behind is not None:
            yield Io(lambda: behind.settle(key))
        step: Step[S] | None = yield from compressing(self.parts, key, branch)
        return None if step is None else raise_overflow(self.parts.signed(step, key))


class Behind:
    """Compresses threads behind their steps, each by one worker at a time.

    The next step adopts what a worker committed; until then the tail carries the agent. If the worker fails, or
    something else was compressed meanwhile, nothing is lost: the words are still in the tail.

    Args:
        parts: The memory, with the cadence that says when to compress.

    Attributes:
        patient: The memory as its steps use it: they ask no model before the tail is full.
    """

    def __init__(self, parts: Parts[Any]) -> None:
        self._parts, memory = parts, parts.memory
        cadence = replace(memory.cadence, compress_over=memory.cadence.tail_bound)
        policy = replace(memory.policy, cadence=cadence)
        self.patient = replace(parts, memory=replace(memory, policy=policy))
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="acc-behind")
        self._running: dict[tuple[ThreadKey, str], Future[None]] = {}
        self._lock = threading.Lock()

    def stepped(self, key: ThreadKey, step: Step[Any]) -> None:
        """Learn of a step; begin to compress if enough waits."""
        waiting = sum(entry.tokens for entry in step.state.unread if entry.status == "unread")
        if waiting <= self._parts.memory.cadence.compress_over:
            return
        place = (key, step.state.branch)
        with self._lock:
            self._running = {p: each for p, each in self._running.items() if not each.done()}
            if place not in self._running:
                self._running[place] = self._pool.submit(self._compress, *place)

    def _compress(self, key: ThreadKey, branch: str) -> None:
        try:
            step: Step[Any] | None = perform(compressing(self._parts, key, branch))
            failure = step.failure.partition(":")[0] if step is not None else ""
        except ConflictError:
            failure = "overtaken"
        except Exception as error:  # a worker has nobody above it who could be told
            failure = type(error).__name__
        if failure:
            log_event(
                _LOG, logging.WARNING, "behind", "a compression behind the agent came to nothing",
                thread=key.thread, outcome=code(failure),
            )  # fmt: skip

    def settle(self, key: ThreadKey | None = None, timeout: float | None = None) -> bool:
        """Wait until what runs for a thread, or for all, has ended; return False if the time was over."""
        with self._lock:
            running = [each for (of, _), each in self._running.items() if key in (None, of)]
        return not wait(running, timeout).not_done

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)

"""What `MemoryController` and `AsyncMemoryController` share: a memory that is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.controller.acts import compressing
from acc.controller.indexing import Indexing
from acc.controller.queues import Behind, Queues
from acc.controller.settings import Parts, Settings
from acc.driving import Doing, Io
from acc.errors import ConfigurationError
from acc.folders import expanded
from acc.journal import Journal, Latest, ThreadKey
from acc.journal.names import MAIN
from acc.journal.opened import Key, is_url, key_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.step.step import Step, raise_overflow

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)


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
        self.index = Indexing.of(journal, chosen.store, chosen.index, self.folder)
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

    def threads(self, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return self.journal.threads(**prefixes)

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

"""What `MemoryController` and `AsyncMemoryController` share: a memory that is open, and what they do with it."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.clock import SystemClock, stamp
from acc.controller.acts import flushing, recording
from acc.controller.behind import Behind, patient
from acc.controller.documents import document
from acc.controller.indexing import Indexing
from acc.controller.joining import arriving
from acc.controller.parts import Parts, Taken
from acc.controller.queues import Queues
from acc.controller.repeating import evidence_of
from acc.controller.retiring import retiring_everywhere, withdrawing
from acc.controller.room import with_room
from acc.controller.settings import Settings
from acc.controller.signing import keys_of, signed, signed_step
from acc.controller.turning import taking
from acc.driving import Doing, Io, perform
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.folders import expanded
from acc.gate import Verdict
from acc.journal import Journal, Latest, ThreadKey
from acc.journal.connecting import is_url
from acc.journal.names import Head
from acc.journal.opened import key_of
from acc.logs import code, log_event
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import render
from acc.step import Cadence, Memory, Step
from acc.tail import Message, marked
from acc.telemetry.observer import Observers
from acc.telemetry.step_log import StepLog
from acc.turn.chat_messages import SUMMARY
from acc.turn.observations import Evidence, Observation, is_ingested
from acc.turn.redact import redactor
from acc.turn.turn import Turn
from acc.update import Options, bound_of, memory_of

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)

_LOG = logging.getLogger(__name__)


def _parts(journal: Journal, settings: Settings, index: Indexing) -> Parts[Any]:
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
    observers = Observers(StepLog(), *own)
    return Parts(
        journal, memory, index, settings.gate, redact,
        lambda: stamp(clock.now()), settings.fork, keys_of(settings.state_key), marks, observers,
    )  # fmt: skip


class Common(Generic[S]):
    """What both controllers share.

    Attributes:
        settings: The settings.
        folder: The memory's folder; None for a journal that was opened elsewhere.
        journal: Where what happened is kept.
        index: The artifacts of the memory.
    """

    def __init__(
        self,
        journal: Journal,
        settings: Settings | None = None,
        folder: str | Path | None = None,
    ) -> None:
        """Create a controller over an open journal, which it closes; without ``folder`` and store, none is indexed."""
        self.settings = settings or Settings()
        self.journal = journal
        self.folder = expanded(folder).absolute() if folder is not None else None
        chosen = self.settings
        self.index = Indexing.of(journal, chosen.store, chosen.index, self.folder)
        self._queues = Queues(chosen.busy_wait)
        self._whole: Parts[Any] = _parts(journal, chosen, self.index)
        self._parts, self._behind = self._whole, None
        if chosen.behind:
            memory = self._whole.memory
            self._parts = replace(
                self._whole, memory=replace(memory, cadence=patient(memory.cadence))
            )
            self._behind = Behind(self._whole, _tell_behind)

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
        chosen = Settings.of(settings)
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
    def parts(self) -> Parts[Any]:
        """What a step needs: journal, memory, index, settings."""
        return self._whole

    @property
    def policy(self) -> Policy:
        """The policy of commits."""
        return self._whole.memory.policy

    @property
    def cadence(self) -> Cadence:
        """When the memory compresses."""
        return self._whole.memory.cadence

    def signed(self, state: S, *, thread: ThreadKey | str) -> S:
        """Sign a state that no commit of the thread made, such as a seed's, so that the thread may begin with it."""
        return signed(state, key_of(thread), self._whole.keys)

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

    def _stepping(
        self, state: S | None, turn: Turn, thread: ThreadKey | str, force: bool, adopt: bool
    ) -> Doing[Step[S]]:
        if not isinstance(turn, Turn):
            raise InputError(
                f"the turn is a {type(turn).__name__}",
                where="step",
                hint="give Turn.said(text), or Turn.from_messages",
            )
        key, start = key_of(thread), _checked(state)
        parts, handler = self._parts, self.settings.on_overflow
        until = monotonic() + self.settings.busy_wait
        with (
            parts.observers.watching(key, self.policy) as watch,
            closing(self._queues.place(key)) as place,
        ):
            since: Head | None = None
            if place.is_behind and self.settings.busy_wait:
                since = yield from arriving(parts, start, key)
                log_event(
                    _LOG, logging.INFO, "queued", "a step waits for another one of its thread",
                    thread=key.thread,
                )  # fmt: skip
            yield place
            taken: Taken[S] = yield from taking(
                parts, start, turn, key, watch=watch, force=force, adopt=adopt, since=since, until=until
            )  # fmt: skip
            try:
                step = yield from with_room(parts, handler, key, taken, watch)
            except PinnedOverflow as overflow:
                watch.ends(overflow.step)
                raise
            watch.ends(step)
        if self._behind is not None:
            self._behind.stepped(key, step)
        return step

    def _flushing(self, thread: ThreadKey | str, branch: str) -> Doing[Step[S] | None]:
        key, behind = key_of(thread), self._behind
        if behind is not None:
            yield Io(lambda: behind.settle(key))
        step: Step[S] | None = yield from flushing(self._whole, key, branch)
        return None if step is None else signed_step(step, key, self._whole.keys)

    def _recording(
        self, observations: Sequence[Observation], state: S | None, thread: ThreadKey | str
    ) -> Doing[bool]:
        return recording(self._parts, observations, _checked(state), key_of(thread))

    def _retiring(
        self, ids: Sequence[str], reason: str, state: S | None, thread: ThreadKey | str
    ) -> Doing[Step[S]]:
        key, parts = key_of(thread), self._parts
        step: Step[S] = yield from retiring_everywhere(parts, ids, reason, _checked(state), key)
        return signed_step(step, key, parts.keys)

    def _withdrawing(
        self, refs: Sequence[str], reason: str, thread: ThreadKey | str, branch: str
    ) -> Doing[Step[S]]:
        key = key_of(thread)
        step: Step[S] = yield from withdrawing(self._parts, refs, reason, key, branch)
        return signed_step(step, key, self._parts.keys)

    def withdrawn(
        self, refs: Sequence[str], reason: str, *, thread: ThreadKey | str, branch: str
    ) -> Step[S]:
        """Do what `withdraw` does. It blocks."""
        return perform(self._withdrawing(refs, reason, thread, branch))

    def _state(self, thread: ThreadKey | str, branch: str, at: str | int | None = None) -> S | None:
        schema: Any = self.policy.schema
        found: S | None = self.journal.state(key_of(thread), at, branch=branch, schema=schema)
        return found

    def _exported(self, thread: ThreadKey | str, branch: str) -> list[dict[str, str]]:
        latest = self._latest(thread, branch)
        if latest.state is None:
            raise InputError(
                f"there is no thread {key_of(thread)}", where="export_messages",
                hint="name it with its user: MemoryController.threads() tells the names",
            )  # fmt: skip
        tail = (*marked(latest.state.unread, latest.tail), *latest.waiting.messages)
        step = Step(latest.state, tail, (), Usage(), "", self.policy, self.cadence)
        said = step.messages(SUMMARY)
        is_empty = not render(latest.state, self.policy.style)
        return said[1:] if is_empty else [{**said[0], "role": "user"}, *said[1:]]

    def _latest(self, thread: ThreadKey | str, branch: str) -> Latest[S]:
        schema: Any = self.policy.schema
        found: Latest[S] = self.journal.latest(key_of(thread), branch=branch, schema=schema)
        return found

    def _opened(self, ref: str, thread: ThreadKey | str, branch: str) -> Message:
        key = key_of(thread)
        own = self.journal.texts(key, [ref], branch=branch)
        found = own[0] if own else None
        if found is None and is_ingested(ref):
            found = document(self.journal, key, ref)
        if found is None:
            raise InputError(
                f"there is no evidence {ref!r}",
                where=str(key),
                hint="give a ref as the state shows it, such as u7; it may have been erased",
            )
        return found

    def admitted(
        self, *asked: Sequence[Verdict], thread: ThreadKey | str, branch: str = "main"
    ) -> list[tuple[Evidence, ...]]:
        """Return the evidence that the verdicts of each step admitted, as the agent reads it. It blocks.

        What was erased since is left out.
        """
        return perform(evidence_of(self._parts, key_of(thread), branch, asked))

    def _close(self) -> None:
        if self._behind is not None:
            self._behind.close()
        self.index.close()
        self.journal.close()


def _checked(state: S | None) -> S | None:
    if state is not None and not isinstance(state, CompressedCognitiveState):
        raise InputError(
            f"the state is a {type(state).__name__}",
            where="step",
            hint="give the state of the last step, or None to go on where the thread stopped",
        )
    return state


def _tell_behind(thread: ThreadKey, why: str) -> None:
    log_event(
        _LOG, logging.WARNING, "behind", "a compression behind the agent came to nothing",
        thread=thread.thread, outcome=code(why),
    )  # fmt: skip

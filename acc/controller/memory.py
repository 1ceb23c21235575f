"""An open memory: what both controllers are, what each step of it needs, and the compression of what waits."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.clock import SystemClock, stamp
from acc.commit.commit import Commit, commit
from acc.controller.indexing import Indexing
from acc.controller.queues import Behind, Queues
from acc.controller.settings import Settings, keys_of, signature
from acc.controller.texts import heard_before
from acc.driving import Doing, Io, perform
from acc.errors import ConfigurationError, ConflictError, InputError
from acc.folders import expanded
from acc.gate import Verdict
from acc.journal import Appended, Entry, Head, Journal, Latest, ThreadKey
from acc.journal.names import DOCUMENTS, MAIN, Key, is_home, key_of
from acc.journal.opened import is_url
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.tail import Message, marked
from acc.step.result import Step, raise_overflow
from acc.step.step import stepping
from acc.step.update import memory_of
from acc.turn.redact import redacted_turn, redactor
from acc.turn.turn import UNDATED, Turn, dated, normalize

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)


class OpenMemory(Generic[S]):
    """What both controllers are.

    Attributes:
        settings: The settings.
        folder: The memory's folder; None for a journal that was opened elsewhere.
        journal: Where what happened is kept.
        index: The artifacts of the memory.
        core: Who compresses and judges, under which policy, and removes secrets before anything is kept.
        stepping: The same as the memory's steps use it: where a worker compresses behind them, they ask no model
            before the tail is full.
        keys: Keys that sign states; the first signs, all are accepted.
        marks: Key of what an integration writes beside messages; the memory's own, so that each process knows it.
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
        self.index = Indexing(journal, chosen.store, self.folder, behind=chosen.behind)
        redact = redactor(chosen.redact, journal.key("secrets") if chosen.redact else b"")
        self.core = self.stepping = memory_of(replace(chosen, redact=redact))
        self.keys = keys_of(chosen.state_key)
        self.marks = self.policy.digest_key or journal.key("marks") or secrets.token_bytes(32)
        self.queues = Queues(chosen.busy_wait)
        self.behind: Behind | None = None
        if chosen.behind:
            cadence = replace(self.cadence, compress_over=self.cadence.tail_bound)
            self.stepping = replace(self.core, policy=replace(self.policy, cadence=cadence))
            self.behind = Behind(lambda *place: perform(self.compressing(*place)))

    @classmethod
    def open(cls, where: str | Path, **settings: Any) -> Self:
        """Open a memory; ``settings`` are fields of `Settings` by name.

        Args:
            where: Its folder; or the address of its journal in PostgreSQL, ``postgresql://...``, for several
                machines. Such a memory has no folder: name the Chroma server with ``store``, or say
                ``store="none"``.
            settings: The settings.

        Raises:
            ConfigurationError: A setting is invalid, or the model cannot be reached.
            StoreError: The journal cannot be opened.
        """
        chosen = Settings.of(settings, "open")
        folder = None if is_url(where) else where
        if folder is None and chosen.store is None:
            raise ConfigurationError(
                "a memory in a database has no folder for its index",
                where="open",
                hint='name a Chroma server, store="http://chroma:8000", or say store="none"',
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
        return self.core.policy

    @property
    def cadence(self) -> Cadence:
        """When the memory compresses."""
        return self.core.cadence

    def signed(self, state: S, *, thread: Key) -> S:
        """Sign a state that no commit of the thread made, such as a seed's, so that the thread may begin with it."""
        if not self.keys:
            return state
        made = signature(state, key_of(thread), self.keys[0])
        return state.model_copy(update={"signature": made})

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

    def now(self) -> str:
        """Return the time of a turn that carries none."""
        return stamp((self.settings.clock or SystemClock()).now())

    def clean(self, turn: Turn, where: str) -> Turn:
        """Return a turn as it is kept: dated unless nobody knows when, pasted passages split off, without secrets."""
        whole = normalize(dated(turn, self.now()), where, self.policy.pasted)
        known = whole.model_copy(update={"at": ""}) if whole.at == UNDATED else whole
        return redacted_turn(known, self.core.redact)

    def standing(self, thread: Key, branch: str = MAIN) -> Latest[S]:
        """Return where a branch stands: head, state and tail."""
        schema: Any = self.policy.schema
        return self.journal.latest(key_of(thread), branch=branch, schema=schema)

    def commit(self, head: Head, entries: Sequence[Entry[S]], turn: Appended | None = None) -> None:
        """Commit after a head; ``turn`` is the one that the first commit took."""
        where: dict[str, Any] = {"follows": head.hash, "branch": head.branch, "epoch": head.epoch}
        self.journal.commit(head.thread, entries, turn=turn, **where)

    def as_step(
        self, state: S, tail: Sequence[Message], commits: Sequence[Commit[S]] = (), **more: Any
    ) -> Step[S]:
        """Return a step that asked no model, with the messages of a state's tail; ``more`` are fields of `Step`."""
        given: dict[str, Any] = {"usage": Usage(), "failure": "", **more}
        made = marked(state.unread, tail), tuple(commits)
        return Step(state, *made, policy=self.stepping.policy, **given)

    def signed_step(self, step: Step[S], thread: ThreadKey) -> Step[S]:
        """Return the step with its state signed."""
        return replace(step, state=self.signed(step.state, thread=thread))

    def flushing(self, thread: Key, *, branch: str = MAIN) -> Doing[Step[S] | None]:
        """Do what `MemoryController.flush` says, after what runs behind the agent."""
        key, behind = key_of(thread), self.behind
        if behind is not None:
            yield Io(lambda: behind.settle(key))
        step = yield from self.compressing(key, branch)
        return None if step is None else raise_overflow(self.signed_step(step, key))

    def compressing(self, key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
        """Compress what waits in a thread's tail; return None if nothing does.

        Before a hand-over to another agent, a shared write, the end of a session. If a turn is committed meanwhile,
        and nothing else was compressed, the result is committed anew on it. Else it is dropped: the tail still has
        the words.

        Raises:
            ConflictError: Something else was compressed meanwhile.
        """
        latest: Latest[S] = yield Io(lambda: self.standing(key, branch))
        state = latest.state
        if state is None or all(entry.status == "read" for entry in state.unread):
            return None
        nothing = Turn(observations=()).numbered(state.turn)
        step: Step[S] = yield from stepping(
            self.core, state, nothing, texts=latest.tail,
            earlier=partial(heard_before, self.journal, self.index, latest.head), force=True,
        )  # fmt: skip
        made: Step[S] = yield Io(lambda: self._committed(step, latest))
        return made

    def _committed(self, step: Step[S], latest: Latest[S]) -> Step[S]:
        while True:
            try:
                self.commit(latest.head, entries_of(step))
            except ConflictError:
                earlier, latest = latest, self.standing(latest.head.thread, latest.head.branch)
                if not _only_turns_since(earlier, latest):
                    raise
                step = _rebased(step, latest)
            else:
                return step

    def _close(self) -> None:
        if self.behind is not None:
            self.behind.close()
        self.index.close()
        self.journal.close()


def conversation(thread: Key, state: object = None) -> ThreadKey:
    """Return the key of a thread that an agent may step, and check what it gave as its state.

    Raises:
        InputError: It is the thread that holds documents, or the state is none.
    """
    key = key_of(thread)
    if is_home(key):
        raise InputError(
            f"{DOCUMENTS!r} is the thread of the documents",
            where="step", hint="name the conversation otherwise",
        )  # fmt: skip
    if state is not None and not isinstance(state, CompressedCognitiveState):
        raise InputError(
            f"the state is a {type(state).__name__}",
            where="step",
            hint="give the state of the last step, or None to go on where the thread stopped",
        )
    return key


def entries_of(step: Step[S], verdicts: Sequence[Verdict] = ()) -> list[Entry[S]]:
    """Return a step's commits as the journal takes them. Usage and verdicts stand with the first."""
    found = [Entry(commit, step.policy, failure=step.failure) for commit in step.commits]
    found[0] = replace(found[0], usage=step.usage, verdicts=tuple(verdicts))
    return found


def _only_turns_since(earlier: Latest[S], latest: Latest[S]) -> bool:
    """Whether nothing changed since but the tail, at its end."""
    before, after = earlier.state, latest.state
    if before is None or after is None or earlier.head.epoch != latest.head.epoch:
        return False
    is_same = list(before.items()) == list(after.items()) and before.gone == after.gone
    return is_same and after.unread[: len(before.unread)] == before.unread


def _rebased(step: Step[S], latest: Latest[S]) -> Step[S]:
    """Commit what a step proposed anew on a state that has a longer tail."""
    state: Any = latest.state
    commits: list[Commit[S]] = []
    for each in step.commits:
        given = replace(each.given, number=state.turn)
        commits.append(commit(state, step.policy, given))
        state = commits[-1].state
    tail = marked(state.unread, latest.tail)
    return replace(step, state=state, tail=tail, commits=tuple(commits))

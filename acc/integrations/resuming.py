"""Which state a run goes on from: that of its channel, or one that the journal made since.

A run that was killed, cancelled or ended by an error may have committed more than its checkpoint says. It goes on from
there: what a tool did stays known. A run that goes back in time begins a branch. The checkpointer tells the two apart:
after a run that goes back, it holds later states of the thread.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acc.errors import ConfigurationError
from acc.integrations.graph_channels import owner_key, owner_of
from acc.integrations.history import before as checkpoints
from acc.integrations.identity import ANEW, Config, saver_of
from acc.integrations.voices import Read
from acc.journal import Head, Journal, Latest, ThreadKey
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.tail import digest_of

State = CompressedCognitiveState

NEWEST = 64
"""Checkpoints that are read first."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Begun:
    """Where a run's memory stands.

    Attributes:
        thread: The thread; another agent's name on it if the conversation begins anew.
        state: The state to go on from; None for a new thread.
        head: What the journal knows up to that state.
        since: The place in the journal behind which a killed run may have said what this one says again; None if no
            run was killed.
    """

    thread: ThreadKey
    state: State | None
    head: Head
    since: int | None = None


@dataclass(frozen=True)
class Resuming:
    """Finds where a run's memory stands. ``wanted`` is the setting ``resume``."""

    policy: Policy
    wanted: bool | None
    state_key: str

    def begun(
        self,
        journal: Journal,
        thread: ThreadKey,
        state: State | None,
        reads: Sequence[Read],
        config: Config,
    ) -> Begun:
        """Return where the memory of a run stands whose channels hold ``state`` and the messages ``reads``.

        Raises:
            ConfigurationError: The checkpointer cannot say whether the run goes back in time.
        """
        branch = state.branch if state is not None else "main"
        last = journal.head(thread, state.branch if state is not None else "main")
        if last.hash == (state.hash if state is not None else ""):
            return Begun(thread, state, last)
        held = journal.commit_with(thread, state.hash) if state is not None else None
        if state is not None and held is None:
            return self._after_erasure(journal, thread, state) or Begun(
                thread, state, Head(thread, branch)
            )
        latest: Latest[State] = journal.latest(
            thread, branch=held.branch if held else branch, schema=self.policy.schema
        )
        before = held or Head(thread, branch)
        if latest.state is None or latest.head.hash == before.hash:
            return Begun(thread, state, before)
        if self._is_repeated(journal, latest, before, reads) or not self._goes_back(
            journal, latest, before, config
        ):
            self._tell(thread, before, latest)
            is_kept = before.hash or (self.state_key and saver_of(config) is not None)
            since = before.seq if is_kept else None
            return Begun(thread, latest.state, latest.head, since)
        if state is not None:
            return Begun(thread, state, before)
        anew = self._anew(thread, reads)
        again: Latest[State] = journal.latest(anew, schema=self.policy.schema)
        return Begun(anew, again.state, again.head)

    def _after_erasure(self, journal: Journal, thread: ThreadKey, state: State) -> Begun | None:
        """Return what an erasure left of the checkpoint's state, if that was the thread's last one."""
        if journal.was_deleted(thread) or not journal.was_erased(thread, state.hash):
            return None
        latest: Latest[State] = journal.latest(
            thread, branch=state.branch, schema=self.policy.schema
        )
        if latest.state is None or latest.state.turn != state.turn:
            return None
        return Begun(thread, latest.state, latest.head)

    def _is_repeated(
        self, journal: Journal, latest: Latest[State], before: Head, reads: Sequence[Read]
    ) -> bool:
        """Return whether the channel holds everything that was committed since: the checkpoint alone is missing."""
        since = journal.messages(latest.head.thread, before.seq + 1, branch=latest.head.branch)
        there = {(read.id, digest) for read in reads for digest in read.digests}
        return all(
            (
                m.message.observation.message,
                digest_of(m.message.observation, self.policy.digest_key),
            )
            in there
            for m in since
            if m.seq <= latest.head.seq
        )

    def _goes_back(
        self, journal: Journal, latest: Latest[State], before: Head, config: Config
    ) -> bool:
        if not before.hash and self.wanted is not None:
            return not self.wanted
        later = frozenset(
            each.hash
            for each in journal.commits(latest.head.thread, latest.head.branch, before.version)
        )
        return self._are_kept(later, latest.head.thread, config)

    def _are_kept(self, hashes: Collection[str], thread: ThreadKey, config: Config) -> bool:
        """Return whether the run's checkpointer holds a state with one of these hashes."""
        configured = config.get("configurable") or {}
        if (saver := saver_of(config)) is None:
            return False
        where = {"configurable": {"thread_id": configured.get("thread_id")}}
        try:
            led = (
                _hash_of(each.checkpoint["channel_values"].get(self.state_key), thread)
                for each in checkpoints(config)
            )
            if next(filter(None, led), "") in hashes:
                return False  # the run goes on from it; in between the agent ran without the memory
            for limit in (NEWEST, None):
                # To the end: a saver that is asynchronous inside closes its query only there.
                values = [
                    each.checkpoint["channel_values"] for each in saver.list(where, limit=limit)
                ]
                if any(_hash_of(each.get(self.state_key), thread) in hashes for each in values):
                    return True
                if len(values) < NEWEST:
                    return False
        except Exception as error:
            raise ConfigurationError(
                "the memory went on after the graph's state, and the checkpointer cannot say whether the run goes "
                f"back in time: {type(error).__name__}",
                where=f"thread {thread.thread!r}, {type(saver).__name__}.list",
                hint="resume=True goes on from the thread's last state; resume=False begins anew",
            ) from error
        return False

    def _anew(self, thread: ThreadKey, reads: Sequence[Read]) -> ThreadKey:
        """Name the memory of a conversation that begins anew, by what it begins with."""
        words = "\x00".join(digest for read in reads[:1] for digest in (read.id, *read.digests))
        digest = hashlib.blake2b(words.encode(), digest_size=6).hexdigest()
        log_event(
            _LOG, logging.WARNING, "begun_anew",
            "a conversation begins anew: its run goes back to before the first turn, or resume=False says so",
            thread=thread.thread,
        )  # fmt: skip
        return replace(thread, agent=f"{thread.agent}{ANEW}{digest}")

    def _tell(self, thread: ThreadKey, before: Head, latest: Latest[State]) -> None:
        log_event(
            _LOG, logging.INFO, "gone_on",
            "a run goes on from the thread's last state in the memory, which is newer than its checkpoint",
            thread=thread.thread, version=before.version, last=latest.head.version,
        )  # fmt: skip


def _hash_of(raw: Any, thread: ThreadKey) -> str:
    """Return the hash of the state in a checkpoint, if it is the thread's."""
    if not isinstance(raw, Mapping) or owner_of(raw) not in ("", owner_key(thread)):
        return ""
    return str(raw.get("hash") or "")

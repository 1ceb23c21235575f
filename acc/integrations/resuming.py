"""Which state a run goes on from: that of its channel, or one that the journal made since.

A run that was killed, cancelled or ended by an error may have committed more than its checkpoint says. It goes on from
there: what a tool did stays known. A run that goes back in time begins a branch. The checkpointer tells the two apart:
after a run that goes back, it holds later states of the thread.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from acc.errors import ConfigurationError
from acc.integrations.graph_channels import owner_key, owner_of
from acc.integrations.history import before as checkpoints
from acc.integrations.identity import ANEW, Config, saver_of
from acc.integrations.tailing import missing
from acc.integrations.voices import Read
from acc.journal import Head, Journal, Latest, ThreadKey
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy

State = CompressedCognitiveState

NEWEST = 64
"""Checkpoints that are read first."""

_LOG = logging.getLogger(__name__)


class Begun(NamedTuple):
    """Where a run's memory stands.

    Attributes:
        state: The state to go on from; None for a new thread.
        head: What the journal knows up to that state. Its thread is another one if the conversation begins anew.
        since: The place in the journal behind which a killed run may have said what this one says again; None if no
            run was killed.
    """

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
        last = journal.head(thread, branch)
        if last.hash == (state.hash if state is not None else ""):
            return Begun(state, last)
        held = journal.commit_with(thread, state.hash) if state is not None else None
        before = held or Head(thread, branch)
        latest = self._latest(journal, thread, before.branch)
        if state is not None and held is None:
            is_left = journal.was_erased(thread, state.hash) and not journal.was_deleted(thread)
            if is_left and latest.state is not None and latest.state.turn == state.turn:
                return Begun(latest.state, latest.head)  # what an erasure left of it
            return Begun(state, before)
        if latest.state is None or latest.head.hash == before.hash:
            return Begun(state, before)
        is_here = not missing(journal, latest.head, before.seq, reads)
        if is_here or not self._goes_back(journal, latest.head, before, config):
            log_event(
                _LOG, logging.INFO, "gone_on",
                "a run goes on from the thread's last state in the memory, which is newer than its checkpoint",
                thread=thread.thread, version=before.version, last=latest.head.version,
            )  # fmt: skip
            is_kept = before.hash or (self.state_key and saver_of(config) is not None)
            return Begun(latest.state, latest.head, before.seq if is_kept else None)
        if state is not None:
            return Begun(state, before)
        again = self._latest(journal, _anew(thread, reads))
        return Begun(again.state, again.head)

    def _latest(self, journal: Journal, thread: ThreadKey, branch: str = "main") -> Latest[State]:
        return journal.latest(thread, branch=branch, schema=self.policy.schema)

    def _goes_back(self, journal: Journal, last: Head, before: Head, config: Config) -> bool:
        """Return whether the run's checkpointer holds a later state, from which the run does not come."""
        if not before.hash and self.wanted is not None:
            return not self.wanted
        if (saver := saver_of(config)) is None:
            return False
        commits = journal.commits(last.thread, last.branch, before.version)
        later = {each.hash for each in commits}
        try:
            if next(self._hashes(checkpoints(config), last.thread), "") in later:
                return False  # in between the agent ran without the memory
            return self._are_kept(saver, later, last.thread, config)
        except Exception as error:
            raise ConfigurationError(
                "the memory went on after the graph's state, and the checkpointer cannot say whether the run goes "
                f"back in time: {type(error).__name__}",
                where=f"thread {last.thread.thread!r}, {type(saver).__name__}.list",
                hint="resume=True goes on from the thread's last state; resume=False begins anew",
            ) from error

    def _are_kept(
        self, saver: Any, hashes: Collection[str], thread: ThreadKey, config: Config
    ) -> bool:
        configured = config.get("configurable") or {}
        where = {"configurable": {"thread_id": configured.get("thread_id")}}
        for limit in (NEWEST, None):
            # To the end: a saver that is asynchronous inside closes its query only there.
            page = list(saver.list(where, limit=limit))
            if any(digest in hashes for digest in self._hashes(page, thread)):
                return True
            if len(page) < NEWEST:
                return False
        return False

    def _hashes(self, found: Iterable[Any], thread: ThreadKey) -> Iterator[str]:
        """Yield the hashes of the thread's states in checkpoints."""
        for each in found:
            raw = each.checkpoint["channel_values"].get(self.state_key)
            is_own = isinstance(raw, Mapping) and owner_of(raw) in ("", owner_key(thread))
            if is_own and raw.get("hash"):
                yield str(raw["hash"])


def _anew(thread: ThreadKey, reads: Sequence[Read]) -> ThreadKey:
    """Name the memory of a conversation that begins anew, by what it begins with."""
    words = "\x00".join(digest for read in reads[:1] for digest in (read.id, *read.digests))
    digest = hashlib.blake2b(words.encode(), digest_size=6).hexdigest()
    log_event(
        _LOG, logging.WARNING, "begun_anew",
        "a conversation begins anew: its run goes back to before the first turn, or resume=False says so",
        thread=thread.thread,
    )  # fmt: skip
    return replace(thread, agent=f"{thread.agent}{ANEW}{digest}")

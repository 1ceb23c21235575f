"""What a thread's log tells about the messages of a run: which are committed, refused, recorded.

The log knows a message by its id. So a client may send its whole history again, a graph may keep
no state between its runs, and nothing is committed twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from acc.completing import observed
from acc.integrations.compaction import Past
from acc.integrations.held_state import HeldStates
from acc.integrations.messages import as_messages
from acc.memory import Memory
from acc.state import ROOT, CompressedCognitiveState
from acc.store import Thread
from acc.turn import Channel, Observation, Turn

Prior = CompressedCognitiveState | None

_LOG = logging.getLogger(__name__)


class _Ids:
    """The ids of the messages of some turns, without a copy of all that the log knows."""

    def __init__(self, turns: Mapping[str, int], first: int, last: int) -> None:
        self._turns, self._within = turns, range(first, last + 1)

    def __contains__(self, message_id: object) -> bool:
        return isinstance(message_id, str) and self._turns.get(message_id) in self._within


def past_of(memory: Memory, thread: Thread, prior: Prior) -> Past:
    """What the log of ``thread`` knows of the conversation up to the state ``prior``.

    Raises:
        StoreError: The store cannot be read.
    """

    def refused(turn: Turn) -> bool:
        return memory.refused_before(turn, thread)

    with memory.lock:
        branch = memory.log_of(thread).branch(prior.branch if prior is not None else ROOT)
    turn = prior.turn if prior is not None else 0
    later = _Ids(branch.messages, turn + 1, turn + 1)
    if prior is None:
        return Past(recorded=later, refused=refused)

    def words() -> list[str]:
        speech = (Channel.USER, Channel.AGENT)
        return [
            a.identity[:32]
            for a in branch.artifacts
            if a.kind == "observation" and a.part == 0 and a.turn <= turn
            and a.channel in speech and not (a.call_id or a.name)
        ]  # fmt: skip

    committed = _Ids(branch.messages, 0, turn)
    return Past(True, committed, later, words, refused)


def state_behind(
    memory: Memory, held: HeldStates, thread: Thread, messages: Sequence[Any], *, resume: bool
) -> Prior:
    """The state after the last of ``messages`` that a commit of ``thread`` has taken in.

    For a run whose graph kept no state: a caller without checkpoints, an agent of a swarm. The
    state comes from the audit log, else from this process.

    Args:
        memory: The memory.
        held: What this process holds of its states.
        thread: Whose run it is.
        messages: The run's.
        resume: Whether the caller goes on from the thread's last state where this finds none;
            otherwise the log warns that a thread with a state begins anew.

    Returns:
        None where no commit has seen any of the messages, or the state is not kept.

    Raises:
        StoreError: The store cannot be read.
        AuditError: The audit log cannot be read.
    """
    ids = {m.id for m in as_messages(messages)}
    last = memory.last_state(thread)
    names = dict.fromkeys((last.branch, ROOT) if last is not None else (ROOT,))
    for name in names:
        with memory.lock:
            known = memory.log_of(thread).branch(name).messages
            turns = sorted({turn for i, turn in known.items() if i in ids}, reverse=True)
        # The latest may only be recorded; its turn has no state yet.
        for turn in turns:
            if (state := memory.state_at(thread, name, turn)) is not None:
                return state
            if (state := held.at(thread, name, turn)) is not None:
                return state
    if last is not None and not resume:
        _LOG.warning(
            "thread %r begins anew on a branch of its own: the graph has no state of it, and none "
            "of the messages is known; resume=True goes on from turn %d",
            thread.thread, last.turn,
        )  # fmt: skip
    return None


def recorded(
    memory: Memory, thread: Thread, state: CompressedCognitiveState, identities: Sequence[str]
) -> tuple[Observation, ...]:
    """The observations recorded since ``state`` that are called for, in the order of their record.

    Args:
        memory: Where they were recorded.
        thread: Whose they are.
        state: The state whose next turn they belong to.
        identities: The first 32 digits of `Observation.identity`, of each as often as wanted.

    Raises:
        StoreError: The store cannot be read.
    """
    wanted = Counter(identities)
    found = []
    with memory.lock:
        branch = memory.log_of(thread).branch(state.branch)
        for artifact in branch.own(state.turn + 1, "observation"):
            if artifact.part == 0 and wanted[artifact.identity[:32]] > 0:
                wanted[artifact.identity[:32]] -= 1
                found.append(artifact)
        return observed(branch, found)

"""What a thread's log knows of a run's messages: which are committed, refused or recorded.

The log knows a message by its id. No message is therefore committed twice, even if a client sends its
whole history again or a graph keeps no state between runs. A checkpoint need not repeat the user's
message either: `with_refs` replaces its text by refs to the evidence, `with_content` restores it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from acc.errors import StateError
from acc.integrations.compaction import Past, Plan, Progress
from acc.integrations.messages import as_messages
from acc.integrations.stepping import HeldStates
from acc.logs import log_event
from acc.memory import Memory
from acc.state.model import ROOT, CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.thread.branch import observed
from acc.turn.observations import Channel, Observation
from acc.turn.paste.split import MARK
from acc.turn.turn import Turn

Prior = CompressedCognitiveState | None

_LOG = logging.getLogger(__name__)


class _Ids:
    """The ids of the messages of the turns ``first`` to ``last``, without a copy of the log's index."""

    def __init__(self, turns: Mapping[str, int], first: int, last: int) -> None:
        self._turns, self._within = turns, range(first, last + 1)

    def __contains__(self, message_id: object) -> bool:
        return isinstance(message_id, str) and self._turns.get(message_id) in self._within


def past_of(memory: Memory, thread: Thread, prior: Prior) -> Past:
    """Return what the log of ``thread`` knows of the conversation up to the state ``prior``.

    Raises:
        StoreError: The store cannot be read.
    """

    def refused(turn: Turn) -> bool:
        return memory._refused_before(turn, thread)

    with memory._locked_log(thread) as log:
        branch = log.branch(prior.branch if prior is not None else ROOT)
    turn = prior.turn if prior is not None else 0
    next_turn = _Ids(branch.messages, turn + 1, turn + 1)
    if prior is None:
        return Past(recorded=next_turn, refused=refused)

    def spoken() -> list[str]:
        speech = (Channel.USER, Channel.AGENT)
        return [
            a.identity[:32]
            for a in branch.artifacts
            if a.kind == "observation" and a.part == 0 and a.turn <= turn
            and a.channel in speech and not (a.call_id or a.name)
        ]  # fmt: skip

    committed = _Ids(branch.messages, 0, turn)
    return Past(begun=True, committed=committed, recorded=next_turn, spoken=spoken, refused=refused)


def state_after(
    memory: Memory, held: HeldStates, thread: Thread, messages: Sequence[Any], *, resume: bool
) -> Prior:
    """Find the state after the last of ``messages`` that ``thread`` has committed.

    It serves a run whose graph holds no state: the caller keeps no checkpoints, or the run is an agent
    of a swarm. The state comes from the audit log, or else from this process's cache ``held``. It is None if
    no commit has seen any of the messages, or the state is not kept. Unless the caller is then to ``resume``
    from the thread's last state, a warning says that the thread begins anew.

    Raises:
        StoreError: The store cannot be read.
        AuditError: The audit log cannot be read.
    """
    ids = {m.id for m in as_messages(messages)}
    last = memory.last_state(thread)
    names = dict.fromkeys((last.branch, ROOT) if last is not None else (ROOT,))
    for name in names:
        with memory._locked_log(thread) as log:
            known = log.branch(name).messages
            turns = sorted({turn for i, turn in known.items() if i in ids}, reverse=True)
        # The latest turn may only be recorded and have no state yet.
        for turn in turns:
            if (state := memory.state_at(thread, name, turn)) is not None:
                return state
            if (state := held.at(thread, name, turn)) is not None:
                return state
    if last is not None and not resume:
        log_event(
            _LOG, logging.WARNING, "begun_anew",
            "a thread begins anew on a branch of its own: the graph has no state of it, and none of the "
            "messages is known; resume=True goes on from the last turn",
            thread=thread.thread, key=thread.key, last_turn=last.turn,
        )  # fmt: skip
    return None


def recorded(
    memory: Memory, thread: Thread, state: CompressedCognitiveState, identities: Sequence[str]
) -> tuple[Observation, ...]:
    """Return the requested observations recorded since ``state``, in recorded order.

    ``identities`` has the first 32 digits of `Observation.identity` of each wanted observation.

    Raises:
        StoreError: The store cannot be read.
    """
    wanted = Counter(identities)
    found = []
    with memory._locked_log(thread) as log:
        branch = log.branch(state.branch)
        for artifact in branch.own(state.turn + 1, "observation"):
            if artifact.part == 0 and wanted[artifact.identity[:32]] > 0:
                wanted[artifact.identity[:32]] -= 1
                found.append(artifact)
        return observed(branch, found)


REFS = "refs"
"""Progress key: the refs of the observations of the user's message."""


def with_refs(plan: Plan, stored: Turn | None, before: Progress | None) -> Progress:
    """Return the progress of ``plan`` with the refs of the user's message instead of its content.

    The content stays if the evidence differs from it: pictures, and characters that no store can hold. The plan's
    last turn was ``stored`` with refs, if any was. Refs of ``before`` stay valid while the message is the same.
    """
    progress = {name: value for name, value in plan.progress.items() if name != "content"}
    if before and REFS in before and before["id"] == progress["id"]:
        return {**progress, REFS: before[REFS]}
    said = [o.text for o in plan.said]
    if stored is None or not said or _with_passages(said) != plan.progress["content"]:
        return plan.progress
    end = len(stored.observations) - plan.behind
    return {**progress, REFS: [o.ref for o in stored.observations[end - len(said) : end]]}


def lacks_content(progress: Any, messages: Sequence[Any]) -> bool:
    """Return whether ``progress`` has only refs of a message that is not among ``messages``."""
    if not isinstance(progress, Mapping) or "content" in progress or REFS not in progress:
        return False
    return all(m.id != progress.get("id") for m in as_messages(messages))


def with_content(
    progress: Progress, memory: Memory, thread: Thread, state: CompressedCognitiveState
) -> Progress:
    """Return ``progress`` with the message's content, read from the store.

    Raises:
        StateError: The progress names evidence that the store lacks.
        StoreError: The store cannot be read.
    """
    with memory._locked_log(thread) as log:
        branch = log.branch(state.branch)
        found = [branch.text(str(ref)) for ref in progress[REFS] if branch.parts(str(ref))]
    if not found or len(found) < len(progress[REFS]):
        raise StateError(
            "the user's current message is neither among the messages nor in the store",
            where=f"refs {progress[REFS]}",
            hint="leave the channel as the memory wrote it, and send the message again",
        )
    return {**progress, "content": _with_passages(found)}


def _with_passages(texts: Sequence[str]) -> str:
    """Return the user's own words, the last of ``texts``, with the pasted passages back in their places."""
    *passages, text = texts
    for passage in passages:
        text = text.replace(MARK, passage, 1)
    return text


def texts(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the text of each message."""
    return [str(message.text) for message in messages]


def joined(*parts: str) -> str:
    """Join the non-empty ``parts`` with blank lines."""
    return "\n\n".join(part for part in parts if part)

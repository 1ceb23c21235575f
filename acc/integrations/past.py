"""What a thread's log knows of a run's messages: which are committed, refused or recorded.

The log knows a message by its id. No message is therefore committed twice, even if a client sends its
whole history again or a graph keeps no state between runs. A checkpoint need not repeat the user's
message either: `with_refs` replaces its text by refs to the evidence, `with_content` restores it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from acc.errors import ConfigurationError, StateError
from acc.integrations.compaction import Compaction, Past, Plan, Progress, spoken
from acc.integrations.identity import CHECKPOINTER, Config
from acc.integrations.messages import as_messages, is_users
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


def state_after(memory: Memory, held: HeldStates, thread: Thread, messages: Sequence[Any]) -> Prior:
    """Find the state after the last of ``messages`` that ``thread`` has committed.

    It serves a run whose graph holds no state: the caller keeps no checkpoints, or the run is an agent
    of a swarm. The state comes from the audit log, or else from this process's cache ``held``. It is None if
    no commit has seen any of the messages, or the state is not kept.

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
    return None


class Resuming(NamedTuple):
    """Decides whether a run whose graph has no state goes on from its thread's last state.

    A graph has none because the run goes back to before the thread's first turn, which has to begin anew, or because
    its checkpoints are gone: they were erased, or never kept. The checkpointer tells which: after a run that goes back
    it holds later states of the thread.

    Attributes:
        wanted: What the deployer says; None decides for each run.
        state_key: Channel of the state.
        last: Returns the thread's last state.
    """

    wanted: bool | None
    state_key: str
    last: Callable[[Thread], Prior]

    def state(
        self, memory: Memory, thread: Thread, messages: Any, how: Compaction, config: Config
    ) -> Prior:
        """Return the state to go on from, or None to begin the thread, for the first time or anew.

        Raises:
            ConfigurationError: The checkpointer cannot be asked, and the deployer has not decided.
            StoreError: The store cannot be read.
        """
        last = self.last(thread)
        if last is None and self.wanted is None:
            self._refuse_without_logs(memory, thread, messages, how, config)
        if self.wanted or last is None:
            return last
        if self.wanted is None and not self._has_states(thread, config):
            if _is_first_turn_again(memory, thread, last, messages, how):
                return None  # a step that repeats its turn makes the same commit
            log_event(
                _LOG, logging.INFO, "gone_on",
                "a thread goes on from its last state in the memory: the graph has no state of it",
                thread=thread.thread, key=thread.key, last_turn=last.turn,
            )  # fmt: skip
            return last
        log_event(
            _LOG, logging.WARNING, "begun_anew",
            "a thread begins anew on a branch of its own: the run goes back to before its first turn, or "
            "resume=False says so",
            thread=thread.thread, key=thread.key, last_turn=last.turn,
        )  # fmt: skip
        return None

    def _refuse_without_logs(
        self, memory: Memory, thread: Thread, messages: Any, how: Compaction, config: Config
    ) -> None:
        """Raise if neither the graph nor the memory keeps the state of a thread that has had turns.

        A transcript brings the words of the earlier turns along, and may begin anew.
        """
        if memory.settings.audit is not None:
            return
        with memory._locked_log(thread) as log:
            turns = log.branch(ROOT).newest
        heard = [m for m in as_messages(messages) if is_users(m, how.voices)]
        # The first turn may have been stored and not committed.
        if turns > 1 and len(heard) < 2 and not self._has_states(thread, config):
            raise ConfigurationError(
                "the thread has had turns, and nothing keeps its state: the graph has no checkpoint of it, "
                "and the memory no audit logs",
                where=f"thread {thread.thread!r}",
                hint="compile the graph with a checkpointer, or open the memory with audit logs, as "
                "MemoryController.open does; resume=False begins anew, without the thread's rules",
            )

    def _has_states(self, thread: Thread, config: Config) -> bool:
        """Return whether the run's checkpointer holds a state of ``thread``."""
        configured = config.get("configurable") or {}
        saver = configured.get(CHECKPOINTER)
        if saver is None:
            return False
        try:
            return self._is_among(saver, configured.get("thread_id"), thread)
        except Exception as error:
            raise ConfigurationError(
                f"the graph has no state of a thread that the memory knows, and its checkpointer cannot say "
                f"whether the run goes back to before the first turn: {type(error).__name__}",
                where=f"thread {thread.thread!r}, {type(saver).__name__}.list",
                hint="MemoryNode(memory, resume=True), or MemoryMiddleware, goes on from the last state; "
                "resume=False begins anew, without the thread's rules",
            ) from error

    def _is_among(self, saver: Any, conversation: Any, thread: Thread) -> bool:
        """Return whether the newest checkpoints of the conversation, or else all, hold a state of ``thread``."""
        for limit in (_NEWEST, None):
            # To the end: a saver that is asynchronous inside closes its query only there.
            listed = saver.list({"configurable": {"thread_id": conversation}}, limit=limit)
            owners = [
                _owner_of(each.checkpoint["channel_values"], self.state_key) for each in listed
            ]
            if thread.owner_key in owners:
                return True
            if limit is not None and len(owners) < limit:
                return False
        return False


def _owner_of(channels: Mapping[str, Any], key: str) -> Any:
    state = channels.get(key)
    return state.get("bound_to") if isinstance(state, Mapping) else None


_NEWEST = 64
"""Number of checkpoints that are read first."""


def _is_first_turn_again(
    memory: Memory, thread: Thread, last: CompressedCognitiveState, messages: Any, how: Compaction
) -> bool:
    """Return whether ``messages`` are those of the first turn, the only one: its run died after its commit."""
    users = [m for m in as_messages(messages) if is_users(m, how.voices)]
    told = spoken(how.observed(users))
    if last.turn != 1 or not told:
        return False
    with memory._locked_log(thread) as log:
        return told == [
            a.identity[:32]
            for a in log.branch(last.branch).at_turn(1)
            if a.channel is Channel.USER and a.part == 0
        ]


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

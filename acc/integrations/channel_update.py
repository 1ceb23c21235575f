"""What a pass leaves in the channels: the tail and the current step as messages, the state, the notes.

What a compression has read leaves the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from acc.integrations.graph_channels import owned
from acc.integrations.messages import as_messages, is_marked, is_summary, role_and_rest, with_mark
from acc.integrations.notes import Notes
from acc.integrations.reviews import calls_of
from acc.integrations.stepping import tell
from acc.integrations.tailing import current, places
from acc.integrations.voices import Read
from acc.journal import ThreadKey
from acc.state.model import CompressedCognitiveState, TailRef
from acc.state.policy import Policy
from acc.state.tail import Message
from acc.step.step import Step
from acc.turn.turn import Turn

State = CompressedCognitiveState


class ChannelValues(NamedTuple):
    """What a graph's channels hold: messages, state as plain JSON, notes; ``handed`` is the state of a parent graph."""

    messages: Sequence[Any]
    raw: Any
    notes: Notes
    config: RunnableConfig
    handed: Any = None


@dataclass(frozen=True)
class Looked:
    """What a pass finds before it changes anything.

    Attributes:
        thread: The thread.
        state: The state to go on from; None for a new thread.
        given: The channels.
        role: The leading system message, if there is one.
        rest: The other messages.
        reads: Those, healed, with their digests.
        new: Those that no commit has taken.
        erased: Ids of messages whose words were erased.
        notes: The notes, with what this pass adds.
        added: Results that a failed run left: they are not in the channel yet.
    """

    thread: ThreadKey
    state: State | None
    given: ChannelValues
    role: list[BaseMessage]
    rest: list[BaseMessage]
    reads: list[Read]
    new: tuple[Read, ...]
    erased: frozenset[str]
    notes: Notes
    added: tuple[BaseMessage, ...] = ()

    @property
    def turn(self) -> Turn:
        """What no commit has taken, as one turn."""
        return Turn(observations=tuple(o for read in self.new for o in read.observations))


class Passed(NamedTuple):
    """What a pass made: no step if nothing was new, no state if nothing was ever said."""

    looked: Looked
    step: Step[Any] | None
    state: State | None
    tail: tuple[Message, ...]
    policy: Policy


def kept(passed: Passed) -> set[str]:
    """Return the ids of the messages that stay: the tail, the current step, calls with their results."""
    looked, state = passed.looked, passed.state
    entries = state.unread if state is not None else ()
    held = {i for i, found in places(looked.reads, entries, by_ref(passed.tail)).items() if found}
    kept = held | current(looked.rest) | {str(m.id) for m in looked.role}
    answers: dict[str, set[str]] = {}
    for message in looked.rest:
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id or "", set()).add(str(message.id))
    for message in looked.rest:
        if calls := [call_id for call_id, _ in calls_of(message)]:
            group = {str(message.id)}.union(*(answers.get(each, ()) for each in calls))
            kept |= group if group & kept else set()
    return (kept | _asked(looked.rest, kept, passed.policy)) - looked.erased


def _asked(messages: Sequence[BaseMessage], kept: set[str], policy: Policy) -> set[str]:
    """Return the id of the human message before the first one that stays: what a model reads begins with the user's.

    One that is long leaves: no bound of the tail counts it.
    """
    first = next((i for i, m in enumerate(messages) if m.id in kept), 0)
    if not messages or isinstance(messages[first], HumanMessage):
        return set()
    said = [m for m in messages[:first] if isinstance(m, HumanMessage) and not is_summary(m)]
    return {str(m.id) for m in said[-1:] if 4 * policy.counter(str(m.text)) <= policy.max_tokens}


def removed(passed: Passed) -> list[RemoveMessage]:
    """Return the update that lets the compressed messages leave the channel."""
    looked = passed.looked
    if passed.state is None:
        return [RemoveMessage(id=i) for i in looked.erased]
    staying = kept(passed)
    return [RemoveMessage(id=str(m.id)) for m in looked.rest if m.id not in staying]


def marked(looked: Looked) -> list[BaseMessage]:
    """Return what gets its mark: another agent's tasks, which may come to other agents from here; langmem's summary."""
    tasks = looked.notes.tasks
    role, _ = role_and_rest(as_messages(looked.given.messages[:1]))
    summary = [m for m in looked.rest[:1] if role and not looked.role]
    return [*summary, *(with_mark(m) for m in looked.rest if m.id in tasks and not is_marked(m))]


def changed(passed: Passed, *, stay: bool) -> list[BaseMessage]:
    """Return the update of the messages: tasks are marked, what was compressed leaves."""
    looked = passed.looked
    leaving = removed(passed) if not stay else []
    gone = {message.id for message in leaving}
    if any(getattr(m, "id", None) is None for m in looked.given.messages):
        # Without ids they are replaced all at once: from now on each has the one that the journal knows.
        staying = [m for m in (*looked.role, *looked.rest) if m.id not in gone]
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *staying]
    added = {m.id: m for m in looked.added}
    new = [m for m in (*marked(looked), *added.values()) if m.id not in gone]
    return [*new, *(m for m in leaving if m.id not in added)]


def beside(passed: Passed, kept: set[str]) -> dict[str, str]:
    """Return the digests of what is kept and has been taken, where tail and journal do not tell it by its id."""
    if passed.state is None:
        return {}
    texts = by_ref(passed.tail)
    held = places(passed.looked.reads, passed.state.unread, texts)
    return {
        read.id: " ".join(read.digests)
        for read in passed.looked.reads
        if read.id in kept and read.digests and not _is_told(read.id, held.get(read.id, ()), texts)
    }


def channels(
    passed: Passed, *, stay: bool = False
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the new values of the state's channel and of the notes'; None for one that stays as it is.

    ``stay``: the messages stay, compressed or not.
    """
    looked, given, state = passed.looked, passed.looked.given, passed.state
    raw = given.raw if isinstance(given.raw, Mapping) else {}
    ccs = None
    if state is not None and raw.get("hash") != state.hash:
        ccs = owned(state.canonical(), looked.thread, given.handed or given.raw)
    every = {str(m.id) for m in looked.rest}
    ids = kept(passed) if state is not None else every
    notes = looked.notes.within(every if stay else ids)
    notes = replace(notes, taken={**notes.taken, **beside(passed, ids)})
    now = owned(notes.dump(), looked.thread, given.handed or given.raw)
    before = owned(given.notes.dump(), looked.thread, given.handed or given.raw)
    is_same = now == before and not given.notes.is_new
    if passed.step is not None:
        tell(passed.step)
    return ccs, None if is_same else now


def by_ref(messages: Sequence[Message]) -> dict[str, Message]:
    """Return messages of a tail by ref."""
    return {message.ref: message for message in messages}


def _is_told(message: str, entries: Sequence[TailRef], texts: Mapping[str, Message]) -> bool:
    """Return whether the tail has a message under its own id, as far as the tail was read."""
    known = [texts[entry.ref].observation.message for entry in entries if entry.ref in texts]
    return bool(entries) and all(each == message for each in known)

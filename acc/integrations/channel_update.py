"""What a pass finds in the channels, and what it leaves there: the tail and the current step as messages, state, notes.

What a compression has read leaves the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from acc.integrations.graph_channels import owned
from acc.integrations.identity import Owner
from acc.integrations.messages import (
    TASK,
    as_messages,
    calls_of,
    is_marked,
    is_summary,
    with_fields,
)
from acc.integrations.notes import Notes
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
    """What a graph's channels hold in a run.

    Attributes:
        whose: Whose memory the run works on.
        messages: The messages.
        raw: The state as plain JSON.
        notes: The notes.
        config: The run's configuration.
        handed: The state of a parent graph that stands there in place of its own.
        is_same_run: Whether this run has passed before: then it was given nothing since.
    """

    whose: Owner
    messages: Sequence[Any]
    raw: Any
    notes: Notes
    config: RunnableConfig
    handed: Any = None
    is_same_run: bool = False

    def owned(self, value: Mapping[str, Any], thread: ThreadKey) -> dict[str, Any]:
        """Return a value that takes the place of what stands in a channel of the memory."""
        return owned(value, thread, self.handed or self.raw)


@dataclass(frozen=True)
class Looked:
    """What a pass finds before it changes anything.

    Attributes:
        thread: The thread.
        state: The state to go on from; None for a new thread.
        given: The channels.
        rest: The messages behind the role.
        notes: The notes, with what this pass adds.
        added: What the memory puts into the channel: results that a failed run left, another summariser's summary.
        role: The leading system message, if there is one.
        reads: ``rest``, healed, with their digests.
        new: Those that no commit has taken.
        erased: Ids of messages whose words were erased.
        gone: Refs of messages that the state has to let go of first, by reason.
    """

    thread: ThreadKey
    state: State | None
    given: ChannelValues
    rest: Sequence[BaseMessage]
    notes: Notes
    added: Sequence[BaseMessage] = ()
    role: Sequence[BaseMessage] = ()
    reads: Sequence[Read] = ()
    new: Sequence[Read] = ()
    erased: frozenset[str] = frozenset()
    gone: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def turn(self) -> Turn:
        """What no commit has taken, as one turn."""
        return Turn(observations=tuple(o for read in self.new for o in read.observations))

    @property
    def written(self) -> list[BaseMessage]:
        """What the memory writes into the channel: what it adds, and marks on the tasks that another agent wrote."""
        tasks = (m for m in self.rest if self.notes.of_message(m).who == "task")
        return [*self.added, *(with_fields(m, {TASK: True}) for m in tasks if not is_marked(m))]


@dataclass(frozen=True)
class Passed:
    """What a pass made: no step if nothing was new, no state if nothing was ever said."""

    looked: Looked
    step: Step[Any] | None
    policy: Policy

    @property
    def state(self) -> State | None:
        """The state after it."""
        return self.step.state if self.step is not None else self.looked.state

    @cached_property
    def texts(self) -> Mapping[str, Message]:
        """The tail's messages by ref, as far as it was read."""
        return by_ref(self.step.tail) if self.step is not None else {}

    @cached_property
    def held(self) -> Mapping[str, list[TailRef]]:
        """Which entries of the tail stand in the channel, by message id."""
        entries = self.state.unread if self.state is not None else ()
        return places(self.looked.reads, entries, self.texts)

    @cached_property
    def kept(self) -> set[str]:
        """The ids of the messages that stay: the tail, the current step, calls with their results."""
        messages = self.looked.rest
        if self.state is None:
            return {str(m.id) for m in messages} - self.looked.erased
        kept = {*self.held, *current(messages)}
        answers: dict[str, set[str]] = {}
        for message in messages:
            if isinstance(message, ToolMessage):
                answers.setdefault(message.tool_call_id or "", set()).add(str(message.id))
        for message in messages:
            if calls := [call_id for call_id, _ in calls_of(message)]:
                group = {str(message.id)}.union(*(answers.get(each, ()) for each in calls))
                kept |= group if group & kept else set()
        return (kept | self._asked(kept)) - self.looked.erased

    def _asked(self, kept: set[str]) -> set[str]:
        """Return the id of the human message before the first that stays: what a model reads begins with the user's.

        One that is long leaves: no bound of the tail counts it.
        """
        messages = self.looked.rest
        first = next((i for i, m in enumerate(messages) if m.id in kept), 0)
        if not messages or isinstance(messages[first], HumanMessage):
            return set()
        said = [m for m in messages[:first] if isinstance(m, HumanMessage) and not is_summary(m)]
        most = self.policy.max_tokens
        return {str(m.id) for m in said[-1:] if 4 * self.policy.counter(str(m.text)) <= most}

    def messages(self, *, stay: bool) -> list[BaseMessage]:
        """Return the update of the messages. With ``stay`` they stay, compressed or not."""
        looked = self.looked
        every = [str(m.id) for m in looked.rest]
        gone = [name for name in every if name not in self.kept and not stay]
        if any(getattr(m, "id", None) is None for m in looked.given.messages):
            # Without ids they are replaced all at once: from now on each has the one that the journal knows.
            staying = [m for m in (*looked.role, *looked.rest) if m.id not in gone]
            return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *staying]
        there = {m.id for m in as_messages(looked.given.messages)}
        new = [m for m in looked.written if m.id not in gone]
        return [*new, *(RemoveMessage(id=name) for name in gone if name in there)]

    def notes(self, *, stay: bool) -> dict[str, Any] | None:
        """Return the new value of the notes' channel; None if it stays as it is."""
        looked, before = self.looked, self.looked.given.notes
        every = {str(m.id) for m in looked.rest}
        notes = looked.notes.within(every if stay else self.kept)
        if self.state is not None:
            beside = (r for r in looked.reads if r.id in self.kept and not self._is_told(r))
            notes = notes.noting(taken={read.id: " ".join(read.digests) for read in beside})
        now = notes.dump()
        is_same = now == before.dump() and not before.is_new
        return None if is_same else looked.given.owned(now, looked.thread)

    def _is_told(self, read: Read) -> bool:
        """Return whether tail and journal tell by its id that a message has been taken."""
        entries = self.held.get(read.id, ())
        known = [self.texts[e.ref].observation.message for e in entries if e.ref in self.texts]
        return not read.digests or (bool(entries) and all(each == read.id for each in known))

    def ccs(self) -> dict[str, Any] | None:
        """Return the new value of the state's channel; None if it stays as it is."""
        state, given = self.state, self.looked.given
        before = given.raw.get("hash") if isinstance(given.raw, Mapping) else None
        if state is None or before == state.hash:
            return None
        return given.owned(state.canonical(), self.looked.thread)


def by_ref(messages: Sequence[Message]) -> dict[str, Message]:
    """Return messages of a tail by ref."""
    return {message.ref: message for message in messages}

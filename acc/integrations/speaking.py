"""Who wrote the human messages of a graph: the user, another user, another agent, or nobody whose words bind.

What a message says of itself is never believed. A run gives its messages before its first pass; what comes later in
it, a tool or a node wrote. The notes and the checkpointer's history tell the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from acc.board.memory import Controller
from acc.clock import SystemClock
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError
from acc.integrations.channel_update import ChannelValues
from acc.integrations.history import Came, arrivals
from acc.integrations.identity import (
    TOOLS,
    Identify,
    Identity,
    Owner,
    caller,
    enclosing_nodes,
    misplaced,
    thread_of,
)
from acc.integrations.messages import blocked_in, is_marked
from acc.integrations.notes import Notes, content_digest, notes_key
from acc.integrations.resuming import Resuming
from acc.integrations.reviews import ReviewMarks, is_decided
from acc.integrations.sharing import Share, Shared, Sharing, To
from acc.integrations.tailing import taken_after
from acc.integrations.voices import Voices
from acc.journal import Journal, ThreadKey
from acc.turn.observations import Channel


class AgentSettings(TypedDict, total=False):
    """What an agent's memory can be told, beside which memory it is.

    Attributes:
        channels: Channel by tool name (``{"ask": Channel.USER}``), and by name of human messages that are not the
            user's. A tool's result is a tool's by default.
        speakers: Names of people who speak as the user; other names are documents. None accepts every name.
        human: Channel of a human who reviews a call (`HumanInTheLoopMiddleware`) or answers an interrupt. By default
            an operator, whose rules the user cannot end. ``"user"`` where the user reviews; ``"document"`` where a
            reviewer's words shall bind nobody.
        identity: Finds the thread of a run; `Identity()` by default.
        resume: If the checkpoint has no state, continue from the thread's last state. None does so unless the
            checkpointer holds states of the thread: the run then goes back to before the first turn. False begins
            anew, without the thread's rules.
        tell_time: The model reads the time of the controller's clock after the state.
        share: What the agents of a conversation share on a board: ``"rules"`` shares those that somebody said to all
            of them (`acc.integrations.sharing`).
        to: Whom the user speaks to: ``"all"`` says each rule of the user's to all agents.
        mode: ``"memory"``, or ``"shadow"``: everything is committed, and nothing that the model reads changes.
    """

    channels: Mapping[str, Channel] | None
    speakers: Collection[str] | None
    human: Channel | str
    identity: Identify | None
    resume: bool | None
    tell_time: bool
    share: Share | None
    to: To
    mode: str


class Speaking:
    """The settings of an agent's memory, and who speaks in its graph."""

    def __init__(
        self,
        controller: Controller,
        *,
        state_key: str = "ccs",
        run_key: str = "ccs_run",
        messages_key: str = "messages",
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
        human: Channel | str = Channel.OPERATOR,
        identity: Identify | None = None,
        resume: bool | None = None,
        tell_time: bool = False,
        share: Share | None = None,
        to: To = "",
        mode: str = "memory",
    ) -> None:
        if not isinstance(controller, MemoryController | AsyncMemoryController):
            raise ConfigurationError(
                f"the memory is {type(controller).__name__}",
                where="controller",
                hint="open one: MemoryController.open(folder)",
            )
        self.controller = controller
        self.identity = identity or Identity()
        self.key = notes_key(controller)
        policy, redact = controller.policy, controller.core.redact
        self.voices = Voices(channels, speakers, human, policy, redact)
        self.state_key, self.run_key, self.input_messages_key = state_key, run_key, messages_key
        self.resuming = Resuming(policy, resume, state_key)
        self.sharing = Sharing(controller, share, to, self.identity) if share is not None else None
        if mode not in ("memory", "shadow"):
            raise ConfigurationError(
                f"mode is {mode!r}", where="mode", hint='give "memory" or "shadow"'
            )
        self.is_shadow = mode == "shadow"
        self.is_picky = not (self.voices.speakers is None and policy.speakers is None)
        self.clock = (controller.settings.clock or SystemClock()) if tell_time else None

    def _hook(self) -> None:
        """Believe what the middleware's hook on tools, or the tools' node of this memory, writes beside a result."""
        self.voices.marks = ReviewMarks(self.key)

    def _noted(self, journal: Journal, given: ChannelValues, rest: Sequence[BaseMessage]) -> Notes:
        """Return the notes with who wrote the human messages that are seen for the first time.

        A run gives its messages before its first pass. What comes later in it, a tool or a node wrote.
        """
        whose = given.whose
        notes = given.notes.within({str(m.id) for m in rest})
        users = notes.users
        _check_users(rest, users)
        humans = [m for m in rest if isinstance(m, HumanMessage)]
        if given.is_same_run and self.voices.marks is not None:
            # The middleware sees what a tool writes. So another middleware changed these: it redacts.
            changed = {str(m.id): content_digest(m) for m in humans if m.id in users}
            notes = notes.noting(words=changed)
        heard = [m for m in humans if not notes.knows(m) and not is_marked(m)]
        tasks = self._tasks(journal, given, {str(m.id) for m in heard})
        others = {str(m.id) for m in heard} - tasks
        strange, came = self._strangers(journal, given, rest, heard, others, users)
        words = {str(m.id): content_digest(m) for m in heard if str(m.id) in others - strange}
        speakers = {name: came[name].user if name in came else "" for name in words}
        speakers = {name: user or whose.user for name, user in speakers.items()}
        is_shared = notes.is_shared or any(u != whose.thread.user for u in speakers.values())
        is_named = is_shared or self.is_picky
        named = {str(m.id): m.name for m in heard}
        speakers = {n: named[n] or user for n, user in speakers.items() if is_named}
        if given.is_same_run and (who := self._reviewer(whose)):
            speakers |= {str(m.id): who for m in _since_words(rest) if is_decided(m)}
        written = strange | blocked_in(rest)
        noted = {name for name, note in notes.of.items() if note.speaker}
        return replace(notes, thread=whose.thread, is_shared=is_shared).noting(
            who={**dict.fromkeys(tasks, "task"), **dict.fromkeys(written, "written")},
            words=words,
            speaker={n: user for n, user in speakers.items() if user and n not in noted},
        )

    def _strangers(
        self,
        journal: Journal,
        given: ChannelValues,
        rest: Sequence[BaseMessage],
        heard: Sequence[HumanMessage],
        others: set[str],
        users: set[str],
    ) -> tuple[set[str], dict[str, Came]]:
        """Return which messages are nobody's words to the agent, and how messages came.

        Args:
            journal: The journal.
            given: The channels.
            rest: The messages.
            heard: Those of humans that are not known yet.
            others: The ids of ``heard`` without other agents' tasks.
            users: The ids under which the user's words are known.
        """
        notes, thread = given.notes, given.whose.thread
        is_unknown = (notes.is_new or notes.is_foreign) and not journal.head(thread).hash
        if is_unknown or (notes.is_new and not given.raw):
            return set(), {}  # the thread moves over: its messages may be older than the memory
        if given.is_same_run:
            return others, {}
        written = set(misplaced(rest) & others)
        if written == others:
            # A client whose ids begin anew puts its words in the place of earlier ones.
            written -= users
        # The last one is the run's. Others may be of a run that failed, or of a node at a run's end.
        asked = [m for m in heard if m.id in written or (m.id in others and m is not heard[-1])]
        came = arrivals(given.config, self.input_messages_key, asked)
        written |= others & came.keys()
        return written - {name for name, each in came.items() if each.is_given}, came

    def _tasks(self, journal: Journal, given: ChannelValues, heard: set[str]) -> set[str]:
        """Return which human messages, whose writer is not known yet, another agent wrote for this run."""
        above, nodes = caller(), enclosing_nodes(given.config)
        if not heard or not (above or nodes):
            return set()
        users = heard
        if above is not None or TOOLS in nodes:
            users = heard & above.users if above is not None else set()
        elif self._are_a_nodes(journal, given, heard):
            users = set()
        shared = self._shared(given.config, given.whose.thread)
        if users and shared is not None:
            users = users - shared.told(
                users
            )  # what others put on the board is no news from the user
        return heard - users

    def _are_a_nodes(self, journal: Journal, given: ChannelValues, heard: set[str]) -> bool:
        """Whether a node of the graph wrote messages, as for a worker of `Send`: the conversation at the top has taken
        none of them."""
        last = journal.head(thread_of(given.config, self.identity))
        if not last.hash:
            return False
        past = taken_after(journal, last, max(0, last.seq - 256))
        return not any(each.message.observation.message in heard for each in past)

    def _reviewer(self, whose: Owner) -> str:
        """Return the name under which a human answers: the user who resumes the run, but for the thread's own."""
        is_named = self.voices.human is not Channel.USER or whose.is_guest
        return whose.user if is_named else ""

    def _shared(self, config: RunnableConfig, thread: ThreadKey) -> Shared | None:
        """Return the board of a run; None if the agent shares none."""
        return self.sharing.of_run(config, thread) if self.sharing is not None else None


def _check_users(messages: Sequence[BaseMessage], users: set[str]) -> None:
    for message in messages:
        if message.id in users and not isinstance(message, HumanMessage):
            raise ConfigurationError(
                f"a middleware put a {message.type} message in the place of the user's",
                where=f"message {message.id}",
                hint="give what the middleware adds an id of its own",
            )


def _since_words(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return what follows the last human message."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return messages[last + 1 :]

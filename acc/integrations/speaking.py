"""Who wrote the human messages of a graph: the user, another user, another agent, or nobody whose words bind.

What a message says of itself is never believed. A run gives its messages before its first pass; what comes later in
it, a tool or a node wrote. The notes and the checkpointer's history tell the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypedDict

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from acc.clock import SystemClock
from acc.errors import ConfigurationError
from acc.integrations.channel_update import ChannelValues
from acc.integrations.history import Came, arrivals
from acc.integrations.identity import Identify, Identity, Owner, misplaced, tasks_of, thread_of
from acc.integrations.messages import blocked_in, is_marked
from acc.integrations.notes import Notes, content_digest, notes_key
from acc.integrations.resuming import Resuming
from acc.integrations.reviews import ReviewMarks, is_decided
from acc.integrations.sharing import Share, Shared, Sharing, To
from acc.integrations.stepping import Controller, check_controller
from acc.integrations.voices import Voices, heard_by
from acc.journal import Head, Journal, ThreadKey
from acc.state.tail import Message
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
        check_controller(controller)
        settings = controller.settings
        self.controller = controller
        self.identity = identity or Identity()
        self.key = notes_key(controller)
        self.voices = heard_by(
            Voices.of(channels, speakers, human),
            controller.policy,
            controller.parts.memory.redact,
        )
        self.state_key, self.run_key, self.input_messages_key = state_key, run_key, messages_key
        self.own_channels = (state_key, run_key)
        self.resuming = Resuming(controller.policy, resume, state_key)
        self.sharing = Sharing(controller, share, to, self.identity) if share is not None else None
        if mode not in ("memory", "shadow"):
            raise ConfigurationError(
                f"mode is {mode!r}", where="mode", hint='give "memory" or "shadow"'
            )
        self.is_shadow = mode == "shadow"
        self.is_picky = not (self.voices.speakers is None and controller.policy.speakers is None)
        self.clock = (settings.clock or SystemClock()) if tell_time else None

    def _hook(self) -> None:
        """Believe what the middleware's hook on tools, or the tools' node of this memory, writes beside a result."""
        self.voices = replace(self.voices, marks=ReviewMarks(self.key))

    def _noted(
        self,
        journal: Journal,
        given: ChannelValues,
        whose: Owner,
        rest: Sequence[BaseMessage],
        *,
        is_same_run: bool,
    ) -> Notes:
        """Return the notes with who wrote the human messages that are seen for the first time.

        A run gives its messages before its first pass. What comes later in it, a tool or a node wrote.
        """
        notes = given.notes.within({str(m.id) for m in rest})
        self._check_users(rest, notes)
        humans = [m for m in rest if isinstance(m, HumanMessage)]
        if is_same_run and self.voices.marks is not None:
            # The middleware sees what a tool writes. So another middleware changed these: it redacts.
            changed = {str(m.id): content_digest(m) for m in humans if m.id in notes.users}
            notes = notes.and_these(users=changed)
        heard = [m for m in humans if not notes.knows(m) and not is_marked(m)]
        shared = self._shared(given.config, whose.thread)
        tasks = tasks_of(
            heard,
            given.config,
            partial(self._knows, journal, given.config),
            shared.told if shared is not None else None,
        )
        others = {str(m.id) for m in heard} - tasks
        written, came = set[str](), dict[str, Came]()
        if not self._moves_over(journal, given, whose.thread):
            if is_same_run:
                written = others
            else:
                written, came = self._strangers(given, rest, heard, others, notes)
        users = {str(m.id): content_digest(m) for m in heard if str(m.id) in others - written}
        known = {name: came[name].user for name in users if name in came and came[name].user}
        speakers = {name: known.get(name, whose.user) for name in users}
        is_joined = any(user != whose.thread.user for user in speakers.values())
        notes = replace(notes, is_shared=notes.is_shared or is_joined)
        is_named = notes.is_shared or self.is_picky
        speakers = {name: user for name, user in speakers.items() if user and is_named}
        if is_same_run and (who := self._reviewer(whose)):
            speakers |= {str(m.id): who for m in _since_words(rest) if is_decided(m)}
        written = {*written, *blocked_in(rest).difference(notes.written)}
        return replace(notes, thread=whose.thread).and_these(
            users=users, tasks=sorted(tasks), written=sorted(written), speakers=speakers
        )

    def _strangers(
        self,
        given: ChannelValues,
        rest: Sequence[BaseMessage],
        heard: Sequence[HumanMessage],
        others: set[str],
        notes: Notes,
    ) -> tuple[set[str], dict[str, Came]]:
        """Return which messages, as a run begins, are nobody's words to the agent, and how messages came.

        Args:
            given: The channels.
            rest: The messages.
            heard: Those of humans that are not known yet.
            others: The ids of those that are no other agent's tasks.
            notes: What the runs noted.
        """
        written = set(misplaced(rest) & others)
        if written == others:
            # A client whose ids begin anew puts its words in the place of earlier ones.
            written -= notes.users.keys()
        # The last one is the run's. Others may be of a run that failed, or of a node at a run's end.
        asked = [m for m in heard if m.id in written or (m.id in others and m is not heard[-1])]
        came = arrivals(given.config, self.input_messages_key, asked)
        written |= others & came.keys()
        return written - {name for name, each in came.items() if each.is_given}, came

    def _moves_over(self, journal: Journal, given: ChannelValues, thread: ThreadKey) -> bool:
        """Whether the channels' messages may be older than the memory: it has neither notes of them nor a commit."""
        notes = given.notes
        if not (notes.is_new or notes.is_foreign):
            return False
        is_first = notes.is_new and not given.raw
        return is_first or not journal.head(thread).hash

    def _check_users(self, rest: Sequence[BaseMessage], notes: Notes) -> None:
        """Check that nobody put something else in the place of the user's words.

        Raises:
            ConfigurationError: A middleware did.
        """
        for message in rest:
            if message.id in notes.users and not isinstance(message, HumanMessage):
                raise ConfigurationError(
                    f"a middleware put a {message.type} message in the place of the user's",
                    where=f"message {message.id}",
                    hint="give what the middleware adds an id of its own",
                )

    def _knows(
        self, journal: Journal, config: RunnableConfig, messages: Sequence[BaseMessage]
    ) -> bool | None:
        """Return whether the conversation at the top has taken one of these messages; None if it has no memory."""
        key = thread_of(config, self.identity)
        last = journal.head(key)
        if not last.hash:
            return None
        ids = {str(m.id) for m in messages}
        past = self._past(journal, key, last, max(0, last.seq - 256))
        return any(m.observation.message in ids for m in past)

    def _reviewer(self, whose: Owner) -> str:
        """Return the name under which a human answers: the user who resumes the run, but for the thread's own."""
        is_named = self.voices.human is not Channel.USER or whose.is_guest
        return whose.user if is_named else ""

    def _shared(self, config: RunnableConfig, thread: ThreadKey) -> Shared | None:
        """Return the board of a run; None if the agent shares none."""
        return self.sharing.of_run(config, thread) if self.sharing is not None else None

    def _past(self, journal: Journal, thread: ThreadKey, head: Head, first: int) -> list[Message]:
        stored = journal.messages(thread, first, branch=head.branch)
        return [each.message for each in stored if each.seq <= head.seq]


def _since_words(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return what follows the last human message."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return messages[last + 1 :]

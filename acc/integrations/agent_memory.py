"""What node and middleware share: the messages that no commit has taken become one turn; what was compressed leaves.

    messages -> sorted by id and words -> one turn of `MemoryController.step` -> state, and the messages that stay

The messages since the last compression stay messages: the channel is the tail. A call stays with its results, and the
current step stays.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from acc.clock import SystemClock, now_line
from acc.controller.controller import MemoryController
from acc.driving import Doing, Io, Own, aperform, perform
from acc.errors import AccError, ConfigurationError, ConflictError, StateError
from acc.gate import Verdict
from acc.integrations.delegates import DELEGATES, Delegates, branch_of
from acc.integrations.delegation import calling, misplaced, tasks_of
from acc.integrations.graph_channels import read
from acc.integrations.guards import blocked_in
from acc.integrations.history import inputs, is_running_summary
from acc.integrations.identity import (
    Identify,
    Identity,
    Owner,
    enclosing_nodes,
    owner,
    thread_of,
)
from acc.integrations.leaving import Given, Looked, Passed, by_ref
from acc.integrations.messages import (
    Read,
    Voices,
    as_messages,
    as_summary,
    healed,
    heard_by,
    is_marked,
    role_and_rest,
)
from acc.integrations.notes import Notes, content_digest, notes_key
from acc.integrations.prompting import Shown, View, carried, viewed, with_evidence
from acc.integrations.recovering import Recovered, may_sum_up, recovered
from acc.integrations.resuming import Begun, Resuming
from acc.integrations.reviews import Marks, is_decided, reviewed
from acc.integrations.sharing import Share, Shared, Sharing, To
from acc.integrations.stepping import Controller, check_controller, synchronous, traced
from acc.integrations.tailing import (
    MANY,
    Past,
    is_said,
    places,
    repeated,
    sent_again,
    unknown,
)
from acc.integrations.unfinished import results_left
from acc.journal import Head, ThreadKey
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState, TailRef
from acc.state.render import render
from acc.step import Step
from acc.tail import Message, digest_of
from acc.turn.observations import Channel

State = CompressedCognitiveState
T = TypeVar("T")

_LOG = logging.getLogger(__name__)

TRIES = 3
"""How often a pass is made whose thread another run goes on with."""


class AgentMemory:
    """The memory of an agent in a graph: its controller, its identity, its voices and its board."""

    def __init__(
        self,
        controller: Controller,
        voices: Voices,
        *,
        identity: Identify | None,
        resume: bool | None,
        tell_time: bool,
        share: Share | None,
        to: To,
        mode: str,
        delegates: Mapping[str, str] = DELEGATES,
        state_key: str = "ccs",
        run_key: str = "ccs_run",
        messages_key: str = "messages",
    ) -> None:
        check_controller(controller)
        settings = controller.settings
        self.controller = controller
        self.identity = identity or Identity()
        self.key = notes_key(controller)
        self.voices = heard_by(
            voices, redact=controller.parts.redact, key=controller.policy.digest_key,
        )  # fmt: skip
        self.state_key, self.run_key, self.input_messages_key = state_key, run_key, messages_key
        self.own_channels = (state_key, run_key)
        self.delegates = Delegates(delegates, self.identity, self.own_channels)
        self.resuming = Resuming(controller.journal, controller.policy, resume, state_key)
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
        self.voices = replace(self.voices, marks=Marks(self.key))

    def _of(self, state: Any, config: RunnableConfig) -> tuple[Given, Owner]:
        """Return what a run's channels hold of its own, and whose memory it works on."""
        messages = read(state, self.input_messages_key) or ()
        raw, notes = read(state, self.state_key), read(state, self.run_key)
        return self._given(messages, raw, notes, config)

    # A pass

    def _passed(
        self, given: Given, whose: Owner, *, force: bool = False, is_same_run: bool = False
    ) -> Passed | None:
        """Take what is new; None if a shadow failed: it stops no agent.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. The turn was committed: the next pass goes on from it.
            ConflictError: Another run goes on with the thread, again and again.
        """
        return self._performed(self._aside(self._passing(given, whose, force, is_same_run)))

    async def _apassed(
        self, given: Given, whose: Owner, *, force: bool = False, is_same_run: bool = False
    ) -> Passed | None:
        """Like `_passed`, without blocking the event loop."""
        return await self._awaited(self._aside(self._passing(given, whose, force, is_same_run)))

    def _aside(self, doing: Doing[T]) -> Doing[T | None]:
        try:
            return (yield from doing)
        except AccError as error:
            if not self.is_shadow:
                raise
            log_event(
                _LOG, logging.WARNING, "shadow_failed",
                f"a memory in shadow mode does not work, and the agent goes on: {error}",
            )  # fmt: skip
            return None

    def _performed(self, doing: Doing[T]) -> T:
        synchronous(self.controller)
        return perform(doing)

    async def _awaited(self, doing: Doing[T]) -> T:
        return await aperform(doing, self._carried)

    async def _carried(self, act: Callable[[], Any]) -> Any:
        is_awaited = isinstance(act, Own) and not isinstance(self.controller, MemoryController)
        return await (act() if is_awaited else self.controller.beside(act))

    def _passing(self, given: Given, whose: Owner, force: bool, is_same_run: bool) -> Doing[Passed]:
        tries = 0
        while True:
            try:
                looked: Looked = yield Io(partial(self._look, given, whose, is_same_run))
                step = yield from self._stepping(looked, force)
                return (yield Io(partial(self._done, looked, step)))  # type: ignore[no-any-return]
            except ConflictError:
                if (tries := tries + 1) == TRIES:
                    raise

    def _look(self, given: Given, whose: Owner, is_same_run: bool) -> Looked:
        """Return what a pass finds."""
        role, rest = role_and_rest(as_messages(given.messages))
        if role and self._is_summary(role[0], given):
            role, rest = [], [as_summary(role[0]), *rest]
        added = [] if is_same_run else as_messages(results_left(rest, given.config))
        rest += added
        state = self._loaded(given.raw)
        past = self._recovered(given, whose, state, [*role, *rest])
        whole = [*past.messages, *rest]
        notes = self._noted(given, whose, whole, is_same_run=is_same_run)
        reads = self.voices.read(healed(whole, is_read=True), notes.voiced)
        told = {read.id: " ".join(read.digests) for read in reads if read.id in past.told}
        notes = replace(notes, taken={**notes.taken, **told})
        begun = self.resuming.begun(whose.thread, state, reads, given.config)
        if self._withdrawn(begun, rest, given.notes):
            begun = self.resuming.begun(whose.thread, state, reads, given.config)
        new, erased = self._new(reads, begun, notes)
        new, notes = self._repeated(reads, new, begun, replace(notes, thread=begun.thread))
        if begun.state is None and whole and whole[0].type == "ai":
            log_event(
                _LOG, logging.WARNING, "begun_in_the_middle",
                "a conversation begins with the agent's words: what came before is in no memory of this thread",
                thread=begun.thread.thread,
            )  # fmt: skip
        return Looked(
            begun.thread, begun.state, given, role, rest, reads, new, erased, notes, tuple(added)
        )

    def _withdrawn(self, begun: Begun, rest: Sequence[BaseMessage], notes: Notes) -> bool:
        """Return whether the state rested on words that a guard blocked since. It does not any more."""
        ids = blocked_in(rest).difference(notes.written)
        if begun.state is None or not ids:
            return False
        reads = self.voices.read([m for m in rest if m.id in ids], notes.voiced)
        held = places(reads, begun.state.unread)
        if refs := [entry.ref for entries in held.values() for entry in entries]:
            branch = begun.state.branch
            self.controller.withdrawn(refs, "blocked", thread=begun.thread, branch=branch)
        return bool(refs)

    def _is_summary(self, role: BaseMessage, given: Given) -> bool:
        """Whether what stands in the place of the role is another summariser's summary, as the thread moves over."""
        return given.notes.is_new and not self.is_shadow and is_running_summary(given.config, role)

    def _recovered(
        self, given: Given, whose: Owner, state: State | None, messages: Sequence[BaseMessage]
    ) -> Recovered:
        """Return what another summariser removed and this memory has not taken."""
        if not any(may_sum_up(message) for message in messages):
            return Recovered()
        journal, branch = self.controller.journal, state.branch if state is not None else "main"
        head = journal.head(whose.thread, branch)

        def knows(ids: Collection[str]) -> Collection[str]:
            taken = journal.taken(whose.thread, [*ids], head.seq, branch=branch)
            waiting = journal.waiting(whose.thread, branch)
            known = {*(i for i, _ in taken), *(m.observation.message for m in waiting)}
            return known | given.notes.taken.keys()

        return recovered(
            given.config, messages, self.input_messages_key, knows if head.hash else None
        )

    def _noted(
        self, given: Given, whose: Owner, rest: Sequence[BaseMessage], *, is_same_run: bool
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
            partial(self._knows, given.config),
            shared.told if shared is not None else None,
        )
        others = {str(m.id) for m in heard} - tasks
        written: set[str] | frozenset[str] = frozenset()
        if not self._moves_over(given, whose.thread):
            written = others if is_same_run else misplaced(rest) & others
            if written == others and not is_same_run:
                # A client whose ids begin anew puts its words in the place of earlier ones.
                written -= notes.users.keys()
            if written and not is_same_run:
                seen = [m for m in heard if m.id in written]
                written -= inputs(given.config, self.input_messages_key, seen)
        users = {str(m.id): content_digest(m) for m in heard if str(m.id) in others - written}
        notes = replace(notes, is_shared=notes.is_shared or (bool(users) and whose.is_guest))
        is_named = notes.is_shared or self.is_picky
        speakers = dict.fromkeys(users, whose.user) if whose.user and is_named else {}
        if is_same_run and (who := self._reviewer(whose)):
            speakers |= {str(m.id): who for m in _since_words(rest) if is_decided(m)}
        written = {*written, *blocked_in(rest).difference(notes.written)}
        return replace(notes, thread=whose.thread).and_these(
            users=users, tasks=sorted(tasks), written=sorted(written), speakers=speakers
        )

    def _moves_over(self, given: Given, thread: ThreadKey) -> bool:
        """Whether the channels' messages may be older than the memory: it has neither notes of them nor a commit."""
        notes = given.notes
        if not (notes.is_new or notes.is_foreign):
            return False
        is_first = notes.is_new and not given.raw
        return is_first or not self.controller.journal.head(thread).hash

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

    def _new(
        self, reads: Sequence[Read], begun: Begun, notes: Notes
    ) -> tuple[tuple[Read, ...], frozenset[str]]:
        """Return the messages that no commit up to ``head`` has taken, and the ids of erased ones."""
        journal, thread, head = self.controller.journal, begun.thread, begun.head
        if not head.hash:
            return unknown(reads, Past(())), frozenset()
        ids = [read.id for read in reads]
        pairs = journal.taken(thread, ids, head.seq, branch=head.branch)
        new = unknown(reads, Past(pairs, notes.taken))
        if sum(map(is_said, new)) >= MANY:
            key = self.controller.policy.digest_key
            whole = [(m, digest_of(m.observation, key)) for m in self._past(thread, head, 0)]
            as_said = notes.voiced._replace(written=())
            again = sent_again(self.voices.read([r.message for r in new], as_said), whole)
            new = tuple(read for read in new if read.id not in again)
        gone = journal.erased(thread, [(r.id, d) for r in new for d in r.digests])
        erased = frozenset(r.id for r in new if any((r.id, d) in gone for d in r.digests))
        return tuple(read for read in new if read.id not in erased), erased

    def _repeated(
        self, reads: Sequence[Read], new: tuple[Read, ...], begun: Begun, notes: Notes
    ) -> tuple[tuple[Read, ...], Notes]:
        """Take out of ``new`` what a killed run has said already, and note it.

        Its input was sent again, or its messages got new ids as the run was resumed.
        """
        if not new or not (notes.again or begun.since is not None):
            return new, notes
        first, end = notes.again or (begun.since or 0, begun.head.seq)
        journal, key = self.controller.journal, self.controller.policy.digest_key
        there = {(read.id, digest) for read in reads for digest in read.digests}
        since = [
            (each.seq, each.message, digest)
            for each in journal.messages(begun.thread, first + 1, branch=begun.head.branch)
            if each.seq <= end
            and (digest := digest_of(each.message.observation, key))
            and (each.message.observation.message, digest) not in there
        ]
        found, place = repeated(new, since)
        left = tuple(read for read in new if read.id not in found)
        again = (place, end) if found and not left and place < end else ()
        return left, replace(notes, taken={**notes.taken, **found}, again=again)

    def _past(self, thread: ThreadKey, head: Head, first: int) -> list[Message]:
        stored = self.controller.journal.messages(thread, first, branch=head.branch)
        return [each.message for each in stored if each.seq <= head.seq]

    def _stepping(self, looked: Looked, force: bool) -> Doing[Step[Any] | None]:
        """Take what is new. Before a hand-over, compress what waits, too."""
        shared = self._shared(looked.given.config, looked.thread)
        if looked.new:
            step: Any = (
                shared.step if shared else partial(self.controller.step, thread=looked.thread)
            )
            act = partial(step, looked.state, force=force)
            return (yield Io(Own(traced, self.controller, act, looked)))  # type: ignore[no-any-return]
        if not force or looked.state is None:
            return None
        flush: Any = shared.flush if shared else partial(self.controller.flush, looked.thread)
        return (yield Io(Own(flush, branch=looked.state.branch)))  # type: ignore[no-any-return]

    def _keeping(self, look: Callable[[], Looked | None]) -> Doing[Looked | None]:
        return self._aside(self._kept_soon(look))

    def _kept_soon(self, look: Callable[[], Looked | None]) -> Doing[Looked | None]:
        """Keep what is new without a commit: the next step takes it. Another's commit meanwhile: look again."""
        for _ in range(TRIES):
            looked: Looked | None = yield Io(look)
            if looked is None or not looked.new:
                return looked
            said, record = looked.turn.observations, self.controller.record
            try:
                yield Io(Own(record, said, thread=looked.thread, state=looked.state))
                return looked
            except ConflictError:
                continue
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "another run commits all the time: the next pass takes the answer",
        )  # fmt: skip
        return (yield Io(look))  # type: ignore[no-any-return]

    def _done(self, looked: Looked, step: Step[Any] | None) -> Passed:
        if step is not None:
            notes = _with_evidence(looked, step)
            return Passed(
                replace(looked, notes=notes), step, step.state, step.tail, self.controller.policy
            )
        return Passed(looked, None, looked.state, (), self.controller.policy)

    # Tools

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        """Note on the result what a human's part in the call was, and hand over what a sub-agent may read."""
        given, whose = self._of(request.state, request.runtime.config)
        handed = self._performed(self._handing(request, given, whose))
        with calling(self.delegates.caller(given)):
            result = handler(handed)
        return self._reviewed(request, result, whose)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Like `wrap_tool_call`."""
        given, whose = self._of(request.state, request.runtime.config)
        handed = await self._awaited(self._handing(request, given, whose))
        with calling(self.delegates.caller(given)):
            result = await handler(handed)
        return self._reviewed(request, result, whose)

    def _handing(self, request: ToolCallRequest, given: Given, whose: Owner) -> Doing[Any]:
        shared = self._shared(given.config, whose.thread)
        return self.delegates.handing(request, shared, branch_of(given.raw))

    def _reviewed(self, request: ToolCallRequest, result: Any, whose: Owner) -> Any:
        if self.voices.marks is None:
            return result
        who, kept = self._reviewer(whose), self.own_channels
        return reviewed(request, result, self.voices.marks, who=who, kept=kept)

    def _reviewer(self, whose: Owner) -> str:
        """Return the name under which a human answers: the user who resumes the run, but for the thread's own."""
        is_named = self.voices.human is not Channel.USER or whose.is_guest
        return whose.user if is_named else ""

    # What the model reads

    def _view(
        self, state: State | None, messages: Sequence[Any], notes: Notes, thread: Any
    ) -> View:
        """Return what the model reads of the channel; ``thread`` returns the thread, if the journal is needed."""
        _, rest = role_and_rest(as_messages(messages))
        reads = self.voices.read(healed(rest), notes.voiced)
        entries: Sequence[TailRef] = state.unread if state is not None else ()
        shown = Shown(reads, places(reads, entries), {}, entries)
        if state is not None and (missing := shown.missing):
            refs = [entry.ref for entry in missing]
            texts = self.controller.journal.texts(thread(), refs, branch=state.branch)
            shown = shown._replace(texts=by_ref(texts))
        view = viewed(shown, self.controller.policy, self.controller.cadence)
        if state is None or not notes.admitted:
            return view
        asked = [
            [Verdict(ref, place, "admitted") for ref, place in pieces]
            for pieces in notes.admitted.values()
        ]
        found = self.controller.admitted(*asked, thread=thread(), branch=state.branch)
        return with_evidence(view, dict(zip(notes.admitted, found, strict=True)))

    def _memory_text(
        self, state: State | None, view: View, config: RunnableConfig, thread: ThreadKey
    ) -> str:
        """Return what stands behind the role."""
        now = now_line(self.clock) if self.clock is not None else ""
        if (shared := self._shared(config, thread)) is not None:
            body = shared.text(state)
        else:
            body = render(state, self.controller.policy.style) if state is not None else ""
        return carried(body, view, now)

    def _shared(self, config: RunnableConfig, thread: ThreadKey) -> Shared | None:
        """Return the board of a run; None if the agent shares none."""
        return self.sharing.of_run(config, thread) if self.sharing is not None else None

    def _loaded(self, raw: Any) -> State | None:
        """Return the validated state of a channel; None if there is none.

        Raises:
            StateError: The value is not a state, or it was edited.
        """
        found: State | None = self.controller.loaded(raw) if raw else None
        return found

    def _knows(self, config: RunnableConfig, messages: Sequence[BaseMessage]) -> bool | None:
        """Return whether the conversation at the top has taken one of these messages; None if it has no memory."""
        key = thread_of(config, self.identity)
        last = self.controller.journal.head(key)
        if not last.hash:
            return None
        ids = {str(m.id) for m in messages}
        past = self._past(key, last, max(0, last.seq - 256))
        return any(m.observation.message in ids for m in past)

    def _given(
        self, messages: Sequence[Any], raw: Any, notes: Any, config: RunnableConfig
    ) -> tuple[Given, Owner]:
        """Return what a run's channels hold of its own, and whose memory it works on."""
        noted = Notes.load(notes, self.key)
        whose = owner(config, self.identity, noted.thread, as_messages(messages))
        if noted.is_foreign:
            whose = whose._replace(is_own=not enclosing_nodes(config))
        if whose.is_own:
            if isinstance(raw, Mapping) and not raw:
                raise StateError(
                    "the state was taken out of its channel",
                    where=f"thread {whose.thread.thread!r}",
                    hint="restore the state as it was committed, or begin a new thread",
                )
            return Given(messages, raw or None, noted, config), whose
        return Given(messages, None, Notes(key=self.key), config, raw), whose


def _with_evidence(looked: Looked, step: Step[Any]) -> Notes:
    """Return the notes with what was admitted for the user's newest message of a turn, if it has one."""
    asked = [r.id for r in looked.new if any(o.channel is Channel.USER for o in r.observations)]
    if not asked:
        return looked.notes
    admitted = tuple((v.ref, v.place) for v in step.verdicts if v.reason == "admitted")
    return looked.notes.and_evidence(asked[-1], admitted)


def _since_words(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return what follows the last human message."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return messages[last + 1 :]

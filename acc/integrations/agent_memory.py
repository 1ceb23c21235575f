"""What node and middleware share: the messages that no commit has taken become one turn; what was compressed leaves.

    messages -> sorted by id and words -> one turn of `MemoryController.step` -> state, and the messages that stay

The messages since the last compression stay messages: the channel is the tail. A call stays with its results, and the
current step stays.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import config as runs
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM
from langgraph.prebuilt.tool_node import ToolCallRequest

from acc.clock import now_line
from acc.controller.acts import record, withdraw
from acc.controller.controller import MemoryController
from acc.controller.one_turn import stepped
from acc.controller.texts import evidence_of
from acc.driving import Doing, Io, perform
from acc.errors import AccError, ConfigurationError, ConflictError
from acc.gate import Verdict
from acc.integrations.channel_update import ChannelValues, Looked, Passed
from acc.integrations.history import arrivals, elsewhere, taken_back
from acc.integrations.identity import Caller, Owner, caller, calling, thread_of
from acc.integrations.looking import Looking
from acc.integrations.messages import as_messages, healed, role_and_rest
from acc.integrations.notes import Notes
from acc.integrations.prompting import carried, viewed, with_evidence
from acc.integrations.reviews import reviewed
from acc.integrations.tailing import absent, is_said, places
from acc.journal import ThreadKey
from acc.journal.names import key_of
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState, TailRef
from acc.state.render import render
from acc.step.result import Step
from acc.turn.observations import Channel

State = CompressedCognitiveState

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

TRIES = 3
"""How often a pass is made whose thread another run goes on with."""


@contextmanager
def _unstreamed() -> Iterator[None]:
    """Keep what models write in the block out of what LangGraph streams to the user, whoever asks them."""
    quiet = runs.merge_configs(runs.ensure_config(), {"tags": [TAG_NOSTREAM]})
    token = runs.var_child_runnable_config.set(quiet)
    try:
        yield
    finally:
        runs.var_child_runnable_config.reset(token)


class AgentMemory(Looking):
    """The memory of an agent in a graph: what node, middleware and summarizer share."""

    def _performed(self, doing: Doing[T]) -> T | None:
        """Carry out what the memory does; None if a shadow failed: it stops no agent."""
        if isinstance(self.controller, MemoryController):
            with _unstreamed():
                return perform(self._aside(doing))
        raise ConfigurationError(
            "an AsyncMemoryController in a graph that is run with invoke",
            where="controller",
            hint="run the graph with ainvoke or astream, or give a MemoryController",
        )

    async def _awaited(self, doing: Doing[T]) -> T | None:
        """Like `_performed`, without blocking the event loop."""
        with _unstreamed():
            if isinstance(self.controller, MemoryController):
                return await self.controller.beside(perform, self._aside(doing))
            return await self.controller.carried_out(self._aside(doing))

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

    def _passing(self, given: ChannelValues, *, force: bool = False) -> Doing[Passed]:
        """Take what is new.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. The turn was committed: the next pass goes on from it.
            ConflictError: Another run goes on with the thread, again and again.
        """
        tries = 0
        while True:
            try:
                looked = yield from self._looking(given)
                yield from self._hearing(looked)
                step = yield from self._stepping(looked, force)
                if step is not None and looked.new:
                    step = yield from self._without_replaced(step, looked)
                    looked = replace(looked, notes=_with_evidence(looked, step))
                return Passed(looked, step, self.controller.policy)
            except ConflictError:
                if (tries := tries + 1) == TRIES:
                    raise

    def _hearing(self, looked: Looked) -> Doing[None]:
        """Compress and share what waits in the caller's tail, before a sub-agent reads the board."""
        above, shared = caller(), self._shared(looked.given.config, looked.thread)
        if above is not None and shared is not None and looked.state is None:
            yield from replace(shared, thread=above.thread).flushing(above.branch)

    def _stepping(self, looked: Looked, force: bool) -> Doing[Step[Any] | None]:
        """Take what is new. Before a hand-over, compress what waits, too."""
        memory, thread, state = self.controller, looked.thread, looked.state
        shared = self._shared(looked.given.config, thread)
        if looked.new and shared is not None:
            return (yield from shared.stepping(state, looked.turn, force=force))
        if looked.new:
            return (yield from stepped(memory, state, looked.turn, thread=thread, force=force))
        if not force or state is None:
            return None
        if shared is not None:
            return (yield from shared.flushing(state.branch))
        done: Step[Any] | None = yield from memory.flushing(thread, branch=state.branch)
        return done

    def _keeping(self, look: Callable[[], Doing[Looked]]) -> Doing[Looked]:
        """Keep what is new without a commit: the next step takes it. Another's commit meanwhile: look again."""
        for _ in range(TRIES):
            looked = yield from look()
            if not looked.new:
                return looked
            said, thread, state = looked.turn.observations, looked.thread, looked.state
            try:
                yield Io(partial(record, self.controller, said, thread, state))
                return looked
            except ConflictError:
                continue
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "another run commits all the time: the next pass takes the answer",
        )  # fmt: skip
        return (yield from look())

    def _without_replaced(self, step: Step[Any], looked: Looked) -> Doing[Step[Any]]:
        """Return the step without words in whose place others stand on this run's path."""
        refs: list[str] = yield Io(partial(self._replaced, step, looked))
        if not refs:
            return step
        thread, branch = looked.thread, step.state.branch
        done = yield Io(partial(withdraw, self.controller, refs, "replaced", thread, branch))
        commits = (*step.commits, *done.commits)
        return replace(step, state=done.state, tail=done.tail, commits=commits)

    def _replaced(self, step: Step[Any], looked: Looked) -> list[str]:
        """Return the refs of an answer that was made anew, and of the user's last words that the application edited.

        The step took the answer along; the run does not come from it. Only the checkpointer tells an edit from the
        words of a client that uses an id again.
        """
        config, key, last = looked.given.config, self.input_messages_key, looked.new[-1]
        taken = {m.ref: m.observation for each in step.commits for m in each.given.turn}
        earlier = {m.ref: m.observation for each in step.commits for m in each.given.read}
        earlier |= {m.ref: m.observation for m in step.tail}
        there = {"", *(read.id for read in looked.reads)}
        answers = (o for o in taken.values() if o.channel is Channel.AGENT and not o.is_call)
        left = {each.message for each in answers} - there
        gone = elsewhere(config, key, left) | taken_back(config, key, left) if left else set[str]()
        refs = [ref for ref, each in taken.items() if each.message in gone]
        old = [r for r, each in earlier.items() if r not in taken and each.message == last.id]
        if old and is_said(last):
            came = arrivals(config, key, [last.message]).get(last.id)
            refs += old if came is not None and came.is_edit else []
        return refs

    def _update(self, passed: Passed | None) -> dict[str, Any]:
        """Return the update of the channels, without those that stay as they are; tell the stream of the step."""
        if passed is None:
            return {}
        if passed.step is not None:
            _tell(passed.step)
        stay = self.is_shadow
        update = {
            self.state_key: passed.ccs(),
            self.run_key: passed.notes(stay=stay),
            self.input_messages_key: passed.messages(stay=stay) or None,
        }
        return {key: value for key, value in update.items() if value is not None}

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        """Note on the result what a human's part in the call was, and tell a sub-agent who calls it."""
        given = self._of(request.state, request.runtime.config)
        with calling(self._as_caller(given)):
            result = handler(request)
        return self._reviewed(request, result, given.whose)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Like `wrap_tool_call`."""
        given = self._of(request.state, request.runtime.config)
        with calling(self._as_caller(given)):
            result = await handler(request)
        return self._reviewed(request, result, given.whose)

    def _as_caller(self, given: ChannelValues) -> Caller:
        above = caller()
        root = above.root if above is not None else thread_of(given.config, self.identity)
        humans = (m for m in as_messages(given.messages) if isinstance(m, HumanMessage))
        users = frozenset(str(m.id) for m in humans if not given.notes.of_message(m).who)
        raw = given.raw if isinstance(given.raw, Mapping) else {}
        return Caller(root, given.whose.thread, str(raw.get("branch") or "main"), users)

    def _reviewed(self, request: ToolCallRequest, result: Any, whose: Owner) -> Any:
        if self.voices.marks is None:
            return result
        who, kept = self._reviewer(whose), (self.state_key, self.run_key)
        return reviewed(request, result, self.voices.marks, who=who, kept=kept)

    def _told(self, given: ChannelValues, messages: Sequence[Any]) -> tuple[str, list[BaseMessage]]:
        """Return what stands behind the role, and the messages, as the model reads them."""
        state, thread = self._loaded(given.raw), given.whose.thread
        policy = self.controller.policy
        if (shared := self._shared(given.config, thread)) is not None:
            body = shared.text(state)
        else:
            body = render(state, policy.style) if state is not None else ""
        _, rest = role_and_rest(as_messages(messages))
        reads = self.voices.read(healed(rest), given.notes.of)
        tail: Sequence[TailRef] = state.unread if state is not None else ()
        held = places(reads, tail)
        missing = absent(tail, held)
        branch = state.branch if state is not None else "main"
        texts = self.controller.journal.texts(thread, missing, branch=branch) if missing else ()
        earlier, shown = viewed(reads, held, tail, texts, policy)
        if state is not None:
            shown = self._with_evidence(shown, given.notes, thread, branch)
        now = now_line(self.clock) if self.clock is not None else ""
        owner = thread.user if given.notes.is_shared else ""
        return carried(body, earlier, now, owner), shown

    def _with_evidence(
        self, messages: list[BaseMessage], notes: Notes, thread: ThreadKey, branch: str
    ) -> list[BaseMessage]:
        """Return the messages with the evidence that was admitted for them."""
        admitted = {name: note.admitted for name, note in notes.of.items() if note.admitted}
        if not admitted:
            return messages
        asked = [
            [Verdict(ref, place, "admitted") for ref, place in pieces]
            for pieces in admitted.values()
        ]
        found = evidence_of(self.controller.journal, key_of(thread), branch, asked)
        return with_evidence(messages, dict(zip(admitted, found, strict=True)))


def _with_evidence(looked: Looked, step: Step[Any]) -> Notes:
    """Return the notes with what was admitted for the user's newest message of a turn, if it has one."""
    asked = [r.id for r in looked.new if any(o.channel is Channel.USER for o in r.observations)]
    if not asked:
        return looked.notes
    admitted = tuple((v.ref, v.place) for v in step.verdicts if v.reason == "admitted")
    return looked.notes.and_evidence(asked[-1], admitted)


def _tell(step: Step[Any]) -> None:
    """Send what a step made to the stream (``stream_mode="custom"``), as plain JSON; nothing outside of a graph."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):  # no graph is running
        return
    turn = step.state.turn
    is_compressed = any(each.given.proposal is not None for each in step.commits)
    writer({
        "memory": "committed", "turn": turn, "version": step.state.version, "hash": step.state.hash,
        "compressed": is_compressed,
    })  # fmt: skip
    if step.notes:
        writer({"memory": "notes", "turn": turn, "notes": [str(note) for note in step.notes]})
    for warning in (*step.warnings, *filter(None, (step.failure,))):
        writer({"memory": "warning", "turn": turn, "warning": warning})

"""What node and middleware share: the messages that no commit has taken become one turn; what was compressed leaves.

    messages -> sorted by id and words -> one turn of `MemoryController.step` -> state, and the messages that stay

The messages since the last compression stay messages: the channel is the tail. A call stays with its results, and the
current step stays.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from acc.clock import now_line
from acc.controller.acts import evidence_of, withdraw
from acc.controller.controller import MemoryController
from acc.driving import Doing, Io, Own, aperform, perform
from acc.errors import AccError, ConflictError
from acc.gate import Verdict
from acc.integrations.channel_update import ChannelValues, Looked, Passed, by_ref, changed, channels
from acc.integrations.history import arrivals, elsewhere, taken_back
from acc.integrations.identity import Caller, Owner, caller, calling, thread_of
from acc.integrations.looking import Looking
from acc.integrations.messages import as_messages, healed, role_and_rest
from acc.integrations.notes import Notes
from acc.integrations.prompting import Shown, View, carried, viewed, with_evidence
from acc.integrations.reviews import reviewed
from acc.integrations.stepping import synchronous, traced
from acc.integrations.tailing import is_said, places
from acc.journal import ThreadKey
from acc.journal.opened import key_of
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState, TailRef
from acc.state.render import render
from acc.step.step import Step
from acc.turn.observations import Channel

State = CompressedCognitiveState

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

TRIES = 3
"""How often a pass is made whose thread another run goes on with."""


class AgentMemory(Looking):
    """The memory of an agent in a graph: what node, middleware and summarizer share."""

    def _passed(
        self, given: ChannelValues, whose: Owner, *, force: bool = False, is_same_run: bool = False
    ) -> Passed | None:
        """Take what is new; None if a shadow failed: it stops no agent.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. The turn was committed: the next pass goes on from it.
            ConflictError: Another run goes on with the thread, again and again.
        """
        return self._performed(self._aside(self._passing(given, whose, force, is_same_run)))

    async def _apassed(
        self, given: ChannelValues, whose: Owner, *, force: bool = False, is_same_run: bool = False
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

    def _passing(
        self, given: ChannelValues, whose: Owner, force: bool, is_same_run: bool
    ) -> Doing[Passed]:
        tries = 0
        while True:
            try:
                looked: Looked = yield Io(partial(self._look, given, whose, is_same_run))
                yield from self._hearing(looked)
                step = yield from self._stepping(looked, force)
                if step is not None and looked.new:
                    step = yield Io(partial(self._without_replaced, step, looked))
                return (yield Io(partial(self._done, looked, step)))  # type: ignore[no-any-return]
            except ConflictError:
                if (tries := tries + 1) == TRIES:
                    raise

    def _hearing(self, looked: Looked) -> Doing[None]:
        """Compress and share what waits in the caller's tail, before a sub-agent reads the board."""
        above, shared = caller(), self._shared(looked.given.config, looked.thread)
        if above is not None and shared is not None and looked.state is None:
            yield Io(Own(replace(shared, thread=above.thread).flush, above.branch))

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

    def _without_replaced(self, step: Step[Any], looked: Looked) -> Step[Any]:
        """Return the step without words in whose place others stand on this run's path."""
        if not (refs := self._replaced(step, looked)):
            return step
        thread, branch = looked.thread, step.state.branch
        done = withdraw(self.controller.parts, refs, "replaced", thread, branch)
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

    def _done(self, looked: Looked, step: Step[Any] | None) -> Passed:
        if step is not None:
            notes = _with_evidence(looked, step)
            looked = replace(looked, notes=notes)
            return Passed(looked, step, step.state, step.tail, self.controller.policy)
        return Passed(looked, None, looked.state, (), self.controller.policy)

    def _update(self, passed: Passed | None) -> dict[str, Any]:
        """Return the update of the channels, without those that stay as they are."""
        if passed is None:
            return {}
        ccs, notes = channels(passed, stay=self.is_shadow)
        update = {
            self.state_key: ccs,
            self.run_key: notes,
            self.input_messages_key: changed(passed, stay=self.is_shadow) or None,
        }
        return {key: value for key, value in update.items() if value is not None}

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[Any], Any]) -> Any:
        """Note on the result what a human's part in the call was, and tell a sub-agent who calls it."""
        given, whose = self._of(request.state, request.runtime.config)
        with calling(self._as_caller(given, whose)):
            result = handler(request)
        return self._reviewed(request, result, whose)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Like `wrap_tool_call`."""
        given, whose = self._of(request.state, request.runtime.config)
        with calling(self._as_caller(given, whose)):
            result = await handler(request)
        return self._reviewed(request, result, whose)

    def _as_caller(self, given: ChannelValues, whose: Owner) -> Caller:
        above, others = caller(), {*given.notes.tasks, *given.notes.written}
        humans = (m for m in as_messages(given.messages) if isinstance(m, HumanMessage))
        raw = given.raw if isinstance(given.raw, Mapping) else {}
        return Caller(
            above.root if above is not None else thread_of(given.config, self.identity),
            whose.thread,
            str(raw.get("branch") or "main"),
            frozenset(str(m.id) for m in humans if m.id not in others),
        )

    def _reviewed(self, request: ToolCallRequest, result: Any, whose: Owner) -> Any:
        if self.voices.marks is None:
            return result
        who, kept = self._reviewer(whose), self.own_channels
        return reviewed(request, result, self.voices.marks, who=who, kept=kept)

    def _told(
        self, given: ChannelValues, whose: Owner, messages: Sequence[Any]
    ) -> tuple[str, list[BaseMessage]]:
        """Return what stands behind the role, and the messages, as the model reads them."""
        state = self._loaded(given.raw)
        view = self._view(state, messages, given.notes, whose.thread)
        if (shared := self._shared(given.config, whose.thread)) is not None:
            body = shared.text(state)
        else:
            body = render(state, self.controller.policy.style) if state is not None else ""
        now = now_line(self.clock) if self.clock is not None else ""
        owner = whose.thread.user if given.notes.is_shared else ""
        return carried(body, view, now, owner), view.messages

    def _view(
        self, state: State | None, messages: Sequence[Any], notes: Notes, thread: ThreadKey
    ) -> View:
        """Return what the model reads of the channel."""
        _, rest = role_and_rest(as_messages(messages))
        reads = self.voices.read(healed(rest), notes.voiced)
        entries: Sequence[TailRef] = state.unread if state is not None else ()
        shown = Shown(reads, places(reads, entries), {}, entries)
        if state is not None and (missing := shown.missing):
            refs = [entry.ref for entry in missing]
            texts = self.controller.journal.texts(thread, refs, branch=state.branch)
            shown = shown._replace(texts=by_ref(texts))
        view = viewed(shown, self.controller.policy)
        if state is None or not notes.admitted:
            return view
        asked = [
            [Verdict(ref, place, "admitted") for ref, place in pieces]
            for pieces in notes.admitted.values()
        ]
        found = evidence_of(self.controller.parts, key_of(thread), state.branch, asked)
        return with_evidence(view, dict(zip(notes.admitted, found, strict=True)))


def _with_evidence(looked: Looked, step: Step[Any]) -> Notes:
    """Return the notes with what was admitted for the user's newest message of a turn, if it has one."""
    asked = [r.id for r in looked.new if any(o.channel is Channel.USER for o in r.observations)]
    if not asked:
        return looked.notes
    admitted = tuple((v.ref, v.place) for v in step.verdicts if v.reason == "admitted")
    return looked.notes.and_evidence(asked[-1], admitted)

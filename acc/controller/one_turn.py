"""One turn with a journal: recall, qualify, compress, commit, persist.

Where nothing is asked of a model, turn and commit are one transaction. Where a model is asked, the turn is in the
journal first; the model runs outside of any transaction; the commits follow by compare-and-swap on the head.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from acc.compress.compressor import Asking, Call
from acc.controller.acts import again, retire
from acc.controller.beginning import Beginning, beginning, joining, with_waiting
from acc.controller.memory import OpenMemory, conversation, entries_of
from acc.controller.queues import Place
from acc.controller.texts import heard_before
from acc.controller.watching import Watch, watching
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError, PinnedOverflow
from acc.gate import Verdict, opens, qualify
from acc.journal import Appended, Entry, Head, Latest, ThreadKey
from acc.journal.names import Key, Waiting
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.render import render
from acc.state.tail import Message, messages_of, rendered
from acc.step.result import Step, overflow_of
from acc.step.step import stepping
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

_LOG = logging.getLogger(__name__)

OVERTAKEN = "another worker committed meanwhile and took the turn along: this is its state"


def stepped(
    memory: OpenMemory[S], state: S | None, turn: Turn, *, thread: Key, force: bool = False
) -> Doing[Step[S]]:
    """Do what `MemoryController.step` says."""
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is a {type(turn).__name__}",
            where="step",
            hint="give Turn.said(text), or Turn.from_messages",
        )
    key = conversation(thread, state)
    with (
        watching(memory.settings.telemetry, key, memory.policy) as watch,
        closing(memory.queues.place(key)) as place,
    ):
        step = yield from taking(memory, state, turn, key, watch=watch, place=place, force=force)
        try:
            step = yield from _with_room(memory, key, step, watch)
        except PinnedOverflow as overflow:
            watch.ends(overflow.step)
            raise
        watch.ends(step)
    waiting = sum(entry.tokens for entry in step.state.unread if entry.status == "unread")
    if memory.behind is not None and waiting > memory.cadence.compress_over:
        memory.behind.begin(key, step.state.branch)
    return step


def taking(
    memory: OpenMemory[S],
    state: S | None,
    turn: Turn,
    key: ThreadKey,
    *,
    watch: Watch,
    place: Place | None = None,
    force: bool = False,
) -> Doing[Step[S]]:
    """Take a turn of a thread; ``place`` is where it stands in the thread's queue, if it may have to wait.

    Raises:
        ConflictError: Another worker committed meanwhile. The step may be repeated from the new head.
        StateError: The journal does not hold ``state``.
    """
    clean = memory.clean(turn, "step")
    if not clean.observations:
        raise InputError(
            "the turn is empty", where=str(key), hint="give a turn with words, or flush the thread"
        )
    begun: Beginning[S] = yield Io(lambda: beginning(memory, state, clean, key))
    until = monotonic() + (place.wait if place is not None else 0)
    if place is not None and place.is_behind and begun.known is None:
        log_event(
            _LOG, logging.INFO, "queued", "a step waits for another one of its thread",
            thread=key.thread,
        )  # fmt: skip
        yield place
        begun, clean = yield Io(partial(joining, memory, begun, clean))
    while begun.known is None:
        try:
            step = yield from _going_on(memory, begun.latest, clean, key, watch, force=force)
        except ConflictError:
            epoch = begun.latest.head.epoch
            begun, clean = yield Io(partial(joining, memory, begun, clean))
            is_taken_over = begun.latest.head.epoch != epoch
            if begun.known is None and (is_taken_over or monotonic() >= until):
                raise
        else:
            warnings = (*filter(None, (begun.warning,)), *step.warnings)
            return memory.signed_step(replace(step, warnings=warnings), key)
    step = yield Io(partial(again, memory, key, begun.known))
    return memory.signed_step(step, key)


def _going_on(
    memory: OpenMemory[S],
    latest: Latest[S],
    clean: Turn,
    key: ThreadKey,
    watch: Watch,
    *,
    force: bool,
) -> Doing[Step[S]]:
    """Take a turn from a branch's head, with what was appended there and never committed."""
    base: S = latest.state or cast(S, memory.policy.schema.empty())
    waiting, numbered = with_waiting(latest.waiting, clean, base.turn + 1)
    evidence, verdicts = yield from _qualified(memory, latest, numbered, watch)
    asking = stepping(
        memory.stepping, base, numbered, texts=latest.tail, evidence=evidence,
        earlier=partial(heard_before, memory.journal, memory.index, latest.head), force=force,
    )  # fmt: skip
    writing = _Writing(memory, latest.head, messages_of(numbered), waiting, watch)
    step: Step[S] | None = None
    with watch.stage("commit"):
        try:
            call = next(asking)
        except StopIteration as stop:
            step = stop.value
    entries = entries_of(step, verdicts) if step is not None else []
    turned = yield from writing.store(numbered, entries)
    if step is None and not turned.is_committed:
        step = yield from _asked(asking, call, watch)
        turned = yield from writing.persist(turned, entries_of(step, verdicts))
    if step is None or (turned.is_committed and not turned.is_new):
        found: Step[S] = yield Io(lambda: again(memory, key, turned))
        return replace(found, warnings=(OVERTAKEN,))
    yield Io(lambda: memory.index.committed(key, latest.head.branch))
    return replace(step, warnings=memory.index.warnings, verdicts=verdicts)


@dataclass(frozen=True)
class _Writing(Generic[S]):
    """Writes a turn and its commits after a head. The turn's ``messages`` have in front what was ``waiting``."""

    memory: OpenMemory[S]
    head: Head
    messages: tuple[Message, ...]
    waiting: Waiting
    watch: Watch

    @property
    def own(self) -> tuple[Message, ...]:
        """The messages of the turn that the journal does not hold yet."""
        return self.messages[len(self.waiting.messages) :]

    def store(self, turn: Turn, entries: Sequence[Entry[S]]) -> Doing[Appended]:
        """Write the turn; in one transaction with its commits, if no model has to be asked for them."""
        own, waiting, head, journal = self.own, self.waiting.turn, self.head, self.memory.journal
        if not own and waiting is not None:
            return (yield from self.persist(waiting, entries)) if entries else waiting
        where: dict[str, Any] = {"follows": head.hash, "branch": head.branch}
        act = partial(journal.append, head.thread, own, **where)
        if entries:
            where |= {"epoch": head.epoch, "waiting": waiting}
            act = partial(journal.append_and_commit, head.thread, own, entries, **where)
        with self.watch.stage("store") as told:
            turned: Appended = yield Io(act)
            told.result = turn
        return turned

    def persist(self, turned: Appended, entries: Sequence[Entry[S]]) -> Doing[Appended]:
        """Write the commits of a turn that is in the journal, or find those by which another worker took it along.

        Raises:
            ConflictError: Somebody committed meanwhile, and the turn was left behind.
        """
        waiting = self.waiting.turn
        whole = waiting.and_then(turned) if self.own and waiting is not None else turned
        try:
            with self.watch.stage("persist"):
                yield Io(lambda: self.memory.commit(self.head, entries, whole))
        except ConflictError:
            said = self.own or self.messages
            found: Appended | None = yield Io(lambda: self.memory.journal.repeated(self.head, said))
            if found is None or not found.is_committed:
                raise
            return replace(found, is_new=False)
        return turned


def _qualified(
    memory: OpenMemory[S], latest: Latest[S], turn: Turn, watch: Watch
) -> Doing[tuple[tuple[Evidence, ...], tuple[Verdict, ...]]]:
    """Recall and qualify evidence for the user's words, beside what the agent reads anyway."""
    question = " ".join(o.text for o in turn.observations if o.channel is Channel.USER)
    if not question.strip():
        return (), ()
    policy = memory.policy
    with watch.stage("recall") as told:
        told.result = found = yield Io(lambda: memory.index.recall(latest.head, question))
    refs, read = frozenset(message.ref for message in latest.tail), ""
    if opens(found, policy.gate):
        shown = rendered(latest.tail, policy)
        state = render(latest.state, policy.style) if latest.state is not None else ""
        read = "\n".join((state, *shown))
    with watch.stage("qualify") as told:
        qualified = qualify(found, question, read, refs, policy.gate, policy.counter)
        told.result = qualified
    return qualified


def _asked(asking: Asking[Step[S]], call: Call | Io, watch: Watch) -> Doing[Step[S]]:
    """Go on with a computation that has asked its first call."""
    try:
        while True:
            if isinstance(call, Io):
                call = asking.send((yield call))
                continue
            try:
                with watch.stage("compress") as told:
                    told.result = done = yield call
            except Exception as error:
                call = asking.throw(error)
            else:
                call = asking.send(done)
    except StopIteration as stop:
        step: Step[S] = stop.value
        return step


def _with_room(
    memory: OpenMemory[S], key: ThreadKey, step: Step[S], watch: Watch
) -> Doing[Step[S]]:
    """Return the step; if rules or goals found no room, retire what a handler names, and read them once more.

    A repeated step finds that they were read once more, and retires nothing again.

    Raises:
        PinnedOverflow: There is no handler, it names nothing, or what it names is not enough.
    """
    if not step.no_room:
        return step
    handler, branch = memory.settings.on_overflow, step.state.branch
    overflow = overflow_of(step)
    refused = yield Io(lambda: memory.journal.texts(key, step.no_room, branch=branch))
    words = tuple(message.observation.model_copy(update={"ref": ""}) for message in refused)
    known: Step[S] | None = yield Io(lambda: _read_again(memory, key, step, words))
    if known is not None:
        return known
    ids = handler(overflow) if handler is not None else ()
    if not ids or not words:
        raise overflow
    room: Step[S] = yield Io(lambda: retire(memory, ids, "to make room", key, step.state))
    turn = Turn(observations=words, at=refused[-1].at)
    more = yield from taking(memory, room.state, turn, key, watch=watch, force=True)
    if more.no_room:
        raise overflow_of(more)
    commits = (*step.commits, *room.commits, *more.commits)
    told = tuple(replace(each, no_room=()) for each in commits)
    return replace(more, commits=told, usage=step.usage + more.usage)


def _read_again(
    memory: OpenMemory[S], key: ThreadKey, step: Step[S], words: Sequence[Observation]
) -> Step[S] | None:
    """Return where the branch stands if words of a step were read once more since; None if not."""
    branch, said = step.state.branch, {each.identity for each in words}
    latest = memory.standing(key, branch)
    if latest.state is None or latest.state.turn == step.state.turn:
        return None
    after = (
        each.message.observation.identity
        for each in memory.journal.messages(key, branch=branch)
        if each.message.turn > step.state.turn
    )
    if said.isdisjoint(after):
        return None
    return replace(step, state=latest.state, tail=latest.tail, commits=())

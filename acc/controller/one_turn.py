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
from acc.controller.acts import again, check_state, conversation, retire
from acc.controller.beginning import Beginning, beginning, joining, with_waiting
from acc.controller.common import Common
from acc.controller.queues import Place
from acc.controller.settings import Parts
from acc.controller.texts import heard_before
from acc.controller.watching import Watch
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError, PinnedOverflow
from acc.gate import Verdict, opens, qualify
from acc.journal import Appended, Entry, Head, Latest, ThreadKey
from acc.journal.names import Key, Waiting
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.render import render
from acc.state.tail import Message, messages_of, rendered
from acc.step.step import Step, overflow_of
from acc.step.stepping import stepping
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

_LOG = logging.getLogger(__name__)

OVERTAKEN = "another worker committed meanwhile and took the turn along: this is its state"


def stepped(
    memory: Common[S], state: S | None, turn: Turn, *, thread: Key, force: bool = False
) -> Doing[Step[S]]:
    """Do what `MemoryController.step` says."""
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is a {type(turn).__name__}",
            where="step",
            hint="give Turn.said(text), or Turn.from_messages",
        )
    key, parts = conversation(thread), memory.parts
    check_state(state)
    if memory.behind is not None:
        parts = memory.behind.patient
    with (
        parts.watcher.watching(key, parts.memory.policy) as watch,
        closing(memory.queues.place(key)) as place,
    ):
        step = yield from taking(parts, state, turn, key, watch=watch, place=place, force=force)
        try:
            step = yield from _with_room(parts, key, step, watch)
        except PinnedOverflow as overflow:
            watch.ends(overflow.step)
            raise
        watch.ends(step)
    if memory.behind is not None:
        memory.behind.stepped(key, step)
    return step


def taking(
    parts: Parts[S],
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
    clean = parts.clean(turn, "step")
    if not clean.observations:
        raise InputError(
            "the turn is empty", where=str(key), hint="give a turn with words, or flush the thread"
        )
    begun: Beginning[S] = yield Io(lambda: beginning(parts, state, clean, key))
    until = monotonic() + (place.wait if place is not None else 0)
    if place is not None and place.is_behind and begun.known is None:
        log_event(
            _LOG, logging.INFO, "queued", "a step waits for another one of its thread",
            thread=key.thread,
        )  # fmt: skip
        yield place
        begun, clean = yield Io(partial(joining, parts, begun, clean))
    while begun.known is None:
        try:
            step = yield from _going_on(parts, begun.latest, clean, key, watch, force=force)
        except ConflictError:
            epoch = begun.latest.head.epoch
            begun, clean = yield Io(partial(joining, parts, begun, clean))
            is_taken_over = begun.latest.head.epoch != epoch
            if begun.known is None and (is_taken_over or monotonic() >= until):
                raise
        else:
            warnings = (*filter(None, (begun.warning,)), *step.warnings)
            return parts.signed(replace(step, warnings=warnings), key)
    step = yield Io(partial(again, parts, key, begun.known))
    return parts.signed(step, key)


def _going_on(
    parts: Parts[S], latest: Latest[S], clean: Turn, key: ThreadKey, watch: Watch, *, force: bool
) -> Doing[Step[S]]:
    """Take a turn from a branch's head, with what was appended there and never committed."""
    base: S = latest.state or cast(S, parts.memory.policy.schema.empty())
    waiting, numbered = with_waiting(latest.waiting, clean, base.turn + 1)
    evidence, verdicts = yield from _qualified(parts, latest, numbered, watch)
    asking = stepping(
        parts.memory, base, numbered, texts=latest.tail, evidence=evidence,
        earlier=partial(heard_before, parts, latest.head), force=force,
    )  # fmt: skip
    writing = _Writing(parts, latest.head, messages_of(numbered), waiting, watch)
    step: Step[S] | None = None
    with watch.stage("commit"):
        try:
            call = next(asking)
        except StopIteration as stop:
            step = stop.value
    entries = parts.entries(step, verdicts) if step is not None else []
    turned = yield from writing.store(numbered, entries)
    if step is None and not turned.is_committed:
        step = yield from _asked(asking, call, watch)
        turned = yield from writing.persist(turned, parts.entries(step, verdicts))
    if step is None or (turned.is_committed and not turned.is_new):
        found: Step[S] = yield Io(lambda: again(parts, key, turned))
        return replace(found, warnings=(OVERTAKEN,))
    yield Io(lambda: parts.index.committed(key, latest.head.branch))
    return replace(step, warnings=parts.index.warnings, verdicts=verdicts)


@dataclass(frozen=True)
class _Writing(Generic[S]):
    """Writes a turn and its commits after a head. The turn's ``messages`` have in front what was ``waiting``."""

    parts: Parts[S]
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
        own, waiting, head, journal = self.own, self.waiting.turn, self.head, self.parts.journal
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
                yield Io(lambda: self.parts.commit(self.head, entries, whole))
        except ConflictError:
            said = self.own or self.messages
            found: Appended | None = yield Io(lambda: self.parts.journal.repeated(self.head, said))
            if found is None or not found.is_committed:
                raise
            return replace(found, is_new=False)
        return turned


def _qualified(
    parts: Parts[S], latest: Latest[S], turn: Turn, watch: Watch
) -> Doing[tuple[tuple[Evidence, ...], tuple[Verdict, ...]]]:
    """Recall and qualify evidence for the user's words, beside what the agent reads anyway."""
    question = " ".join(o.text for o in turn.observations if o.channel is Channel.USER)
    if not question.strip():
        return (), ()
    policy = parts.memory.policy
    with watch.stage("recall") as told:
        told.result = found = yield Io(lambda: parts.index.recall(latest.head, question))
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


def _with_room(parts: Parts[S], key: ThreadKey, step: Step[S], watch: Watch) -> Doing[Step[S]]:
    """Return the step; if rules or goals found no room, retire what a handler names, and read them once more.

    A repeated step finds that they were read once more, and retires nothing again.

    Raises:
        PinnedOverflow: There is no handler, it names nothing, or what it names is not enough.
    """
    if not step.no_room:
        return step
    handler, branch = parts.settings.on_overflow, step.state.branch
    overflow = overflow_of(step)
    refused = yield Io(lambda: parts.journal.texts(key, step.no_room, branch=branch))
    words = tuple(message.observation.model_copy(update={"ref": ""}) for message in refused)
    known: Step[S] | None = yield Io(lambda: _read_again(parts, key, step, words))
    if known is not None:
        return known
    ids = handler(overflow) if handler is not None else ()
    if not ids or not words:
        raise overflow
    room: Step[S] = yield Io(lambda: retire(parts, ids, "to make room", key, step.state))
    turn = Turn(observations=words, at=refused[-1].at)
    more = yield from taking(parts, room.state, turn, key, watch=watch, force=True)
    if more.no_room:
        raise overflow_of(more)
    commits = (*step.commits, *room.commits, *more.commits)
    told = tuple(replace(each, no_room=()) for each in commits)
    return replace(more, commits=told, usage=step.usage + more.usage)


def _read_again(
    parts: Parts[S], key: ThreadKey, step: Step[S], words: Sequence[Observation]
) -> Step[S] | None:
    """Return where the branch stands if words of a step were read once more since; None if not."""
    branch, said = step.state.branch, {each.identity for each in words}
    latest = parts.latest(key, branch)
    if latest.state is None or latest.state.turn == step.state.turn:
        return None
    after = (
        each.message.observation.identity
        for each in parts.journal.messages(key, branch=branch)
        if each.message.turn > step.state.turn
    )
    if said.isdisjoint(after):
        return None
    return replace(step, state=latest.state, tail=latest.tail, commits=())

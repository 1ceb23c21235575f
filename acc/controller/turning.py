"""One turn with a journal: recall, qualify, compress, commit, persist.

Where nothing is asked of a model, turn and commit are one transaction. Where a model is asked, the turn is in the
journal first; the model runs outside of any transaction; the commits follow by compare-and-swap on the head.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Generic, TypeVar, cast

from acc.artifacts.protocol import Artifact
from acc.compress.protocol import Asking, Call
from acc.controller.acts import retiring_everywhere
from acc.controller.beginning import beginning
from acc.controller.joining import again, joining, with_waiting
from acc.controller.queues import Place
from acc.controller.settings import OnOverflow, Parts
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.gate import Verdict, qualify
from acc.journal import Appended, Entry, Head, Latest, ThreadKey
from acc.journal.names import StoredMessage, Waiting
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.render import render
from acc.state.tail import Message, messages_of, rendered
from acc.step.step import Step, overflow_of
from acc.step.stepping import stepping
from acc.telemetry import Watch
from acc.turn.observations import Channel, Evidence
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

_LOG = logging.getLogger(__name__)

OVERTAKEN = "another worker committed meanwhile and took the turn along: this is its state"


@dataclass(frozen=True)
class Taken(Generic[S]):
    """What became of a turn; ``is_repeat``: the journal held it already, from this worker or another one."""

    step: Step[S]
    is_repeat: bool


def taking(
    parts: Parts[S],
    state: S | None,
    turn: Turn,
    key: ThreadKey,
    *,
    watch: Watch,
    place: Place | None = None,
    force: bool = False,
    adopt: bool = False,
) -> Doing[Taken[S]]:
    """Take a turn of a thread; ``place`` is where it stands in the thread's queue, if it may have to wait.

    The other arguments are those of `MemoryController.step`.

    Raises:
        ConflictError: Another worker committed meanwhile. The step may be repeated from the new head.
        StateError: The journal does not hold ``state``.
    """
    clean = parts.clean(turn, "step")
    if not clean.observations:
        raise InputError(
            "the turn is empty", where=str(key), hint="give a turn with words, or flush the thread"
        )
    begun = yield from beginning(parts, state, clean, key, adopt=adopt)
    until = monotonic() + (place.wait if place is not None else 0)
    if place is not None and place.is_behind and begun.known is None:
        log_event(
            _LOG, logging.INFO, "queued", "a step waits for another one of its thread",
            thread=key.thread,
        )  # fmt: skip
        yield place
        begun, clean = yield from joining(parts, begun, clean, key)
    while begun.known is None:
        try:
            taken = yield from _going_on(parts, begun.latest, clean, key, watch, force=force)
        except ConflictError:
            epoch = begun.latest.head.epoch
            begun, clean = yield from joining(parts, begun, clean, key)
            is_taken_over = begun.latest.head.epoch != epoch
            if begun.known is None and (is_taken_over or monotonic() >= until):
                raise
        else:
            warnings = (*filter(None, (begun.warning,)), *taken.step.warnings)
            step = replace(taken.step, warnings=warnings)
            return Taken(parts.signed(step, key), taken.is_repeat)
    step = yield from again(parts, key, begun.known)
    return Taken(parts.signed(step, key), True)


def _going_on(
    parts: Parts[S], latest: Latest[S], clean: Turn, key: ThreadKey, watch: Watch, *, force: bool
) -> Doing[Taken[S]]:
    """Take a turn from a branch's head, with what was appended there and never committed."""
    base: S = latest.state or cast(S, parts.memory.policy.schema.empty())
    waiting, numbered = with_waiting(latest.waiting, clean, base.turn + 1)
    evidence, verdicts = yield from _qualified(parts, latest, numbered, watch)
    asking = stepping(
        parts.memory, base, numbered, texts=latest.tail, evidence=evidence, force=force
    )
    writing = _Writing(parts, latest.head, messages_of(numbered), waiting, watch)
    step: Step[S] | None = None
    with watch.stage("commit"):
        try:
            call = next(asking)
        except StopIteration as stop:
            step = stop.value
    if step is not None:
        turned = yield from writing.at_once(numbered, parts.entries(step, verdicts))
    else:
        turned = yield from writing.store(numbered)
        if not turned.is_committed:
            step = yield from _asked(asking, call, watch)
            turned = yield from writing.persist(turned, parts.entries(step, verdicts))
    if step is None or (turned.is_committed and not turned.is_new):
        found = yield from again(parts, key, turned)
        return Taken(replace(found, warnings=(OVERTAKEN,)), True)
    first, branch = (waiting.turn or turned).first, latest.head.branch
    added = [Artifact(m, branch, first + n) for n, m in enumerate(writing.messages)]
    yield Io(lambda: parts.index.committed(key, branch, added))
    return Taken(replace(step, warnings=parts.index.warnings, verdicts=verdicts), False)


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

    def at_once(self, turn: Turn, entries: Sequence[Entry[S]]) -> Doing[Appended]:
        """Write turn and commits in one transaction."""
        own, waiting, head = self.own, self.waiting.turn, self.head
        if not own and waiting is not None:
            return (yield from self.persist(waiting, entries))
        with self.watch.stage("store") as told:
            turned: Appended = yield Io(
                lambda: self.parts.journal.append_and_commit(
                    head.thread, own, entries, follows=head.hash, branch=head.branch,
                    epoch=head.epoch, waiting=waiting,
                )
            )  # fmt: skip
            told.result = turn
        return turned

    def store(self, turn: Turn) -> Doing[Appended]:
        """Write the turn, before a model is asked."""
        own, waiting, head = self.own, self.waiting.turn, self.head
        if not own and waiting is not None:
            return waiting
        with self.watch.stage("store") as told:
            turned: Appended = yield Io(
                lambda: self.parts.journal.append(
                    head.thread, own, follows=head.hash, branch=head.branch
                )
            )
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
                yield self.parts.committing(self.head, entries, whole)
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
    policy, cadence = parts.memory.policy, parts.memory.cadence
    with watch.stage("recall") as told:
        told.result = found = yield Io(lambda: parts.index.recall(latest.head, question))
    refs, read = frozenset(message.ref for message in latest.tail), ""
    if parts.gate.is_open(found):
        shown = rendered(latest.tail, policy, cadence.tool_share)
        state = render(latest.state, policy.style) if latest.state is not None else ""
        read = "\n".join((state, *shown))
    with watch.stage("qualify") as told:
        qualified = qualify(found, question, read, refs, parts.gate, policy.counter)
        told.result = qualified
    return qualified


def _asked(asking: Asking[Step[S]], call: Call, watch: Watch) -> Doing[Step[S]]:
    """Go on with a computation that has asked its first call."""
    try:
        while True:
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


def with_room(
    parts: Parts[S], handler: OnOverflow | None, key: ThreadKey, taken: Taken[S], watch: Watch
) -> Doing[Step[S]]:
    """Return the step; if rules or goals found no room, retire what ``handler`` names, and read them once more.

    A repeated step finds that they were read once more, and retires nothing again.

    Raises:
        PinnedOverflow: There is no handler, it names nothing, or what it names is not enough.
    """
    step, branch = taken.step, taken.step.state.branch
    if not step.no_room:
        return step
    overflow = overflow_of(step)
    refused = yield Io(lambda: parts.journal.texts(key, step.no_room, branch=branch))
    words = tuple(message.observation.model_copy(update={"ref": ""}) for message in refused)
    if taken.is_repeat:
        said = {each.identity for each in words}
        stored: list[StoredMessage] = yield Io(
            lambda: list(parts.journal.messages(key, branch=branch))
        )
        after = (each.message for each in stored if each.message.turn > step.state.turn)
        if any(message.observation.identity in said for message in after):
            latest = yield parts.latest(key, branch)
            return replace(step, state=latest.state, tail=latest.tail, commits=())
    ids = handler(overflow) if handler is not None else ()
    if not ids or not words:
        raise overflow
    room = yield from retiring_everywhere(parts, ids, "to make room", step.state, key)
    turn = Turn(observations=words, at=refused[-1].at)
    more = yield from taking(parts, room.state, turn, key, watch=watch, force=True)
    if more.step.no_room:
        raise overflow_of(more.step)
    commits = (*step.commits, *room.commits, *more.step.commits)
    told = tuple(replace(each, no_room=()) for each in commits)
    return replace(more.step, commits=told, usage=step.usage + more.step.usage)

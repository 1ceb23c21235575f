"""One turn with a journal: recall, qualify, compress, commit, persist.

Where nothing is asked of a model, turn and commit are one transaction. Where a model is asked, the turn is in the
journal first; the model runs outside of any transaction; the commits follow by compare-and-swap on the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from acc.artifacts.protocol import Artifact
from acc.compress.protocol import Asking, Call
from acc.controller.beginning import Beginning, beginning
from acc.controller.joining import joining
from acc.controller.parts import Parts, Taken
from acc.controller.repeating import again
from acc.controller.signing import signed_step
from acc.controller.waiting import with_waiting
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.gate import Verdict, qualify
from acc.journal import Appended, Entry, Head, Latest, ThreadKey
from acc.journal.committing import Overtaken
from acc.journal.names import Waiting
from acc.state.model import CompressedCognitiveState
from acc.state.render import render
from acc.step import Step
from acc.stepping import stepping
from acc.tail import Message, messages_of, rendered
from acc.telemetry.observer import Watch
from acc.turn.observations import Channel, Evidence
from acc.turn.redact import redacted_turn
from acc.turn.turn import UNDATED, Turn, dated, normalize

S = TypeVar("S", bound=CompressedCognitiveState)


TRIES = 3
"""How often a step is made again at once whose turn was not written, since words were recorded meanwhile."""


OVERTAKEN = "another worker committed meanwhile and took the turn along: this is its state"


def taking(
    parts: Parts[S],
    state: S | None,
    turn: Turn,
    key: ThreadKey,
    *,
    watch: Watch,
    force: bool = False,
    adopt: bool = False,
    since: Head | None = None,
    until: float = 0.0,
) -> Doing[Taken[S]]:
    """Take a turn of a thread.

    Args:
        parts: What it needs.
        state: The state to go on from (`acc.controller.beginning`); None for the head of the main branch.
        turn: What happened.
        key: The thread.
        watch: Is told of each stage.
        force: Compress now, whatever the size.
        adopt: Go on from a state that the journal does not hold.
        since: The head that it was to go on from, if it waited for others who did.
        until: When to give up, as `time.monotonic` counts, if others commit all the time.

    Raises:
        ConflictError: Another worker committed meanwhile. The step may be repeated from the new head.
        StateError: The journal does not hold ``state``.
    """
    clean = clean_turn(parts, turn, "step")
    if not clean.observations:
        raise InputError(
            "the turn is empty", where=str(key), hint="give a turn with words, or flush the thread"
        )
    if since is None:
        begun = yield from beginning(parts, state, clean, key, adopt=adopt)
    else:
        begun, clean = yield from joining(parts, since, clean, key)
    tries = 0
    while begun.known is None:
        head = begun.latest.head
        try:
            taken = yield from _going_on(parts, begun.latest, clean, key, watch, force=force)
        except ConflictError:
            tries += 1
            begun, clean = yield from joining(parts, head, clean, key)
            if begun.known is not None:
                continue  # it was taken along
            if begun.latest.head.epoch != head.epoch:
                raise  # somebody took the branch over
            is_over = monotonic() >= until
            if is_over and (tries > TRIES or not (yield from _is_quiet(parts, begun, head, clean))):
                raise
        else:
            warnings = (*filter(None, (begun.warning,)), *taken.step.warnings)
            step = signed_step(replace(taken.step, warnings=warnings), key, parts.keys)
            return Taken(step, taken.is_repeat, head.branch)
    step = yield from again(parts, key, begun.known)
    return Taken(signed_step(step, key, parts.keys), True, begun.known.head.branch)


def _is_quiet(parts: Parts[S], begun: Beginning[S], before: Head, clean: Turn) -> Doing[bool]:
    """Whether nobody took a turn after a head, and no model was asked for this one: it is not in the journal."""
    waiting = yield Io(lambda: parts.journal.waiting(before.thread, before.branch))
    said = {message.observation.identity for message in waiting}
    is_there = any(each.identity in said for each in clean.observations)
    return not is_there and begun.latest.head.seq == before.seq


def clean_turn(parts: Parts[Any], turn: Turn, where: str) -> Turn:
    """Return a turn as it is kept: dated unless nobody knows when, pasted passages split off, without secrets."""
    whole = normalize(dated(turn, parts.now()), where)
    known = whole.model_copy(update={"at": ""}) if whole.at == UNDATED else whole
    return redacted_turn(known, parts.redact)


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
    with watch.stage("commit"):
        first = _begun(asking)
    writing = _Writing(parts, latest.head, numbered, waiting, verdicts, watch)
    told: tuple[str, ...] = ()
    if isinstance(first, Step):
        turned, step = (yield from writing.at_once(first)), first
    else:
        turned = yield from writing.store()
        if not turned.is_committed:
            step = yield from _driven(asking, first, watch)
            turned, told = yield from writing.persist_or_find(step, turned)
    branch = latest.head.branch
    if turned.is_committed and not turned.is_new:
        found = yield from again(parts, key, turned)
        return Taken(replace(found, warnings=told), True, branch)
    added = [Artifact(m, branch, writing.first_of(turned) + n) for n, m in enumerate(writing.new)]
    yield Io(lambda: parts.index.committed(key, branch, added))
    return Taken(replace(step, warnings=parts.index.warnings, verdicts=verdicts), False, branch)


@dataclass(frozen=True)
class _Writing(Generic[S]):
    """Writes a turn and its commits after a head."""

    parts: Parts[S]
    head: Head
    turn: Turn
    waiting: Waiting
    verdicts: Sequence[Verdict]
    watch: Watch

    @property
    def new(self) -> tuple[Message, ...]:
        """The messages of the turn."""
        return messages_of(self.turn)

    @property
    def own(self) -> tuple[Message, ...]:
        """Those that do not wait already."""
        return self.new[len(self.waiting.messages) :]

    def at_once(self, step: Step[S]) -> Doing[Appended]:
        """Write turn and commits in one transaction."""
        own, waiting, head = self.own, self.waiting.turn, self.head
        if not own and waiting is not None:
            yield from self.persist(step, waiting)
            return waiting
        with self.watch.stage("store") as told:
            made = entries_of(step, self.verdicts)
            turned: Appended = yield Io(
                lambda: self.parts.journal.append_and_commit(
                    head.thread, own, made, follows=head.hash, branch=head.branch,
                    epoch=head.epoch, waiting=waiting,
                )
            )  # fmt: skip
            told.result = self.turn
        return turned

    def store(self) -> Doing[Appended]:
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
            told.result = self.turn
        return turned

    def persist(self, step: Step[S], turned: Appended) -> Doing[None]:
        """Write the commits of a turn that is in the journal."""
        waiting = self.waiting.turn
        whole = waiting.and_then(turned) if self.own and waiting is not None else turned
        with self.watch.stage("persist"):
            yield self.parts.committing(self.head, entries_of(step, self.verdicts), whole)

    def persist_or_find(
        self, step: Step[S], turned: Appended
    ) -> Doing[tuple[Appended, tuple[str, ...]]]:
        """Write the commits; if another worker's commit took the turn along meanwhile, return it so, and say so.

        Raises:
            ConflictError: Somebody committed meanwhile, and the turn was left behind.
        """
        try:
            yield from self.persist(step, turned)
        except Overtaken:
            raise
        except ConflictError:
            said = self.own or self.new
            found: Appended | None = yield Io(lambda: self.parts.journal.turn_of(self.head, said))
            if found is None or not found.is_committed:
                raise
            return replace(found, is_new=False), (OVERTAKEN,)
        return turned, ()

    def first_of(self, turned: Appended) -> int:
        """Return the number of the turn's first message."""
        return self.waiting.turn.first if self.waiting.turn is not None else turned.first


def _begun(asking: Asking[Step[S]]) -> Step[S] | Call:
    """Return the first call of a computation; its result if it asks nothing."""
    try:
        return next(asking)
    except StopIteration as stop:
        step: Step[S] = stop.value
        return step


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


def _driven(asking: Asking[Step[S]], call: Call, watch: Watch) -> Doing[Step[S]]:
    """Go on with a computation that has asked its first call."""
    go: Callable[[], Call] = lambda: call  # noqa: E731
    try:
        while True:
            call = go()
            try:
                with watch.stage("compress") as told:
                    told.result = done = yield call
            except Exception as error:
                go = partial(asking.throw, error)
            else:
                go = partial(asking.send, done)
    except StopIteration as stop:
        step: Step[S] = stop.value
        return step


def entries_of(step: Step[S], verdicts: Sequence[Verdict] = ()) -> list[Entry[S]]:
    """Return the commits as the journal takes them. Usage and verdicts stand with the first."""
    found = [Entry(commit, step.policy, failure=step.failure) for commit in step.commits]
    found[0] = replace(found[0], usage=step.usage, verdicts=tuple(verdicts))
    return found

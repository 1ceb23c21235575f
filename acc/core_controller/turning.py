"""One turn with a journal: recall, qualify, compress, commit, persist.

Where nothing is asked of a model, turn and commit are one transaction. Where a model is asked, the turn is in the
journal first; the model runs outside of any transaction; the commits follow by compare-and-swap on the head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

from acc.artifacts.protocol import Artifact
from acc.core_controller.driving import Doing, Io
from acc.core_controller.indexing import Indexing
from acc.errors import ConflictError, InputError, StateError
from acc.journal import Appended, Entry, Journal, Latest, ThreadKey
from acc.journal.names import MAIN, StoredMessage
from acc.journal.reading import StoredCommit
from acc.journal.record import notes_of
from acc.next.commit.commit import Commit
from acc.next.compress.protocol import Call
from acc.next.gate import Gate, Verdict, qualify
from acc.next.models.protocol import Usage
from acc.next.state.model import CompressedCognitiveState
from acc.next.state.render import render
from acc.next.step import Memory, Step, stepping
from acc.next.tail import Message, marked, messages_of, rendered
from acc.turn.observations import Channel, Evidence
from acc.turn.redact import Redact, redacted_turn
from acc.turn.turn import Turn, dated, normalize

S = TypeVar("S", bound=CompressedCognitiveState)

_MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""


@dataclass(frozen=True)
class Parts(Generic[S]):
    """What a turn needs.

    Attributes:
        journal: Where what happened is kept.
        memory: Who compresses and judges, under which policy and cadence.
        index: Finds candidates, and is told of new messages.
        gate: Bounds of what is admitted of them.
        redact: Removes secrets before anything is kept.
        now: The time of a turn that carries none, in ISO 8601.
    """

    journal: Journal
    memory: Memory[S]
    index: Indexing
    gate: Gate = field(default_factory=Gate)
    redact: Redact | None = None
    now: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Taken(Generic[S]):
    """What became of a turn.

    Attributes:
        step: The step.
        is_repeat: Whether the journal held it already: a repeated step, or another worker's with the same words.
        branch: The branch that it was committed on.
    """

    step: Step[S]
    is_repeat: bool
    branch: str


def taking(
    parts: Parts[S], state: S | None, turn: Turn, key: ThreadKey, *, force: bool = False
) -> Doing[Taken[S]]:
    """Take a turn of a thread.

    Args:
        parts: What it needs.
        state: The state to go on from; None for the head of the main branch. A state that another step went on
            from, as after a resumed checkpoint, begins a branch of its own.
        turn: What happened.
        key: The thread.
        force: Compress now, whatever the size.

    Raises:
        ConflictError: Another worker committed meanwhile. The step may be repeated from the new head.
        StateError: The journal does not hold ``state``.
    """
    clean = redacted_turn(normalize(dated(turn, parts.now()), "step"), parts.redact)
    if not clean.observations:
        raise InputError(
            "the turn is empty", where=str(key), hint="give a turn with words, or flush the thread"
        )
    latest, turned = yield from _found(parts, state, clean, key)
    if turned is not None:
        return Taken((yield from _again(parts, key, turned)), True, turned.head.branch)
    left = yield from _interrupted(parts, latest, clean, key)
    if left is not None:
        yield from _going_on(parts, latest, left, key, force=False)
        latest = yield _latest_of(parts, key, latest.head.branch)
    taken = yield from _going_on(parts, latest, clean, key, force=force)
    if state is None or taken.branch == state.branch:
        return taken
    forked = f"the thread went on from this state before: the step began branch {taken.branch}"
    step = replace(taken.step, warnings=(*taken.step.warnings, forked))
    return replace(taken, step=step)


def _interrupted(
    parts: Parts[S], latest: Latest[S], turn: Turn, key: ThreadKey
) -> Doing[Turn | None]:
    """Return the turn that an earlier step appended and did not commit, as one that was killed; None if there is none.

    This step takes it first. If its own step is repeated later, that finds what was committed.
    """
    head = latest.head
    after: list[StoredMessage] = yield Io(
        lambda: list(parts.journal.messages(key, head.seq + 1, branch=head.branch, also_open=True))
    )
    waiting = [each.message for each in after if not each.version]
    said = [message.observation.identity for message in waiting]
    if not said or said == [observation.identity for observation in turn.observations]:
        return None
    return Turn(observations=tuple(message.observation for message in waiting), at=waiting[-1].at)


def _going_on(
    parts: Parts[S], latest: Latest[S], clean: Turn, key: ThreadKey, *, force: bool
) -> Doing[Taken[S]]:
    """Take a turn from a branch's head."""
    base: S = latest.state or cast(S, parts.memory.policy.schema.empty())
    numbered = clean.numbered(base.turn + 1)
    evidence, verdicts = yield from _qualified(parts, latest, numbered)
    asking = stepping(
        parts.memory, base, numbered, texts=latest.tail, evidence=evidence, force=force
    )
    new, branch, epoch = messages_of(numbered), latest.head.branch, latest.head.epoch
    where: dict[str, Any] = {"follows": latest.head.hash, "branch": branch}
    journal = parts.journal
    try:
        call: Call = next(asking)
    except StopIteration as stop:
        step: Step[S] = stop.value
        made = _entries(step, verdicts)
        turned = yield Io(lambda: journal.append_and_commit(key, new, made, epoch=epoch, **where))
    else:
        turned = yield Io(lambda: journal.append(key, new, **where))
        if not turned.is_committed:
            step = yield from _driven(asking, call)
            made = _entries(step, verdicts)
            yield Io(lambda: journal.commit(key, made, epoch=epoch, turn=turned, **where))
    if turned.is_committed and not turned.is_new:
        return Taken((yield from _again(parts, key, turned)), True, branch)
    added = [Artifact(message, branch, turned.first + n) for n, message in enumerate(new)]
    yield Io(lambda: parts.index.committed(key, branch, added))
    return Taken(replace(step, warnings=parts.index.warnings), False, branch)


def flushing(parts: Parts[S], key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
    """Compress what waits in a thread's tail; return None if nothing does.

    Before a hand-over to another agent, a shared write, the end of a session.
    """
    latest: Latest[S] = yield _latest_of(parts, key, branch)
    state = latest.state
    if state is None or all(entry.status == "read" for entry in state.unread):
        return None
    nothing = Turn(observations=()).numbered(state.turn)
    asking = stepping(parts.memory, state, nothing, texts=latest.tail, force=True)
    step: Step[S] = yield from asking
    head = latest.head
    if step.commits:
        yield Io(
            lambda: parts.journal.commit(
                key, _entries(step, ()), follows=head.hash, branch=branch, epoch=head.epoch
            )
        )
    return step


def _found(
    parts: Parts[S], state: S | None, turn: Turn, key: ThreadKey
) -> Doing[tuple[Latest[S], Appended | None]]:
    """Return the branch that a turn goes on, and the turn itself if the journal holds it already.

    A state that is no head is either that of a repeated step, which finds its turn, or one to fork from.
    """
    branch = state.branch if state is not None else MAIN

    latest: Latest[S] = yield _latest_of(parts, key, branch)
    if state is None:
        return latest, None
    follows = state.hash if state.version else ""
    if follows == latest.head.hash:
        return latest, None
    known = yield from _known(parts, key, turn, state, branch, follows)
    if known is not None:
        return latest, known
    if not follows:
        raise StateError(
            "the thread has begun, and the state is an empty one",
            where=str(key),
            hint="give None to go on where the thread stopped, or another thread",
        )
    name = _fork_name(state, turn)
    try:
        yield Io(lambda: parts.journal.fork(key, state.hash, name))
    except ConflictError:  # the step is repeated: its branch is there
        first = yield Io(lambda: next(parts.journal.commits(key, name)))
        known = yield from _known(parts, key, turn, state, name, first.hash)
    latest = yield _latest_of(parts, key, name)
    return latest, known


def _latest_of(parts: Parts[S], key: ThreadKey, branch: str) -> Io:
    schema = parts.memory.policy.schema
    return Io(lambda: parts.journal.latest(key, branch=branch, schema=schema))


def _known(
    parts: Parts[S], key: ThreadKey, turn: Turn, state: S, branch: str, follows: str
) -> Doing[Appended | None]:
    """Return the turn if it was committed after ``follows``."""
    messages = messages_of(turn.numbered(state.turn + 1))
    try:
        found: Appended = yield Io(
            lambda: parts.journal.append(key, messages, follows=follows, branch=branch)
        )
    except ConflictError:
        return None
    return found if found.is_committed else None


def _fork_name(state: CompressedCognitiveState, turn: Turn) -> str:
    """Name a fork by its state and its first turn, so that a repeated step finds it."""
    parts = (state.hash, *(observation.identity for observation in turn.observations))
    return "fork-" + hashlib.blake2b("\x00".join(parts).encode(), digest_size=8).hexdigest()


def _qualified(
    parts: Parts[S], latest: Latest[S], turn: Turn
) -> Doing[tuple[tuple[Evidence, ...], tuple[Verdict, ...]]]:
    """Recall and qualify evidence for the user's words, beside what the agent reads anyway."""
    question = " ".join(o.text for o in turn.observations if o.channel is Channel.USER)
    if not question.strip():
        return (), ()
    policy, cadence = parts.memory.policy, parts.memory.cadence
    found = yield Io(lambda: parts.index.recall(latest.head, question))
    shown = rendered(latest.tail, policy, cadence.tool_share)
    state = render(latest.state, policy.style) if latest.state is not None else ""
    refs = frozenset(message.ref for message in latest.tail)
    read = "\n".join((state, *shown))
    return qualify(found, question, read, refs, parts.gate, policy.counter)


def _driven(asking: Any, call: Call) -> Doing[Step[S]]:
    """Go on with a computation that has asked its first call."""
    try:
        while True:
            try:
                done = yield call
            except Exception as error:
                call = asking.throw(error)
            else:
                call = asking.send(done)
    except StopIteration as stop:
        step: Step[S] = stop.value
        return step


def _entries(step: Step[S], verdicts: Sequence[Verdict]) -> list[Entry[S]]:
    """Return the commits as the journal takes them. Usage and verdicts stand with the first."""
    found = [Entry(commit, step.policy, failure=step.failure) for commit in step.commits]
    found[0] = replace(found[0], usage=step.usage, verdicts=tuple(verdicts))
    return found


def _again(parts: Parts[S], key: ThreadKey, turned: Appended) -> Doing[Step[S]]:
    """Return the step that the journal holds of a turn; one commit tells what all of them noted."""
    head, memory = turned.head, parts.memory
    state: S = yield Io(
        lambda: parts.journal.state(key, head.hash, branch=head.branch, schema=memory.policy.schema)
    )
    tail: tuple[Message, ...] = yield Io(
        lambda: parts.journal.texts(key, [entry.ref for entry in state.unread], branch=head.branch)
    )
    made: list[StoredCommit] = yield Io(
        lambda: [
            each
            for each in parts.journal.commits(
                key, head.branch, max(0, head.version - _MOST_COMMITS)
            )
            if each.turn == state.turn and each.version <= head.version
        ]
    )
    records = [each.record or {} for each in made]
    told = Commit(
        state,
        tuple(note for each in records for note in notes_of(each.get("notes", ()))),
        tuple(ref for each in records for ref in each.get("no_room", ())),
    )
    failure = next((each["failure"] for each in records if each.get("failure")), "")
    tail = marked(state.unread, tail)
    return Step(state, tail, (told,), Usage(), failure, memory.policy, memory.cadence)

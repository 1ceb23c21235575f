"""Finds the part of a turn that the journal holds already: all of it, its first words, or what others committed.

- The whole turn was committed: the step is a repeated one, and gets what was made then (`again`).
- Its first words wait: they were recorded, or the step that said them failed or was killed (`with_waiting`).
- The step waited for others of its thread, or was overtaken: it goes on at the head, with what they left (`joining`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from acc.commit.commit import Commit
from acc.controller.documents import document
from acc.controller.settings import Parts
from acc.driving import Doing, Io
from acc.gate import Verdict, admitted_again
from acc.journal import Appended, Latest, StoredCommit, ThreadKey
from acc.journal.names import StoredMessage, Waiting
from acc.journal.record import notes_of
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message, messages_of
from acc.step.step import Step
from acc.turn.observations import Evidence, is_ingested
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

WENT_ON = "another worker committed meanwhile: the step goes on from its state"
MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""


@dataclass(frozen=True)
class Beginning(Generic[S]):
    """Where a step begins.

    Attributes:
        latest: The branch that it goes on: head, state, tail.
        known: The turn, if the journal holds it already: the step is a repeated one.
        warning: What the caller should know; may be empty.
    """

    latest: Latest[S]
    known: Appended | None = None
    warning: str = ""


def joining(
    parts: Parts[S], begun: Beginning[S], turn: Turn, key: ThreadKey
) -> Doing[tuple[Beginning[S], Turn]]:
    """Return where a step begins that waited, or was overtaken, since it had ``begun``: at the head now.

    With it comes the turn without what others have committed of it meanwhile.
    """
    since = begun.latest.head
    latest: Latest[S] = yield parts.latest(key, since.branch)
    stored: list[StoredMessage] = yield Io(
        lambda: list(parts.journal.messages(key, since.seq + 1, branch=since.branch))
    )
    since_then = [each for each in stored if each.seq <= latest.head.seq]
    there = [each.message.observation.identity for each in since_then]
    said = [observation.identity for observation in turn.observations]
    place = _place_of(said, there)
    if place is not None:
        before = replace(since, seq=since_then[place].seq - 1)
        messages = messages_of(turn.numbered(since_then[place].message.turn))
        known: Appended | None = yield Io(lambda: parts.journal.repeated(before, messages))
        return Beginning(latest, known), turn
    rest = turn.observations[_overlap(there, said) :]
    warning = WENT_ON if since_then else begun.warning
    return Beginning(latest, None, warning), turn.model_copy(update={"observations": rest})


def with_waiting(waiting: Waiting, clean: Turn, number: int) -> tuple[Waiting, Turn]:
    """Return what waits with the refs that it gets, and the turn that has it in front.

    A turn that begins with the same words says them once.
    """
    if waiting.turn is None:
        return waiting, clean.numbered(number)
    said = tuple(message.observation for message in waiting.messages)
    before, now = ([o.identity for o in each] for each in (said, clean.observations))
    is_all = _place_of(now, before) is not None
    rest = () if is_all else clean.observations[_overlap(before, now) :]
    numbered = Turn(observations=(*said, *rest), at=clean.at).numbered(number)
    refs = tuple(each.ref for each in numbered.observations[: len(said)])
    return replace(waiting, turn=replace(waiting.turn, refs=refs)), numbered


def _place_of(now: Sequence[str], before: Sequence[str]) -> int | None:
    """Return where ``before`` holds ``now``; None if it does not."""
    places = range(len(before) - len(now) + 1)
    return next((i for i in places if before[i : i + len(now)] == now), None)


def _overlap(before: Sequence[str], now: Sequence[str]) -> int:
    """Return how many of the first of ``now`` are the first, or the last, of ``before``."""
    sizes = range(min(len(before), len(now)), 0, -1)
    return next((n for n in sizes if now[:n] in (before[:n], before[-n:])), 0)


def again(parts: Parts[S], key: ThreadKey, turned: Appended) -> Doing[Step[S]]:
    """Return the step that the journal holds of a turn; one commit tells what all of them noted."""
    head, schema = turned.head, parts.memory.policy.schema
    state: S = yield Io(
        lambda: parts.journal.state(key, head.hash, branch=head.branch, schema=schema)
    )
    tail: tuple[Message, ...] = yield Io(
        lambda: parts.journal.texts(key, state.unread, branch=head.branch)
    )
    after = max(0, head.version - MOST_COMMITS)
    made: list[StoredCommit] = yield Io(
        lambda: list(parts.journal.commits(key, head.branch, after))
    )
    records = [
        each.record or {}
        for each in made
        if each.turn == state.turn and each.version <= head.version
    ]
    told = Commit(
        state,
        tuple(note for each in records for note in notes_of(each.get("notes", ()))),
        tuple(ref for each in records for ref in each.get("no_room", ())),
    )
    verdicts = [Verdict(*each) for each in (records[0].get("verdicts", ()) if records else ())]
    (evidence,) = yield from evidence_of(parts, key, head.branch, [verdicts])
    failure = next((each["failure"] for each in records if each.get("failure")), "")
    return parts.step(
        state, tail, [told], failure=failure, verdicts=tuple(verdicts), evidence=evidence
    )


def evidence_of(
    parts: Parts[S], key: ThreadKey, branch: str, asked: Sequence[Sequence[Verdict]]
) -> Doing[list[tuple[Evidence, ...]]]:
    """Return what the gate admitted for each question, as far as its messages are there still."""
    every = (each for verdicts in asked for each in verdicts)
    refs = list(dict.fromkeys(each.ref for each in every if each.reason == "admitted"))
    own: tuple[Message, ...] = ()
    if refs:
        own = yield Io(lambda: parts.journal.texts(key, refs, branch=branch))
    ingested = [ref for ref in refs if is_ingested(ref)]
    found: list[Message | None] = yield Io(
        lambda: [document(parts.journal, key, ref) for ref in ingested]
    )
    messages = sorted((*own, *filter(None, found)), key=lambda message: message.turn)
    return [admitted_again(messages, verdicts) for verdicts in asked]

"""What a repeated step finds: the step that was committed, as the journal holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from acc.commit.commit import Commit
from acc.controller.documents import document
from acc.controller.parts import Parts
from acc.driving import Doing, Io
from acc.gate import Verdict, admitted_again
from acc.journal import Appended, StoredCommit, ThreadKey
from acc.journal.record import notes_of
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.step import Step
from acc.tail import Message, marked
from acc.turn.observations import Evidence, is_ingested

S = TypeVar("S", bound=CompressedCognitiveState)

_MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""


def again(parts: Parts[S], key: ThreadKey, turned: Appended) -> Doing[Step[S]]:
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
    verdicts = [Verdict(*each) for each in (records[0].get("verdicts", ()) if records else ())]
    (evidence,) = yield from evidence_of(parts, key, head.branch, [verdicts])
    failure = next((each["failure"] for each in records if each.get("failure")), "")
    tail = marked(state.unread, tail)
    return Step(
        state, tail, (told,), Usage(), failure, memory.policy, memory.cadence,
        verdicts=tuple(verdicts), evidence=evidence,
    )  # fmt: skip


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

"""What is done beside a step: record words, compress what waits, retire, withdraw, and tell again what a step made."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from acc.commit.commit import Commit, Given, commit
from acc.controller.behind import compressing
from acc.controller.common import Common, conversation
from acc.controller.indexing import document
from acc.controller.settings import Parts
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.gate import Verdict, admitted_again
from acc.journal import Appended, Entry, Latest, StoredCommit, ThreadKey
from acc.journal.names import MAIN, Head, Key, key_of
from acc.journal.record import notes_of
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.tail import Message, messages_of
from acc.step.step import Step, raise_overflow
from acc.turn.observations import Evidence, Observation, as_observations, is_ingested
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

MOST_TRIES = 20
"""Times that words are recorded anew because somebody committed meanwhile. Each time that one has got further."""

MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""

_LOG = logging.getLogger(__name__)


def recording(
    memory: Common[S], observations: Sequence[Observation], *, thread: Key, state: S | None = None
) -> Doing[bool]:
    """Do what `MemoryController.record` says. If somebody commits meanwhile, it is done anew from there."""
    parts, key = memory.parts, conversation(thread)
    parts.check(state)
    given = parts.clean(Turn(observations=as_observations(observations, "record")), "record")
    for _ in range(MOST_TRIES):
        try:
            return (yield from _recorded(parts, given, state, key))
        except ConflictError as error:
            conflict = error
    raise conflict


def _recorded(parts: Parts[S], given: Turn, state: S | None, key: ThreadKey) -> Doing[bool]:
    """Append what is not there already, unless the thread went on from ``state``."""
    branch = state.branch if state is not None else MAIN
    latest: Latest[S] = yield parts.latest(key, branch)
    head = latest.head
    if state is not None and state.version and not (yield from _is_newest(parts, state, head)):
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "the thread went on from the state: its next step has to bring the words along",
            thread=key.thread, version=state.version,
        )  # fmt: skip
        return False
    waiting = latest.waiting.messages
    there = {message.observation.identity for message in waiting}
    new = [each for each in given.observations if each.identity not in there]
    if not new:
        return True
    said = tuple(message.observation for message in waiting)
    number = (latest.state.turn if latest.state is not None else 0) + 1
    whole = Turn(observations=(*said, *new), at=given.at).numbered(number)
    messages = messages_of(whole)[len(said) :]
    where: dict[str, Any] = {"follows": head.hash, "branch": branch, "is_record": True}
    yield Io(lambda: parts.journal.append(key, messages, **where))
    return True


def _is_newest(parts: Parts[S], state: CompressedCognitiveState, head: Head) -> Doing[bool]:
    """Whether a state is that of its branch's head, or what was committed since took no message."""
    if head.hash == state.hash:
        return True
    held: Head | None = yield Io(lambda: parts.journal.commit_with(head.thread, state.hash))
    if held is None:
        return False
    adopted: Head = yield Io(lambda: parts.journal.without_news(held))
    return adopted.hash == head.hash


def operators_act(record: Any) -> Any:
    """Return the proposal of a commit's record if the operator made it; None if not."""
    proposal = ((record or {}).get("given") or {}).get("proposal")
    return proposal if proposal and proposal.get("author") == "operator" else None


def retiring(
    parts: Parts[S], key: ThreadKey, branch: str, words: Collection[tuple[str, str]], reason: str
) -> Doing[Commit[S] | None]:
    """Commit that the operator retires items of a branch's head; return None if it holds none of them.

    ``words``: slot and text of each item. Ids are given anew on each branch.
    """
    latest: Latest[S] = yield parts.latest(key, branch)
    state = latest.state
    items = state.items() if state is not None else ()
    there = tuple(item.id for slot, item in items if (slot.name, item.text_of) in words)
    if state is None or not there:
        return None
    given = Given(proposal=Proposal(drop=there, author="operator"))
    done = commit(state, parts.memory.policy, given)
    yield parts.committing(latest.head, [Entry(done, parts.memory.policy, outcome=reason)])
    return done


def retiring_everywhere(
    memory: Common[S], ids: Sequence[str], reason: str = "", *, thread: Key, state: S | None = None
) -> Doing[Step[S]]:
    """Do what `MemoryController.retire` says. If the branch does not hold one of the items, nothing is retired."""
    parts, key = memory.parts, key_of(thread)
    parts.check(state)
    own = state.branch if state is not None else MAIN
    latest: Latest[S] = yield parts.latest(key, own)
    found = {each: latest.state.find(each) if latest.state else None for each in ids}
    if missing := [each for each, item in found.items() if item is None]:
        raise InputError(
            f"there is no item {', '.join(missing) or '(none was named)'}",
            where=f"{key}, branch {own}",
            hint="acc show lists the items with their ids",
        )
    words = {(slot.name, item.text_of) for slot, item in filter(None, found.values())}
    reason = parts.redact(reason) if parts.redact is not None else reason
    heads: tuple[Head, ...] = yield Io(lambda: parts.journal.branches(key))
    for head in heads:
        if head.branch != own:
            yield from retiring(parts, key, head.branch, words, reason)
    made = yield from retiring(parts, key, own, words, reason)  # last: a repeated act finds it
    latest = yield parts.latest(key, own)
    assert latest.state is not None
    step = parts.step(latest.state, latest.tail, [made] if made is not None else [])
    return parts.signed(step, key)


def withdrawing(
    memory: Common[S], refs: Sequence[str], reason: str = "", *, thread: Key, branch: str = MAIN
) -> Doing[Step[S]]:
    """Do what `MemoryController.withdraw` says."""
    parts, key = memory.parts, key_of(thread)
    latest: Latest[S] = yield parts.latest(key, branch)
    if latest.state is None:
        raise InputError(
            "there is nothing to withdraw from", where=f"{key}, branch {branch}",
            hint="name the thread as its steps do",
        )  # fmt: skip
    done = commit(latest.state, parts.memory.policy, Given(withdrawn=tuple(refs)))
    if not done.notes and done.state.unread == latest.state.unread:
        return parts.signed(parts.step(latest.state, latest.tail), key)
    yield parts.committing(latest.head, [Entry(done, parts.memory.policy, outcome=reason)])
    latest = yield parts.latest(key, branch)
    return parts.signed(parts.step(done.state, latest.tail, [done]), key)


def flushing(memory: Common[S], thread: Key, *, branch: str = MAIN) -> Doing[Step[S] | None]:
    """Do what `MemoryController.flush` says, after what runs behind the agent."""
    key, behind = key_of(thread), memory.behind
    if behind is not None:
        yield Io(lambda: behind.settle(key))
    step: Step[S] | None = yield from compressing(memory.parts, key, branch)
    return None if step is None else raise_overflow(memory.parts.signed(step, key))


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

"""What is done beside a step: record words, retire, withdraw, and tell again what a step made."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from acc.commit.commit import Commit, Given, commit
from acc.controller.memory import OpenMemory, conversation
from acc.controller.texts import evidence_of
from acc.errors import ConflictError, InputError
from acc.gate import Verdict
from acc.journal import Appended, Entry, ThreadKey
from acc.journal.names import MAIN, Head, Key, key_of
from acc.journal.record import notes_of
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.tail import messages_of
from acc.step.result import Step
from acc.turn.observations import Observation, as_observations
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

MOST_TRIES = 20
"""Times that words are recorded anew because somebody committed meanwhile. Each time that one has got further."""

MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""

_LOG = logging.getLogger(__name__)


def record(
    memory: OpenMemory[S], observations: Sequence[Observation], thread: Key, state: S | None
) -> bool:
    """Do what `MemoryController.record` says. If somebody commits meanwhile, it is done anew from there."""
    key = conversation(thread, state)
    given = memory.clean(Turn(observations=as_observations(observations, "record")), "record")
    for _ in range(MOST_TRIES):
        try:
            return _recorded(memory, given, state, key)
        except ConflictError as error:
            conflict = error
    raise conflict


def _recorded(memory: OpenMemory[S], given: Turn, state: S | None, key: ThreadKey) -> bool:
    """Append what is not there already, unless the thread went on from ``state``."""
    branch = state.branch if state is not None else MAIN
    latest = memory.standing(key, branch)
    if state is not None and state.version and not _is_newest(memory, state, latest.head):
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "the thread went on from the state: its next step has to bring the words along",
            thread=key.thread, version=state.version,
        )  # fmt: skip
        return False
    said = tuple(message.observation for message in latest.waiting.messages)
    there = {each.identity for each in said}
    new = [each for each in given.observations if each.identity not in there]
    if not new:
        return True
    number = (latest.state.turn if latest.state is not None else 0) + 1
    whole = Turn(observations=(*said, *new), at=given.at).numbered(number)
    messages = messages_of(whole)[len(said) :]
    memory.journal.append(key, messages, follows=latest.head.hash, branch=branch, is_record=True)
    return True


def _is_newest(memory: OpenMemory[S], state: CompressedCognitiveState, head: Head) -> bool:
    """Whether a state is that of its branch's head, or what was committed since took no message."""
    if head.hash == state.hash:
        return True
    held = memory.journal.commit_with(head.thread, state.hash)
    return held is not None and memory.journal.without_news(held).hash == head.hash


def retire(
    memory: OpenMemory[S], ids: Sequence[str], reason: str, thread: Key, state: S | None
) -> Step[S]:
    """Do what `MemoryController.retire` says. If the branch does not hold one of the items, nothing is retired."""
    key = conversation(thread, state)
    own = state.branch if state is not None else MAIN
    latest = memory.standing(key, own)
    found = {each: latest.state.find(each) if latest.state else None for each in ids}
    if missing := [each for each, item in found.items() if item is None]:
        raise InputError(
            f"there is no item {', '.join(missing) or '(none was named)'}",
            where=f"{key}, branch {own}",
            hint="acc show lists the items with their ids",
        )
    words = {(slot.name, item.text_of) for slot, item in filter(None, found.values())}
    redact = memory.core.redact
    reason = redact(reason) if redact is not None else reason
    for head in memory.journal.branches(key):
        if head.branch != own:
            retire_words(memory, key, head.branch, words, reason)
    made = retire_words(memory, key, own, words, reason)  # last: a repeated act finds it
    return _done(memory, key, own, made)


def retire_words(
    memory: OpenMemory[S],
    key: ThreadKey,
    branch: str,
    words: Collection[tuple[str, str]],
    reason: str,
) -> Commit[S] | None:
    """Commit that the operator retires items of a branch's head; return None if it holds none of them.

    ``words``: slot and text of each item. Ids are given anew on each branch.
    """
    latest = memory.standing(key, branch)
    state, policy = latest.state, memory.policy
    items = state.items() if state is not None else ()
    there = tuple(item.id for slot, item in items if (slot.name, item.text_of) in words)
    if state is None or not there:
        return None
    done = commit(state, policy, Given(proposal=Proposal(drop=there, author="operator")))
    memory.commit(latest.head, [Entry(done, policy, outcome=reason)])
    return done


def operators_act(record: Any) -> Any:
    """Return the proposal of a commit's record if the operator made it; None if not."""
    proposal = ((record or {}).get("given") or {}).get("proposal")
    return proposal if proposal and proposal.get("author") == "operator" else None


def withdraw(
    memory: OpenMemory[S], refs: Sequence[str], reason: str, thread: Key, branch: str = MAIN
) -> Step[S]:
    """Do what `MemoryController.withdraw` says."""
    key, policy = key_of(thread), memory.policy
    latest = memory.standing(key, branch)
    if latest.state is None:
        raise InputError(
            "there is nothing to withdraw from", where=f"{key}, branch {branch}",
            hint="name the thread as its steps do",
        )  # fmt: skip
    done = commit(latest.state, policy, Given(withdrawn=tuple(refs)))
    if not done.notes and done.state.unread == latest.state.unread:
        return _done(memory, key, branch, None)
    memory.commit(latest.head, [Entry(done, policy, outcome=reason)])
    return _done(memory, key, branch, done)


def _done(memory: OpenMemory[S], key: ThreadKey, branch: str, made: Commit[S] | None) -> Step[S]:
    """Return an act as a step of its branch."""
    latest = memory.standing(key, branch)
    assert latest.state is not None
    step = memory.as_step(latest.state, latest.tail, [made] if made is not None else [])
    return memory.signed_step(step, key)


def again(memory: OpenMemory[S], key: ThreadKey, turned: Appended) -> Step[S]:
    """Return the step that the journal holds of a turn; one commit tells what all of them noted."""
    journal, head = memory.journal, turned.head
    state: Any = journal.state(key, head.hash, branch=head.branch, schema=memory.policy.schema)
    after = max(0, head.version - MOST_COMMITS)
    records = [
        each.record or {}
        for each in journal.commits(key, head.branch, after)
        if each.turn == state.turn and each.version <= head.version
    ]
    told = Commit(
        state,
        tuple(note for each in records for note in notes_of(each.get("notes", ()))),
        tuple(ref for each in records for ref in each.get("no_room", ())),
    )
    verdicts = [Verdict(*each) for each in (records[0].get("verdicts", ()) if records else ())]
    (evidence,) = evidence_of(memory.journal, key, head.branch, [verdicts])
    return memory.as_step(
        state,
        journal.texts(key, state.unread, branch=head.branch),
        [told],
        failure=next((each["failure"] for each in records if each.get("failure")), ""),
        verdicts=tuple(verdicts),
        evidence=evidence,
    )

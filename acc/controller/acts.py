"""What is done beside a step: record words, compress what waits, retire, withdraw, and tell again what a step made."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from acc.commit.commit import Commit, Given, commit
from acc.controller.settings import Parts
from acc.controller.texts import evidence_of, heard_before
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.gate import Verdict
from acc.journal import Appended, Entry, Latest, ThreadKey
from acc.journal.names import DOCUMENTS, MAIN, Head, Key, is_home, key_of
from acc.journal.record import notes_of
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.tail import marked, messages_of
from acc.step.step import Step
from acc.step.stepping import stepping
from acc.turn.observations import Observation, as_observations
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

MOST_TRIES = 20
"""Times that words are recorded anew because somebody committed meanwhile. Each time that one has got further."""

MOST_COMMITS = 64
"""Commits before a head among which those of its turn are looked for."""

_LOG = logging.getLogger(__name__)


def conversation(thread: Key) -> ThreadKey:
    """Return the key of a thread that an agent may step.

    Raises:
        InputError: It is the one that holds documents.
    """
    key = key_of(thread)
    if is_home(key):
        raise InputError(
            f"{DOCUMENTS!r} is the thread of the documents",
            where="step", hint="name the conversation otherwise",
        )  # fmt: skip
    return key


def check_state(state: object) -> None:
    """Check that what a caller gave is a state.

    Raises:
        InputError: It is none.
    """
    if state is not None and not isinstance(state, CompressedCognitiveState):
        raise InputError(
            f"the state is a {type(state).__name__}",
            where="step",
            hint="give the state of the last step, or None to go on where the thread stopped",
        )


def record(
    parts: Parts[S], observations: Sequence[Observation], thread: Key, state: S | None
) -> bool:
    """Do what `MemoryController.record` says. If somebody commits meanwhile, it is done anew from there."""
    key = conversation(thread)
    check_state(state)
    given = parts.clean(Turn(observations=as_observations(observations, "record")), "record")
    for _ in range(MOST_TRIES):
        try:
            return _recorded(parts, given, state, key)
        except ConflictError as error:
            conflict = error
    raise conflict


def _recorded(parts: Parts[S], given: Turn, state: S | None, key: ThreadKey) -> bool:
    """Append what is not there already, unless the thread went on from ``state``."""
    branch = state.branch if state is not None else MAIN
    latest = parts.latest(key, branch)
    if state is not None and state.version and not _is_newest(parts, state, latest.head):
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
    parts.journal.append(key, messages, follows=latest.head.hash, branch=branch, is_record=True)
    return True


def _is_newest(parts: Parts[S], state: CompressedCognitiveState, head: Head) -> bool:
    """Whether a state is that of its branch's head, or what was committed since took no message."""
    if head.hash == state.hash:
        return True
    held = parts.journal.commit_with(head.thread, state.hash)
    return held is not None and parts.journal.without_news(held).hash == head.hash


def compressing(parts: Parts[S], key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
    """Compress what waits in a thread's tail; return None if nothing does.

    Before a hand-over to another agent, a shared write, the end of a session. If a turn is committed meanwhile, and
    nothing else was compressed, the result is committed anew on it. Else it is dropped: the tail still has the words.

    Raises:
        ConflictError: Something else was compressed meanwhile.
    """
    latest: Latest[S] = yield Io(lambda: parts.latest(key, branch))
    state = latest.state
    if state is None or all(entry.status == "read" for entry in state.unread):
        return None
    nothing = Turn(observations=()).numbered(state.turn)
    step: Step[S] = yield from stepping(
        parts.memory, state, nothing, texts=latest.tail,
        earlier=partial(heard_before, parts, latest.head), force=True,
    )  # fmt: skip
    return (yield Io(lambda: _committed(parts, step, latest)))  # type: ignore[no-any-return]


def _committed(parts: Parts[S], step: Step[S], latest: Latest[S]) -> Step[S]:
    while True:
        try:
            parts.commit(latest.head, parts.entries(step))
        except ConflictError:
            earlier, latest = latest, parts.latest(latest.head.thread, latest.head.branch)
            if not _only_turns_since(earlier, latest):
                raise
            step = _rebased(step, latest)
        else:
            return step


def _only_turns_since(earlier: Latest[S], latest: Latest[S]) -> bool:
    """Whether nothing changed since but the tail, at its end."""
    before, after = earlier.state, latest.state
    if before is None or after is None or earlier.head.epoch != latest.head.epoch:
        return False
    is_same = list(before.items()) == list(after.items()) and before.gone == after.gone
    return is_same and after.unread[: len(before.unread)] == before.unread


def _rebased(step: Step[S], latest: Latest[S]) -> Step[S]:
    """Commit what a step proposed anew on a state that has a longer tail."""
    state: Any = latest.state
    commits: list[Commit[S]] = []
    for each in step.commits:
        given = replace(each.given, number=state.turn)
        commits.append(commit(state, step.policy, given))
        state = commits[-1].state
    tail = marked(state.unread, latest.tail)
    return replace(step, state=state, tail=tail, commits=tuple(commits))


def retire(
    parts: Parts[S], ids: Sequence[str], reason: str, thread: Key, state: S | None
) -> Step[S]:
    """Do what `MemoryController.retire` says. If the branch does not hold one of the items, nothing is retired."""
    key = key_of(thread)
    check_state(state)
    own = state.branch if state is not None else MAIN
    latest = parts.latest(key, own)
    found = {each: latest.state.find(each) if latest.state else None for each in ids}
    if missing := [each for each, item in found.items() if item is None]:
        raise InputError(
            f"there is no item {', '.join(missing) or '(none was named)'}",
            where=f"{key}, branch {own}",
            hint="acc show lists the items with their ids",
        )
    words = {(slot.name, item.text_of) for slot, item in filter(None, found.values())}
    redact = parts.memory.redact
    reason = redact(reason) if redact is not None else reason
    for head in parts.journal.branches(key):
        if head.branch != own:
            retire_words(parts, key, head.branch, words, reason)
    made = retire_words(parts, key, own, words, reason)  # last: a repeated act finds it
    return _done(parts, key, own, made)


def retire_words(
    parts: Parts[S], key: ThreadKey, branch: str, words: Collection[tuple[str, str]], reason: str
) -> Commit[S] | None:
    """Commit that the operator retires items of a branch's head; return None if it holds none of them.

    ``words``: slot and text of each item. Ids are given anew on each branch.
    """
    latest = parts.latest(key, branch)
    state, policy = latest.state, parts.memory.policy
    items = state.items() if state is not None else ()
    there = tuple(item.id for slot, item in items if (slot.name, item.text_of) in words)
    if state is None or not there:
        return None
    done = commit(state, policy, Given(proposal=Proposal(drop=there, author="operator")))
    parts.commit(latest.head, [Entry(done, policy, outcome=reason)])
    return done


def operators_act(record: Any) -> Any:
    """Return the proposal of a commit's record if the operator made it; None if not."""
    proposal = ((record or {}).get("given") or {}).get("proposal")
    return proposal if proposal and proposal.get("author") == "operator" else None


def withdraw(
    parts: Parts[S], refs: Sequence[str], reason: str, thread: Key, branch: str = MAIN
) -> Step[S]:
    """Do what `MemoryController.withdraw` says."""
    key, policy = key_of(thread), parts.memory.policy
    latest = parts.latest(key, branch)
    if latest.state is None:
        raise InputError(
            "there is nothing to withdraw from", where=f"{key}, branch {branch}",
            hint="name the thread as its steps do",
        )  # fmt: skip
    done = commit(latest.state, policy, Given(withdrawn=tuple(refs)))
    if not done.notes and done.state.unread == latest.state.unread:
        return _done(parts, key, branch, None)
    parts.commit(latest.head, [Entry(done, policy, outcome=reason)])
    return _done(parts, key, branch, done)


def _done(parts: Parts[S], key: ThreadKey, branch: str, made: Commit[S] | None) -> Step[S]:
    """Return an act as a step of its branch."""
    latest = parts.latest(key, branch)
    assert latest.state is not None
    step = parts.step(latest.state, latest.tail, [made] if made is not None else [])
    return parts.signed(step, key)


def again(parts: Parts[S], key: ThreadKey, turned: Appended) -> Step[S]:
    """Return the step that the journal holds of a turn; one commit tells what all of them noted."""
    journal, head = parts.journal, turned.head
    state: Any = journal.state(
        key, head.hash, branch=head.branch, schema=parts.memory.policy.schema
    )
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
    (evidence,) = evidence_of(parts, key, head.branch, [verdicts])
    return parts.step(
        state,
        journal.texts(key, state.unread, branch=head.branch),
        [told],
        failure=next((each["failure"] for each in records if each.get("failure")), ""),
        verdicts=tuple(verdicts),
        evidence=evidence,
    )

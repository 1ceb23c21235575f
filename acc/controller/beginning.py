"""What a step goes on from: the head, an older state, or a state that the journal does not hold.

- A state is the head's: the step goes on from it.
- Every commit since took no message (a compression behind the agent, an operator's act, an erasure): the step goes on
  from the head. So a checkpoint stays usable after them.
- Messages were committed since: the step is a repeated one, which finds its turn, or it begins a branch. If it waited
  for those who committed them, it goes on from the head (`acc.controller.joining`).
- There is no state: the step goes on from the head; it is a repeated one if its messages carry ids of the application,
  and those committed last are the same.
- The journal does not hold the state: it begins a thread, as a seed does, or comes from a checkpoint that is newer than
  a restored journal. Such a state is taken if it is signed, or if the caller says ``adopt``.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, TypeVar, cast

from acc.commit.commit import Commit
from acc.controller.acts import operators_act, retiring
from acc.controller.joining import WENT_ON, Beginning
from acc.controller.settings import Parts
from acc.driving import Doing, Io
from acc.errors import ConflictError, StateError
from acc.journal import Appended, Entry, Latest, ThreadKey
from acc.journal.names import MAIN, Head
from acc.state.model import CompressedCognitiveState
from acc.state.tail import messages_of
from acc.text.lines import canonical_json
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

_GO_ON = "give None to go on from what is left of the thread"


def beginning(
    parts: Parts[S], state: S | None, turn: Turn, key: ThreadKey, *, adopt: bool = False
) -> Doing[Beginning[S]]:
    """Return where a step begins that the caller goes on with from ``state``; a repeated one is known by its turn.

    Raises:
        StateError: The journal does not hold ``state``, and it is not taken; or the state is an empty one, and the
            thread has begun.
        ConflictError: The state is an older one, and the memory begins no branches.
    """
    if state is None:
        return (yield from _from_last(parts, turn, key))
    if not state.version:
        return (yield from _from_empty(parts, state, turn, key))
    latest: Latest[S] = yield parts.latest(key, state.branch)
    if latest.head.hash == state.hash:
        return Beginning(latest)
    held: Head | None = yield Io(lambda: parts.journal.commit_with(key, state.hash))
    if held is None:
        return (yield from _taken(parts, state, turn, key, adopt=adopt))
    if held.branch != state.branch:
        latest = yield parts.latest(key, held.branch)
    adopted: Head = yield Io(lambda: parts.journal.without_news(held))
    found: Appended | None = yield _found(parts, turn, state, held)
    if not _is_committed(found) and adopted.hash not in (held.hash, latest.head.hash):
        found = (yield _found(parts, turn, state, adopted)) or found
    if _is_committed(found):
        return Beginning(latest, found)
    if latest.head.hash == adopted.hash:
        return Beginning(latest)
    if found is not None and found.first > latest.head.seq:  # it waits: whoever goes on takes it
        return Beginning(latest, None, WENT_ON)
    return (yield from _forked(parts, state, held, turn, latest.head.thread))


def _from_last(parts: Parts[S], turn: Turn, key: ThreadKey) -> Doing[Beginning[S]]:
    """Begin where the thread stopped, or find the turn there by the ids of its messages."""
    latest: Latest[S] = yield parts.latest(key, MAIN)
    has_ids = all(each.message for each in turn.observations)
    if latest.state is None or not has_ids:
        return Beginning(latest)
    said = messages_of(turn.numbered(latest.state.turn))
    before = replace(latest.head, seq=latest.head.seq - len(said))
    known: Appended | None = yield Io(lambda: parts.journal.repeated(before, said, by_id=True))
    return Beginning(latest, known)


def _from_empty(parts: Parts[S], state: S, turn: Turn, key: ThreadKey) -> Doing[Beginning[S]]:
    latest: Latest[S] = yield parts.latest(key, MAIN)
    if not latest.head.hash:
        return Beginning(latest)
    found: Appended | None = yield _found(parts, turn, state, Head(key))
    if _is_committed(found):
        return Beginning(latest, found)
    raise StateError(
        "the thread has begun, and the state is an empty one",
        where=str(key),
        hint="give None to go on where the thread stopped, or another thread",
    )


def _is_committed(found: Appended | None) -> bool:
    return found is not None and found.is_committed


def _found(parts: Parts[S], turn: Turn, state: S, held: Head) -> Io:
    """Find the turn that was committed after ``held``; else the one that was appended there and waits."""
    messages = messages_of(turn.numbered(state.turn + 1))
    return Io(lambda: parts.journal.repeated(held, messages))


def _forked(
    parts: Parts[S], state: S, held: Head, turn: Turn, key: ThreadKey
) -> Doing[Beginning[S]]:
    """Begin a branch after ``held``, or find the one that this turn began."""
    if not parts.fork:
        raise ConflictError(
            f"the thread went on from version {held.version}",
            where=str(key),
            hint="read last_state and step again from it; or open the memory with fork=True",
        )
    names = (state.hash, *(observation.identity for observation in turn.observations))
    digest = hashlib.blake2b("\x00".join(names).encode(), digest_size=8).hexdigest()
    name = f"fork-{digest}"  # of its state and first turn, so that a repeated step finds it
    try:
        yield Io(lambda: parts.journal.fork(key, state.hash, name))
    except ConflictError:  # the step is repeated: its branch is there
        first = yield Io(lambda: next(parts.journal.commits(key, name)))
        forked = Head(key, name, first.hash, first.version, seq=first.seq)
        found: Appended | None = yield _found(parts, turn, state, forked)
        if _is_committed(found):
            latest: Latest[S] = yield parts.latest(key, name)
            return Beginning(latest, found)
    yield from _acts_again(parts, key, held, name)  # a step that was killed here is repeated here
    latest = yield parts.latest(key, name)
    warning = f"the thread went on from this state before: the step began branch {name}"
    return Beginning(latest, None, warning)


def _acts_again(parts: Parts[S], key: ThreadKey, held: Head, branch: str) -> Doing[None]:
    """Retire on a new branch what the operator retired on the old one after ``held``."""
    later: list[Any] = yield Io(
        lambda: [
            proposal
            for each in parts.journal.commits(key, held.branch, held.version)
            if (proposal := operators_act(each.record))
        ]
    )
    ids = {item for each in later for item in each.get("drop", ())}
    latest: Latest[S] = yield parts.latest(key, branch)
    items = latest.state.items() if latest.state is not None else ()
    words = {(slot.name, item.text_of) for slot, item in items if item.id in ids}
    yield from retiring(parts, key, branch, words, "repeated on a branch that began before it")


def _taken(
    parts: Parts[S], state: S, turn: Turn, key: ThreadKey, *, adopt: bool
) -> Doing[Beginning[S]]:
    """Take a state that the journal does not hold."""
    latest: Latest[S] = yield parts.latest(key, MAIN)
    head, is_new = latest.head, not latest.head.hash
    if (yield Io(lambda: parts.journal.was_erased(key, state.hash))):
        return (yield from _after_erasure(parts, state, key))
    if not (parts.has_signed(state, key) if parts.keys else is_new or adopt):
        raise StateError(
            f"the journal does not hold this state of version {state.version}",
            where=str(key),
            hint="give a state of this thread, or None; if the journal was restored from an older backup, step with"
            " adopt=True, once",
        )
    if (yield Io(lambda: _cites_erased(parts, key, state))):
        raise StateError(
            "the state rests on words that were erased from this thread",
            where=str(key),
            hint=f"delete the checkpoints that hold it; {_GO_ON}",
        )
    held = yield Io(lambda: _taken_before(parts, key, state))
    if held is not None:  # the step is repeated
        return (yield from beginning(parts, held, turn, key))
    version = max(state.version, head.version + 1)
    made = state.model_copy(update={"branch": MAIN, "version": version}).sealed()
    entry = Entry(Commit(made), parts.memory.policy, outcome=state.hash, kind="taken")
    yield parts.committing(head, [entry])
    latest = yield parts.latest(key, MAIN)
    if is_new:
        return Beginning(latest)
    warning = "the journal did not hold the state: the step goes on from it all the same"
    if lost := len(made.unread) - len(latest.tail):
        warning += f", without {lost} messages of its tail that are not in the journal"
    return Beginning(latest, None, warning)


def _cites_erased(parts: Parts[S], key: ThreadKey, state: S) -> bool:
    """Whether a state of outside names a message that was erased: it was made before the erasure."""
    gone = {f'"{each.ref}"' for each in parts.journal.tombstones(key)}
    body = canonical_json(state.canonical()) if gone else ""
    return any(ref in body for ref in gone)


def _taken_before(parts: Parts[S], key: ThreadKey, state: S) -> S | None:
    """Return what was taken for a state of outside before; it may have got another version or branch."""
    schema = parts.memory.policy.schema
    for each in parts.journal.commits(key):
        if each.kind == "taken" and (each.record or {}).get("outcome") == state.hash:
            return cast("S | None", parts.journal.state(key, each.hash, schema=schema))
    return None


def _after_erasure(parts: Parts[S], state: S, key: ThreadKey) -> Doing[Beginning[S]]:
    """Go on from what an erasure left, if the erased state was the last one of its branch.

    Raises:
        StateError: The thread is gone, or went on since: the state's own past cannot be had without the words.
    """
    left: Latest[S] = yield parts.latest(key, state.branch)
    is_another = yield Io(lambda: parts.journal.was_deleted(key))
    if is_another or left.state is None or left.state.turn != state.turn:
        raise StateError(
            "the state was erased",
            where=str(key),
            hint=f"delete the checkpoints that hold it; {_GO_ON}",
        )
    return Beginning(left, None, "an erasure changed the state: the step goes on from what it left")

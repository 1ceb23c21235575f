"""What a step goes on from, and the part of its turn that the journal holds already.

- A state is the head's: the step goes on from it.
- Every commit since took no message (a compression behind the agent, an operator's act, an erasure): the step goes on
  from the head. So a checkpoint stays usable after them.
- Messages were committed since: the step is a repeated one, which finds its turn, or it begins a branch. If it waited
  for those who committed them, or was overtaken, it goes on from the head with what they left (`joining`).
- The first words of the turn wait: they were recorded, or the step that said them was killed (`with_waiting`).
- There is no state: the step goes on from the head; it is a repeated one if its messages carry ids of the application,
  and those committed last are the same.
- The journal does not hold the state: it begins a thread, as a seed does, or comes from a checkpoint that is newer than
  a restored journal. Such a state is taken if it is signed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from acc.commit.commit import Commit
from acc.controller.acts import operators_act, retire_words
from acc.controller.memory import OpenMemory
from acc.controller.settings import signature
from acc.errors import ConflictError, StateError
from acc.journal import Appended, Entry, Latest, ThreadKey
from acc.journal.names import MAIN, Head, Waiting
from acc.state.model import CompressedCognitiveState
from acc.state.tail import messages_of
from acc.text.lines import canonical_json
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

WENT_ON = "another worker committed meanwhile: the step goes on from its state"
_GO_ON = "give None to go on from what is left of the thread"


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


def beginning(memory: OpenMemory[S], state: S | None, turn: Turn, key: ThreadKey) -> Beginning[S]:
    """Return where a step begins that the caller goes on with from ``state``; a repeated one is known by its turn.

    Raises:
        StateError: The journal does not hold ``state``, and it is not taken; or the state is an empty one, and the
            thread has begun.
        ConflictError: The state is an older one, and the memory begins no branches.
    """
    if state is None:
        return _from_last(memory, turn, key)
    if not state.version:
        return _from_empty(memory, state, turn, key)
    latest = memory.standing(key, state.branch)
    if latest.head.hash == state.hash:
        return Beginning(latest)
    held = memory.journal.commit_with(key, state.hash)
    if held is None:
        return _taken(memory, state, turn, key)
    if held.branch != state.branch:
        latest = memory.standing(key, held.branch)
    adopted = memory.journal.without_news(held)
    found = _found(memory, turn, state, held)
    if not _is_committed(found) and adopted.hash not in (held.hash, latest.head.hash):
        found = _found(memory, turn, state, adopted) or found
    if _is_committed(found):
        return Beginning(latest, found)
    if latest.head.hash == adopted.hash:
        return Beginning(latest)
    if found is not None and found.first > latest.head.seq:  # it waits: whoever goes on takes it
        return Beginning(latest, None, WENT_ON)
    return _forked(memory, state, held, turn)


def _from_last(memory: OpenMemory[S], turn: Turn, key: ThreadKey) -> Beginning[S]:
    """Begin where the thread stopped, or find the turn there by the ids of its messages."""
    latest = memory.standing(key, MAIN)
    has_ids = all(each.message for each in turn.observations)
    if latest.state is None or not has_ids:
        return Beginning(latest)
    said = messages_of(turn.numbered(latest.state.turn))
    before = replace(latest.head, seq=latest.head.seq - len(said))
    return Beginning(latest, memory.journal.repeated(before, said, by_id=True))


def _from_empty(memory: OpenMemory[S], state: S, turn: Turn, key: ThreadKey) -> Beginning[S]:
    latest = memory.standing(key, MAIN)
    if not latest.head.hash:
        return Beginning(latest)
    found = _found(memory, turn, state, Head(key))
    if _is_committed(found):
        return Beginning(latest, found)
    raise StateError(
        "the thread has begun, and the state is an empty one",
        where=str(key),
        hint="give None to go on where the thread stopped, or another thread",
    )


def _is_committed(found: Appended | None) -> bool:
    return found is not None and found.is_committed


def _found(memory: OpenMemory[S], turn: Turn, state: S, held: Head) -> Appended | None:
    """Find the turn that was committed after ``held``; else the one that was appended there and waits."""
    return memory.journal.repeated(held, messages_of(turn.numbered(state.turn + 1)))


def _forked(memory: OpenMemory[S], state: S, held: Head, turn: Turn) -> Beginning[S]:
    """Begin a branch after ``held``, or find the one that this turn began."""
    key, journal = held.thread, memory.journal
    if not memory.settings.fork:
        raise ConflictError(
            f"the thread went on from version {held.version}",
            where=str(key),
            hint="read last_state and step again from it; or open the memory with fork=True",
        )
    names = (state.hash, *(observation.identity for observation in turn.observations))
    digest = hashlib.blake2b("\x00".join(names).encode(), digest_size=8).hexdigest()
    name = f"fork-{digest}"  # of its state and first turn, so that a repeated step finds it
    try:
        journal.fork(key, state.hash, name)
    except ConflictError:  # the step is repeated: its branch is there
        first = next(journal.commits(key, name))
        forked = Head(key, name, first.hash, first.version, seq=first.seq)
        found = _found(memory, turn, state, forked)
        if _is_committed(found):
            return Beginning(memory.standing(key, name), found)
    _act_again(memory, held, name)  # a step that was killed here is repeated here
    warning = f"the thread went on from this state before: the step began branch {name}"
    return Beginning(memory.standing(key, name), None, warning)


def _act_again(memory: OpenMemory[S], held: Head, branch: str) -> None:
    """Retire on a new branch what the operator retired on the old one after ``held``."""
    key = held.thread
    later = memory.journal.commits(key, held.branch, held.version)
    acts = filter(None, (operators_act(each.record) for each in later))
    ids = {item for each in acts for item in each.get("drop", ())}
    state = memory.standing(key, branch).state
    items = state.items() if state is not None else ()
    words = {(slot.name, item.text_of) for slot, item in items if item.id in ids}
    retire_words(memory, key, branch, words, "repeated on a branch that began before it")


def _taken(memory: OpenMemory[S], state: S, turn: Turn, key: ThreadKey) -> Beginning[S]:
    """Take a state that the journal does not hold."""
    head = memory.standing(key, MAIN).head
    is_new = not head.hash
    if memory.journal.was_erased(key, state.hash):
        return _after_erasure(memory, state, key)
    if not (_is_signed(memory, state, key) if memory.keys else is_new):
        raise StateError(
            f"the journal does not hold this state of version {state.version}",
            where=str(key),
            hint="give a state of this thread, or None; one of a newer checkpoint is taken if it is signed (state_key)",
        )
    if _cites_erased(memory, key, state):
        raise StateError(
            "the state rests on words that were erased from this thread",
            where=str(key),
            hint=f"delete the checkpoints that hold it; {_GO_ON}",
        )
    held = _taken_before(memory, key, state)
    if held is not None:  # the step is repeated
        return beginning(memory, held, turn, key)
    version = max(state.version, head.version + 1)
    made = state.model_copy(update={"branch": MAIN, "version": version}).sealed()
    memory.commit(head, [Entry(Commit(made), memory.policy, outcome=state.hash, kind="taken")])
    latest = memory.standing(key, MAIN)
    if is_new:
        return Beginning(latest)
    warning = "the journal did not hold the state: the step goes on from it all the same"
    if lost := len(made.unread) - len(latest.tail):
        warning += f", without {lost} messages of its tail that are not in the journal"
    return Beginning(latest, None, warning)


def _is_signed(memory: OpenMemory[S], state: S, key: ThreadKey) -> bool:
    """Whether one of the memory's keys signed this state of this thread."""
    made = (signature(state, key, each) for each in memory.keys)
    return any(hmac.compare_digest(state.signature, each) for each in made)


def _cites_erased(memory: OpenMemory[S], key: ThreadKey, state: S) -> bool:
    """Whether a state of outside names a message that was erased: it was made before the erasure."""
    gone = {f'"{each.ref}"' for each in memory.journal.tombstones(key)}
    body = canonical_json(state.canonical()) if gone else ""
    return any(ref in body for ref in gone)


def _taken_before(memory: OpenMemory[S], key: ThreadKey, state: S) -> S | None:
    """Return what was taken for a state of outside before; it may have got another version or branch."""
    schema = memory.policy.schema
    for each in memory.journal.commits(key):
        if each.kind == "taken" and (each.record or {}).get("outcome") == state.hash:
            return cast("S | None", memory.journal.state(key, each.hash, schema=schema))
    return None


def _after_erasure(memory: OpenMemory[S], state: S, key: ThreadKey) -> Beginning[S]:
    """Go on from what an erasure left, if the erased state was the last one of its branch.

    Raises:
        StateError: The thread is gone, or went on since: the state's own past cannot be had without the words.
    """
    left = memory.standing(key, state.branch)
    is_another = memory.journal.was_deleted(key)
    if is_another or left.state is None or left.state.turn != state.turn:
        raise StateError(
            "the state was erased",
            where=str(key),
            hint=f"delete the checkpoints that hold it; {_GO_ON}",
        )
    return Beginning(left, None, "an erasure changed the state: the step goes on from what it left")


def joining(memory: OpenMemory[S], begun: Beginning[S], turn: Turn) -> tuple[Beginning[S], Turn]:
    """Return where a step begins that waited, or was overtaken, since it had ``begun``: at the head now.

    With it comes the turn without what others have committed of it meanwhile.
    """
    since = begun.latest.head
    key, branch = since.thread, since.branch
    latest = memory.standing(key, branch)
    stored = memory.journal.messages(key, since.seq + 1, branch=branch)
    since_then = [each for each in stored if each.seq <= latest.head.seq]
    there = [each.message.observation.identity for each in since_then]
    said = [observation.identity for observation in turn.observations]
    place = _place_of(said, there)
    if place is not None:
        before = replace(since, seq=since_then[place].seq - 1)
        messages = messages_of(turn.numbered(since_then[place].message.turn))
        return Beginning(latest, memory.journal.repeated(before, messages)), turn
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

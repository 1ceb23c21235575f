"""Operators' acts: retire items in a separate turn, and apply the retirement to every branch.

A retired item stays retired even if a caller continues from an older state of the thread, as a graph
does from its checkpoint: see `with_operator_acts`.

A service without a human operator can set a handler. This one retires the oldest rules of its users::

    def oldest(overflow: PinnedOverflow) -> Sequence[str]:
        return [i.id for i in overflow.state.constraints if i.trust is Trust.USER][:2]

    memory = MemoryController.open("memory", on_overflow=oldest)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.memory import Memory
from acc.pipeline.session import OnOverflow
from acc.pipeline.turn_pipeline import Step, proposed
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.protocol import Thread
from acc.thread.journal import still_present
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

LONGEST_REASON = 400
"""Maximum length of a reason in characters; the agent reads the whole reason."""


def retire(
    memory: Memory, ids: Sequence[str], reason: str, thread: Thread, state: Any = None
) -> Step:
    """Implement `MemoryController.retire`."""
    prior = memory.last_state(thread) if state is None else memory.load(state)
    where = f"thread {thread.thread!r}"
    if prior is None:
        raise InputError(
            "the thread's newest state is not known",
            where=where,
            hint="give it: state=...; or keep audit logs",
        )
    if len(reason) > LONGEST_REASON:
        raise InputError(
            f"a reason of {len(reason)} characters",
            where=where,
            hint=f"give one of at most {LONGEST_REASON}",
        )
    wanted = _known(prior, [ids] if isinstance(ids, str) else ids)
    return _retired(memory, prior, wanted, _words(wanted, reason), thread)


def with_operator_acts(memory: Memory, state: Any, thread: Thread) -> CompressedCognitiveState:
    """Implement `MemoryController.with_operator_acts`."""
    if isinstance(state, CompressedCognitiveState) and _owed(memory, state, thread) is None:
        return state  # the following step validates it
    prior = memory.load(state)
    while (owed := _owed(memory, prior, thread)) is not None:
        ids, words = owed
        prior = _retired(memory, prior, ids, words, thread).state
    return prior


def make_room(memory: Memory, overflow: PinnedOverflow, handler: OnOverflow | None) -> Step | None:
    """Retire the items that ``handler`` (`Settings.on_overflow`) names, as the operator; None if it names none.

    Raises:
        InputError: The handler names an id that is not in the state.
        PinnedOverflow: The remaining items still exceed the bounds.
    """
    if handler is None or overflow.thread is None:
        return None
    ids = handler(overflow)
    return retire(memory, ids, "on_overflow", overflow.thread, overflow.state) if ids else None


def retirement(
    state: CompressedCognitiveState, item_ids: Sequence[str], reason: str
) -> tuple[Turn, Proposal]:
    """Return the operator's turn and proposal that retire ``item_ids``, for callers of `commit`.

    To retire items of a thread, call `MemoryController.retire` instead.
    """
    turn = _turn(_words(item_ids, reason))
    return turn, proposed(item_ids, turn.numbered(state.turn + 1).observations[0])


def _retired(
    memory: Memory,
    prior: CompressedCognitiveState,
    ids: Sequence[str],
    words: str,
    thread: Thread,
) -> Step:
    with memory._running(prior, _turn(words), thread) as run:
        run.store()
        run.retire(ids)
        run.commit()
        run.persist()
    step = run.received()
    if left := [item_id for item_id in ids if step.state.find(item_id)]:
        notes = "; ".join(str(note) for note in step.commit.refused)
        raise ConfigurationError(f"not retired: {notes}", where=", ".join(left))
    return step


def _owed(
    memory: Memory, state: CompressedCognitiveState, thread: Thread
) -> tuple[list[str], str] | None:
    """Return the ids of the first unapplied operator's act in ``state`` and the act's words, or None."""
    with memory._locked_log(thread) as log:
        log.journal.refresh()
        if not log.journal.acts:
            return None
        branch = log.branch(state.branch)
        for act in log.journal.acts:
            ids = [item.id for item in still_present(state, branch, act.items)]
            if ids:
                return ids, log.branch(act.branch).text(act.ref) or _words(ids, "")
    return None


def _known(state: CompressedCognitiveState, ids: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(ids))
    unknown = [item_id for item_id in wanted if state.find(item_id) is None]
    if unknown or not wanted:
        pinned = [i.id for slot, i in state.items() if slot.rules.pinned and i.is_open]
        raise InputError(
            f"no item {', '.join(map(repr, unknown))}" if unknown else "no items to retire",
            where=f"the state after turn {state.turn}",
            hint=f"name one of its rules and goals: {', '.join(pinned) or 'there are none'}",
        )
    return wanted


def _words(ids: Sequence[str], reason: str) -> str:
    return f"retire {', '.join(ids)}" + (f": {reason}" if reason else "")


def _turn(words: str) -> Turn:
    return Turn(observations=(Observation(channel=Channel.OPERATOR, text=words),))

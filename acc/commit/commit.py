"""Commit: the only maker of the next state (law 2). A pure function (law 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from acc.commit.draft import Draft
from acc.commit.endings import add_later, carry_out, judge
from acc.commit.leaving import bound_tail, is_unsettled, make_room, settle_tail, withdraw
from acc.commit.pinned import add_cues, add_pinned, close_goals
from acc.commit.records import write_records
from acc.commit.sources import Sources
from acc.state.items import Artifact, Event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reading import Judgement
from acc.state.reasons import REFUSED, Note, Reason
from acc.state.tail import Message, tail_ref
from acc.turn.observations import Evidence

MOST_FEEDBACK = 10

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Given:
    """What `commit` is given beside state and policy. A journal keeps it.

    Attributes:
        turn: New messages. They join the tail.
        number: Number of the turn that this commit belongs to; 0 for the state's last one.
        read: The messages of the tail that the compressor was given to read, oldest first.
        proposal: What the compressor says; None if nothing was compressed.
        evidence: Evidence that the compressor was given to read.
        judgements: What a second reading said of claims that rules ended.
        is_provisional: Whether ``proposal`` is the fallback's. A working compressor reads the messages again.
        is_repair: Whether ``proposal`` corrects the last one. Its messages were settled by the last commit.
        before: Notes of the step so far: unread messages of the tail that are missing, which leave it; and those of
            the commit that this one repairs.
        withdrawn: Refs of messages on which nothing in the state may rest any more.
        heard: What tools and documents said before of what the agent offers: it cannot be agreed to.
    """

    turn: tuple[Message, ...] = ()
    number: int = 0
    read: tuple[Message, ...] = ()
    proposal: Proposal | None = None
    evidence: tuple[Evidence, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    is_provisional: bool = False
    is_repair: bool = False
    before: tuple[Note, ...] = ()
    withdrawn: tuple[str, ...] = ()
    heard: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Commit(Generic[S]):
    """What a commit made.

    Attributes:
        state: The next state.
        notes: What became of each element of the proposal, and of what left.
        no_room: Refs of messages whose rule, goal or later word did not fit. They left the tail.
        given: What it was made of, beside the state before and the policy.
    """

    state: S
    notes: tuple[Note, ...] = ()
    no_room: tuple[str, ...] = ()
    given: Given = Given()

    @property
    def refused(self) -> tuple[Note, ...]:
        """Rules, goals and later words that were refused for a slip of form, which one repair may correct."""
        return tuple(filter(is_unsettled, self.notes))


def commit(state: S, policy: Policy, given: Given) -> Commit[S]:
    """Return the state that replaces ``state``, by the policy's bounds and of what is given."""
    sources = Sources(given.read, given.evidence, policy, given.heard)
    draft = Draft(state, sources, policy, given.number or state.turn)
    if given.number > state.turn:
        draft.lapse()
    _extend_tail(draft, given)
    withdraw(draft, given.withdrawn)
    judge(draft, given.judgements)
    if given.proposal is not None:
        _take(draft, given.proposal)
        if not given.is_repair:
            carry_out(draft)
        if given.read:  # an operator's act reads nothing: trace, tail and feedback stay
            if not given.is_repair:
                _trace(draft, given)
            settle_tail(draft, given.read, is_provisional=given.is_provisional)
        make_room(draft)
    bound_tail(draft)
    return _sealed(draft, given)


def _extend_tail(draft: Draft, given: Given) -> None:
    """Let missing messages leave the tail, and the turn's join it."""
    draft.notes += [note for note in given.before if note.reason is Reason.MISSING]
    missing = {note.ref for note in draft.notes}
    draft.tail = [entry for entry in draft.tail if entry.ref not in missing]
    draft.tail += [tail_ref(message, draft.policy) for message in given.turn]
    if not given.is_repair:
        draft.notes += [note for note in given.before if note.reason is Reason.UNREAD]


def _take(draft: Draft, proposal: Proposal) -> None:
    draft.notes += proposal.notes
    add_pinned(draft, proposal)
    add_later(draft, proposal)
    close_goals(draft, proposal.done)
    write_records(draft, proposal)
    add_cues(draft, proposal)


def _trace(draft: Draft, given: Given) -> None:
    """Compute what was compressed and what was admitted (paper: episodic trace, retrieved artifacts)."""
    new = [message for message in given.read if message.status != "read"]
    if new:
        event = Event(
            id=draft.new_id(draft.slots["episodic_trace"]), turn=draft.turn, touched=draft.turn,
            first=new[0].ref, last=new[-1].ref, count=len(new),
        )  # fmt: skip
        draft.items["episodic_trace"] = [event]
    slot = draft.slots["retrieved_artifacts"]
    draft.items["retrieved_artifacts"] = [
        Artifact(id=draft.new_id(slot), turn=draft.turn, ref=each.ref, channel=each.channel)
        for each in given.evidence[: slot.rules.places]
    ]


_TOLD = REFUSED - {Reason.UNCITED} | {Reason.SHORTENED}
"""What the next request tells the compressor of its last answer."""


def _sealed(draft: Draft, given: Given) -> Commit[S]:
    state: S = draft.state  # type: ignore[assignment]
    update: dict[str, object] = {
        **{name: tuple(items) for name, items in draft.items.items()},
        "schema_name": draft.policy.schema.__name__,
        "version": state.version + 1,
        "turn": draft.turn,
        "counter": draft.counter,
        "policy": draft.policy.fingerprint,
        "parent": state.hash,
        "unread": tuple(draft.tail),
        "gone": tuple(draft.gone),
    }
    if given.proposal is not None and given.read:
        # What a repair was asked for is settled by its own notes.
        earlier = [note for note in given.before if not is_unsettled(note)]
        told = [note for note in (*earlier, *draft.notes) if note.reason in _TOLD]
        over = [f"it was {draft.over} tokens over: see what left"] if draft.over else []
        update["feedback"] = (*over, *(str(note)[:160] for note in told[:MOST_FEEDBACK]))
    sealed = state.model_copy(update=update).sealed()
    return Commit(sealed, tuple(draft.notes), tuple(dict.fromkeys(draft.no_room)), given)

"""Commit: the only maker of the next state (law 2). A pure function (law 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from acc.commit.draft import Draft
from acc.commit.endings import Judgement, add_later, carry_out, judge
from acc.commit.pinned import add_cues, add_pinned, close_goals
from acc.commit.records import write_records
from acc.commit.room import make_room
from acc.commit.sources import LAWFUL, Sources, trust_of
from acc.commit.withdraw import withdraw
from acc.state.items import Artifact, Event
from acc.state.model import CompressedCognitiveState, TailRef
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reasons import REPAIRABLE, Note, Reason
from acc.tail import MOST_REFS, Message, tail_ref
from acc.turn.observations import Channel, Evidence

MOST_FEEDBACK = 10
MOST_TRIES = 3
"""Readings of a message with an unsettled item (a compression, its repair, the next compression), before it leaves the
tail all the same."""

PINNED_LISTS = ("rules", "goals", "later")

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Given:
    """What `commit` is given beside state and policy: its arguments, by their names. A journal keeps it."""

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
        return tuple(n for n in self.notes if n.reason in REPAIRABLE and n.of in PINNED_LISTS)


def commit(
    state: S,
    policy: Policy,
    *,
    turn: Sequence[Message] = (),
    number: int = 0,
    read: Sequence[Message] = (),
    proposal: Proposal | None = None,
    evidence: Sequence[Evidence] = (),
    judgements: Sequence[Judgement] = (),
    is_provisional: bool = False,
    is_repair: bool = False,
    before: Iterable[Note] = (),
    withdrawn: Iterable[str] = (),
) -> Commit[S]:
    """Return the next state.

    Args:
        state: CCS_t-1.
        policy: Schema, bounds, and how rules end.
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
    """
    given = Given(
        tuple(turn), number, tuple(read), proposal, tuple(evidence), tuple(judgements),
        is_provisional, is_repair, tuple(before), tuple(withdrawn),
    )  # fmt: skip
    sources = Sources(read, evidence, policy)
    draft = Draft(state, sources, policy, number or state.turn)
    if number > state.turn:
        draft.lapse()
    draft.notes += [note for note in given.before if note.reason is Reason.MISSING]
    missing = {note.ref for note in draft.notes}
    draft.tail = [entry for entry in draft.tail if entry.ref not in missing]
    draft.tail += [tail_ref(message, policy) for message in turn]
    withdraw(draft, given.withdrawn)
    judge(draft, judgements)
    if proposal is not None:
        _apply(draft, proposal)
        if not is_repair:
            carry_out(draft)
        if read and not is_repair:
            _trace(draft, read, evidence)
        if read:  # an operator's act reads nothing: trace, tail and feedback stay
            _settle_tail(draft, read, is_provisional=is_provisional)
        make_room(draft)
    _bound_tail(draft)
    return _sealed(draft, given)


def _apply(draft: Draft, proposal: Proposal) -> None:
    draft.notes += proposal.notes
    add_pinned(draft, proposal)
    add_later(draft, proposal)
    close_goals(draft, proposal.done)
    write_records(draft, proposal)
    add_cues(draft, proposal)


def _trace(draft: Draft, read: Sequence[Message], evidence: Sequence[Evidence]) -> None:
    """Compute what was compressed and what was admitted (paper: episodic trace, retrieved artifacts)."""
    new = [message for message in read if message.status != "read"]
    if new:
        event = Event(
            id=draft.new_id(draft.slots["episodic_trace"]), turn=draft.turn, touched=draft.turn,
            first=new[0].ref, last=new[-1].ref, count=len(new),
        )  # fmt: skip
        draft.items["episodic_trace"] = [event]
    slot = draft.slots["retrieved_artifacts"]
    draft.items["retrieved_artifacts"] = [
        Artifact(id=draft.new_id(slot), turn=draft.turn, ref=each.ref, channel=each.channel)
        for each in evidence[: slot.rules.places]
    ]


def _settle_tail(draft: Draft, read: Sequence[Message], *, is_provisional: bool) -> None:
    """Let the read messages leave the tail, except the last exchange and what is not settled (laws 1 and 9)."""
    unsettled = _unsettled(draft, read)
    unreadable = _unreadable(draft, read)
    is_read = {m.ref for m in read if not m.cut_end}
    exchange = _last_exchange(draft.policy, read)
    kept: list[TailRef] = []
    for entry in draft.tail:
        if entry.status == "read" and entry.ref not in exchange:
            continue
        if entry.ref not in is_read or entry.ref in unreadable:
            kept.append(entry)
        elif entry.ref in unsettled and entry.tries + 1 < MOST_TRIES:
            kept.append(entry.model_copy(update={"status": "unread", "tries": entry.tries + 1}))
        elif is_provisional:
            kept.append(entry.model_copy(update={"status": "provisional"}))
        else:
            if entry.ref in unsettled:
                draft.note(Reason.GIVEN_UP, ref=entry.ref, detail=unsettled[entry.ref])
            if entry.ref in exchange:
                kept.append(entry.model_copy(update={"status": "read"}))
    draft.tail = kept


def _unsettled(draft: Draft, read: Sequence[Message]) -> dict[str, str]:
    """Return the refs of messages with a rule, goal or later word that was refused for its form, and why."""
    found: dict[str, str] = {}
    for note in draft.notes:
        if note.reason not in REPAIRABLE or note.of not in PINNED_LISTS:
            continue
        place = draft.sources.place(note.ref)
        # A ref that names no message may mean any message whose words can be a rule.
        meant = [m for m in read if m.channel in LAWFUL] if place is None else [read[place]]
        found.update({message.ref: str(note) for message in meant if message.status != "read"})
    return found


def _unreadable(draft: Draft, read: Sequence[Message]) -> set[str]:
    """Return the refs of messages that the compressor says it cannot read, such as those of another language.

    They stay for the agent to read, the newest first, in as many tokens as the state may have.
    """
    said = {note.ref for note in draft.notes if note.reason is Reason.UNREAD}
    room, found = draft.policy.max_tokens, set[str]()
    for message in reversed([m for m in read if m.ref in said and m.status != "read"]):
        room -= draft.policy.counter(message.text)
        if room >= 0:
            found.add(message.ref)
        else:
            draft.note(Reason.GIVEN_UP, ref=message.ref, detail="no compressor has read it")
    return found


def _last_exchange(policy: Policy, read: Sequence[Message]) -> set[str]:
    """Return the refs of the newest turn that was read, so that an answer such as "yes" refers to something.

    Its newest messages count, in as many tokens as the state may have: a thread that moves over comes as one turn.
    A text of a tool or document stands there with head and end, so that it counts a quarter of them at most.
    """
    newest = max((message.turn for message in read), default=0)
    room, found = policy.max_tokens, set[str]()
    for message in reversed([m for m in read if m.turn == newest]):
        tokens = policy.counter(message.text)
        is_shortened = message.channel in (Channel.TOOL, Channel.DOCUMENT)
        room -= min(tokens, policy.max_tokens // 4) if is_shortened else tokens
        if room < 0:
            break
        found.add(message.ref)
    return found


def _bound_tail(draft: Draft) -> None:
    """Let the oldest messages go that are too many, those of tools and documents first: they lay down no rule."""
    extra = max(0, len(draft.tail) - MOST_REFS)
    order = sorted(draft.tail, key=lambda entry: (entry.status != "read", trust_of(entry.ref)))
    leaving = {entry.ref for entry in order[:extra]}
    for entry in draft.tail:
        if entry.ref in leaving and entry.status != "read":
            detail = f"the tail holds {MOST_REFS} messages"
            draft.note(Reason.GIVEN_UP, ref=entry.ref, detail=detail)
    draft.tail = [entry for entry in draft.tail if entry.ref not in leaving]


_TOLD = frozenset(
    {
        Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.CUT_EDGE, Reason.UNKNOWN_ID, Reason.UNTRUSTED,
        Reason.NO_OFFER, Reason.MALFORMED, Reason.SHORTENED, Reason.NO_ROOM,
    }
)  # fmt: skip
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
        earlier = [n for n in given.before if not (n.reason in REPAIRABLE and n.of in PINNED_LISTS)]
        told = [note for note in (*earlier, *draft.notes) if note.reason in _TOLD]
        over = [f"it was {draft.over} tokens over: see what left"] if draft.over else []
        update["feedback"] = (*over, *(str(note)[:160] for note in told[:MOST_FEEDBACK]))
    sealed = state.model_copy(update=update).sealed()
    return Commit(sealed, tuple(draft.notes), tuple(dict.fromkeys(draft.no_room)), given)


__all__ = ["Commit", "Judgement", "commit"]

"""Judges a model's proposal as a whole, after its shape and before commit.

Commit refuses single items. This module finds faults of the whole proposal, and faults that cost
a rule. Both justify one more request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from acc.commit.commit import Commit, commit
from acc.compress.prompt import Reading
from acc.errors import AccError
from acc.keyless.reading import read
from acc.keyless.rules import sure_rules
from acc.state.items import Item
from acc.state.proposal import Outcome, Proposal, ProposedItem
from acc.state.reasons import Note, Reason
from acc.state.slots import SlotField
from acc.text.wording import stems

LEAST_LOST = 4
"""Minimum number of unpinned items for which a rewrite that loses half of them is a fault."""

ECHO = 2 / 3
"""Share of an item's content words found only in the instruction that makes the item an echo."""

TAKEN = 1 / 2
"""Share of a rule's words that an item must have to count as that rule."""

_MENDABLE = (
    Reason.QUOTE_MISSING, Reason.QUOTE_NOT_FOUND, Reason.QUOTE_UNRELATED, Reason.TOO_LONG,
    Reason.MALFORMED,
)  # fmt: skip

_UNUSABLE = (Reason.UNKNOWN_SLOT, Reason.MALFORMED, Reason.TOO_LONG)


class Fault(NamedTuple):
    """A reply's fault.

    Attributes:
        outcome: The kind of fault.
        detail: The explanation that the model reads.
    """

    outcome: Outcome
    detail: str


def fault_in(proposal: Proposal, reading: Reading, instruction: str) -> Fault | None:
    """Return a fault of ``proposal`` as a whole, or a fault that costs a rule; None if there is none.

    ``reading`` is the uncut input, because quotes are searched in the whole.
    """
    if proposal.mode == "rewrite" and not proposal.items:
        return Fault(Outcome.EMPTY, "the next state is empty")
    fault = (
        _unknown_ids(proposal, reading)
        or _items_lost(proposal, reading)
        or _prompt_echo(proposal, reading, instruction)
    )
    if fault is not None:
        return fault
    try:
        done = commit(reading.state, proposal, reading.turn, reading.evidence, reading.policy)
    except AccError:  # commit reports this error itself
        return None
    return _refused(proposal, reading, done) or _rule_missed(proposal, reading, done)


def _unknown_ids(proposal: Proposal, reading: Reading) -> Fault | None:
    """At least half of the entries name no existing ref or id. A retirement without a quote does no harm."""
    ids = {item.id for _, item in reading.state.items()}
    refs = ids | {source.ref for source in (*reading.turn.readable, *reading.evidence)}
    named = [{i.id, *i.cites} - {""} for i in proposal.items]
    strays = [" ".join(sorted(names)) or "(none cited)" for names in named if not names & refs]
    meant = [retired.id for retired in proposal.retire if retired.quote]
    strays += [item_id for item_id in meant if item_id not in ids]
    if not strays or 2 * len(strays) < len(proposal.items) + len(meant):
        return None
    listed = ", ".join(dict.fromkeys(strays))[:200]
    return Fault(Outcome.UNKNOWN_IDS, f"there are no such ids or refs: {listed}")


def _items_lost(proposal: Proposal, reading: Reading) -> Fault | None:
    """A rewrite drops at least half of the items that it may drop, without retiring them."""
    if proposal.mode != "rewrite":
        return None
    loose = [
        (slot, item)
        for slot, item in reading.state.items()
        if not (slot.rules.ephemeral or slot.binds(item))
    ]
    named = {i.id for i in proposal.items} | {c for i in proposal.items for c in i.cites}
    named |= {retired.id for retired in proposal.retire}
    lost = [i.id for s, i in loose if i.id not in named and not _is_written(proposal, s, i)]
    if len(loose) < LEAST_LOST or 2 * len(lost) < len(loose):
        return None
    said = "items are gone; carry them on under their ids, or list them under retire"
    return Fault(Outcome.ITEMS_LOST, f"these {said}: {', '.join(lost)[:400]}")


def _is_written(proposal: Proposal, slot: SlotField, item: Item) -> bool:
    """Whether ``proposal`` has an item with the same key, whatever it cites."""
    key = [str(getattr(item, name)).casefold() for name in item.key]
    return any(
        written.slot == slot.name
        and [str(written.fields.get(name)).casefold() for name in item.key] == key
        for written in proposal.items
    )


def _prompt_echo(proposal: Proposal, reading: Reading, instruction: str) -> Fault | None:
    """At least half of the new items repeat the instruction and no source."""
    new = [_words(item, reading) for item in proposal.items if not item.id]
    texts = [source.text for source in (*reading.turn.readable, *reading.evidence)]
    texts += [item.words for _, item in reading.state.items()]
    own = frozenset[str]().union(*map(stems, texts))
    instructed = stems(instruction) - own
    echoes = [
        words
        for words in new
        if len(said := stems(words)) >= 3 and len(said & instructed) >= ECHO * len(said)
    ]
    if not echoes or 2 * len(echoes) < len(new):
        return None
    told = f"items tell of the instructions, not of the turn: {echoes[0][:200]}"
    return Fault(Outcome.PROMPT_ECHO, told)


def _words(item: ProposedItem, reading: Reading) -> str:
    slot = type(reading.state).slots().get(item.slot)
    apart = ("status", "level", *(() if slot is None else slot.item.unseen))
    texts = (text for name, text in item.fields.items() if name not in apart)
    return " ".join(text for text in texts if isinstance(text, str))


def _refused(proposal: Proposal, reading: Reading, done: Commit) -> Fault | None:
    """Commit would refuse a rule, a goal or its retirement for a reason that the model can
    correct, or every item.
    """
    slots = reading.policy.schema.slots()
    quoted = {name for name, slot in slots.items() if slot.rules.quote}
    refused = [
        n
        for n in done.notes
        if n.slot in quoted and n.reason in _MENDABLE and not n.detail.startswith("done: ")
    ]  # the model hears of a goal that stays open in its next request
    misplaced = {i.slot for i in proposal.items if i.slot not in slots and i.fields.get("quote")}
    refused += [n for n in done.notes if n.slot in misplaced]
    if refused:
        return Fault(Outcome.RULE_REFUSED, f"these would be refused: {_listed(refused)}")
    unusable = [n for n in done.notes if n.slot and n.reason in _UNUSABLE]
    if proposal.items and not proposal.retire and len(unusable) == len(proposal.items):
        return Fault(Outcome.WRONG_SHAPE, f"no item can be used: {_listed(unusable)}")
    return None


def _rule_missed(proposal: Proposal, reading: Reading, done: Commit) -> Fault | None:
    """The user's words of this turn surely make a rule, and no pinned item of the next state has it.

    The keyless rules tell; they read English only. A rule counts as taken if a retirement quotes it.
    """
    if "constraints" not in reading.policy.schema.slots():
        return None
    taken = [item.words for slot, item in done.state.items() if slot.rules.pinned]
    taken += [gone.quote for gone in proposal.retire]
    held = list(map(stems, taken))
    said = read(reading.turn.model_copy(update={"pending": ()}), reading.state, ()).user
    for sentence in said:
        for rule in sure_rules(sentence):
            words = stems(rule.text)
            if all(len(words & each) < TAKEN * len(words) for each in held):
                what = f"{sentence.ref} says {rule.quote[:160]!r}, which reads as a standing rule"
                again = "add it under constraints with its quote; if it is none, send the same object again"
                return Fault(Outcome.RULE_MISSED, f"{what}: {again}")
    return None


def _listed(notes: Sequence[Note]) -> str:
    return "; ".join(f"{n.slot}: {n.text[:160]!r}: {n.reason.value} {n.detail}" for n in notes[:5])

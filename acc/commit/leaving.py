"""What leaves: messages the tail, items the state; for want of room, or with their message (laws 1, 3 and 9).

For want of room rules and goals never leave. First leave records of a slot that is over its share or its places, then
records of any slot: those that the compressor marked as minor before others, the longest untouched first, where each
writing counts. Of those that this very answer wrote, the last written leaves first, as the compressor is told. Orders
were replayed on recorded answers (`benchmarks/eviction_orders.py`): this one held the most current facts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from acc.commit.draft import Draft
from acc.commit.sources import trust_of
from acc.state.items import Cue, Goal, Item, Pinned, Record, Rule, Words
from acc.state.model import TailRef
from acc.state.policy import Policy
from acc.state.reasons import REPAIRABLE, Note, Reason
from acc.state.render import cost
from acc.state.tail import MOST_REFS, Message
from acc.turn.observations import LAWFUL, Channel

MOST_TRIES = 3
"""Readings of a message with an unsettled item (a compression, its repair, the next compression), before it leaves the
tail all the same."""


def is_unsettled(note: Note) -> bool:
    """Whether a rule, goal or later word was refused for a slip of form, which a repair may correct."""
    return note.reason in REPAIRABLE and note.of in ("rules", "goals", "later")


def settle_tail(draft: Draft, read: Sequence[Message], *, is_provisional: bool) -> None:
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
    for note in filter(is_unsettled, draft.notes):
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


def bound_tail(draft: Draft) -> None:
    """Let the oldest messages go that are too many, those of tools and documents first: they lay down no rule."""
    extra = max(0, len(draft.tail) - MOST_REFS)
    order = sorted(draft.tail, key=lambda entry: (entry.status != "read", trust_of(entry.ref)))
    leaving = {entry.ref for entry in order[:extra]}
    for entry in draft.tail:
        if entry.ref in leaving and entry.status != "read":
            detail = f"the tail holds {MOST_REFS} messages"
            draft.note(Reason.GIVEN_UP, ref=entry.ref, detail=detail)
    draft.tail = [entry for entry in draft.tail if entry.ref not in leaving]


WITHDRAWN = "its message was withdrawn"


def withdraw(draft: Draft, refs: Collection[str]) -> None:
    """Let the messages with these refs leave the tail, and what rests on them alone leave the state.

    They were never meant to reach the agent: a guard blocked them, or their application took them back. Their rows
    stay in the journal.
    """
    draft.tail = [entry for entry in draft.tail if entry.ref not in refs]
    for name, items in draft.items.items():
        for item in items if refs else ():
            left = _without(item, refs)
            if left is None:
                draft.remove(name, item)
                draft.note(Reason.DROPPED, item.id, item.text_of, WITHDRAWN)
            elif left != item:
                draft.replace(name, left)
                draft.note(Reason.UPDATED, item.id, item.text_of, WITHDRAWN)


def _without(item: Item, refs: Collection[str]) -> Item | None:
    """Return an item without what rests on messages; None if nothing else is left."""

    def is_gone(words: Words | None) -> bool:
        return words is not None and words.ref in refs

    if isinstance(item, Record):
        sources = tuple(ref for ref in item.sources if ref not in refs)
        is_left = sources or not item.sources
        return item.model_copy(update={"sources": sources}) if is_left else None
    if isinstance(item, Cue):
        return None if is_gone(item.words) else item
    if not isinstance(item, Pinned):
        return item
    if is_gone(item.words) or (isinstance(item, Rule) and is_gone(item.offer)):
        return None
    asides = {"about": item.about, "scope": item.scope}
    if isinstance(item, Goal):
        asides["done"] = item.done
    update: dict[str, Any] = {name: None for name, words in asides.items() if is_gone(words)}
    update["later"] = tuple(words for words in item.later if words.ref not in refs)
    if item.ending and (is_gone(item.ending.words) or is_gone(item.ending.asked)):
        update["ending"] = None
    return item.model_copy(update=update)


USE = 6
"""Turns by which each further writing of a record counts as later: what was written again is what the talk is about."""


def by_last_use(draft: Draft, item: Record) -> tuple[object, ...]:
    """Return minor ones first, then the longest untouched, then what this answer wrote, from its end."""
    digits = item.id[1:]
    number = int(digits) if digits.isdigit() else 0  # a newer item has a higher one
    last = item.touched + USE * (item.uses - 1)
    return (not item.minor, last, -number if item.touched == draft.turn else number)


def make_room(draft: Draft) -> None:
    """Remove records until the state keeps its bounds."""
    for name, slot in draft.slots.items():
        records = sorted(draft.records(name), key=lambda item: by_last_use(draft, item))
        for item in records[: max(0, len(records) - slot.rules.places)]:
            draft.evict(name, item, "the slot is full")
    while (over := draft.tokens() - draft.policy.max_tokens) > 0:
        draft.over = max(draft.over, over)
        victims = _victims(draft)
        if not victims:
            _make_room_of_others(draft)
            return
        for name, item in victims:
            if over <= 0:
                break
            over -= cost(item, draft.policy.counter)
            draft.evict(name, item, "no room")


def _victims(draft: Draft) -> list[tuple[str, Record]]:
    """Return the records that may leave now, in order: one of a slot over its share, or else all."""
    room = max(1, draft.policy.max_tokens - draft.pinned_tokens())
    over_share: set[str] = set()
    found: list[tuple[str, Record]] = []
    for name, slot in draft.slots.items():
        own = [(name, item) for item in draft.records(name)]
        used = sum(cost(item, draft.policy.counter) for _, item in own)
        found += own
        if slot.rules.share < 1 and used > slot.rules.share * room:
            over_share |= {item.id for _, item in own}
    found.sort(key=lambda each: by_last_use(draft, each[1]))
    return [each for each in found if each[1].id in over_share][:1] or found


def _make_room_of_others(draft: Draft) -> None:
    """Where no record is left: let go of next steps; rules that exceed a bound made smaller stay, and are told."""
    for step in draft.items["predictive_cue"]:
        if draft.tokens() <= draft.policy.max_tokens:
            return
        draft.remove("predictive_cue", step)
        draft.note(Reason.EVICTED, step.id, step.text_of, "no room")
    pinned = [item for _, item in draft.pinned()]
    if pinned and draft.tokens() > draft.policy.max_tokens:
        last = max(pinned, key=lambda item: item.turn)
        detail = "rules and goals exceed the bound, which was made smaller"
        draft.note(Reason.NO_ROOM, last.id, last.words.text, detail, ref=last.words.ref)
        draft.no_room.append(last.words.ref)

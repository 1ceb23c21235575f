"""Withdraw messages: the state holds nothing more that rests on them. Their rows stay in the journal.

For words that were never meant to reach the agent: a guard blocked them, or their application took them back.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from acc.commit.draft import Draft
from acc.state.items import Cue, Goal, Item, Pinned, Record, Rule, Words
from acc.state.reasons import Reason

WITHDRAWN = "its message was withdrawn"


def withdraw(draft: Draft, refs: Collection[str]) -> None:
    """Let the messages with these refs leave the tail, and what rests on them alone leave the state."""
    if not refs:
        return
    draft.tail = [entry for entry in draft.tail if entry.ref not in refs]
    for name, items in draft.items.items():
        for item in items:
            if _rests(item, refs):
                draft.remove(name, item)
                draft.note(Reason.DROPPED, item.id, item.text_of, WITHDRAWN)
            elif changes := _changes(item, refs):
                draft.replace(name, item.model_copy(update=changes))
                draft.note(Reason.UPDATED, item.id, item.text_of, WITHDRAWN)


def _rests(item: Item, refs: Collection[str]) -> bool:
    """Return whether nothing of an item is left without the messages."""
    if isinstance(item, Rule) and _is_of(item.offer, refs):
        return True
    if isinstance(item, Pinned | Cue):
        return _is_of(item.words, refs)
    return isinstance(item, Record) and bool(item.sources) and set(item.sources) <= set(refs)


def _changes(item: Item, refs: Collection[str]) -> dict[str, Any]:
    """Return what else of an item rests on the messages, with its value without them."""
    found: dict[str, Any] = {}
    if isinstance(item, Record):
        found["sources"] = tuple(ref for ref in item.sources if ref not in refs)
    if isinstance(item, Pinned):
        found["later"] = tuple(words for words in item.later if words.ref not in refs)
        ending = item.ending
        if ending is not None and (_is_of(ending.words, refs) or _is_of(ending.asked, refs)):
            found["ending"] = None
        found |= {k: None for k in ("about", "scope") if _is_of(getattr(item, k), refs)}
    if isinstance(item, Goal) and _is_of(item.done, refs):
        found["done"] = None
    return {key: value for key, value in found.items() if value != getattr(item, key)}


def _is_of(words: Words | None, refs: Collection[str]) -> bool:
    return words is not None and words.ref in refs

"""The trace of evicted items: what they were about, and a ref of evidence that can be opened.

No item is evicted for it: it takes only room that the items and the unread turns leave. An entry leaves when a
newer one needs its place, and when the state says again what it was about.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal, get_origin

from acc.commit.draft import Draft
from acc.state.items import Item, one_line
from acc.state.model import Evicted
from acc.state.policy import Policy
from acc.state.reasons import EVICTIONS, EvictedItem
from acc.text.wording import split_line

MOST_TRACED = 8
"""Maximum number of entries in a state. The agent reads the newest, as many as `TRACE_TOKENS` allows."""

TRACE_TOKENS = 40
"""Maximum number of tokens of the rendered trace."""

LONGEST_SUBJECT = 32
"""Maximum number of characters that name what an evicted item was about."""


def trace_evicted(draft: Draft, policy: Policy, tokens: int) -> int:
    """List what the draft evicted before what was evicted earlier, and show what fits beside ``tokens`` of items.

    Returns:
        Tokens of the rendered state.
    """
    entries = tuple(_entries(draft))[:MOST_TRACED]
    limit = min(tokens + TRACE_TOKENS, policy.max_tokens)
    for count in range(_guess(entries, limit - tokens, policy), 0, -1):
        draft.evicted = _shown(entries, count)
        more = policy.tokens(draft.state())
        if more <= limit:
            return more
    draft.evicted = _shown(entries, 0)
    return tokens


def _guess(entries: tuple[Evicted, ...], room: int, policy: Policy) -> int:
    """Return how many entries may fit in ``room`` tokens, by their words alone: to render them takes far longer."""
    words, count = _HEADING, 0
    for entry in entries:
        words += f"\n  {entry.ref},{entry.text},{entry.trust.word}"
        if policy.counter(words) > room:
            break
        count += 1
    return count


_HEADING = "evicted[1]{ref,about,by}:"


def _shown(entries: tuple[Evicted, ...], count: int) -> tuple[Evicted, ...]:
    return tuple(
        each if each.shown is (place < count) else each.model_copy(update={"shown": place < count})
        for place, each in enumerate(entries)
    )


def _entries(draft: Draft) -> Iterator[Evicted]:
    """Yield the entries, the newest first; one for each subject that no item of the state has."""
    evicted = [gone for gone in reversed(draft.set_aside) if gone.reason in EVICTIONS]
    # An ephemeral item would have left anyway.
    new = [_entry(gone) for gone in evicted if not draft.slots[gone.slot].rules.ephemeral]
    if not (new or draft.before.evicted):
        return
    seen = {_subject(item).casefold() for _, item in draft.placed()}
    for entry in (*new, *draft.before.evicted):
        if entry is not None and entry.text.casefold() not in seen:
            seen.add(entry.text.casefold())
            yield entry


def _entry(gone: EvictedItem) -> Evicted | None:
    item = gone.item
    subject, ref = _subject(item), _ref(item)
    if not (subject and ref):
        return None
    return Evicted(id=item.id, text=subject, ref=ref, trust=item.trust)


def _subject(item: Item) -> str:
    """Return what the item is about, cut; empty if it says no more than that."""
    named = one_line(" ".join(str(getattr(item, name)) for name in _naming(type(item))))
    return (split_line(named, LONGEST_SUBJECT) or [named[:LONGEST_SUBJECT]])[0].strip(" ,;:")


@cache
def _naming(item: type[Item]) -> tuple[str, ...]:
    """Return the fields that name an item's subject; none if the item has no other words."""
    says = [name for name in item.shown_fields() if not _is_choice(item, name)]
    key = tuple(name for name in item.key if name in says)
    return key if set(says) > set(key) else ()


def _is_choice(item: type[Item], name: str) -> bool:
    annotation = item.model_fields[name].annotation
    return annotation is bool or get_origin(annotation) is Literal


def _ref(item: Item) -> str:
    """Return the item's latest source of its own trust, else its latest: a ref shows the channel."""
    own = [ref for ref in item.sources if ref.rpartition("/")[2][:1] == item.trust.word[:1]]
    return (own or list(item.sources) or [""])[-1]

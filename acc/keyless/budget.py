"""Selects what to keep when tokens are short: rules and goals first, then facts by their value.

Rules, goals and the lines of the current turn are subtracted from the room first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from acc.keyless.outcomes import is_outcome
from acc.keyless.reading import said_by
from acc.keyless.room import FACTS, Room, value, words_of
from acc.text.tokens import TokenCounter
from acc.text.wording import marks, stems
from acc.turn.observations import Trust

SPARE = 0.02
"""Share of the tokens that stays free for what commit adds: marks of low trust and restored rules.
"""

AGAIN = 0.1
"""Factor on an item's value if other items already hold its figures and identifiers."""

STATED = 0.15
"""Share of the room reserved for the user's statements, however much the other channels say."""

TELLING = 4
"""Minimum length of a figure or identifier with one meaning in all facts: "3" is too short."""

_ROWS = '\n  gateway,listens,"port 8443, port 8444",observed' * 16
_WORDS = "gateway listens port 8443, port 8444 observed " * 16


class Kept(NamedTuple):
    """An item that may stay, held or new.

    Attributes:
        slot: Its slot.
        fields: Its fields.
        sources: Number of its sources.
        age: Turns since its last mention.
        tokens: Its cost in tokens.
        trust: Trust of its source.
        drop: Drops the item.
    """

    slot: str
    fields: Mapping[str, Any]
    sources: int
    age: int
    tokens: float
    trust: Trust
    drop: Callable[[], None]


def keep_within(room: Room, max_tokens: int, counter: TokenCounter) -> None:
    """Keep rules, goals and the turn's lines; of the other items keep those most worth their
    tokens.

    A share of the room (`STATED`) is reserved for facts that the user stated. Other channels cannot
    displace those.
    """
    over = _rendered(room, counter) - max_tokens * (1 - SPARE)
    if over <= 0:
        return  # values matter only if something must leave
    found = list(_kept(room, counter))
    left = sum(kept.tokens for kept in found) - over
    for kept in _stated_first(_best_first(found), left * STATED):
        if kept.tokens <= left:
            left -= kept.tokens
        else:
            kept.drop()


def _stated_first(queue: Iterable[Kept], room: float) -> list[Kept]:
    """Move the user's statements to the front, up to ``room`` tokens; keep the order otherwise."""
    first, then = [], []
    for kept in queue:
        if kept.slot == FACTS and kept.trust >= Trust.USER and kept.tokens <= room:
            room -= kept.tokens
            first.append(kept)
        else:
            then.append(kept)
    return [*first, *then]


def _best_first(found: Sequence[Kept]) -> Iterator[Kept]:
    """Order items by value per token. An item without new figures or names loses most value."""
    told: dict[str, list[frozenset[str]]] = {}
    worth = (value(kept.slot, kept.fields, kept.sources, kept.age) / kept.tokens for kept in found)
    queue = [(-each, place, False) for place, each in enumerate(worth)]
    heapify(queue)
    while queue:
        rank, place, is_again = heappop(queue)
        fields = found[place].fields
        says = marks(words_of(fields))
        if not says or _is_outcome(found[place]):
            yield found[place]
            continue
        # All facts share the status.
        about = stems(words_of({n: v for n, v in fields.items() if n != "status"})) - says
        if not is_again and all(_is_covered(mark, about, told) for mark in says):
            heappush(queue, (rank * AGAIN if rank < 0 else rank, place, True))
            continue
        for mark in says:
            told.setdefault(mark, []).append(about)
        yield found[place]


RECENT = 12
"""Turns in which an outcome keeps its full value, even if other facts name the same things."""


def _is_outcome(kept: Kept) -> bool:
    """Whether a fact reports an outcome. Other facts may name its identifiers, but not the outcome."""
    told = (str(kept.fields.get(name, "")) for name in ("predicate", "object"))
    return kept.slot == FACTS and kept.age < RECENT and is_outcome(*told)


def _is_covered(
    mark: str, about: frozenset[str], told: Mapping[str, Sequence[frozenset[str]]]
) -> bool:
    """Whether a kept item already holds ``mark``. A short mark counts only if both share a subject."""
    others = told.get(mark, ())
    return any(len(mark) >= TELLING or about & other for other in others)


def _rendered(room: Room, counter: TokenCounter) -> float:
    """Estimate the tokens of the rendered state. Rendering takes ten times as long."""
    told = room.visible_text()
    heads = [f"{slot}[{len(rows)}]{{{room.columns(slot)}}}:" for slot, rows in told.items()]
    words = [text for rows in told.values() for text in rows]
    return counter("\n".join([*heads, *words])) + len(words) * _beside(counter)


def _beside(counter: TokenCounter) -> float:
    """Tokens of a row apart from its words (indent, separators, marks); 0 for a counter of words."""
    return max(0.0, (counter(_ROWS) - counter(_WORDS)) / 16)


def _kept(room: Room, counter: TokenCounter) -> Iterator[Kept]:
    beside = _beside(counter)

    def cost(words: str) -> float:
        return max(1.0, counter(words) + beside)

    for name in (*room.lasting, *room.pinned):
        for item in (i for i in room.staying(name) if not (name in room.pinned and i.is_open)):
            age, tokens = room.turn - item.touched, cost(item.words)
            rests = (said_by(item), len(item.sources), age, tokens, item.trust)
            yield Kept(name, *rests, partial(room.retire, item))
    for new in room.new():
        if new.slot in room.lasting and not new.id:
            tokens = cost(words_of(new.fields))
            rests = (new.fields, len(new.cites), 0, tokens, room.trust(new.cites))
            yield Kept(new.slot, *rests, partial(room.drop, new))

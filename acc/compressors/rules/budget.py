"""What is kept when tokens are short: rules and goals first, then facts by what they are worth.

Items that live for one turn come off the top; a few of them are proposed at the most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from acc.compress import ProposedItem
from acc.compressors.rules.room import Room
from acc.compressors.rules.valuing import said_by, value, words_of
from acc.items import Item
from acc.tokens import TokenCounter

FRAME = 0.1
"""Share for the names of slots and fields, and for what was lifted."""

COST = 0.006
"""What each token takes from an item's value."""

_ROWS = '\n  gateway,listens,"port 8443, port 8444",observed' * 16
_WORDS = "gateway listens port 8443, port 8444 observed " * 16


class Kept(NamedTuple):
    """An item that may stay, held or new.

    Attributes:
        slot: Its slot.
        fields: What it says.
        sources: On how many texts it rests.
        age: Turns since it was last spoken of.
        tokens: What it costs.
        drop: Lets it go.
    """

    slot: str
    fields: Mapping[str, Any]
    sources: int
    age: int
    tokens: float
    drop: Callable[[], None]


Cost = Callable[[str], float]
"""Tokens of an item that says these words."""


def cost_by(counter: TokenCounter) -> Cost:
    """The tokens of an item: its words, and what stands beside them (indent, separators, marks)."""
    beside = (counter(_ROWS) - counter(_WORDS)) / 16
    return lambda words: counter(words) + beside


def keep_within(room: Room, max_tokens: int, counter: TokenCounter) -> None:
    """Drop what is worth least until the rest fits beside rules, goals and a turn's lines."""
    cost = cost_by(counter)
    found = list(_kept(room, cost))
    left = max_tokens * (1 - FRAME) - _passing(room, cost) - _bound(room, cost)
    used = sum(kept.tokens for kept in found)
    if used <= left:
        return  # what all of it is worth, matters only where something has to leave
    for kept in sorted(found, key=_value):
        if used <= left:
            return
        kept.drop()
        used -= kept.tokens


def _bound(room: Room, cost: Cost) -> float:
    held = [item.words for name in room.pinned for item in room.open(name)]
    new = [words_of(item.fields) for item in room.new() if item.slot in room.pinned]
    return sum(map(cost, (*held, *new)))


def _passing(room: Room, cost: Cost) -> float:
    ways = {*room.pinned, *room.lasting}
    return sum(cost(words_of(item.fields)) for item in room.new() if item.slot not in ways)


def _kept(room: Room, cost: Cost) -> Iterator[Kept]:
    for name in room.lasting:
        for item in room.held(name):
            age, tokens = room.turn - item.touched, cost(item.words)
            yield Kept(name, said_by(item), len(item.sources), age, tokens, _retiring(room, item))
    for new in room.new():
        if new.slot in room.lasting and not new.id:
            tokens = cost(words_of(new.fields))
            yield Kept(new.slot, new.fields, len(new.cites), 0, tokens, _dropping(room, new))


def _value(kept: Kept) -> float:
    return value(kept.slot, kept.fields, kept.sources, kept.age) - COST * kept.tokens


def _retiring(room: Room, item: Item) -> Callable[[], None]:
    return lambda: room.retire(item)


def _dropping(room: Room, item: ProposedItem) -> Callable[[], None]:
    return lambda: room.drop(item)

"""What is kept when tokens are short: rules and goals first, then facts by what they are worth.

What binds, and what lives for one turn, comes off the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from acc.keyless.reading import said_by
from acc.keyless.roles import is_outcome
from acc.keyless.room import FACTS, Room, value, words_of
from acc.state.items import Item
from acc.state.proposal import ProposedItem
from acc.text.tokens import TokenCounter
from acc.text.wording import marks, stems
from acc.turn.observations import Trust

SPARE = 0.02
"""Share that stays free, for what commit adds: marks of low trust, the rules that came back."""

AGAIN = 0.1
"""What is left of an item's worth where its figures and identifiers stand in others already."""

STATED = 0.15
"""Share of the room that what others say cannot take from what the user stated, however much they say."""

TELLING = 4
"""Characters from which a figure or identifier is the same thing wherever it stands: "3" is not."""

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
        trust: Of whoever said it.
        drop: Lets it go.
    """

    slot: str
    fields: Mapping[str, Any]
    sources: int
    age: int
    tokens: float
    trust: Trust
    drop: Callable[[], None]


Cost = Callable[[str], float]
"""Tokens of an item that says these words."""


def cost_by(counter: TokenCounter) -> Cost:
    """The tokens of an item, at least one: its words, and what stands beside them."""
    beside = _beside(counter)
    return lambda words: max(1.0, counter(words) + beside)


def keep_within(room: Room, max_tokens: int, counter: TokenCounter) -> None:
    """Keep what is worth most for its tokens beside rules, goals and a turn's lines; drop the rest.

    A share of the room (`STATED`) belongs to facts that the user stated: no flood takes it from them.
    """
    over = _rendered(room, counter) - max_tokens * (1 - SPARE)
    if over <= 0:
        return  # what all of it is worth, matters only where something has to leave
    found = list(_kept(room, cost_by(counter)))
    left = sum(kept.tokens for kept in found) - over
    for kept in _stated_first(_best_first(found), left * STATED):
        if kept.tokens <= left:
            left -= kept.tokens
        else:
            kept.drop()


def _stated_first(queue: Iterable[Kept], room: float) -> list[Kept]:
    """The same order, but what the user stated goes before what others say, as far as ``room`` reaches."""
    first, then = [], []
    for kept in queue:
        if kept.slot == FACTS and kept.trust >= Trust.USER and kept.tokens <= room:
            room -= kept.tokens
            first.append(kept)
        else:
            then.append(kept)
    return [*first, *then]


def _best_first(found: Sequence[Kept]) -> Iterator[Kept]:
    """By what a token of each brings; what brings no new figure or identifier is worth little."""
    told: dict[str, list[frozenset[str]]] = {}
    queue = [(-_worth(kept), place, False) for place, kept in enumerate(found)]
    heapify(queue)
    while queue:
        rank, place, is_again = heappop(queue)
        fields = found[place].fields
        says = marks(words_of(fields))
        if not says or _is_outcome(found[place]):
            yield found[place]
            continue
        about = _about(fields) - says
        if not is_again and all(_is_told(mark, about, told) for mark in says):
            heappush(queue, (rank * AGAIN if rank < 0 else rank, place, True))
            continue
        for mark in says:
            told.setdefault(mark, []).append(about)
        yield found[place]


RECENT = 12
"""Turns for which an outcome counts in full beside facts that name the same things."""


def _is_outcome(kept: Kept) -> bool:
    """Whether it tells what was done: its identifiers stand in other facts, that it is done does not."""
    told = (str(kept.fields.get(name, "")) for name in ("predicate", "object"))
    return kept.slot == FACTS and kept.age < RECENT and is_outcome(*told)


def _about(fields: Mapping[str, Any]) -> frozenset[str]:
    """What ``fields`` speak of: how sure it is, they all say."""
    return stems(words_of({name: text for name, text in fields.items() if name != "status"}))


def _is_told(
    mark: str, about: frozenset[str], told: Mapping[str, Sequence[frozenset[str]]]
) -> bool:
    """Whether what stays gives ``mark`` already; a short one only where both speak of one thing."""
    others = told.get(mark, ())
    return any(len(mark) >= TELLING or about & other for other in others)


def _rendered(room: Room, counter: TokenCounter) -> float:
    """Tokens of what the agent would read, near enough: to render it takes ten times as long."""
    told = room.told()
    heads = [f"{slot}[{len(rows)}]{{{room.columns(slot)}}}:" for slot, rows in told.items()]
    words = [text for rows in told.values() for text in rows]
    return counter("\n".join([*heads, *words])) + len(words) * _beside(counter)


def _beside(counter: TokenCounter) -> float:
    """Tokens of a row beside its words (indent, separators, marks); none to who counts words."""
    return max(0.0, (counter(_ROWS) - counter(_WORDS)) / 16)


def _kept(room: Room, cost: Cost) -> Iterator[Kept]:
    for name in (*room.lasting, *room.pinned):
        for item in (i for i in room.staying(name) if not (name in room.pinned and i.is_open)):
            age, tokens = room.turn - item.touched, cost(item.words)
            rests = (said_by(item), len(item.sources), age, tokens, item.trust)
            yield Kept(name, *rests, _retiring(room, item))
    for new in room.new():
        if new.slot in room.lasting and not new.id:
            tokens = cost(words_of(new.fields))
            rests = (new.fields, len(new.cites), 0, tokens, room.trust(new.cites))
            yield Kept(new.slot, *rests, _dropping(room, new))


def _worth(kept: Kept) -> float:
    return value(kept.slot, kept.fields, kept.sources, kept.age) / kept.tokens


def _retiring(room: Room, item: Item) -> Callable[[], None]:
    return lambda: room.retire(item)


def _dropping(room: Room, item: ProposedItem) -> Callable[[], None]:
    return lambda: room.drop(item)

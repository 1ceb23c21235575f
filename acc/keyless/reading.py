"""A turn taken apart once, by channel, for everything that looks for something in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from acc.keyless.sentences import plain, sentences
from acc.keyless.words import HEAD, is_foreign
from acc.state.items import Item, Relation
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField
from acc.turn.observations import PASTED, Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

LONGEST = 320
"""Characters of a text whose type sets no bound."""


def said_by(item: Item) -> dict[str, Any]:
    """What an item says, by field."""
    return {name: getattr(item, name) for name in type(item).wire_fields()}


def text_of(item: Item) -> str:
    """The text of an item that has one, as rules and goals do; or empty."""
    return str(getattr(item, "text", ""))


def fits(item: type[Item], fields: Mapping[str, Any]) -> bool:
    """Whether ``item`` can hold ``fields``: all it asks for, each text neither empty nor too long.

    What does not fit is left out, never cut.
    """
    wanted, longest = _bounds(item)
    if not wanted <= fields.keys() <= longest.keys():
        return False
    return all(
        bool(value.strip()) and len(value) <= longest[name]
        for name, value in fields.items()
        if isinstance(value, str)
    )


@lru_cache(maxsize=256)
def _bounds(item: type[Item]) -> tuple[frozenset[str], Mapping[str, int]]:
    """The fields that ``item`` asks for, and how long the text of each field may be."""
    names = item.wire_fields()
    wanted = frozenset(name for name in names if item.model_fields[name].is_required())
    return wanted, {name: longest_of(item, name, unbound=LONGEST) for name in names}


def longest_of(item: type[Item], name: str, *, unbound: int) -> int:
    """Characters that the text of a field may have; ``unbound`` where its type sets no bound."""
    bounds = (getattr(m, "max_length", None) for m in item.model_fields[name].metadata)
    return min((bound for bound in bounds if bound is not None), default=unbound)


class Spoken(NamedTuple):
    """A sentence or clause where it stands.

    Attributes:
        words: As they were said, or with straight apostrophes.
        before: The sentence or clause before it in the same message; or empty.
        after: The one after it.
    """

    words: str
    before: str = ""
    after: str = ""

    @property
    def plain(self) -> Spoken:
        """The same with straight apostrophes, which the cues are written in."""
        return Spoken(*(plain(text) for text in self))


MOST_SENTENCES = 200
"""Sentences read of one observation, half from each end: nobody says more at once."""


class Said(NamedTuple):
    """A sentence with what stands around it.

    Attributes:
        text: The sentence, verbatim.
        words: The same with straight apostrophes, which cues are matched on.
        asks: Whether it ends in a question mark.
        ref: Ref of its observation.
        before: The sentence before it in the same observation, straightened; or empty.
        after: The one after it.
    """

    text: str
    words: str
    asks: bool
    ref: str
    before: str
    after: str

    @property
    def spoken(self) -> Spoken:
        """The sentence as `acc.keyless.acts` reads it."""
        return Spoken(self.words, self.before, self.after)


class Reading(NamedTuple):
    """What the finders read.

    Attributes:
        user: What the user (or operator) said, in their own words, in English.
        foreign: What they said in another language, for which there are no cues.
        agent: What the agent said in English; its calls are left out.
        tools: Tool results.
        reply: What the agent had said just before the user spoke.
        state: The prior state.
        pasted: What the user pasted.
        slots: The state's slots by name.
        evidence: Qualified evidence.
    """

    user: tuple[Said, ...]
    foreign: tuple[Said, ...]
    agent: tuple[Said, ...]
    tools: tuple[Observation, ...]
    reply: tuple[Said, ...]
    state: CompressedCognitiveState
    pasted: tuple[str, ...]
    slots: dict[str, SlotField]
    evidence: tuple[Evidence, ...]

    @property
    def rules(self) -> tuple[Item, ...]:
        """The rules of the prior state."""
        return tuple(getattr(self.state, "constraints", ()))

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The facts of the prior state."""
        held = getattr(self.state, "relational_map", ())
        return tuple(item for item in held if isinstance(item, Relation))


def read(turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]) -> Reading:
    """Take ``turn`` apart, pending turns first."""
    seen = (*turn.pending, *turn.observations)
    user = [o for o in seen if o.trust >= Trust.USER]
    spoken = [o for o in seen if o.channel is Channel.AGENT and not o.is_call]
    reply = turn.reply_before(user[-1].ref) if user else None
    return Reading(
        user=_said(o for o in user if _is_read(o)),
        foreign=_said(o for o in user if not _is_read(o)),
        agent=_said(o for o in spoken if _is_read(o)),
        tools=tuple(o for o in seen if o.channel is Channel.TOOL),
        reply=_said([reply] if reply is not None else []),
        state=state,
        pasted=tuple(o.text for o in seen if o.channel is Channel.DOCUMENT and o.name == PASTED),
        slots=type(state).slots(),
        evidence=tuple(evidence),
    )


def _is_read(observation: Observation) -> bool:
    return not is_foreign(plain(observation.text[:HEAD]))


def _said(observations: Iterable[Observation]) -> tuple[Said, ...]:
    found = []
    for observation in observations:
        parts = sentences(observation.text, MOST_SENTENCES)
        words = ["", *(plain(part.text) for part in parts), ""]
        found += [
            Said(part.text, words[i + 1], part.asks, observation.ref, words[i], words[i + 2])
            for i, part in enumerate(parts)
        ]
    return tuple(found)

"""Splits a turn by channel, once for all finders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from acc.keyless.sentences import plain, sentences
from acc.keyless.words import HEAD, is_foreign
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField
from acc.turn.observations import PASTED, Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

LONGEST = 320
"""Maximum characters of a text whose type sets no limit."""


def said_by(item: Item) -> dict[str, Any]:
    """The wire fields of an item."""
    return {name: getattr(item, name) for name in type(item).wire_fields()}


def text_of(item: Item) -> str:
    """The ``text`` of an item, which rules and goals have; otherwise an empty text."""
    return str(getattr(item, "text", ""))


def fits(item: type[Item], fields: Mapping[str, Any]) -> bool:
    """Whether ``item`` can hold ``fields``: all required fields, and no text empty or too long.

    A text that does not fit is dropped, never truncated.
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
    """The required fields of ``item``, and the maximum length of each field's text."""
    names = item.wire_fields()
    wanted = frozenset(name for name in names if item.model_fields[name].is_required())
    return wanted, {name: longest_of(item, name, unbound=LONGEST) for name in names}


def longest_of(item: type[Item], name: str, *, unbound: int) -> int:
    """Maximum characters of a field's text; ``unbound`` if its type sets no limit."""
    bounds = (getattr(m, "max_length", None) for m in item.model_fields[name].metadata)
    return min((bound for bound in bounds if bound is not None), default=unbound)


class Spoken(NamedTuple):
    """A sentence or clause with its neighbours.

    Attributes:
        words: Its words, verbatim or with straight apostrophes.
        before: The sentence or clause before it in the same message; empty if none.
        after: The one after it; empty if none.
    """

    words: str
    before: str = ""
    after: str = ""

    @property
    def plain(self) -> Spoken:
        """The same texts with straight apostrophes, which the cues use."""
        return Spoken(*(plain(text) for text in self))


MOST_SENTENCES = 200
"""Maximum sentences read of one observation, half from each end."""


class Said(NamedTuple):
    """A sentence with its context.

    Attributes:
        text: The sentence, verbatim.
        words: The sentence with straight apostrophes, for matching cues.
        asks: Whether it ends in a question mark.
        ref: Ref of its observation.
        before: The sentence before it in the same observation, with straight apostrophes; empty if
            none.
        after: The sentence after it; empty if none.
    """

    text: str
    words: str
    asks: bool
    ref: str
    before: str
    after: str

    @property
    def spoken(self) -> Spoken:
        """The sentence in the form for `acc.keyless.acts`."""
        return Spoken(self.words, self.before, self.after)


class TurnReading(NamedTuple):
    """A turn split by channel, with the prior state and the evidence: the input of the finders.

    Attributes:
        user: English sentences of the user (or operator), in their own words.
        foreign: Their sentences in other languages, for which there are no cues.
        agent: English sentences of the agent, without its calls.
        tools: Tool results.
        reply: The agent's last reply before the user's message.
        state: The prior state.
        pasted: Texts that the user pasted.
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


def read(turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]) -> TurnReading:
    """Split ``turn`` by channel, pending turns first."""
    seen = turn.unread
    user = [o for o in seen if o.trust >= Trust.USER]
    spoken = [o for o in seen if o.channel is Channel.AGENT and not o.is_call]
    reply = turn.reply_before(user[-1].ref) if user else None
    return TurnReading(
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

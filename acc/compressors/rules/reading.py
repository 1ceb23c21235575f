"""A turn taken apart once, by channel, for everything that looks for something in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from acc.compressors.rules.language import HEAD, is_foreign
from acc.compressors.rules.sentences import plain, sentences
from acc.compressors.rules.spoken import Spoken
from acc.incoming import PASTED
from acc.items import Item, Relation
from acc.slots import SlotField
from acc.state import CompressedCognitiveState
from acc.turn import Channel, Evidence, Observation, Trust, Turn

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
        """The sentence as `acc.compressors.rules.acts` reads it."""
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

"""Laws 5 and 6: resolve citations and compute trust.

Only this module computes trust, from channels. A compressor can only cite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.text.clauses import sentences
from acc.text.quoting import Passage, find_passage
from acc.text.wording import (
    MOST_FOREIGN,
    bears,
    borne_out,
    is_assent,
    marks,
    repeated,
    repeats,
    stems,
    taken,
    takes_phrase,
    vocabulary,
)
from acc.turn.observations import Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

MOSTLY = 0.6
"""Share of an item's content words from which on the words count as another source's."""


LEAST_TOLD = 3
"""Minimum number of content words for a check against the sources; fewer form a name or a label."""


class Cited(NamedTuple):
    """The target of a citation: an observation (or evidence), or a prior item.

    ``trust`` is the channel's, or the prior item's own. ``fresh`` says that it belongs to this turn or is
    pending; rules need a fresh citation.
    """

    ref: str
    trust: Trust
    observation: Observation | None
    item: Item | None
    fresh: bool


class Provenance(NamedTuple):
    """The trust and sources of an item.

    ``endorsed`` says that a user's assent raised the trust. ``lowered_by`` is the ref of an observation, or the
    id of an item, that lowered it because the words repeat it.
    """

    trust: Trust
    sources: tuple[str, ...]
    endorsed: bool = False
    lowered_by: str = ""


class Sources:
    """Everything that the items of one commit may cite."""

    def __init__(
        self, state: CompressedCognitiveState, turn: Turn, evidence: Sequence[Evidence]
    ) -> None:
        self.turn = turn
        self._fresh = {o.ref for o in turn.unread}
        self._observations = {o.ref: o for o in evidence} | {o.ref: o for o in turn.readable}
        self._items = {item.id: item for _, item in state.items()}
        self._evidence = tuple(evidence)

    def resolve(self, cites: Iterable[str]) -> tuple[list[Cited], list[str]]:
        """Return the targets of ``cites``, and the cites without a target."""
        found: list[Cited] = []
        unknown = []
        for ref in dict.fromkeys(cites):
            if observation := self._observations.get(ref):
                found.append(Cited(ref, observation.trust, observation, None, ref in self._fresh))
            elif item := self._items.get(ref):
                found.append(Cited(ref, item.trust, None, item, False))
            else:
                unknown.append(ref)
        return found, unknown

    @cached_property
    def lower(self) -> tuple[Observation, ...]:
        """Tools' and documents' texts that the agent has read for this turn or for its last reply."""
        heard = (*self.turn.unread, *self.turn.heard, *self._evidence)
        return tuple(o for o in heard if o.trust < Trust.AGENT)

    @cached_property
    def lower_texts(self) -> tuple[str, ...]:
        """The texts of `lower`, and of items with less than the agent's trust."""
        return (*(o.text for o in self.lower), *self.lower_items)

    @cached_property
    def _lower_items(self) -> tuple[Item, ...]:
        return tuple(i for i in self._items.values() if i.trust < Trust.AGENT)

    @cached_property
    def lower_items(self) -> tuple[str, ...]:
        """The texts of items with less than the agent's trust."""
        return tuple(i.words for i in self._lower_items)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all observations, evidence and items. They must name what a pronoun refers to."""
        return (
            *(o.text for o in self._observations.values()),
            *(i.words for i in self._items.values()),
        )

    def holds_lower(self, words: str) -> bool:
        """Return whether a low-trust item contains ``words`` or a run of them."""
        return any(repeats(words, text) for text in self.lower_items)

    def texts_below(self, least: Trust) -> tuple[str, ...]:
        """Return the texts in `lower_texts` with less trust than ``least``."""
        if least >= Trust.AGENT:
            return self.lower_texts
        items = (i.words for i in self._items.values() if i.trust < least)
        return (*(o.text for o in self.lower if o.trust < least), *items)

    @cached_property
    def spoken(self) -> tuple[str, ...]:
        """The operator's and user's words in this turn and in pending observations."""
        return tuple(o.text for o in self.turn.unread if o.trust >= Trust.USER)

    @cached_property
    def privileged_texts(self) -> tuple[str, ...]:
        """The operator's and user's words, now or in quotes of current rules and goals."""
        quotes = (getattr(i, "quote", "") for i in self._items.values() if i.trust >= Trust.USER)
        return (*self.spoken, *(quote for quote in quotes if quote))

    def own_words(self, said: Sequence[Observation], lower: Sequence[str]) -> list[str]:
        """Return the sentences of ``said`` by users and operators, and others that repeat none of ``lower``."""
        return [
            sentence
            for o in said
            if not o.is_call
            for sentence in sentences(o.text)
            if o.trust >= Trust.USER or not any(repeats(sentence, text) for text in lower)
        ]

    def is_the_agents(self, words: str, lower: Sequence[str]) -> bool:
        """Return whether the agent's speech of this turn and trusted items bear out half of ``words``.

        Names and figures of the ``lower`` texts may stand among the words, a phrase of theirs or more than
        `LEAST_TAKEN` of their other words may not.
        """
        agents = [o for o in self.turn.observations if o.channel is Channel.AGENT]
        said = self.own_words(agents, lower)
        held = [item.words for item in self._items.values() if item.trust >= Trust.AGENT]
        own = stems(words)
        foreign = own - vocabulary((*said, *held)).stems
        if not own or 2 * len(foreign) > len(own):
            return False
        theirs = foreign & vocabulary(tuple(lower)).stems - stems(" ".join(marks(words)))
        return len(theirs) <= LEAST_TAKEN and not takes_phrase(words, foreign, lower, LEAST_TAKEN)

    def weigh(
        self, words: str, cited: Sequence[Cited], held: Sequence[Item] = (), claim: str = ""
    ) -> Provenance:
        """Compute the provenance of an item that says ``words`` and cites ``cited`` (at least one).

        The trust is that of the least trusted source. It is lower if the words come from a tool or a document
        instead of the cited sources and the ``held`` items of at least the same trust that the item changes, or if
        the ``claim`` comes from an item of a tool or a document: the part of the words that says something of
        the item's subject, by default all. It is the user's if the user assented to the agent's own proposal.
        """
        trust = min(c.trust for c in cited)
        sources = self._refs(cited)
        if trust >= Trust.AGENT and (true := self._miscited(words, cited, trust, held)):
            return Provenance(true.trust, sources, lowered_by=true.ref)
        if trust >= Trust.AGENT and (source := self._remembered(claim or words, cited, trust)):
            return Provenance(source.trust, sources, lowered_by=source.id)
        if trust is not Trust.AGENT:
            return Provenance(trust, sources)
        if echoed := self._echoed(words, cited):
            return Provenance(echoed.trust, sources, lowered_by=echoed.ref)
        reply = self.endorsed(cited)
        if reply is not None and self._all_said(words, cited, reply):
            return Provenance(Trust.USER, sources, endorsed=True)
        return Provenance(trust, sources)

    def endorsed(self, cited: Sequence[Cited]) -> Cited | None:
        """Return the cited agent's reply to which a cited user's message assents, or None."""
        for c in cited:
            if not (c.fresh and c.observation and c.observation.channel is Channel.USER):
                continue
            reply = self.turn.reply_before(c.ref)
            if reply is not None and is_assent(c.observation.text):
                return next((other for other in cited if other.ref == reply.ref), None)
        return None

    def speaks_for_itself(self, cited: Cited) -> bool:
        """Return whether ``cited`` is speech that does not repeat a tool or document of the turn."""
        said = cited.observation
        if said is None or said.is_call:
            return False
        if said.channel is not Channel.AGENT:
            return True
        return not any(repeats(said.text, o.text) for o in self.lower)

    def _all_said(self, words: str, cited: Sequence[Cited], reply: Cited) -> bool:
        """Return whether only the reply and the user are cited, and their texts support ``words``."""
        # A tool's words in the state keep the tool's trust, whatever the agent asks later.
        if self.holds_lower(words):
            return False
        others = [c for c in cited if c.ref != reply.ref and c.trust < Trust.USER]
        said = [reply.observation.text] if reply.observation else []
        return not others and borne_out(words, [*said, *self.privileged_texts], self.lower_texts)

    def _miscited(
        self, words: str, cited: Sequence[Cited], trust: Trust, held: Sequence[Item]
    ) -> Observation | None:
        """Return the tool or document that ``words`` come from, if the cited sources do not support them."""
        known = [item.words for item in held if item.trust >= trust]
        own = [*(_says(c) for c in cited), *known, *self.privileged_texts]
        most = 1 / 2 if trust is Trust.AGENT else MOST_FOREIGN
        theirs = [o for o in self.lower if taken(words, own, [o.text], most)]
        if not theirs and len(stems(words)) >= LEAST_TOLD and not bears(words, own):
            theirs = list(self.lower)
        return min(theirs, key=lambda o: o.trust, default=None)

    def _remembered(self, claim: str, cited: Sequence[Cited], trust: Trust) -> Item | None:
        """Return the tool's or document's item that ``claim`` comes from, if the cited sources do not support it."""
        own = [*(_says(c) for c in cited), *self.privileged_texts]
        most = 1 / 2 if trust is Trust.AGENT else MOST_FOREIGN
        theirs = (i for i in self._lower_items if taken(claim, own, [i.words], most))
        return min(theirs, key=lambda i: i.trust, default=None)

    def _echoed(self, words: str, cited: Sequence[Cited]) -> Observation | None:
        """Return the least trusted observation that the agent repeats in ``words``, or None."""
        known = vocabulary(self.privileged_texts)
        foreign = marks(words) - known.marks
        own = stems(words) - known.stems
        agents = (c.observation for c in cited if c.trust is Trust.AGENT)
        speeches = tuple(said.text for said in agents if said is not None)
        # Words that no source said do not make the other words the agent's own.
        spoken = own & vocabulary(speeches).stems or own

        def echoes(o: Observation) -> bool:
            if foreign & marks(o.text) or repeats(words, o.text):
                return True
            through = frozenset().union(*(repeated(speech, o.text) for speech in speeches))
            return bool(spoken) and len(spoken & through) >= MOSTLY * len(spoken)

        return min(filter(echoes, self.lower), key=lambda o: o.trust, default=None)

    def _refs(self, cited: Sequence[Cited]) -> tuple[str, ...]:
        each = (c.item.sources if c.item is not None else (c.ref,) for c in cited)
        return tuple(dict.fromkeys(chain.from_iterable(each)))


LEAST_TAKEN = 3
"""Content words in a row that make a lower source's phrase in a next step."""


def _says(cited: Cited) -> str:
    if cited.observation is not None:
        return cited.observation.text
    return cited.item.words if cited.item is not None else ""


class Quoted(NamedTuple):
    """A quote found in a source, with its passage."""

    passage: Passage
    source: Cited

    @property
    def text(self) -> str:
        """The words in the source's own spelling."""
        return self.passage.quote


def find_quoted(quote: str, cited: Iterable[Cited]) -> Quoted | None:
    """Return the first passage in the ``cited`` observations that ``quote`` repeats, or None."""
    for c in cited:
        if c.observation is not None and (found := find_passage(quote, c.observation.text)):
            return Quoted(found, c)
    return None

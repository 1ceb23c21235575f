"""What a listener says of single sentences: which are private, and which the user says to all.

A mark keeps a sentence off the board by the listener's word alone. It brings one there only with words of the user's
own message as its reason. A private mark whose sentence is not found makes private all that it may mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acc.board.batch import Batch
from acc.commit.sources import SPEECH, Sources, trust_of
from acc.state.items import Words
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.text.normal import normalised
from acc.text.sentences import sentences
from acc.turn.observations import Channel, Trust

HERE = "_"
"""Stands in the refs that a listener reads, so that no message of the board has them."""


@dataclass(frozen=True)
class Quoted:
    """A sentence of a message.

    Attributes:
        quote: Words of it.
        ref: The message.
        to: Words of the same message by which the user says the sentence to all; empty in a private mark.
    """

    quote: str
    ref: str
    to: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds strings alone: a listener may be anybody's function."""
        return all(isinstance(value, str) for value in vars(self).values())


@dataclass(frozen=True)
class Heard(Proposal):
    """What a listener says. Of a proposal, later words and done goals count.

    Attributes:
        to_all: Rules and goals that the user says to all agents.
        private: Sentences that nobody else may read.
    """

    to_all: tuple[Quoted, ...] = ()
    private: tuple[Quoted, ...] = ()

    def __add__(self, other: Heard) -> Heard:
        """Return what both say."""
        return Heard(
            later=(*self.later, *other.later), done=(*self.done, *other.done),
            to_all=(*self.to_all, *other.to_all), private=(*self.private, *other.private),
        )  # fmt: skip


class Marks:
    """The marks on one batch, over the agent's own refs."""

    def __init__(self, heard: Heard, batch: Batch, policy: Policy) -> None:
        """Find the sentences that ``heard`` names."""
        self._texts = {message.ref: normalised(message.text) for message in batch.read}
        self._sources = Sources(batch.read, (), policy)
        self._private = [part for each in heard.private for part in self._parts(each)]
        self._private_refs = {
            ref for ref, text in self._texts.items() if any(part in text for part in self._private)
        }
        self._to_all: list[tuple[Words, str]] = []
        for each in heard.to_all:
            words = self._sources.sentence(each.quote, _own(each.ref), (Channel.USER,))
            to = normalised(each.to)
            if isinstance(words, Words) and to and to in self._texts[words.ref]:
                self._to_all.append((words, each.to))

    def _parts(self, each: Quoted) -> Sequence[str]:
        """Return the sentences of a private mark; all of its message, or of each, if it is not found."""
        found = self._sources.sentence(each.quote, _own(each.ref), SPEECH)
        if isinstance(found, Words):
            texts = [found.text]
        else:
            place = self._sources.place(_own(each.ref))
            all_read = self._sources.messages
            texts = [m.text for m in (all_read if place is None else all_read[place : place + 1])]
        return [normalised(part.text) for text in texts for part in sentences(text)]

    def is_private(self, words: Words) -> bool:
        """Whether words hold a private sentence, or stand in one."""
        text = normalised(words.text)
        return any(part in text or text in part for part in self._private)

    def to(self, words: Words) -> str:
        """Return the user's words that say ``words`` to all; empty if there are none."""
        text = normalised(words.text)
        for marked, to in self._to_all:
            if marked.ref == words.ref and text in normalised(marked.text):
                return to
        return ""

    def why_private(self, refs: Sequence[str], *, is_there: bool) -> str:
        """Return why nobody else may read a fact that rests on some messages; empty if they may.

        Of speech that was not read now nobody knows whether it was private, unless the fact ``is_there`` already.
        """
        if not self._private_refs.isdisjoint(refs):
            return "it rests on a message with private words"
        speech = (ref for ref in refs if trust_of(ref) >= Trust.AGENT)
        if not is_there and any(ref not in self._texts for ref in speech):
            return "it rests on a message of before"
        return ""


def _own(ref: str) -> str:
    """Return the agent's ref of a message that a listener reads."""
    return ref.replace(HERE, "", 1)

"""What a listener says of an agent's conversation, and what it means beside a board.

The agent's compressor does not know the board. So what a listener says of its words is committed purely on the board's
state, in their whole context. What came of it may then be shared sentence by sentence (`acc.board.choosing`); the
messages themselves go nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acc.board.origins import FOREIGN, Batch, State
from acc.clock import moment
from acc.commit.commit import Commit, commit
from acc.commit.sources import Sources, trust_of
from acc.state.items import Goal, Pinned, Words
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reading import claim_digest
from acc.state.slots import SlotField
from acc.text.normal import normalised
from acc.text.quoting import same_words
from acc.text.sentences import sentences
from acc.turn.observations import SPEECH, Channel, Trust

ROOMY = 100_000
"""Bound of the pure trial: what finds no room is told by the commit on the board."""


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


class SharingMarks:
    """Which sentences of a batch are private, and which the user says to all; over the agent's own refs.

    A mark keeps a sentence off the board by the listener's word alone. It brings one there only with words of the
    user's own message as its reason. A private mark whose sentence is not found makes private all that it may mean.
    """

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
    return ref.replace(FOREIGN, "", 1)


def tried(heard: Heard, batch: Batch, state: State, policy: Policy) -> Commit[State]:
    """Commit purely on the board's state, with all that the agent has read and with plenty of room."""
    roomy = replace(policy, max_tokens=ROOMY, pinned_share=1.0)
    read = tuple(batch.foreign(state))
    return commit(state, roomy, number=state.turn + 1, read=read, proposal=heard)


@dataclass(frozen=True)
class LaterWords:
    """Words of an agent's thread about an item as the board holds it, with the agent's ref.

    Attributes:
        words: The words; without a ref if they stand on the board already and end it now.
        kind: They stand beside it, say it again, or say that it is done.
        ends: Whether they are said to end it; ``begins`` says from when.
        is_over: Whether a second reading agrees, or the policy needs none.
    """

    slot: SlotField
    item: Pinned
    words: Words
    kind: Literal["later", "again", "done"]
    ends: bool = False
    begins: str = ""
    is_over: bool = False


def beside(
    heard: Heard, batch: Batch, state: State, policy: Policy, agreed: Collection[str]
) -> tuple[LaterWords, ...]:
    """Return what comes of a listener's words on the board's state.

    ``agreed`` are the claims, by their digests, of which a second reading says that the rule ended.
    """
    if not (heard.later or heard.done):
        return ()
    before = {item.id: item for _, item in state.items() if isinstance(item, Pinned)}
    return tuple(
        each
        for slot, item in tried(heard, batch, state, policy).state.items()
        if isinstance(item, Pinned) and item.id in before
        for each in _beside(slot, before[item.id], item, agreed)
    )


def _beside(
    slot: SlotField, held: Pinned, item: Pinned, agreed: Collection[str]
) -> Iterator[LaterWords]:
    ending = item.ending if item.ending != held.ending else None
    is_over = ending is not None and (ending.verdict == "ends" or claim_digest(item) in agreed)
    by = ending.words.text if ending is not None and ending.words is not None else ""
    for words in map(_local, item.later):
        if is_earlier(words, held.words) or same_words(words.text, item.words.text):
            continue
        if ending is not None and by and same_words(by, words.text):
            yield LaterWords(slot, held, words, "later", True, ending.begins, is_over)
        elif words.ref:
            yield LaterWords(slot, held, words, "later")
    done = item.done if isinstance(item, Goal) else None
    if done is not None and _local(done).ref:
        yield LaterWords(slot, held, _local(done), "done")


def _local(words: Words) -> Words:
    """Return words of the trial with the agent's ref; with an empty one if they are the board's own."""
    ref = _own(words.ref) if words.ref[1:2] == FOREIGN else ""
    return words.model_copy(update={"ref": ref})


def is_earlier(words: Words, held: Words) -> bool:
    """Whether words were said before a rule, where both times are known: then they cannot be about it."""
    one, other = moment(words.at), moment(held.at)
    return one is not None and other is not None and one < other

"""What the words of an agent's thread mean for the board's own rules: its compressor reads them, and commits nothing.

The agent's compressor does not know the board. So what people and the agent said is read once more beside the
board's state, and committed on it purely, in its whole context. What came of it may then be shared sentence by
sentence (`acc.board.choosing`); the messages themselves go nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from acc.board.batch import Batch, State
from acc.commit.commit import Commit, commit
from acc.commit.sources import LAWFUL, SPEECH
from acc.compress.compressor import ModelCompressor
from acc.compress.protocol import Asking, AskingCompressor, Compressor, Reading
from acc.errors import CompressionError
from acc.keyless.compressor import compress as keyless
from acc.state.items import Goal, Pinned, Words
from acc.state.policy import Policy
from acc.state.proposal import Proposal, problem_of
from acc.state.slots import SlotField
from acc.tail import Message
from acc.text.quoting import same_words
from acc.text.times import moment
from acc.windows import windows

GUIDANCE = """\
Several agents of this user read this memory, each beside its own. The messages come from one agent's private
conversation. Take as a rule or goal only what its speaker says to all agents: it addresses everybody, names several
agents, or binds whoever does the work. What is said to one agent or for one answer, what is private, confidential or
about persons, and what you are not sure about stays out. Later words about a held rule or goal count whomever they
were said to, if they are about it and hold nothing confidential beside. Write no facts, no open questions, no steps."""

MOST = 6_000
"""Tokens of messages that one request may hold."""

ROOMY = 100_000
"""Bound of the pure trial: what finds no room is told by the commit on the board."""


@dataclass(frozen=True)
class Listener:
    """Who reads for the board.

    Attributes:
        compressor: The board's compressor; None if nobody listens.
        is_discerning: Whether it was told what may be shared, so that what it proposes was said to all.
    """

    compressor: Compressor | AskingCompressor | None
    is_discerning: bool

    @classmethod
    def of(
        cls, model: Any, given: Compressor | AskingCompressor | Literal[False] | None
    ) -> Listener:
        """Return ``given``; without it, one that asks ``model``, or the keyless rules, which share nothing."""
        if given is not None:
            return cls(given or None, is_discerning=bool(given))
        if model is not None:
            return cls(ModelCompressor(model, guidance=GUIDANCE), is_discerning=True)
        return cls(keyless, is_discerning=False)

    def is_due(self, batch: Batch, state: State) -> bool:
        """Return whether anything could come of it: somebody spoke, and there are rules for it to be about."""
        has_spoken = any(m.channel in LAWFUL and m.status != "read" for m in batch.read)
        items = [*state.items(), *(batch.brought if self.is_discerning else ())]
        is_about = any(isinstance(item, Pinned) for _, item in items)
        return self.compressor is not None and has_spoken and is_about

    def hearing(self, batch: Batch, state: State, policy: Policy) -> Asking[Proposal]:
        """Return what the compressor proposes, over names of messages that no message of the board has.

        Raises:
            CompressionError: It failed.
        """
        whole = Reading(tuple(foreign(batch, state)), state, (), policy, state.turn + 1, batch.at)
        speech = replace(whole, messages=tuple(m for m in whole.messages if m.channel in SPEECH))
        found = Proposal()
        for window in windows(speech.messages, policy.counter, MOST):
            found = _joined(found, (yield from self._asked(replace(speech, messages=window))))
        refused = _tried(found, batch, state, policy).refused
        if refused and isinstance(self.compressor, AskingCompressor):
            found = _joined(found, (yield from self.compressor.repairing(speech, refused)))
        return found

    def _asked(self, reading: Reading) -> Asking[Proposal]:
        if isinstance(self.compressor, AskingCompressor):
            return (yield from self.compressor.proposing(reading))
        assert self.compressor is not None
        try:
            found = self.compressor(reading)
        except CompressionError:
            raise
        except Exception as error:
            said = f"the board's listener failed: {type(error).__name__}: {error}"
            raise CompressionError(said[:500], outcome="raised") from error
        if problem := problem_of(found, reading.policy.schema):
            raise CompressionError(f"the listener's proposal is malformed: {problem}")
        return found


def _joined(one: Proposal, other: Proposal) -> Proposal:
    """Return what both say of rules and goals; nothing else of a board's listener counts."""
    return Proposal(
        rules=(*one.rules, *other.rules), goals=(*one.goals, *other.goals),
        later=(*one.later, *other.later), done=(*one.done, *other.done),
    )  # fmt: skip


def _tried(proposal: Proposal, batch: Batch, state: State, policy: Policy) -> Commit[State]:
    """Commit purely, with all that the agent has read and with plenty of room."""
    roomy = replace(policy, max_tokens=ROOMY, pinned_share=1.0)
    read = tuple(foreign(batch, state))
    return commit(state, roomy, number=state.turn + 1, read=read, proposal=proposal)


_HERE = "_"


def foreign(batch: Batch, state: State) -> Iterator[Message]:
    """Yield what was read under names that no message of the board has, as of the board's next turn."""
    for message in batch.read:
        ref = message.ref[:1] + _HERE + message.ref[1:]
        seen = message.observation.model_copy(update={"ref": ref})
        turn = state.turn if message.status == "read" else state.turn + 1
        yield replace(message, observation=seen, turn=turn)


def _local(words: Words) -> Words:
    """Return words of the trial with the agent's ref; with an empty one if they are the board's own."""
    ref = words.ref[0] + words.ref[2:] if words.ref[1:2] == _HERE else ""
    return words.model_copy(update={"ref": ref})


@dataclass(frozen=True)
class Beside:
    """Words of an agent's thread about an item of the board. They carry the agent's ref.

    Attributes:
        slot: Its slot.
        item: The item as the board holds it.
        words: The words; without a ref if they stand on the board already and end it now.
        kind: They stand beside it, say it again, or say that it is done.
        ends: Whether they are said to end it.
        begins: From when.
    """

    slot: SlotField
    item: Pinned
    words: Words
    kind: Literal["later", "again", "done"]
    ends: bool = False
    begins: str = ""


@dataclass(frozen=True)
class Heard:
    """What came of it: rules and goals that the board does not hold, and words about those that it holds."""

    new: tuple[tuple[SlotField, Pinned], ...] = ()
    beside: tuple[Beside, ...] = ()


def heard(proposal: Proposal, batch: Batch, state: State, policy: Policy) -> Heard:
    """Commit a proposal purely on the board's state, and return what came of it."""
    if proposal == Proposal():
        return Heard()
    before = {item.id: item for _, item in state.items() if isinstance(item, Pinned)}
    new: list[tuple[SlotField, Pinned]] = []
    beside: list[Beside] = []
    for slot, item in _tried(proposal, batch, state, policy).state.items():
        if isinstance(item, Pinned) and item.id in before:
            beside += _beside(slot, before[item.id], item)
        elif isinstance(item, Pinned):
            new.append((slot, _localised(item)))
    return Heard(tuple(new), tuple(beside))


def _beside(slot: SlotField, held: Pinned, item: Pinned) -> Iterator[Beside]:
    ending = item.ending if item.ending != held.ending else None
    by = ending.words.text if ending is not None and ending.words is not None else ""
    for words in map(_local, (item.words, *item.later)):
        if is_earlier(words, held.words):
            continue
        if same_words(words.text, item.words.text):
            if words.ref:
                yield Beside(slot, held, words, "again")
        elif ending is not None and by and same_words(by, words.text):
            yield Beside(slot, held, words, "later", ends=True, begins=ending.begins)
        elif words.ref:
            yield Beside(slot, held, words, "later")
    done = item.done if isinstance(item, Goal) else None
    if done is not None and _local(done).ref:
        yield Beside(slot, held, _local(done), "done")


def is_earlier(words: Words, held: Words) -> bool:
    """Whether words were said before a rule, where both times are known: then they cannot be about it."""
    one, other = moment(words.at), moment(held.at)
    return one is not None and other is not None and one < other


def _localised(item: Pinned) -> Pinned:
    asides = {n: _local(w) for n in ("words", "about", "scope") if (w := getattr(item, n))}
    return item.model_copy(update={**asides, "later": tuple(map(_local, item.later))})

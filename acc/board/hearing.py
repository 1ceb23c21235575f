"""What the words of an agent's thread mean for the board's own rules.

The agent's compressor does not know the board. So what a listener says of its words is committed purely on the board's
state, in their whole context. What came of it may then be shared sentence by sentence (`acc.board.choosing`); the
messages themselves go nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from acc.board.batch import Batch, State
from acc.board.marks import HERE, Heard
from acc.clock import moment
from acc.commit.commit import Commit, commit
from acc.commit.endings import claim_digest
from acc.state.items import Goal, Pinned, Words
from acc.state.policy import Policy
from acc.state.slots import SlotField
from acc.tail import Message
from acc.text.quoting import same_words

ROOMY = 100_000
"""Bound of the pure trial: what finds no room is told by the commit on the board."""


def tried(heard: Heard, batch: Batch, state: State, policy: Policy) -> Commit[State]:
    """Commit purely, with all that the agent has read and with plenty of room."""
    roomy = replace(policy, max_tokens=ROOMY, pinned_share=1.0)
    read = tuple(foreign(batch, state))
    return commit(state, roomy, number=state.turn + 1, read=read, proposal=heard)


def foreign(batch: Batch, state: State) -> Iterator[Message]:
    """Yield what was read under names that no message of the board has, as of the board's next turn."""
    for message in batch.read:
        ref = message.ref[:1] + HERE + message.ref[1:]
        seen = message.observation.model_copy(update={"ref": ref})
        turn = state.turn if message.status == "read" else state.turn + 1
        yield replace(message, observation=seen, turn=turn)


def _local(words: Words) -> Words:
    """Return words of the trial with the agent's ref; with an empty one if they are the board's own."""
    ref = words.ref[0] + words.ref[2:] if words.ref[1:2] == HERE else ""
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
    heard: Heard, batch: Batch, state: State, policy: Policy, agreed: Collection[str] = ()
) -> tuple[Beside, ...]:
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
) -> Iterator[Beside]:
    ending = item.ending if item.ending != held.ending else None
    is_over = ending is not None and (ending.verdict == "ends" or claim_digest(item) in agreed)
    by = ending.words.text if ending is not None and ending.words is not None else ""
    for words in map(_local, item.later):
        if is_earlier(words, held.words) or same_words(words.text, item.words.text):
            continue
        if ending is not None and by and same_words(by, words.text):
            yield Beside(slot, held, words, "later", True, ending.begins, is_over)
        elif words.ref:
            yield Beside(slot, held, words, "later")
    done = item.done if isinstance(item, Goal) else None
    if done is not None and _local(done).ref:
        yield Beside(slot, held, _local(done), "done")


def is_earlier(words: Words, held: Words) -> bool:
    """Whether words were said before a rule, where both times are known: then they cannot be about it."""
    one, other = moment(words.at), moment(held.at)
    return one is not None and other is not None and one < other

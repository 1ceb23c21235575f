"""The messages channel is the tail: which of its messages are new, which stand in the tail, which are in the state.

A message is recognised by its id and the digests of what it says. Where ids lie (a client makes new ones, or counts
from 1 again), content and place decide: nothing new is dropped, and nothing is taken twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from langchain_core.messages import BaseMessage, HumanMessage

from acc.integrations.messages import is_answer
from acc.integrations.voices import Read
from acc.state.model import TailRef
from acc.state.tail import Message
from acc.turn.observations import Channel

MANY = 2
"""New human messages from which on they may be a history that was sent again."""


class Past:
    """Digests of what the journal has taken of a conversation, by the ids of its messages."""

    def __init__(
        self,
        pairs: Iterable[tuple[str, str]],
        taken: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Know ``pairs`` of id and digest, and what the notes have ``taken`` beside them."""
        self._by_id: dict[str, set[str]] = defaultdict(set)
        for name, digest in pairs:
            self._by_id[name].add(digest)
        for name, digests in taken.items():
            self._by_id[name].update(digests.split())

    def has(self, read: Read) -> bool:
        """Whether a message of this id and these words was taken. One without words is nothing new."""
        return set(read.digests) <= self._by_id.get(read.id, set())


def is_said(read: Read) -> bool:
    """Return whether a message is a human's words to the agent."""
    return isinstance(read.message, HumanMessage)


def unknown(reads: Sequence[Read], recent: Past) -> tuple[Read, ...]:
    """Return the messages that were not taken, by id and words alone, in the order in which they were said.

    A message that has changed under its id, in front of known ones, was said now.
    """
    taken = {i for i, read in enumerate(reads) if read.digests and recent.has(read)}
    last = max(taken, default=-1)
    new = [(i, read) for i, read in enumerate(reads) if i not in taken and read.digests]
    changed = [read for i, read in new if i < last]
    behind = [read for i, read in new if i > last]
    end = _words_at_end(behind)
    return (*behind[:end], *changed, *behind[end:])


def _words_at_end(reads: Sequence[Read]) -> int:
    """Return where the human's words begin that end ``reads``."""
    place = len(reads)
    while place and is_said(reads[place - 1]):
        place -= 1
    return place


def sent_again(new: Sequence[Read], past: Sequence[tuple[Message, str]]) -> frozenset[str]:
    """Return the ids among ``new`` that repeat the thread's words under other ids.

    The words of user and agent have to lead up to where the thread stands, or to the answer in front of them that no
    commit has taken yet. The user's last message always counts as new, and so does a message whose words were never
    said. ``past``: the journal's messages, with their digests.
    """
    said = [i for i, read in enumerate(new) if is_said(read)]
    last = said[-1] if said else 0
    found = _repeats(new[:last], past)
    if not found and said and said[0]:
        answers = [pair for read in new[: said[0]] for pair in _as_past(read)]
        found = _repeats(new[said[0] : last], [*past, *answers])
    return found


def without_answers(
    new: Sequence[Read], reads: Sequence[Read], past: Sequence[Message]
) -> tuple[Read, ...]:
    """Return ``new`` without the agent's answers that the journal has under other ids.

    Without a checkpointer a client brings the whole history, with ids of its own. ``reads``: all of it.
    """
    there = {read.id for read in reads}
    texts = Counter(m.text for m in past if _is_answer(m) and m.observation.message not in there)
    last = max((i for i, read in enumerate(new) if is_said(read)), default=0)
    found = []
    for read in new[:last]:
        said = [o.text for o in read.observations if o.channel is Channel.AGENT and not o.is_call]
        wanted = Counter(said)
        if len(said) == len(read.observations) and said and wanted <= texts:
            texts -= wanted
        else:
            found.append(read)
    return (*found, *new[last:])


def _is_answer(message: Message) -> bool:
    return message.channel is Channel.AGENT and not message.observation.is_call


def _repeats(new: Sequence[Read], past: Sequence[tuple[Message, str]]) -> frozenset[str]:
    told = [(i, d) for i, read in enumerate(new) for d in _speech(read)]
    known = overlap([d for _, d in told], [d for m, d in past if _is_speech(m)])
    if not known:
        return frozenset()
    left = Counter(d for _, d in past)
    found = set()
    for read in new[: told[known - 1][0] + 1]:
        wanted = Counter(read.digests)
        if wanted <= left:
            left -= wanted
            found.add(read.id)
    return frozenset(found)


def repeated(
    new: Sequence[Read], since: Sequence[tuple[int, Message, str]]
) -> tuple[dict[str, str], int]:
    """Return which of ``new`` say what a killed run said, by content and place, and up to which place they do.

    A run that was killed has one input. So words of the user's that ``new`` does not repeat are another run's, and
    nothing is repeated.

    Args:
        new: Messages that are new by their ids, in order.
        since: What the journal has taken since the run's checkpoint: place, message and digest.

    Returns:
        Digests by message id, and the last place; 0 if nothing is repeated.
    """
    found: dict[str, str] = {}
    place = 0
    for read in new:
        size = len(read.digests)
        if tuple(digest for _, _, digest in since[place : place + size]) != read.digests:
            break
        found[read.id] = " ".join(read.digests)
        place += size
    if not place or any(m.channel is Channel.USER for _, m, _ in since[place:]):
        return {}, 0
    return found, since[place - 1][0]


def overlap(told: Sequence[str], log: Sequence[str]) -> int:
    """Return how many leading entries of ``told`` the log already holds.

    Takes the longest prefix that ends the log. A history that begins as the log does counts up to the last entry that
    the log holds, because a client may have changed or left out some entries.
    """
    for length in range(min(len(told), len(log)), 0, -1):
        if list(told[:length]) == list(log[-length:]):
            return length
    has = set(log) if list(told[:1]) == list(log[:1]) else set()
    return max((place for place, digest in enumerate(told, 1) if digest in has), default=0)


def _speech(read: Read) -> list[str]:
    pairs = zip(read.observations, read.digests, strict=True)
    return [d for o, d in pairs if o.channel in _SPEAKING and not o.is_call]


def _as_past(read: Read) -> list[tuple[Message, str]]:
    return [(Message(o, 0), d) for o, d in zip(read.observations, read.digests, strict=True)]


def _is_speech(message: Message) -> bool:
    return message.channel in _SPEAKING and not message.observation.is_call


_SPEAKING = (Channel.USER, Channel.AGENT)


def places(
    reads: Sequence[Read], tail: Sequence[TailRef], texts: Mapping[str, Message] | None = None
) -> dict[str, list[TailRef]]:
    """Return which entries of a tail stand in a channel: by message id, in the order of its words.

    Entries that only the fallback has read stand in the state, not here. With ``texts`` (by ref) two messages of the
    same words are told apart by their ids.
    """
    waiting = [entry for entry in tail if entry.status != "provisional"]
    names = {ref: message.observation.message for ref, message in (texts or {}).items()}
    found: dict[str, list[TailRef]] = {}
    taken: set[str] = set()
    for is_sure in (True, False):
        free: dict[tuple[str, str], list[TailRef]] = defaultdict(list)
        for entry in waiting:
            if entry.ref not in taken:
                free[entry.digest, names.get(entry.ref, "") if is_sure else ""].append(entry)
        for read in reads:
            left = Counter(read.digests) - Counter(e.digest for e in found.get(read.id, ()))
            for digest in left.elements():
                if entries := free[digest, read.id if is_sure else ""]:
                    taken.add(entries[0].ref)
                    found.setdefault(read.id, []).append(entries.pop(0))
    return found


def current(messages: Sequence[BaseMessage]) -> set[str]:
    """Return the ids of what the agent works on: its last step with the results, unless it was an answer, and the words
    around it that it has not answered."""
    groups = [list(group) for _, group in groupby(messages, _kind(messages))]
    found: list[BaseMessage] = []
    while groups and _is_words(groups[-1]):
        found += groups.pop()
    if not groups or (found and is_answer(groups[-1])):
        return {str(m.id) for m in found}
    found += groups.pop()
    while groups and not _is_words(groups[-1]):
        groups.pop()
    return {str(m.id) for m in (*found, *(groups[-1] if groups else ()))}


def _kind(messages: Sequence[BaseMessage]) -> Callable[[BaseMessage], int]:
    """Return what groups words to the agent, and each of its steps with the results."""
    numbers: dict[int, int] = {}
    step = 0
    for message in messages:
        step += message.type == "ai"
        numbers[id(message)] = step if message.type in ("ai", "tool") else -1
    return lambda message: numbers[id(message)]


def _is_words(group: Sequence[BaseMessage]) -> bool:
    return group[0].type not in ("ai", "tool")

"""The messages channel is the tail: which of its messages are new, which stand in the tail, which are in the state.

A message is recognised by its id and the digests of what it says. Where ids lie (a client makes new ones, or counts
from 1 again), content and place decide: nothing new is dropped, and nothing is taken twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage, HumanMessage

from acc.integrations.messages import is_answer
from acc.integrations.voices import Read
from acc.journal import Head, Journal
from acc.journal.names import StoredMessage
from acc.state.model import TailRef
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

T = TypeVar("T")

MANY = 2
"""New human messages from which on they may be a history that was sent again."""

Told = tuple[Observation, str]
"""What was said, with its digest."""

_SPEAKING = (Channel.USER, Channel.AGENT)


def is_said(read: Read) -> bool:
    """Return whether a message is a human's words to the agent."""
    return isinstance(read.message, HumanMessage)


def taken_after(journal: Journal, head: Head, seq: int) -> list[StoredMessage]:
    """Return what was committed after a place, up to a head."""
    found = journal.messages(head.thread, seq + 1, branch=head.branch)
    return [each for each in found if each.seq <= head.seq]


def missing(journal: Journal, head: Head, seq: int, reads: Sequence[Read]) -> list[StoredMessage]:
    """Return what was committed after a place and does not stand in the channel under its own id."""
    there = {(read.id, digest) for read in reads for digest in read.digests}
    return [
        each
        for each in taken_after(journal, head, seq)
        if (each.message.observation.message, each.digest) not in there
    ]


def unknown(reads: Sequence[Read], taken: Collection[tuple[str, str]]) -> tuple[Read, ...]:
    """Return the messages that were not taken, by id and words alone, in the order in which they were said.

    A message that has changed under its id, in front of known ones, was said now. One without words is nothing new.
    ``taken``: id and digest of what was taken.
    """
    spoken = [read for read in reads if read.digests]
    is_new = [any((read.id, digest) not in taken for digest in read.digests) for read in spoken]
    known = max((place for place, new in enumerate(is_new, 1) if not new), default=0)
    changed = [read for read, new in zip(spoken[:known], is_new[:known], strict=True) if new]
    end = known + _end(spoken[known:], is_said)
    return (*spoken[known:end], *changed, *spoken[end:])


def sent_again(new: Sequence[Read], past: Sequence[Told]) -> frozenset[str]:
    """Return the ids among ``new`` that repeat the thread's words, also under other ids.

    The words of user and agent have to lead up to where the thread stands, or to the answer in front of them that no
    commit has taken yet. The user's last message always counts as new, and so does a message whose words were never
    said. ``past``: what the journal holds.
    """
    said = [place for place, read in enumerate(new) if is_said(read)] or [0]
    first, last = said[0], said[-1]
    answers = [told for read in new[:first] for told in read.told]
    return _repeats(new[:last], past) or _repeats(new[first:last], [*past, *answers])


def _repeats(new: Sequence[Read], past: Sequence[Told]) -> frozenset[str]:
    said = [
        (place, told) for place, read in enumerate(new) for told in read.told if _is_speech(*told)
    ]
    known = _overlap([d for _, (_, d) in said], [d for told, d in past if _is_speech(told)])
    if not known:
        return frozenset()
    left = Counter(digest for _, digest in past)
    found = set()
    for read in new[: said[known - 1][0] + 1]:
        wanted = Counter(read.digests)
        if wanted <= left:
            left -= wanted
            found.add(read.id)
    return frozenset(found)


def _is_speech(said: Observation, _: str = "") -> bool:
    return said.channel in _SPEAKING and not said.is_call


def _overlap(told: Sequence[str], log: Sequence[str]) -> int:
    """Return how many leading entries of ``told`` the log already holds.

    Takes the longest prefix that ends the log. A history that begins as the log does counts up to the last entry that
    the log holds, because a client may have changed or left out some entries.
    """
    for length in range(min(len(told), len(log)), 0, -1):
        if list(told[:length]) == list(log[-length:]):
            return length
    has = set(log) if list(told[:1]) == list(log[:1]) else set()
    return max((place for place, digest in enumerate(told, 1) if digest in has), default=0)


def repeated(new: Sequence[Read], since: Sequence[StoredMessage]) -> tuple[dict[str, str], int]:
    """Return the digests, by id, of those of ``new`` that say what a killed run said, by content and place, and up to
    which place they do.

    A run that was killed has one input. So words of the user's that ``new`` does not repeat are another run's, and
    nothing is repeated: no digests, and place 0.

    Args:
        new: Messages that are new by their ids, in order.
        since: What the journal has taken since the run's checkpoint.
    """
    found: dict[str, str] = {}
    place = 0
    for read in new:
        end = place + len(read.digests)
        if tuple(each.digest for each in since[place:end]) != read.digests:
            break
        found[read.id] = read.words
        place = end
    if not place or any(each.message.channel is Channel.USER for each in since[place:]):
        return {}, 0
    return found, since[place - 1].seq


def places(
    reads: Sequence[Read], tail: Sequence[TailRef], texts: Mapping[str, Message] | None = None
) -> dict[str, list[TailRef]]:
    """Return which entries of a tail stand in a channel: by message id, in the order of its words.

    Entries that only the fallback has read stand in the state. With ``texts`` (by ref) two messages of the same words
    are told apart by their ids.
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


def absent(tail: Sequence[TailRef], held: Mapping[str, Sequence[TailRef]]) -> list[str]:
    """Return the refs of entries of a tail for which no message of the channel stands, in their order."""
    there = {entry.ref for entries in held.values() for entry in entries}
    return [e.ref for e in tail if e.ref not in there and e.status != "provisional"]


def current(messages: Sequence[BaseMessage]) -> set[str]:
    """Return the ids of what the agent works on: its last step with the results, unless it was an answer, and the words
    around it that it has not answered."""
    end = _end(messages, lambda m: not _is_act(m))
    if not end or (end < len(messages) and is_answer(messages[:end])):
        return {str(m.id) for m in messages[end:]}
    step = _end(messages[:end], lambda m: m.type == "tool")
    if step and messages[step - 1].type == "ai":
        step -= 1
    front = _end(messages[:step], _is_act)
    asked = _end(messages[:front], lambda m: not _is_act(m))
    return {str(m.id) for m in (*messages[asked:front], *messages[step:])}


def _is_act(message: BaseMessage) -> bool:
    return message.type in ("ai", "tool")


def _end(every: Sequence[T], is_such: Callable[[T], bool]) -> int:
    """Return where those begin that are such up to the end."""
    place = len(every)
    while place and is_such(every[place - 1]):
        place -= 1
    return place

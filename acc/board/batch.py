"""What an agent's commits made since the board was last told: items, and the messages that were read.

It is taken from the step, or from the journal where a step was killed, repeated, or compressed behind the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from acc.commit.commit import Commit
from acc.commit.sources import LAWFUL
from acc.driving import Doing, Io
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.record import notes_of
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note, Reason
from acc.state.slots import SlotField
from acc.tail import Message

State = CompressedCognitiveState

MOST_BEHIND = 64
"""Commits of a thread that are looked at where a step was killed before it told the board."""

_BROUGHT = (Reason.ADDED, Reason.KNOWN, Reason.UPDATED)


class _Made(NamedTuple):
    """One commit: its turn, refs that it took, refs that it read with their status, and its notes."""

    version: int
    turn: int
    taken: Sequence[str]
    read: Sequence[tuple[str, Any]]
    notes: Sequence[Note]


@dataclass(frozen=True)
class Batch:
    """The commits together.

    Attributes:
        thread: The agent's thread.
        state: The agent's last state.
        at: When the turn happened.
        read: The messages that compressions read, whole, in their order, with the status that they had first.
        said: Those of user and operator that the last turn took.
        brought: The items that the commits brought, as they stand now, with their slots.
    """

    thread: ThreadKey
    state: State
    at: str
    read: tuple[Message, ...]
    said: tuple[Message, ...]
    brought: tuple[tuple[SlotField, Item], ...]

    def is_settled(self, ref: str) -> bool:
        """Whether the agent's compressor has read a message."""
        return not any(each.ref == ref and each.status != "read" for each in self.state.unread)


def begin_of_turn(journal: Journal, key: ThreadKey, state: State) -> Doing[int]:
    """Return the version before the commits of a state's turn."""
    after = max(0, state.version - MOST_BEHIND)
    made: list[StoredCommit] = yield Io(lambda: list(journal.commits(key, state.branch, after)))
    own = [each.version for each in made if each.turn == state.turn]
    return min(own, default=state.version + 1) - 1


def batch_of(
    journal: Journal, key: ThreadKey, state: State, commits: Sequence[Commit[Any]], after: int
) -> Doing[Batch]:
    """Return what the commits after a version, up to ``state``, brought.

    ``commits`` are those that a step just made. Others are read from the journal.
    """
    made = tuple(_fresh(commits, after))
    if not made or made[-1].version != state.version:
        first = max(after, state.version - MOST_BEHIND)
        stored: list[StoredCommit] = yield Io(
            lambda: list(journal.commits(key, state.branch, first))
        )
        made = tuple(_stored(each) for each in stored if each.version <= state.version)
    statuses: dict[str, Any] = {}
    for ref, status in (pair for each in made for pair in each.read):
        statuses.setdefault(ref, status)  # a later commit may have read it again, as context
    taken = [ref for each in made if each.turn == state.turn for ref in each.taken]
    texts: tuple[Message, ...] = yield Io(
        lambda: journal.texts(key, dict.fromkeys([*statuses, *taken]), branch=state.branch)
    )
    ids = dict.fromkeys(n.item for each in made for n in each.notes if n.reason in _BROUGHT)
    return Batch(
        key, state, texts[-1].at if texts else "",
        tuple(replace(m, status=statuses[m.ref]) for m in texts if m.ref in statuses),
        tuple(m for m in texts if m.ref in taken and m.channel in LAWFUL),
        tuple(found for each in ids if (found := state.find(each)) is not None),
    )  # fmt: skip


def _fresh(commits: Sequence[Commit[Any]], after: int) -> Iterator[_Made]:
    """Yield a step's commits, if they follow ``after`` directly and say what they were made of."""
    if not commits or commits[0].state.version != after + 1 or not commits[0].given.number:
        return
    for each in commits:
        taken, read = each.given.turn, each.given.read
        yield _Made(
            each.state.version, each.state.turn, [m.ref for m in taken],
            [(m.ref, m.status) for m in read], each.notes,
        )  # fmt: skip


def _stored(commit: StoredCommit) -> _Made:
    record = commit.record or {}
    given: Mapping[str, Any] = record.get("given", {})
    read = [(ref, status) for ref, status, *_ in given.get("read", ())]
    notes = notes_of(record.get("notes", ()))
    return _Made(commit.version, commit.turn, given.get("turn", ()), read, notes)

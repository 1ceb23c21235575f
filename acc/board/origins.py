"""Where words on a board come from: an agent's commits, and the mark of each message's origin.

What an agent's commits brought is read from the journal, also where a step was killed, repeated, or compressed behind
the agent. The origin stands in the id of the board's message, which no compressor reads. By it a repeated step finds
what it brought, and an erasure the copies of what it takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from acc.driving import Doing, Io
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.record import notes_of
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.state.tail import Message
from acc.turn.observations import LAWFUL

State = CompressedCognitiveState

MOST_BEHIND = 64
"""Commits of a thread that are looked at where a step was killed before it told the board."""

MOST_BOARDS = 256
"""Boards whose origins a process keeps. Others are read anew."""

FOREIGN = "_"
"""Stands in the refs of an agent's messages where they are read beside a board, so that none of its own has them."""

_BROUGHT = (Reason.ADDED, Reason.KNOWN, Reason.UPDATED)


@dataclass(frozen=True)
class Batch:
    """What an agent's commits brought since the board was last told.

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

    def foreign(self, board: State) -> Iterator[Message]:
        """Yield what was read as a board reads it: of its next turn, under refs that none of its messages has."""
        for message in self.read:
            ref = message.ref[:1] + FOREIGN + message.ref[1:]
            seen = message.observation.model_copy(update={"ref": ref})
            turn = board.turn if message.status == "read" else board.turn + 1
            yield replace(message, observation=seen, turn=turn)


def begin_of_turn(journal: Journal, key: ThreadKey, state: State) -> Doing[int]:
    """Return the version before the commits of a state's turn."""
    after = max(0, state.version - MOST_BEHIND)
    made: list[StoredCommit] = yield Io(lambda: list(journal.commits(key, state.branch, after)))
    own = [each.version for each in made if each.turn == state.turn]
    return min(own, default=state.version + 1) - 1


def batch_of(journal: Journal, key: ThreadKey, state: State, after: int) -> Doing[Batch]:
    """Return what the commits after a version, up to ``state``, brought."""
    first = max(after, state.version - MOST_BEHIND)
    made: list[StoredCommit] = yield Io(lambda: list(journal.commits(key, state.branch, first)))
    statuses, ids = dict[str, Any](), dict[str, None]()
    taken: list[str] = []
    for each in made:
        if each.version > state.version or each.record is None:
            continue
        given = each.record.get("given", {})
        for ref, status, *_ in given.get("read", ()):
            statuses.setdefault(ref, status)  # a later commit may have read it again, as context
        taken += given.get("turn", ()) if each.turn == state.turn else ()
        notes = notes_of(each.record.get("notes", ()))
        ids |= dict.fromkeys(note.item for note in notes if note.reason in _BROUGHT)
    refs = dict.fromkeys([*statuses, *taken])
    texts: tuple[Message, ...] = yield Io(lambda: journal.texts(key, refs, branch=state.branch))
    return Batch(
        key, state, texts[-1].at if texts else "",
        tuple(replace(m, status=statuses[m.ref]) for m in texts if m.ref in statuses),
        tuple(m for m in texts if m.ref in taken and m.channel in LAWFUL),
        tuple(found for each in ids if (found := state.find(each)) is not None),
    )  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """Where a message of a board comes from.

    Attributes:
        thread: The agent's thread.
        branch: Its branch.
        version: The agent's commit that brought it.
        ref: The agent's message that holds the words; of a fact all its sources, with spaces between.
        item: Id of the agent's fact; empty for somebody's words.
        is_to_all: Whether it says of the agent's message that its speaker said it to all, without its words.
    """

    thread: ThreadKey
    branch: str
    version: int
    ref: str
    item: str = ""
    is_to_all: bool = False

    @property
    def mark(self) -> str:
        """The origin as the id of a board's message."""
        names = list(vars(self.thread).values())
        body = [*names, self.branch, self.version, self.ref, self.item, self.is_to_all]
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of(cls, message: Message) -> Origin | None:
        """Return the origin of a board's message; None if it has none."""
        try:
            *names, branch, version, ref, item, is_to_all = json.loads(message.observation.message)
            return cls(ThreadKey(*names), branch, version, ref, item, is_to_all)
        except (ValueError, TypeError):
            return None

    @property
    def place(self) -> tuple[ThreadKey, str, str]:
        """The agent's message: thread, branch, ref."""
        return self.thread, self.branch, self.ref


class Known:
    """The messages of one board by where they come from."""

    def __init__(self) -> None:
        self.upto = 0
        self.by_ref: dict[str, Origin] = {}
        self._said: set[tuple[object, ...]] = set()
        self._items: set[tuple[ThreadKey, str, str]] = set()

    def add(self, message: Message) -> None:
        """Take a message of the board."""
        origin = Origin.of(message)
        if origin is not None:
            self.by_ref[message.ref] = origin
            self._said.add((*origin.place, None if origin.is_to_all else message.text))
            self._items.add((origin.thread, origin.branch, origin.item))

    def is_to_all(self, origin: Origin) -> bool:
        """Whether the board knows that the agent's message was said to all."""
        return (*origin.place, None) in self._said

    def has(self, origin: Origin, text: str) -> bool:
        """Whether these words of a message were brought before."""
        return (*origin.place, text) in self._said

    def has_item(self, origin: Origin) -> bool:
        """Whether a fact of an agent was brought before, in any form."""
        return (origin.thread, origin.branch, origin.item) in self._items


class Origins:
    """What is known of the boards of a journal, read once and then as they grow. Threads may share it."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._lock = journal, Lock()
        self._boards: dict[ThreadKey, Known] = {}

    def of(self, board: ThreadKey) -> Known:
        """Return what is known of a board, after reading what is new. It blocks."""
        with self._lock:
            known = self._boards[board] = self._boards.pop(board, Known())
            while len(self._boards) > MOST_BOARDS:
                del self._boards[next(iter(self._boards))]
            for each in self._journal.messages(board, known.upto + 1):
                known.add(each.message)
                known.upto = each.seq
            return known

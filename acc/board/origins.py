"""Whose words a message of a board holds: the agent's thread, its commit and its ref.

The origin stands in the message's id, which no compressor reads. By it a repeated step finds what it brought, and an
erasure the copies of what it takes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from threading import Lock

from acc.board.board import AGENT
from acc.journal import Journal, ThreadKey
from acc.tail import Message

MOST_BOARDS = 256
"""Boards whose origins a process keeps. Others are read anew."""


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


def copies(
    journal: Journal, thread: ThreadKey, refs: Collection[str]
) -> Iterator[tuple[ThreadKey, str]]:
    """Yield board and ref of each message that holds words of some messages of a thread.

    An erasure of these messages has to take them, too.
    """
    for board in journal.threads(tenant=thread.tenant, agent=AGENT):
        if (board.tenant, board.agent) != (thread.tenant, AGENT):
            continue
        for each in journal.messages(board):
            origin = Origin.of(each.message)
            if origin and origin.thread == thread and set(origin.ref.split()) & set(refs):
                yield board, each.message.ref

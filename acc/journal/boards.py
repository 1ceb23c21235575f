"""What a board's thread is in a journal: its agent, its state, and where its messages come from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from acc.journal.names import ThreadKey
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message

AGENT = "board"
"""The agent of a board's thread."""


class BoardState(CompressedCognitiveState):
    """The state of a board. It is the generic one with a smaller bound: each agent reads it beside its own."""

    max_tokens: ClassVar[int] = 600


@dataclass(frozen=True)
class Origin:
    """Where a message of a board comes from.

    Attributes:
        thread: The agent's thread.
        branch: Its branch.
        version: The agent's commit that brought it.
        ref: The agent's message that holds the words.
        is_to_all: Whether it says of the agent's message that its speaker said it to all, without its words.
    """

    thread: ThreadKey
    branch: str
    version: int
    ref: str
    is_to_all: bool = False

    @property
    def mark(self) -> str:
        """The origin as the id of a board's message."""
        names = list(vars(self.thread).values())
        body = [*names, self.branch, self.version, self.ref, self.is_to_all]
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of(cls, message: Message) -> Origin | None:
        """Return the origin of a board's message; None if it has none."""
        try:
            *names, branch, version, ref, is_to_all = json.loads(message.observation.message)
            return cls(ThreadKey(*names), branch, version, ref, is_to_all)
        except (ValueError, TypeError):
            return None

    @property
    def place(self) -> tuple[ThreadKey, str, str]:
        """The agent's message: thread, branch, ref."""
        return self.thread, self.branch, self.ref

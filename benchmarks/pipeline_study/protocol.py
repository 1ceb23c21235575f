"""Who speaks next (the paper's Algorithm 2), and the conversation that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from acc.board.context import Selection

from .memories import Context, Memory


class Said(NamedTuple):
    """One turn of the conversation."""

    speaker: str
    text: str


SELECTION = Selection()
"""Algorithm 2, with the paper's names; its docstring says what is done where the paper is silent."""

DOCUMENTER = SELECTION.documenter


class Conversation(NamedTuple):
    """A finished conversation.

    Attributes:
        said: Its turns; the last one is the document.
        agreed: Whether somebody finalized; False if the turns were used up.
    """

    said: Sequence[Said]
    agreed: bool

    @property
    def document(self) -> str:
        """What DJE wrote."""
        return self.said[-1].text


def converse(
    task: str, memory: Memory, answer: Callable[[str, Context], str], most_turns: int
) -> Conversation:
    """Let the agents speak until DJE has written the document.

    After ``most_turns`` without an agreement DJE writes it all the same.
    """
    said: list[Said] = []
    while True:
        last = said[-1].text if said else ""
        agreed = (speaker := SELECTION([turn.speaker for turn in said], last)) == DOCUMENTER
        if speaker is None or len(said) + 1 >= most_turns:
            speaker = DOCUMENTER
        turns = [f"{turn.speaker}: {turn.text}" for turn in said]
        text = answer(speaker, memory.context(speaker, task, turns))
        said.append(Said(speaker, text))
        memory.spoke(speaker, text)
        if speaker == DOCUMENTER:
            return Conversation(said, agreed)

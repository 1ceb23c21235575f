"""Who speaks next (the paper's Algorithm 2), and the conversation that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .memories import Context, Memory
from .team import WORKERS


class Said(NamedTuple):
    """One turn of the conversation."""

    speaker: str
    text: str


def next_speaker(said: Sequence[Said]) -> str:
    """Algorithm 2. Where it is silent, CDA speaks: at the beginning, and after ERA.

    It looks for "FINALIZATION" in the last message; the paper's text says "FINALIZE". Both count, from CDA alone, which is
    the only agent that may say it.
    """
    if not said:
        return "CDA"
    last = said[-1]
    if last.speaker == "CDA":
        if "FINALIZ" in last.text:
            return "DJE"
        return WORKERS[_worker_turns(said) % len(WORKERS)]
    if last.speaker in WORKERS:
        return "KIA" if _worker_turns(said) % len(WORKERS) == 0 else "CDA"
    return "ERA" if last.speaker == "KIA" else "CDA"


def _worker_turns(said: Sequence[Said]) -> int:
    return sum(turn.speaker in WORKERS for turn in said)


class Conversation(NamedTuple):
    """A finished conversation.

    Attributes:
        said: Its turns; the last one is the document.
        agreed: Whether CDA finalized; False if the turns were used up.
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
        speaker = next_speaker(said)
        agreed = speaker == "DJE"
        if len(said) + 1 >= most_turns:
            speaker = "DJE"
        turns = [f"{turn.speaker}: {turn.text}" for turn in said]
        text = answer(speaker, memory.context(speaker, task, turns))
        said.append(Said(speaker, text))
        memory.spoke(speaker, text)
        if speaker == "DJE":
            return Conversation(said, agreed)

"""Who speaks next (the paper's Algorithm 2), and the conversation that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .memories import Context, Memory


@dataclass(frozen=True)
class Selection:
    """Which agent speaks next (Algorithm 2), as a function of who has spoken and what was said last.

    A worker follows the delegate, each worker in turn. After a worker the delegate follows, but the integrator once
    every worker has had its turn; then the evaluator. A flag in the last message ends this: the documenter follows, and
    after it nobody. The paper's text and code differ. Here the names are those of its code (ERA, MLA; not EA, MLE);
    both flags count, from any speaker; turns are counted in ``speakers``, not in a global variable; the delegate is
    first, and follows the evaluator and anybody else, such as the user. ``ACCEPT`` is the delegate's prompt's to find.

    Attributes:
        workers: The agents that work on the solution, in their order.
        delegate: Facilitates: it speaks before each worker.
        integrator: Summarizes each round.
        evaluator: Evaluates the solutions.
        documenter: Writes the final output.
        flags: Words in the last message that end the discussion.
    """

    workers: tuple[str, ...] = ("BOA", "DEA", "MLA", "IA")
    delegate: str = "CDA"
    integrator: str = "KIA"
    evaluator: str = "ERA"
    documenter: str = "DJE"
    flags: tuple[str, ...] = ("FINALIZATION", "FINALIZE")

    def __call__(self, speakers: Sequence[str], last_message: str = "") -> str | None:
        """Return who speaks next; None after the documenter.

        Args:
            speakers: Who has spoken, oldest first; names that are no agent's, such as the user's, may be among them.
            last_message: The text of the last turn.
        """
        last = speakers[-1] if speakers else None
        if last == self.documenter:
            return None
        if any(flag in last_message for flag in self.flags):
            return self.documenter
        turns = sum(speaker in self.workers for speaker in speakers)
        if last == self.delegate:
            return self.workers[turns % len(self.workers)]
        if last in self.workers:
            return self.integrator if turns % len(self.workers) == 0 else self.delegate
        return self.evaluator if last == self.integrator else self.delegate


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

"""Two agents, one board: a rule that the user gives to all reaches the other, and what each knows stays its own."""

import tempfile
from typing import Any

from acc.board.board import Board, To
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.journal.boards import Origin
from acc.turn.turn import Turn

TALK: tuple[tuple[str, To, str], ...] = (
    ("triage", "", "The customer of ticket INC-42 is Quandt. Never call him before noon."),
    ("triage", "all", "Never restart db-2 without asking me."),
    ("fixer", "", "Checkout is slow. Would a restart help?"),
    ("fixer", "", "You may restart db-2 whenever you like now; the rule about db-2 is lifted."),
    ("triage", "", "Which rules hold?"),
)
"""Whom the user speaks to. ``all`` puts a rule on the board. Words that end it go there, too; all else is private."""


def main() -> None:
    """Each agent has a thread and a state of its own; both share the board of the incident."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        board = BoardMemory(memory, Board("incident-42"))
        states: dict[str, Any] = {}
        for agent, to, words in TALK:
            thread = ThreadKey("INC-42", agent=agent, user="ann")
            shared = board.step(states.get(agent), Turn.said(words), thread=thread, to=to)
            states[agent] = shared.state
            print(
                f"to the {agent}: {words}\n\n{board.rendered(board.head(thread), shared.state)}\n\n{'-' * 40}"
            )

        for ref in ("u1", "u2"):
            message = memory.open_evidence(ref, thread=board.board.key_of(thread))
            origin = Origin.of(message)
            print(f"{ref}, from {origin.thread.agent if origin else 'the board'}: {message.text}")


if __name__ == "__main__":
    main()

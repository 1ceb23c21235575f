"""Two agents, one board: a rule that the user gives to one reaches the other, and what each knows stays its own."""

import tempfile

from acc import CompressedCognitiveState, MemoryController, Thread, Turn
from acc.board import Board

TALK = (
    ("triage", "Never restart db-2 without asking me. The customer of ticket INC-42 is Quandt."),
    ("fixer", "Checkout is slow. Would a restart help?"),
    ("fixer", "You may restart db-2 without asking me now."),
    ("triage", "Which rules hold?"),
)


def main() -> None:
    """Each agent has a thread and a state of its own; both share the board of the incident."""
    board = Board("incident-42")
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        states: dict[str, CompressedCognitiveState] = {}
        for agent, words in TALK:
            thread = Thread(thread="INC-42", agent=agent, user="ann")
            step = memory.step(states.get(agent), Turn.said(words), thread=thread, board=board)
            states[agent] = step.state
            shared = memory.read_board(board, thread=thread)
            reads = board.rendered(shared, step.state, memory.settings.policy)
            print(f"to the {agent}: {words}\n\n{reads}\n\n{'-' * 40}")

        place, operator = board.thread_of(thread), memory.board(board)
        said = operator.history(place).messages
        print(f"The board holds {len(said)} of {len(TALK)} messages:")
        for ref in ("u1", "u2"):
            whose = operator.origin(ref, thread=place)
            print(f"{ref}, from {whose}: {operator.open_evidence(ref, thread=place)}")


if __name__ == "__main__":
    main()

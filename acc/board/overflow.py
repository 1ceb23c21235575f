"""The loud error of a board without room (law 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acc.errors import PinnedOverflow
from acc.state.reasons import Reason

if TYPE_CHECKING:
    from acc.board.sharing import SharedStep


class BoardOverflow(PinnedOverflow):
    """Rules and goals exceed their room on a board. Everything else was committed, on the board and of the agent.

    Attributes:
        shared: What the step made.
        step: The agent's step. The agent's thread goes on from its state.
        refused: The words that did not fit. They stay in the agent's own state.
    """

    def __init__(self, shared: SharedStep) -> None:
        board = shared.board_step
        assert board is not None
        self.shared = shared
        refused = tuple(note.text for note in board.notes if note.reason is Reason.NO_ROOM)
        super().__init__(
            f"rules and goals do not fit in {board.policy.pinned_tokens:,} tokens of the board. "
            f"Not held: {'; '.join(refused)}",
            where=f"board {shared.board.head.thread}, turn {board.state.turn}",
            hint="retire rules or goals of the board (BoardMemory.retire), or give it a Policy with more max_tokens",
            refused=refused,
            refs=board.no_room,
            step=shared.step,
        )

"""A shared board: rules, goals, decisions and open questions of several agents, in a thread of its own.

    board = Board("incident-42")
    one = memory.step(None, Turn.said("Never restart db-2."), thread=Thread(thread="t1", agent="triage"), board=board)
    two = memory.step(None, Turn.said("Where are we?"), thread=Thread(thread="t2", agent="fixer"), board=board)
    board.rendered(two.board.state, two.state, memory.settings.policy)   # the rule, then the fixer's own memory

A board is an ordinary thread of the memory: it has its own states, hash chain, bounds, evidence and audit log.
``memory.read_board(board, thread=...)`` returns its newest state; ``board.thread_of(thread)`` its `Thread`, for
``history``, ``open_evidence``, ``retire``, ``acc show`` and ``acc verify``.

What a step with ``board=`` does:

1. It reads the board's newest state. The compressor, any one and unchanged, sees the agent's items and the board's.
2. The proposal is split. What changes or ends the board's items, and what is new in shared slots, is the board's
   half; the rest is the agent's. Both halves go through `acc.commit.commit.commit`, each on its own chain.
3. The board's half is committed first, as compare-and-swap on the board's newest state. If that has moved, the
   half is checked anew. What no longer applies is a note ``board_conflict``.
4. The board's turn holds only the observations that its half cites. `Observation.message` names the agent's
   thread and ref that each came from.

`Step.board` (`acc.pipeline.turn_pipeline.BoardStep`) has ``read``, ``commit``, ``notes`` and ``state``.

board.py   `Board`, `BoardState` and `MeasuredBoardState`: which thread, which policy, which slots are shared
view.py    what the compressor sees; how its proposal is split
half.py    the board's half, checked in the agent's whole context
rebase.py  what of a half still applies on a newer state of the board
turn.py    the agent's turn with a board
writer.py  `BoardMemory`: reads the board's newest state; commits a half to it
"""

from __future__ import annotations

from acc.board.board import Board, BoardState, MeasuredBoardState, Share

__all__ = ["Board", "BoardState", "MeasuredBoardState", "Share"]

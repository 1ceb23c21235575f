"""A memory whose agents share a board."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from helpers_board import Sharing

from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryController[Any]]:
    with MemoryController.open(tmp_path, store="none") as opened:
        yield opened


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[Sharing]:
    """Open a memory with settings, and share a board in it."""
    with ExitStack() as stack:

        def opened(board: Board, *, listener: Any = None, **settings: Any) -> BoardMemory:
            given = {"store": "none", **settings}
            memory: Any = stack.enter_context(MemoryController.open(tmp_path, **given))
            return BoardMemory(memory, board, listener=listener)

        yield opened

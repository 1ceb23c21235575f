"""Committing behind the agent, with a board that agents share."""

from __future__ import annotations

import asyncio
from pathlib import Path

from acc import AsyncMemoryController, MemoryController, Thread, Turn
from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.board import Board

BOARD = Board("incident-42")
ONE, TWO = (Thread(thread="t", agent=name, user="bob") for name in ("one", "two"))


def test_a_rule_reaches_the_other_agents_next_entry(tmp_path: Path) -> None:
    with (
        MemoryController.open(tmp_path) as memory,
        BackgroundMemory(memory, board=BOARD) as background,
    ):
        entry = background.begin(None, Turn.said("Never restart db-2."), thread=ONE)
        background.finish(entry)
        background.drain()
        reads = background.begin(None, Turn.said("Hello."), thread=TWO).reads
    assert "Shared with all agents:" in reads
    assert "Never restart db-2" in reads


def test_a_rule_reaches_the_next_entry_of_asynchronous_agents(tmp_path: Path) -> None:
    async def talk() -> str:
        async with (
            AsyncMemoryController.open(tmp_path) as memory,
            AsyncBackgroundMemory(memory, board=BOARD) as background,
        ):
            entry = await background.begin(None, Turn.said("Never restart db-2."), thread=ONE)
            await background.finish(entry)
            await background.drain()
            return (await background.begin(None, Turn.said("Hello."), thread=TWO)).reads

    assert "Never restart db-2" in asyncio.run(talk())

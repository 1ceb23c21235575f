"""Commits after the agent's answer: mode ``after``, the order of section 3.3 of the paper.

    with BackgroundMemory(memory) as background:
        entry = background.begin(state, Turn.said(words), thread="inc-4211")
        answer = agent(entry.reads, words)
        state = background.finish(entry, [Observation(channel=Channel.AGENT, text=answer)])

The agent answers from CCS_t-1 and the turn at once. The finished turn is committed in the
background.

memories.py           the two loops: on threads, and as asyncio tasks
core.py               the steps that both loops share
entries.py            an entry, a finished turn, and the state with pending turns
backlog.py            queues of finished turns, one commit in progress per thread
uncommitted_turns.py  storage of turns that wait for an earlier commit; turns left by another process
"""

from __future__ import annotations

from acc.background.entries import Entry
from acc.background.memories import AsyncBackgroundMemory, BackgroundMemory

__all__ = ["AsyncBackgroundMemory", "BackgroundMemory", "Entry"]

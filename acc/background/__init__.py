"""Committing behind the agent: ``after``, the order of the paper's section 3.3.

    with BackgroundMemory(memory) as background:
        entry = background.begin(state, Turn.said(words), thread="inc-4211")
        answer = agent(entry.reads, words)
        state = background.finish(entry, [Observation(channel=Channel.AGENT, text=answer)])

The agent answers from CCS_t-1 and the turn at once; the finished turn is committed behind it.

sync.py, tasks.py   the two loops: on threads, and as tasks
entrance.py         what both do between two waits; entries.py, what an entry is
finished.py         a finished turn
backlog.py          finished turns in order, one in flight a thread
unread.py           what the agent carries and reads of a turn that no commit has taken in
waiting.py          where the evidence of a turn stands that waits for the one before
taking_up.py        what another process finished, and what became of it
"""

from __future__ import annotations

from acc.background.entries import Entry
from acc.background.memories import AsyncBackgroundMemory, BackgroundMemory

__all__ = ["AsyncBackgroundMemory", "BackgroundMemory", "Entry"]

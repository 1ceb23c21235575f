"""An entry: what the agent has at hand when a turn begins."""

from __future__ import annotations

from dataclasses import dataclass

from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Turn


@dataclass(frozen=True)
class Entry:
    """A turn that has begun. `BackgroundMemory.finish` wants the first three fields alone.

    So where two nodes of a graph begin and finish, the second makes its own out of what is
    checkpointed: ``Entry(thread, memory.load(ccs), turn)``.

    Attributes:
        thread: Whose it is.
        state: The newest state there is; turns that no commit has taken in are pending in it.
        turn: What began: the user's words.
        reads: What the agent reads beside its role and the turn.
        waiting: Finished turns that no commit has taken in.
        steps: What was committed behind, in this process, since the thread's entry before.
        errors: What commits behind raised and a later attempt mended, likewise.
    """

    thread: Thread
    state: CompressedCognitiveState
    turn: Turn
    reads: str = ""
    waiting: int = 0
    steps: tuple[Step, ...] = ()
    errors: tuple[BaseException, ...] = ()

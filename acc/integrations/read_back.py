"""What was recorded of a turn that no commit has seen yet, read back from the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from acc.completing import observed
from acc.memory import Memory
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Observation


def recorded(
    memory: Memory, thread: Thread, state: CompressedCognitiveState, identities: Sequence[str]
) -> tuple[Observation, ...]:
    """The observations recorded since ``state`` that are called for, in the order of their record.

    Args:
        memory: Where they were recorded.
        thread: Whose they are.
        state: The state whose next turn they belong to.
        identities: The first 32 digits of `Observation.identity`, of each as often as wanted.

    Raises:
        StoreError: The store cannot be read.
    """
    wanted = Counter(identities)
    found = []
    with memory.lock:
        branch = memory.log_of(thread).branch(state.branch)
        for artifact in branch.own(state.turn + 1, "observation"):
            if artifact.part == 0 and wanted[artifact.identity[:32]] > 0:
                wanted[artifact.identity[:32]] -= 1
                found.append(artifact)
        return observed(branch, found)

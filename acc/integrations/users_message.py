"""The user's current message, named in the mark by the evidence that it is by now.

The mark has to bring it back where another node took it out of the messages. To repeat it there
would have every checkpoint of the turn hold it twice, and keep it where the evidence is erased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acc.errors import StateError
from acc.integrations.compaction import Mark, Plan
from acc.integrations.messages import as_messages
from acc.memory import Memory
from acc.paste import MARK
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Turn

REFS = "refs"
"""In a mark: the refs of the observations that the user's message made."""


def by_evidence(plan: Plan, stored: Turn | None, before: Mark | None) -> Mark:
    """The mark of ``plan`` with refs for the message's content, where they say the same.

    They do not for pictures, or for words that no store can hold; then the content stays.

    Args:
        plan: The look at the messages.
        stored: Its turn as it was committed, with refs; None where nothing was.
        before: The mark until then, whose refs hold as long as the message is the same.
    """
    mark = {name: value for name, value in plan.mark.items() if name != "content"}
    if before and REFS in before and before["id"] == mark["id"]:
        return {**mark, REFS: before[REFS]}
    told = [o.text for o in plan.said]
    if stored is None or not told or _joined(told) != plan.mark["content"]:
        return plan.mark
    end = len(stored.observations) - plan.behind
    return {**mark, REFS: [o.ref for o in stored.observations[end - len(told) : end]]}


def is_missing(mark: Any, messages: Sequence[Any]) -> bool:
    """Whether the message that ``mark`` names is to be brought back from the evidence."""
    if not isinstance(mark, Mapping) or "content" in mark or REFS not in mark:
        return False
    return all(m.id != mark.get("id") for m in as_messages(messages))


def brought_back(
    mark: Mark, memory: Memory, thread: Thread, state: CompressedCognitiveState
) -> Mark:
    """``mark`` with the message's content, read from the store.

    Raises:
        StateError: The mark names evidence that is not there.
        StoreError: The store cannot be read.
    """
    with memory.lock:
        branch = memory.log_of(thread).branch(state.branch)
        found = [branch.text(str(ref)) for ref in mark[REFS] if branch.parts(str(ref))]
    if not found or len(found) < len(mark[REFS]):
        raise StateError(
            "the user's current message is neither among the messages nor in the store",
            where=f"refs {mark[REFS]}",
            mend="leave the channel as the memory wrote it, and send the message again",
        )
    return {**mark, "content": _joined(found)}


def _joined(told: Sequence[str]) -> str:
    """The message of which ``told`` are the pasted passages, then the user's own words."""
    *passages, text = told
    for passage in passages:
        text = text.replace(MARK, passage, 1)
    return text

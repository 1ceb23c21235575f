"""What a guard blocked is not taken in as the user's words.

A guard that answers before the memory's pass (`before_agent`, or `before_model` of a middleware listed before it) needs
no mark. One that answers later, as `after_model` and `wrap_model_call` do, marks its answer::

    return {"messages": [blocked("I cannot help with that.")], "jump_to": "end"}

The mark only lowers trust, and reaches no further than to the user's words right before the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from acc.integrations.reviews import BLOCKED, calls_of


def blocked(text: str) -> AIMessage:
    """Return a guard's answer to words of the user that bind nobody: the memory keeps them as a document's."""
    return AIMessage(text, additional_kwargs={BLOCKED: True})


def blocked_in(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of the human messages to which a marked answer is the only one, or the last of several."""
    found: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.additional_kwargs.get(BLOCKED):
            before = list(messages[:place])
            while before and isinstance(before[-1], AIMessage) and not [*calls_of(before[-1])]:
                before.pop()
            asked = takewhile(lambda m: isinstance(m, HumanMessage), reversed(before))
            found |= {str(m.id) for m in asked}
    return frozenset(found)

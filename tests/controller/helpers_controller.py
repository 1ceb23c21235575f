"""A model that answers when it is told to, and what a memory holds."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from typing import Any

from acc.models.protocol import Completion, Usage


class Gated:
    """A model that waits for a token before each answer; ``asked`` is released for each request."""

    name = "gated"

    def __init__(self, answer: Any = None, tokens: int = 0) -> None:
        self.asked, self.goes_on = threading.Semaphore(0), threading.Semaphore(tokens)
        self.answer, self.requests = answer or {}, 0

    def complete(self, messages: Any, schema: Any) -> Completion:
        self.requests += 1
        self.asked.release()
        assert self.goes_on.acquire(timeout=20)
        return Completion(json.dumps(self.answer), Usage(requests=1), self.name)

    async def acomplete(self, messages: Any, schema: Any) -> Completion:
        return await asyncio.to_thread(self.complete, messages, schema)


def is_clean(memory: Any) -> bool:
    """Whether every commit of a memory recomputes."""
    return bool(memory.journal.verify([memory.policy]).is_clean)


def texts(memory: Any, thread: str = "t") -> list[str]:
    """Return what was said in a thread, also what no commit took."""
    return [each.message.text for each in memory.journal.messages(thread, also_open=True)]


def committed(memory: Any, thread: str = "t") -> Counter[str]:
    """Count what the commits of a thread took."""
    return Counter(each.message.text for each in memory.journal.messages(thread))

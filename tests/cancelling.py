"""What the tests of cancelled calls share: a store and a clock that wait, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acc import Settings
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController
from acc.keyless.compressor import RuleCompressor
from acc.memory import Memory, whose
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact
from acc.testing import FixedClock
from acc.turn.turn import Turn

State = CompressedCognitiveState

FIRST = "Checkout is slow. Why?"
RULE = "Never restart nginx-prod-7."
NEXT = "Are you there?"


class Slow(InMemoryStore):
    """A store that waits at one of its calls until it is let go.

    Attributes:
        at: The number of the call at which it waits, counted from 0; None for none.
    """

    is_shared = False

    def __init__(self) -> None:
        super().__init__()
        self.at: int | None = None
        self.calls = 0
        self.waits = threading.Event()
        self._go = threading.Event()
        self._count = threading.Lock()

    @property
    def shared(self) -> bool:
        return self.is_shared

    def hold(self, at: int | None) -> None:
        self.at, self.calls = at, 0
        self.waits.clear()
        self._go.clear()

    def let_go(self) -> None:
        self._go.set()

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        self.reach()
        super().add(tenant, artifacts)
        self.reach()

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        self.reach()
        return super().get(tenant, ids)

    def reach(self) -> None:
        """Wait, if this is the call; the event loop's own thread never waits."""
        if threading.current_thread() is threading.main_thread():
            return
        with self._count:
            here, self.calls = self.calls, self.calls + 1
        if here == self.at:
            self.waits.set()
            assert self._go.wait(20)


class Shared(Slow):
    is_shared = True


class SlowClock(FixedClock):
    """A clock whose every reading on a worker thread is a point at which ``store`` may wait."""

    def __init__(self, store: Slow) -> None:
        super().__init__()
        self._store = store

    def now(self) -> Any:
        self._store.reach()
        return super().now()

    def seconds(self) -> float:
        self._store.reach()
        return super().seconds()


class Hanging:
    """The keyless rules; it never answers the turn with these words."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.asked = asyncio.Event()

    async def acompress(self, turn: Turn, *rest: Any) -> Proposal:
        if turn.user_words == self.words:
            self.asked.set()
            await asyncio.Event().wait()
        return RuleCompressor()(turn, *rest)

    def __call__(self, *_: Any) -> Proposal:
        raise AssertionError("awaited")


def memory_on(store: Slow, audit: Path | None, compressor: Any = None) -> AsyncMemoryController:
    settings = Settings(clock=SlowClock(store), audit=audit)
    return AsyncMemoryController(store, compressor or RuleCompressor(), settings)


def heard(memory: Memory, state: State, thread: str = "t") -> list[str]:
    with memory._lock:
        branch = memory._log_of(whose(thread)).branch(state.branch)
        return [a.text for a in branch.artifacts if a.kind == "observation"]


def everywhere(memory: Memory, thread: str = "t") -> set[str]:
    """All evidence of the thread, on any branch."""
    store: Any = memory.artifacts
    records = store.get("default", store.ids("default", thread=whose(thread).key))
    return {a.text for a in records if a.kind == "observation"}


def check(memory: Memory, step: Any, *said: str, thread: str = "t") -> None:
    """Nothing is lost, doubled, left on another branch only, locked or broken."""
    line = heard(memory, step.state, thread)
    assert sorted(line) == sorted([FIRST, *said])
    assert everywhere(memory, thread) == set(line)
    assert {text.rstrip(".") for text in said if text.startswith("Never")} == {
        item.text for item in step.state.constraints
    }
    log, policy = memory._audit_of(whose(thread)), memory.settings.policy
    if log is not None:
        verify(log, {policy.fingerprint: policy}, head=step.state.hash)
    assert not memory._threads._under_way
    assert not memory._off_loop.left()

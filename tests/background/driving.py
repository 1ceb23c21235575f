"""What the tests of background memories share: both kinds behind one face, and a compressor to hold up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acc import Settings
from acc.background import AsyncBackgroundMemory, BackgroundMemory, Entry
from acc.controller import AsyncMemoryController, MemoryController
from acc.keyless.compressor import RuleCompressor
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

KINDS = ("threads", "tasks")

SAID = (
    "Never restart nginx during business hours.",
    "Checkout is slow: p95 is 4.2s. Why?",
    "The db runs on db-7.",
    "Use ticket INC-5 for this.",
    "What was the p95?",
)

Error = BaseException | type[BaseException]


class Held:
    """The keyless rules, held up until they are let go, and failing as long as they are told to.

    Attributes:
        under_way: Compressions that are being made now, and `most` at any time.
        turns: Turns whose compression was begun, in order.
    """

    def __init__(self, *, open: bool = True) -> None:
        self._go = threading.Event()
        self._lock = threading.Lock()
        self._begun = threading.Semaphore(0)
        self.error: Error | None = None
        self.under_way = self.most = 0
        self.turns: list[int] = []
        if open:
            self._go.set()

    def hold(self) -> None:
        self._go.clear()

    def let_go(self) -> None:
        self._go.set()

    def wait_until_begun(self) -> None:
        assert self._begun.acquire(timeout=10)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Any]
    ) -> Proposal:
        with self._lock:
            self.turns.append(turn.number)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        self._begun.release()
        assert self._go.wait(20)
        with self._lock:
            self.under_way -= 1
        if self.error is not None:
            raise self.error
        return RuleCompressor()(turn, state, evidence)

    async def acompress(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Any]
    ) -> Proposal:
        return await asyncio.to_thread(self, turn, state, evidence)


class Driven:
    """A background memory of either kind, driven without await.

    Attributes:
        memory: The controller.
    """

    def __init__(
        self, kind: str, *, store: Any = None, compressor: Any = None, **more: Any
    ) -> None:
        bounds = {
            k: more.pop(k) for k in ("a_thread", "in_all", "on_error", "threads") if k in more
        }
        more.setdefault("clock", FixedClock())
        self._runner = asyncio.Runner() if kind == "tasks" else None
        self.memory: Any
        self._behind: Any
        if self._runner is None:
            self.memory = MemoryController(store or InMemoryStore(), compressor, Settings(**more))
            self._behind = BackgroundMemory(self.memory, **bounds)
        else:
            bounds.pop("threads", None)
            self.memory = AsyncMemoryController(
                store or InMemoryStore(), compressor, Settings(**more)
            )
            self._behind = AsyncBackgroundMemory(self.memory, **bounds)

    def begin(self, state: Any, said: str, thread: str = "t", **more: Any) -> Entry:
        entry: Entry = self._run(self._behind.begin(state, Turn.said(said), thread=thread, **more))
        return entry

    def finish(self, entry: Entry, answer: str = "Noted.") -> CompressedCognitiveState:
        state: CompressedCognitiveState = self._run(self._behind.finish(entry, answered(answer)))
        return state

    def turn(self, state: Any, said: str, thread: str = "t") -> CompressedCognitiveState:
        return self.finish(self.begin(state, said, thread), f"Answer to {said}")

    def drain(self, *thread: str, **more: Any) -> bool:
        return bool(self._run(self._behind.drain(*thread, **more)))

    def last_state(self, thread: str = "t", **more: Any) -> Any:
        return self._run(self._behind.last_state(thread, **more))

    def close(self, **more: Any) -> bool:
        return bool(self._run(self._behind.close(**more)))

    def start(self) -> None:
        """Have tasks run as far as their first wait; threads run anyhow."""
        if self._runner is not None:
            self._runner.run(asyncio.sleep(0.01))

    def settle(self) -> None:
        """Let the commits under way end, and be told nothing."""
        self._run(self._behind._stand_still("", None))

    def end_loop(self) -> None:
        """End the event loop as `asyncio.run` does; threads have none."""
        if self._runner is not None:
            self._runner.close()

    def drop_loop(self) -> None:
        """Close the event loop under its tasks, and open another."""
        assert self._runner is not None
        self._runner.get_loop().close()
        self._runner = asyncio.Runner()

    def step(self, state: Any, turn: Turn, thread: str = "t") -> Any:
        return self._run(self.memory.step(state, turn, thread=thread))

    def _run(self, made: Any) -> Any:
        if self._runner is None or not asyncio.iscoroutine(made):
            return made
        return self._runner.run(made)


def answered(text: str) -> tuple[Observation, ...]:
    return (Observation(channel=Channel.AGENT, text=text),)


def whole(said: str) -> Turn:
    """The turn that `Driven.turn` finishes."""
    observations = (*Turn.said(said).observations, *answered(f"Answer to {said}"))
    return Turn(observations=observations)


def in_front(said: Sequence[str] = SAID, audit: Path | None = None) -> CompressedCognitiveState:
    """The state when every turn is committed before the next."""
    memory = MemoryController(InMemoryStore(), settings=Settings(audit=audit, clock=FixedClock()))
    state = None
    for words in said:
        state = memory.step(state, whole(words), thread="t").state
    assert state is not None
    return state


def texts(memory: Any, state: CompressedCognitiveState, thread: Any) -> list[str]:
    """The evidence that ``state`` sees."""
    with memory._lock:
        artifacts = memory._log_of(thread).branch(state.branch).artifacts
        return [a.text for a in artifacts if a.kind == "observation"]

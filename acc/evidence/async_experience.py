"""Experience memory for asynchronous agents: the same memory, its reading and writing off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Self, TypeVar

from acc.evidence.addition import Judgement
from acc.evidence.demonstrations import Demonstration, Experience, Finished
from acc.evidence.experience import ExperienceMemory
from acc.evidence.usage import Usage
from acc.store import ArtifactStore, Thread

P = ParamSpec("P")
T = TypeVar("T")


class AsyncExperienceMemory:
    """`ExperienceMemory`, awaited. For any number of tasks of one loop: what they do, is done in turn.

    An evaluator may be asynchronous too, and is awaited while other tasks go on.

    Args:
        memory: The memory; nobody else may use it meanwhile. `open` makes one.
    """

    def __init__(self, memory: ExperienceMemory) -> None:
        self.memory = memory
        self._turn = asyncio.Lock()

    @classmethod
    async def open(
        cls, store: ArtifactStore, space: Thread, now: Callable[[], str], **given: Any
    ) -> Self:
        """As `ExperienceMemory`, which reads the store when it is made."""
        return cls(await asyncio.to_thread(ExperienceMemory, store, space, now, **given))

    def __len__(self) -> int:
        return len(self.memory)

    async def retrieve(self, task: str) -> list[Demonstration]:
        """As `ExperienceMemory.retrieve`."""
        return await self._one(self.memory.retrieve, task)

    async def finish(
        self,
        task: str,
        execution: str,
        shown: Sequence[Demonstration] = (),
        *,
        utility: float | None = None,
    ) -> Finished:
        """As `ExperienceMemory.finish`."""
        self.memory.check(task, utility)
        task, execution = self.memory.kept(task), self.memory.kept(execution)
        judgement = await self.memory.addition.ajudge(task, execution)
        return await self._one(self.memory.take, task, execution, shown, judgement, utility)

    async def seed(self, task: str, execution: str, judgement: Judgement | None = None) -> str:
        """As `ExperienceMemory.seed`."""
        return await self._one(self.memory.seed, task, execution, judgement)

    async def feedback(self, ref: str, utility: float) -> None:
        """As `ExperienceMemory.feedback`."""
        await self._one(self.memory.feedback, ref, utility)

    def experiences(self) -> list[Experience]:
        """As `ExperienceMemory.experiences`."""
        return self.memory.experiences()

    def usages(self) -> list[Usage]:
        """As `ExperienceMemory.usages`."""
        return self.memory.usages()

    @property
    def similarities(self) -> list[tuple[float, float]]:
        """As `ExperienceMemory.similarities`."""
        return self.memory.similarities

    @property
    def t(self) -> int:
        """As `ExperienceMemory.t`."""
        return self.memory.t

    async def _one(self, act: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """What ``act`` returns. It is ended even where the task that asked is cancelled."""
        async with self._turn:
            work = asyncio.ensure_future(asyncio.to_thread(act, *arguments, **named))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])
                raise

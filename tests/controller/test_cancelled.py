"""A step that is cancelled or interrupted anywhere loses nothing that was kept, and doubles nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers_controller import is_clean, texts

from acc.controller.controller import AsyncMemoryController
from acc.errors import ConflictError
from acc.models.protocol import Completion, Usage
from acc.state.policy import Cadence, Policy
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."
NOW = Policy(cadence=Cadence(compress_over=0))


class Waiting:
    """A model that never answers while it is held."""

    name = "waiting"

    def __init__(self) -> None:
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def acomplete(self, messages: Any, schema: Any) -> Completion:
        self.asked.set()
        await self.goes_on.wait()
        return Completion("{}", Usage(requests=1), self.name)

    def complete(self, messages: Any, schema: Any) -> Completion:
        raise AssertionError


def test_what_was_said_is_heard_if_the_step_is_cancelled_while_the_model_is_asked(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        model = Waiting()
        async with AsyncMemoryController.open(
            tmp_path, store="none", model=model, policy=NOW
        ) as memory:
            task = asyncio.create_task(memory.step(None, Turn.said(RULE), thread="t"))
            await model.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert texts(memory) == [RULE]
            model.goes_on.set()
            step = await memory.step(None, Turn.said("Go on."), thread="t")
            assert RULE in step.text()
            assert texts(memory) == [RULE, "Go on."]
            assert is_clean(memory)

    asyncio.run(main())


@pytest.mark.parametrize("place", range(1, 8))
def test_a_step_that_is_cancelled_at_any_call_and_repeated_says_nothing_twice(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = AsyncMemoryController.beside, iter(range(1, 1_000))
    cancelled: list[asyncio.Task[Any]] = []

    async def cancelling(self: Any, act: Any, *args: Any) -> Any:
        if next(calls) == place:
            task = asyncio.current_task()
            assert task is not None
            cancelled.append(task)
            task.cancel()
        return await run(self, act, *args)

    async def main() -> None:
        async with AsyncMemoryController.open(tmp_path, store="none") as memory:
            await memory.step(None, Turn.said("Hello."), thread="t")
            monkeypatch.setattr(AsyncMemoryController, "beside", cancelling)
            task = asyncio.create_task(memory.step(None, Turn.said(RULE), thread="t"))
            with suppress(asyncio.CancelledError):
                await task
            assert cancelled == [task][: len(cancelled)]
            assert bool(cancelled) is task.cancelled()
            monkeypatch.setattr(AsyncMemoryController, "beside", run)
            for _ in range(3):
                with suppress(ConflictError):  # the thread of the cancelled call came first
                    step = await memory.step(None, Turn.said("Go on."), thread="t")
                    break
            was_kept = RULE in texts(memory)
            assert (RULE in step.text()) is was_kept
            if not was_kept:
                step = await memory.step(step.state, Turn.said(RULE), thread="t")
            assert texts(memory).count(RULE) == 1
            assert [rule.words.text for rule in step.state.constraints] == [RULE]
            assert is_clean(memory)

    asyncio.run(main())

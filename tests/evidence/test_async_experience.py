"""Experience memory, awaited: the same results as without, and nothing half done."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest

from acc import InMemoryStore
from acc.errors import InputError
from acc.evidence.addition import Addition, Judgement
from acc.evidence.deletion import History, Period
from acc.evidence.experience import AsyncExperienceMemory, ExperienceMemory
from acc.stores.directory import namespace

SPACE = namespace(user="ana")


def clock() -> Any:
    ticks = itertools.count()
    return lambda: f"t{next(ticks):06d}"


def is_right(_: str, execution: str) -> bool:
    return "right" in execution


async def is_right_later(_: str, execution: str) -> bool:
    await asyncio.sleep(0)
    return "right" in execution


def tasks() -> list[tuple[str, str]]:
    return [(f"count lamps in room {n % 7}", "right" if n % 3 else "wrong") for n in range(25)]


def test_awaited_it_does_the_same() -> None:
    policy = Period(6, 0) | History(2, 0.4)

    async def awaited(store: InMemoryStore, evaluator: Any) -> AsyncExperienceMemory:
        memory = await AsyncExperienceMemory.open(
            store, SPACE, clock(), addition=Addition("strict", evaluator), deletion=policy
        )
        for task, execution in tasks():
            await memory.finish(task, execution, await memory.retrieve(task))
        await memory.feedback(await memory.seed("a seed", "right"), 0.5)
        return memory

    one = InMemoryStore()
    memory = ExperienceMemory(
        one, SPACE, clock(), addition=Addition("strict", is_right), deletion=policy
    )
    for task, execution in tasks():
        memory.finish(task, execution, memory.retrieve(task))
    memory.feedback(memory.seed("a seed", "right"), 0.5)
    for evaluator in (is_right, is_right_later):
        other = InMemoryStore()
        got = asyncio.run(awaited(other, evaluator))
        ids = one.ids("default")
        assert other.ids("default") == ids
        if evaluator is is_right:
            assert other.get("default", ids) == one.get("default", ids)
        assert (len(got), got.t, got.usages()) == (len(memory), memory.t, memory.usages())
        assert got.similarities == memory.similarities


def test_many_tasks_at_once_lose_nothing_and_evaluators_run_side_by_side() -> None:
    inside, most = 0, 0

    async def judged(*_: str) -> Judgement:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return Judgement(admitted=True, utility=1.0)

    async def main() -> AsyncExperienceMemory:
        memory = await AsyncExperienceMemory.open(
            InMemoryStore(), SPACE, clock(), addition=Addition("strict", judged)
        )
        await asyncio.gather(*(memory.finish(f"task {n}", "right") for n in range(30)))
        return memory

    memory = asyncio.run(main())
    assert len(memory) == memory.t == 30
    assert most > 1


def test_a_cancelled_task_leaves_nothing_half_done() -> None:
    entered, go = threading.Event(), threading.Event()

    class Slow(InMemoryStore):
        def add(self, tenant: str, artifacts: Any) -> None:
            entered.set()
            go.wait(5)
            super().add(tenant, artifacts)

    async def main() -> None:
        memory = await AsyncExperienceMemory.open(Slow(), SPACE, clock(), addition=Addition("all"))
        task = asyncio.create_task(memory.finish("a task", "right"))
        await asyncio.to_thread(entered.wait, 5)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (len(memory), memory.t) == (1, 1)
        await memory.finish("another", "right")
        assert (len(memory), memory.t) == (2, 2)

    asyncio.run(main())


@pytest.mark.parametrize("said", [None, 0.9, "yes", 1])
def test_an_evaluator_that_says_neither_yes_nor_no_admits_nothing(said: Any) -> None:
    addition = Addition("strict", lambda *_: said)
    for found in (addition.judge("t", "e"), asyncio.run(addition.ajudge("t", "e"))):
        assert not found.admitted
        assert "neither a bool nor a Judgement" in found.reason


def test_an_asynchronous_evaluator_admits_nothing_where_nobody_awaits_it() -> None:
    found = Addition("strict", is_right_later).judge("t", "right")
    assert not found.admitted
    assert "coroutine" in found.reason


def test_what_is_refused_is_refused_alike() -> None:
    async def main() -> None:
        memory = await AsyncExperienceMemory.open(InMemoryStore(), SPACE, clock())
        for bad in (memory.finish(" ", "x"), memory.finish("a", "b", utility=float("nan")),
                    memory.feedback("exp.9", 1.0)):  # fmt: skip
            with pytest.raises(InputError):
                await bad

    asyncio.run(main())

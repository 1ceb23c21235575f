"""A second message of a thread whose first is being read: it waits, or is told; nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers_controller import Gated, committed, is_clean

from acc import AsyncMemoryController, MemoryController, Turn
from acc.compress.compressor import Call
from acc.compress.keyless import compress
from acc.controller.queues import Queues
from acc.errors import ConflictError
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal
from acc.turn.observations import Channel, Observation

FIRST, SECOND = "Never deploy on a Friday.", "Never page Ann before 6."


class Waiting(Gated):
    """A compressor of the keyless rules that waits for a model."""

    mode = "revise"

    def proposing(self, reading: Any) -> Any:
        yield Call(self, "compress", (), {})
        return compress(reading)

    def repairing(self, reading: Any, notes: Any) -> Any:
        yield from ()
        return Proposal()


class Bench:
    """A memory, and two users' threads."""

    def __init__(self, folder: Path, kind: Any, **settings: Any) -> None:
        self.model = Waiting()
        policy = Policy(cadence=Cadence(compress_over=0))
        self.memory: Any = kind.open(
            folder, store="none", model=self.model, policy=policy, **settings
        )
        self.pool = ThreadPoolExecutor(3)
        self.model.goes_on.release()
        self.start = self.step(None, Turn.said("Begin.")).state
        assert self.model.asked.acquire(timeout=20)

    def step(self, state: Any, turn: Turn) -> Any:
        done = self.memory.step(state, turn, thread="t")
        return done if isinstance(self.memory, MemoryController) else asyncio.run(_of(done))

    def begin(self, state: Any, turn: Turn) -> Future[Any]:
        """Begin a step, and wait until it has asked its model."""
        running = self.pool.submit(self.step, state, turn)
        assert self.model.asked.acquire(timeout=20)
        return running

    def journal(self) -> Counter[str]:
        heads = self.memory.journal.branches("t")
        assert [head.branch for head in heads] == ["main"]
        assert not self.memory.journal.waiting("t")
        assert is_clean(self.memory)
        return committed(self.memory)


async def _of(awaitable: Any) -> Any:
    return await awaitable


@pytest.fixture
def queued() -> Iterator[threading.Semaphore]:
    """Is released when a step stands in the queue."""
    there = threading.Semaphore(0)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if getattr(record, "acc", {}).get("event") == "queued":
                there.release()

    log, handler = logging.getLogger("acc.controller.one_turn"), Handler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield there
    log.removeHandler(handler)
    log.setLevel(level)


CONTROLLERS = pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])


@CONTROLLERS
@pytest.mark.parametrize("given", [False, True], ids=["none", "state"])
def test_a_second_step_waits_and_goes_on_from_the_first(
    tmp_path: Path, kind: Any, given: bool, queued: threading.Semaphore
) -> None:
    bench = Bench(tmp_path, kind)
    start = bench.start if given else None
    first = bench.begin(start, Turn.said(FIRST))
    second = bench.pool.submit(bench.step, start, Turn.said(SECOND))
    assert queued.acquire(timeout=20)
    third = bench.pool.submit(bench.step, start, Turn.said("Go on."))
    assert queued.acquire(timeout=20)
    assert bench.model.requests == 2, "the second did not ask yet"
    for _ in range(3):
        bench.model.goes_on.release()
    made = [each.result(20).state for each in (first, second, third)]
    assert [state.version for state in made] == [2, 3, 4]
    assert [rule.text_of for rule in made[-1].constraints] == [FIRST, SECOND]
    assert bench.journal() == Counter(["Begin.", FIRST, SECOND, "Go on."])


@CONTROLLERS
def test_a_message_that_is_sent_again_meanwhile_is_read_once(
    tmp_path: Path, kind: Any, queued: threading.Semaphore
) -> None:
    bench = Bench(tmp_path, kind)
    first = bench.begin(bench.start, Turn.said(FIRST))
    again = bench.pool.submit(bench.step, bench.start, Turn.said(FIRST))
    assert queued.acquire(timeout=20)
    bench.model.goes_on.release()
    assert first.result(20).state == again.result(20).state
    assert bench.model.requests == 2
    assert bench.journal() == Counter(["Begin.", FIRST])


def test_a_repeated_step_waits_for_nobody(tmp_path: Path) -> None:
    bench = Bench(tmp_path, MemoryController)
    bench.model.goes_on.release()
    done = bench.begin(bench.start, Turn.said(FIRST)).result(20)
    running = bench.begin(done.state, Turn.said(SECOND))
    assert bench.step(bench.start, Turn.said(FIRST)).state == done.state
    bench.model.goes_on.release()
    assert running.result(20).state.version == 3


def test_what_two_turns_begin_with_is_said_once(
    tmp_path: Path, queued: threading.Semaphore
) -> None:
    """Two runs of a graph that began at the same checkpoint both bring the last answer along."""
    bench = Bench(tmp_path, MemoryController)
    answer = Observation(channel=Channel.AGENT, text="It is done.")
    turns = [
        Turn(observations=(answer, Observation(channel=Channel.USER, text=said)))
        for said in (FIRST, SECOND)
    ]
    first = bench.begin(bench.start, turns[0])
    second = bench.pool.submit(bench.step, bench.start, turns[1])
    assert queued.acquire(timeout=20)
    bench.model.goes_on.release()
    bench.model.goes_on.release()
    assert [rule.text_of for rule in second.result(20).state.constraints] == [FIRST, SECOND]
    assert first.exception() is None
    assert bench.journal() == Counter(["Begin.", "It is done.", FIRST, SECOND])


@CONTROLLERS
@pytest.mark.parametrize("seconds", [0, 0.01])
def test_who_does_not_wait_is_told_and_nothing_of_the_step_is_kept(
    tmp_path: Path, kind: Any, seconds: float
) -> None:
    bench = Bench(tmp_path, kind, busy_wait=seconds)
    first = bench.begin(None, Turn.said(FIRST))
    with pytest.raises(ConflictError, match="busy"):
        bench.step(None, Turn.said(SECOND))
    assert bench.model.requests == 2
    bench.model.goes_on.release()
    first.result(20)
    bench.model.goes_on.release()
    step = bench.step(None, Turn.said(SECOND))
    assert [rule.text_of for rule in step.state.constraints] == [FIRST, SECOND]
    assert bench.journal() == Counter(["Begin.", FIRST, SECOND])


@pytest.mark.parametrize("given", [False, True], ids=["none", "state"])
def test_a_step_that_another_process_overtook_is_made_again_from_there(
    tmp_path: Path, given: bool
) -> None:
    one = Bench(tmp_path, MemoryController)
    two = MemoryController.open(
        tmp_path,
        store="none",
        model=(model := Waiting()),
        policy=Policy(cadence=Cadence(compress_over=0)),
    )
    start = one.start if given else None
    first = one.begin(start, Turn.said(FIRST))
    second = one.pool.submit(two.step, start, Turn.said(SECOND), thread="t")
    assert model.asked.acquire(timeout=20)
    one.model.goes_on.release()
    assert first.result(20).state.version == 2
    model.goes_on.release()
    model.goes_on.release()
    step: Any = second.result(20)
    assert [rule.text_of for rule in step.state.constraints] == [FIRST, SECOND]
    assert "another worker" in str(step.warnings)
    assert one.journal() == Counter(["Begin.", FIRST, SECOND])
    two.close()


def test_a_queue_is_in_order_and_who_gives_up_is_passed_over() -> None:
    queues = Queues(wait=20)
    places = [queues.place("t") for _ in range(4)]
    assert [place.is_behind for place in places] == [False, True, True, True]
    places[1].close()

    async def cancelled() -> None:
        task = asyncio.create_task(places[2].acomplete())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    places[0].close()
    places[0].close()
    with places[3]:
        assert queues.place("another").is_behind is False
        assert queues.place("t").is_behind is True

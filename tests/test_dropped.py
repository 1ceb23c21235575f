"""A memory that is dropped without `close`: its folder is free again, and nothing that waits is lost."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from acc import AsyncMemoryController, MemoryController, Settings, Turn
from acc.errors import StoreError, StoreLockedError
from acc.stores.in_memory import InMemoryStore

REPLACED = ("The gateway has 4 replicas.", "The gateway has 6 replicas now, not 4.")


def waiting(memory: MemoryController) -> int:
    """Records that would be written with the next turn."""
    logs = memory._threads._logs.values()
    return sum(len(branch._queued) for log in logs for branch in log._branches.values())


def left_behind(memory: MemoryController) -> None:
    """Step so often that an item left the state, and waits to be written (with an audit log it may)."""
    state = None
    for number in range(40):
        words = f"Service-{number} runs on host-{number}. {REPLACED[number % 2]}"
        state = memory.step(state, Turn.said(words), thread="t").state
        if waiting(memory):
            return
    raise AssertionError("nothing waits")


@pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])
def test_the_folder_of_a_dropped_memory_is_free_at_once(kind: Any, tmp_path: Path) -> None:
    gc.disable()  # so that no collection is what frees it
    try:
        memory = kind.open(tmp_path)
        memory.history("t")
        del memory
        kind.open(tmp_path).close()
    finally:
        gc.enable()


def test_a_dropped_memory_writes_what_waits_and_ends_cleanly(tmp_path: Path) -> None:
    memory = MemoryController.open(tmp_path)
    left_behind(memory)
    del memory
    with MemoryController.open(tmp_path) as memory:
        assert not memory.artifacts.after_kill  # type: ignore[attr-defined]
        assert memory.artifacts.ids("default", kind="set_aside")  # type: ignore[attr-defined]


def test_the_store_of_the_caller_gets_what_waits(tmp_path: Path) -> None:
    store = InMemoryStore()
    memory = MemoryController(store, settings=Settings(audit=tmp_path))
    left_behind(memory)
    assert not store.ids("default", kind="set_aside")
    known = weakref.ref(memory)
    del memory
    gc.collect()
    assert known() is None
    assert store.ids("default", kind="set_aside")


def test_two_memories_on_one_store_wait_for_the_last(tmp_path: Path) -> None:
    store = InMemoryStore()
    one, other = (MemoryController(store, settings=Settings(audit=tmp_path)) for _ in range(2))
    left_behind(one)
    del one
    gc.collect()
    assert waiting(other)
    other.close()


def test_garbage_that_holds_a_memory_is_no_reason_to_refuse(tmp_path: Path) -> None:
    class Agent:
        def __init__(self) -> None:
            self.memory = MemoryController.open(tmp_path)
            self.me = self

    agent = Agent()
    agent.memory.step(None, Turn.said("Never restart nginx."), thread="t")
    del agent
    with MemoryController.open(tmp_path) as memory:
        state = memory.last_state("t")
        assert state is not None
        assert state.turn == 1


def test_a_second_opening_says_to_close_the_first(tmp_path: Path) -> None:
    with (
        MemoryController.open(tmp_path) as memory,
        pytest.raises(StoreLockedError, match=r"open in this process .*memory\.close\(\)"),
    ):
        MemoryController.open(tmp_path)
    assert memory is not None


def test_of_many_threads_one_opens_it_and_each_may_drop_it(tmp_path: Path) -> None:
    found: list[Any] = []
    barrier = threading.Barrier(4)

    def opening() -> None:
        barrier.wait()
        try:
            found.append(MemoryController.open(tmp_path))
        except StoreLockedError as error:
            found.append(str(error))

    tasks = [threading.Thread(target=opening) for _ in range(4)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(60)
    assert sum(isinstance(each, MemoryController) for each in found) == 1
    assert all("close()" in each for each in found if isinstance(each, str))
    dropping = threading.Thread(target=found.clear)
    dropping.start()
    dropping.join(60)
    MemoryController.open(tmp_path).close()


def test_an_error_on_the_way_out_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(InMemoryStore):
        full = False

        def add(self, tenant: str, artifacts: Any) -> None:
            if self.full:
                raise StoreError("the disk is full")
            super().add(tenant, artifacts)

    store = Full()
    memory = MemoryController(store, settings=Settings(audit=tmp_path))
    left_behind(memory)
    store.full = True
    with caplog.at_level(logging.ERROR, "acc.stores.finalizer"):
        del memory
        gc.collect()
    assert "its pending records cannot be written" in caplog.text
    assert "cause=StoreError" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_that_drops_it_takes_nothing_from_the_parent(tmp_path: Path) -> None:
    memory = MemoryController.open(tmp_path)
    state = memory.step(None, Turn.said("Never restart nginx."), thread="t").state
    held = [memory]
    del memory

    def child() -> None:
        held.clear()
        gc.collect()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    other = "import sys; from acc import MemoryController; MemoryController.open(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", other, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert f"process {os.getpid()} holds the path" in done.stderr
    held[0].step(state, Turn.said("Go on."), thread="t")
    held[0].close()

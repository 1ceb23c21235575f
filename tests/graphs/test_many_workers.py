"""Four worker processes, one folder, one Chroma server, one PostgreSQL: the same graphs with other settings."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest
import runs as runs
from killed_runs import ran
from servers import chroma, postgresql

from acc_graphs.deployment import deployed, open_memory, prepare

Where = tuple[str, str, str]

THREADS = 12
TURNS = 4


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Where]:
    """The folder that the workers share, and the addresses of both servers."""
    folder = tmp_path_factory.mktemp("workers")
    with chroma(folder / "chroma") as server, postgresql() as checkpoints:
        prepare(checkpoints)
        yield str(folder / "memory"), checkpoints, server


class Worker:
    """What a worker process has open: the ReAct graph."""

    graph: Any
    memory: Any
    opened = ExitStack()

    @classmethod
    def begin(cls, where: Where) -> None:
        parts = cls.opened.enter_context(deployed(*where))
        cls.graph = runs.graph_of("react", parts)
        cls.memory = parts["memory"]


def question(thread: str, turn: int) -> str:
    """What the user of ``thread`` says in a turn; the first is a rule of their own."""
    return f"Never restart {thread}." if turn == 0 else f"Turn {turn} of {thread}: what changed?"


def say(thread: str, turn: int) -> dict[str, Any]:
    """One turn, in this process."""
    out = Worker.graph.invoke(runs.given(question(thread, turn)), runs.config_of(thread))
    found: dict[str, Any] = out["ccs"]
    return found


def converse(thread: str) -> dict[str, Any]:
    """A whole conversation, in this process."""
    return [say(thread, turn) for turn in range(TURNS)][-1]


EXPECTED = 2 + (TURNS - 1) * 4
"""Observations of a thread: question and answer, and in all turns but the first a call and its result."""


def check(where: Where, threads: dict[str, dict[str, Any]]) -> None:
    """Every thread has exactly its own evidence, on the one branch, and its own rule."""
    with closing(open_memory(where[0], store="none")) as memory:
        for thread, ccs in threads.items():
            state: Any = memory.policy.schema.load(ccs)
            held = runs.observed(memory, ccs, thread)
            assert [t for c, t in held if c == "user"] == [
                question(thread, n) for n in range(TURNS)
            ]
            assert len(held) == EXPECTED
            assert state.branch == "main"
            assert [c.words.text for c in state.constraints] == [f"Never restart {thread}."]


@pytest.mark.slow
def test_many_threads_over_four_workers(where: Where) -> None:
    context = multiprocessing.get_context("spawn")
    names = [f"service-{n}" for n in range(THREADS)]
    with ProcessPoolExecutor(4, context, initializer=Worker.begin, initargs=(where,)) as pool:
        ended = dict(zip(names, pool.map(converse, names, timeout=300), strict=True))
    check(where, ended)


@pytest.mark.slow
def test_threads_whose_every_turn_is_served_by_another_worker(where: Where) -> None:
    context = multiprocessing.get_context("spawn")
    pools = [
        ProcessPoolExecutor(1, context, initializer=Worker.begin, initargs=(where,))
        for _ in range(4)
    ]
    names = [f"wanderer-{n}" for n in range(THREADS)]
    try:
        for turn in range(TURNS):
            asked = {
                name: pools[(place + turn) % 4].submit(say, name, turn)
                for place, name in enumerate(names)
            }
            ended = {name: future.result(120) for name, future in asked.items()}
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)
    check(where, ended)


@pytest.mark.slow
def test_a_worker_that_is_killed_leaves_its_threads_to_the_others(
    where: Where,
) -> None:
    code, _ = ran(runs.die_in, "react", where, "act", "sync")
    assert code == -9
    code, (held, _, branch) = ran(runs.go_on, "react", where, "sync")
    assert code == 0
    assert branch == "main"
    assert len(held) == len(set(held))
    assert [t for c, t in held if c == "user"] == list(runs.SAID["react"])

"""A fleet: a Chroma server, a PostgreSQL and two worker processes without a common folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acc import Turn
from acc.audit.log import AuditLog
from acc.audit.postgres import PostgresLogs
from acc.audit.verify import verify
from acc.controller import resumed
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target
from acc.state.policy import Policy
from acc.stores.protocol import Thread

sys.path.append(str(Path(__file__).parents[1] / "graphs"))

from fleet import Where, Worker, opened, workers

pytestmark = pytest.mark.slow

TURNS = 6


def say(thread: str, text: str) -> str:
    """Step the thread from its newest state, in this worker; return the hash of the next one."""
    memory = Worker.memory
    return memory.step(memory.last_state(thread), Turn.said(text), thread=thread).state.hash


def die_before_append(thread: str, text: str) -> None:
    """Store a turn and its commit, and be killed before the audit record."""
    AuditLog.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign,assignment]
    say(thread, text)


def die_after_store(thread: str, text: str) -> None:
    """Store a turn, and be killed before its commit."""
    memory = Worker.memory
    with memory._running(memory.last_state(thread), Turn.said(text), thread) as run:
        run.store()
        os.kill(os.getpid(), signal.SIGKILL)


def looked(thread: str) -> dict[str, Any]:
    """What this worker sees of a thread."""
    memory = Worker.memory
    state = memory.last_state(thread)
    if state is None:
        return {"hash": None}
    log = memory._audit_of(Thread(thread=thread))
    assert log is not None
    return {
        "hash": state.hash,
        "turn": state.turn,
        "branch": state.branch,
        "rules": [rule.text for rule in state.constraints],
        "said": [message["content"] for message in memory.history(thread).messages],
        "verified": verify(log, {Policy().fingerprint: Policy()}, head=state.hash),
        "ids": [item.id for item in state.constraints],
    }


def retire(thread: str, item: str) -> str:
    return Worker.memory.retire([item], "no longer", thread=thread).state.hash


def erase(thread: str) -> int:
    erasure = Erasure(Worker.memory)
    return erasure.erase(erasure.plan(Target(thread=thread))).records


def die_erasing(thread: str) -> None:
    """Erase a thread, and be killed after its records are gone and before its audit log is."""
    AuditLog.delete = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign,assignment]
    erase(thread)


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Where]:
    from servers import chroma, postgresql

    with chroma(tmp_path_factory.mktemp("chroma")) as memory, postgresql() as audit:
        yield memory, audit


def seen(pools: list[ProcessPoolExecutor], thread: str) -> dict[str, Any]:
    """What all workers see of a thread; they see the same."""
    first, *others = [pool.submit(looked, thread).result(60) for pool in pools]
    assert all(other == first for other in others), (first, others)
    return first


def question(n: int) -> str:
    return "Never restart nginx." if n == 0 else f"Turn {n}: what changed?"


def test_any_worker_serves_any_turn_and_any_act_of_an_operator(where: Where) -> None:
    with workers(where) as pools:
        for n in range(TURNS):
            newest = pools[n % 2].submit(say, "served", question(n)).result(60)
        found = seen(pools, "served")
        assert (found["hash"], found["turn"], found["branch"]) == (newest, TURNS, "main")
        assert found["said"] == [question(n) for n in range(TURNS)]
        assert found["verified"] == TURNS
        retired = pools[1].submit(retire, "served", found["ids"][0]).result(60)
        found = seen(pools, "served")
        assert (found["hash"], found["rules"]) == (retired, [])
        again = pools[0].submit(say, "served", "And now?").result(60)
        assert seen(pools, "served")["hash"] == again
        pools[0].submit(say, "kept", "Always answer in English.").result(60)
        assert pools[0].submit(erase, "served").result(60) > TURNS
        assert seen(pools, "served") == {"hash": None}
        assert seen(pools, "kept")["rules"] == ["Always answer in English"]
        newest = pools[1].submit(say, "served", "A new beginning.").result(60)
        found = seen(pools, "served")
        assert (found["hash"], found["said"], found["verified"]) == (
            newest,
            ["A new beginning."],
            1,
        )
    logs = PostgresLogs(where[1])
    assert len(logs.names()) == 2
    logs.close()


@pytest.mark.parametrize("die", [die_before_append, die_after_store])
@pytest.mark.parametrize("repeats", [True, False])
def test_the_turn_of_a_killed_worker_is_finished_by_another(
    where: Where, die: Any, repeats: bool
) -> None:
    thread = f"{die.__name__} {repeats}"
    with workers(where) as pools:
        for n in range(3):
            pools[n % 2].submit(say, thread, question(n)).result(60)
        with pytest.raises(BrokenProcessPool):
            pools[0].submit(die, thread, question(3)).result(60)
    with workers(where) as pools:
        assert seen(pools, thread)["turn"] == 3
        following = [question(3)] if repeats else []
        for n, text in enumerate([*following, question(4), question(5)]):
            pools[n % 2].submit(say, thread, text).result(60)
        found = seen(pools, thread)
    assert found["said"] == [question(n) for n in range(6)]
    assert found["rules"] == ["Never restart nginx"]


def test_the_erasure_of_a_killed_worker_is_finished_by_another(where: Where) -> None:
    with workers(where) as pools:
        pools[0].submit(say, "erased", "Her file is MRN-88121-Z.").result(60)
        pools[0].submit(say, "stays", "Her file is red.").result(60)
        with pytest.raises(BrokenProcessPool):
            pools[0].submit(die_erasing, "erased").result(60)
    with closing(PostgresLogs(where[1])) as logs, opened(where) as memory:
        assert b"MRN-88121-Z" in b"".join(logs.lines("marks")), "what is to be erased is noted"
        (done,) = resumed(memory)
        assert "was interrupted and is now complete" in done
        assert resumed(memory) == []
        assert memory.last_state("erased") is None
        assert memory.last_state("stays") is not None
        rows = [line for name in (*logs.names(), "marks", "erasures") for line in logs.lines(name)]
        assert rows
        assert not [line for line in rows if b"MRN-88121-Z" in line]
        assert len(list(logs.lines("erasures"))) >= 1

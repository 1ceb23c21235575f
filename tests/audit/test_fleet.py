"""A fleet: a Chroma server, a PostgreSQL and two worker processes without a common folder."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from strategies import event

from acc import Turn
from acc.audit.log import AuditLog
from acc.audit.postgres import PostgresLogs
from acc.audit.verify import verify
from acc.controller import resumed
from acc.errors import ConflictError
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
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


def otherwise(turn: Turn, *_: object) -> Proposal:
    """A model that reads a turn in another way in each process, and each time."""
    Worker.read += 1
    text = f"Read by process {os.getpid()}, time {Worker.read}."
    return Proposal(items=(event(text, turn.observations[-1].ref),), usage={"input": 7})


Answer = tuple[str, float | None]


def send(thread: str, prior: str | None, text: str, compressor: Any = otherwise) -> Answer:
    """Step from ``prior``: the hash of the next state, or "conflict" and after how long to send again."""
    Worker.memory.compressor = compressor
    try:
        state = CompressedCognitiveState.load(prior) if prior else None
        return Worker.memory.step(state, Turn.said(text), thread=thread).state.hash, None
    except ConflictError as conflict:
        return "conflict", conflict.retry_after


def newest(thread: str) -> tuple[str, int]:
    """The newest state of a thread, and how often this process has read a turn."""
    state = Worker.memory.last_state(thread)
    assert state is not None
    return state.model_dump_json(), Worker.read


def send_and_wait(thread: str, text: str, folder: str) -> Answer:
    """Step, and wait in the compressor until the test goes on."""

    def waits(*asked: Any) -> Proposal:
        Path(folder, "begun").touch()
        until(Path(folder, "go"))
        return otherwise(*asked)

    return send(thread, None, text, waits)


def until(path: Path) -> None:
    ends = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < ends, path
        time.sleep(0.02)


def die_reading(thread: str, prior: str, text: str) -> None:
    """Store a turn, and be killed while its compressor runs."""
    send(thread, prior, text, lambda *_: os.kill(os.getpid(), signal.SIGKILL))


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


def test_a_message_that_is_sent_to_a_second_worker_waits_for_the_first(
    where: Where, tmp_path: Path
) -> None:
    with workers(where) as (one, other):
        first = one.submit(send_and_wait, "twice", "Hello.", str(tmp_path))
        other.submit(until, tmp_path / "begun").result(60)
        status, after = other.submit(send, "twice", None, "Hello.").result(60)
        assert status == "conflict"
        assert after is not None
        assert 0 < after <= 20
        (tmp_path / "go").touch()
        done = first.result(60)
        assert done[1] is None
        assert other.submit(send, "twice", None, "Hello.").result(60) == done
        assert other.submit(newest, "twice").result(60)[1] == 0, "the repetition asks no model"
        found = seen([one, other], "twice")
    assert (found["hash"], found["said"], found["verified"]) == (done[0], ["Hello."], 1)


def test_a_message_that_two_workers_get_at_once_is_committed_once(where: Where) -> None:
    prior = None
    with workers(where) as pools:
        for n in range(1, TURNS + 1):
            asked = [pool.submit(send, "raced", prior, question(n)) for pool in pools]
            answers = [answer.result(60) for answer in asked]
            done = {status for status, after in answers if status != "conflict"}
            assert len(done) == 1
            assert all(after for status, after in answers if status == "conflict")
            again = [pool.submit(send, "raced", prior, question(n)).result(60) for pool in pools]
            assert again == [(*done, None)] * 2
            prior, _ = pools[0].submit(newest, "raced").result(60)
        found = seen(pools, "raced")
    assert found["said"] == [question(n) for n in range(1, TURNS + 1)]
    assert (found["verified"], found["turn"], found["branch"]) == (TURNS, TURNS, "main")


def test_two_workers_take_up_the_message_of_a_killed_one_once(where: Where) -> None:
    with workers(where, 3) as pools:
        pools[0].submit(send, "taken up", None, question(1)).result(60)
        prior, _ = pools[1].submit(newest, "taken up").result(60)
        with pytest.raises(BrokenProcessPool):
            pools[0].submit(die_reading, "taken up", prior, question(2)).result(60)
        asked = [pool.submit(send, "taken up", prior, question(2)) for pool in pools[1:]]
        done = {answer.result(60)[0] for answer in asked} - {"conflict"}
        assert len(done) == 1
        found = seen(pools[1:], "taken up")
    assert {found["hash"]} == done
    assert (found["said"], found["verified"]) == ([question(1), question(2)], 2)


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

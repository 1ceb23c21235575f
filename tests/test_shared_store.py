"""A store that several processes share: one winner a turn, the others are told, nothing is lost.

The first half interleaves two writers deterministically, in memory; the second half runs real
processes on a real Chroma server.
"""

from __future__ import annotations

import multiprocessing
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import tenacity
from strategies import event, tool, user

from acc import Settings
from acc.audit.log import AuditLog
from acc.compress.protocol import Compressor
from acc.controller import MemoryController
from acc.errors import CompressionError, ConflictError, StoreError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.testing.scripted import FixedClock
from acc.thread.lease import LONG_LEASE
from acc.thread.log import ThreadLog
from acc.turn.turn import Turn

State = CompressedCognitiveState
THREAD = Thread(thread="t")


def quiet(*_: object) -> Proposal:
    return Proposal()


def seen(store: ArtifactStore, state: State, thread: Thread = THREAD) -> list[str]:
    """What a fresh reader finds behind ``state``: texts of observations, whole, in order."""
    whole: dict[str, str] = {}
    for a in ThreadLog(store, thread, lambda: "").branch(state.branch).artifacts:
        if a.kind == "observation" and a.turn <= state.turn:
            key = f"{a.ref} {a.identity}"
            whole[key] = whole.get(key, "") + a.text
    return list(whole.values())


def saying(*texts: str) -> Turn:
    return Turn(observations=(*(tool(text) for text in texts[:-1]), user(texts[-1])))


# --- two writers, one after every move of the other ---------------------------------------


class Table(InMemoryStore):
    """What two processes share."""

    @property
    def shared(self) -> bool:
        return True


class Window:
    """A process's own way to the table, where the other one may come in between.

    ``between`` is called once, before the write or after the read that it waits for.
    """

    def __init__(self, table: Table, *, at: str = "", between: Callable[[], object] = bool) -> None:
        self.table = table
        self.at = at
        self.between = between
        self.shared = True

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        self._let_in("write", artifacts[0].kind)
        self.table.add(tenant, artifacts)
        self._let_in("written", artifacts[0].kind)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        return self.table.get(tenant, ids)

    def close(self) -> None:
        """The table stays."""

    def _let_in(self, moment: str, kind: str) -> None:
        if self.at == f"{moment} {kind}":
            self.at = ""
            self.between()


@dataclass
class Race:
    """What came of two writers that stepped one thread from one state."""

    table: Table
    root: State
    first: State | ConflictError
    second: State | ConflictError


def attempt(memory: MemoryController, state: State, turn: Turn) -> State | ConflictError:
    try:
        return memory.step(state, turn, thread="t").state
    except ConflictError as conflict:
        return conflict


def race(one: Turn, other: Turn, at: str, compressor: Compressor = quiet) -> Race:
    """``other`` is stepped whole, by another process, while ``one`` is at that point."""
    table = Table()
    root = MemoryController(table, quiet).step(None, Turn.said("root"), thread="t").state
    rival = MemoryController(Window(table), compressor)
    rival._log_of(THREAD).branch("main")
    came: list[State | ConflictError] = []
    window = Window(table, at=at, between=lambda: came.append(attempt(rival, root, other)))
    memory = MemoryController(window, compressor)
    first = attempt(memory, root, one)
    assert came, "the other process never came in"
    return Race(table, root, first, came[0])


MOMENTS = ["write observation", "written observation", "write successor", "written successor"]
TURNS = [
    (saying("a1"), saying("b1")),
    (saying("a1", "a2"), saying("b1")),
    (saying("a1"), saying("b1", "b2", "b3")),
    (saying("a1", "a2", "a3"), saying("b1", "b2")),
    (saying("same", "a2"), saying("same", "b2")),
    (saying("same", "same", "a2"), saying("same", "b2")),
]


def texts(turn: Turn) -> list[str]:
    return [o.text for o in turn.observations]


class TestInterleavings:
    @pytest.mark.parametrize("at", MOMENTS)
    @pytest.mark.parametrize(("one", "other"), TURNS)
    def test_who_is_told_of_success_has_exactly_their_evidence(
        self, one: Turn, other: Turn, at: str
    ) -> None:
        """Whoever won sees what they said and nothing of the rival; on one branch one wins."""
        raced = race(one, other, at)
        winners = [s for s in (raced.first, raced.second) if isinstance(s, State)]
        assert winners
        assert len({s.branch for s in winners}) == len(winners)
        for state, turn in ((raced.first, one), (raced.second, other)):
            if isinstance(state, State):
                assert seen(raced.table, state) == ["root", *texts(turn)]

    @pytest.mark.parametrize("at", MOMENTS)
    @pytest.mark.parametrize(("one", "other"), TURNS)
    def test_who_lost_steps_again_and_loses_nothing(self, one: Turn, other: Turn, at: str) -> None:
        """From the winner's state, as the error asks; what the loser said is then stored."""
        raced = race(one, other, at)
        for lost, turn, won in (
            (raced.first, one, raced.second), (raced.second, other, raced.first),
        ):  # fmt: skip
            if isinstance(lost, ConflictError):
                assert isinstance(won, State)
                again = MemoryController(raced.table, quiet).step(won, turn, thread="t").state
                before = texts(other if turn is one else one)
                assert seen(raced.table, again) == ["root", *before, *texts(turn)]

    @pytest.mark.parametrize("at", MOMENTS)
    @pytest.mark.parametrize(("one", "other"), TURNS)
    def test_a_winners_turn_can_be_retried_from_elsewhere(
        self, one: Turn, other: Turn, at: str
    ) -> None:
        raced = race(one, other, at)
        for state, turn in ((raced.first, one), (raced.second, other)):
            if isinstance(state, State):
                again = MemoryController(raced.table, quiet).step(raced.root, turn, thread="t")
                assert again.state == state

    @pytest.mark.parametrize("at", MOMENTS)
    def test_the_same_turn_from_two_processes_is_one(self, at: str) -> None:
        raced = race(saying("a1", "a2"), saying("a1", "a2"), at)
        assert isinstance(raced.first, State)
        assert raced.first == raced.second
        assert seen(raced.table, raced.first) == ["root", "a1", "a2"]

    @pytest.mark.parametrize("at", MOMENTS)
    def test_read_in_two_ways_it_is_committed_once(self, at: str) -> None:
        """The same turn, of which two processes make different states at once."""
        count = iter(range(9))

        def otherwise(turn: Turn, *_: object) -> Proposal:
            ref = turn.observations[-1].ref
            return Proposal(items=(event(f"Reading number {next(count)}.", ref),))

        raced = race(saying("a1"), saying("a1"), at, otherwise)
        winners = {s.hash for s in (raced.first, raced.second) if isinstance(s, State)}
        assert len(winners) == 1

    def test_a_writer_under_way_is_waited_for(self) -> None:
        raced = race(saying("a1"), saying("b1"), "written observation")
        assert isinstance(raced.first, State)
        assert isinstance(raced.second, ConflictError)
        assert "another process" in str(raced.second)

    @pytest.mark.parametrize(
        ("age", "is_dead"), [(LONG_LEASE - timedelta(seconds=1), False), (LONG_LEASE, True)]
    )
    def test_a_dead_writer_is_not_waited_for(self, age: timedelta, is_dead: bool) -> None:
        table = Table()
        clock = FixedClock()

        def dies(*_: object) -> Proposal:
            raise KeyboardInterrupt

        root = MemoryController(table, quiet, Settings(clock=clock)).step(
            None, Turn.said("root"), thread="t"
        )
        with pytest.raises(KeyboardInterrupt):
            MemoryController(table, dies, Settings(clock=clock)).step(
                root.state, saying("a1"), thread="t"
            )
        clock.advance(age)
        memory = MemoryController(Window(table), quiet, Settings(clock=clock))
        if not is_dead:
            with pytest.raises(ConflictError):
                memory.step(root.state, saying("b1"), thread="t")
            return
        done = memory.step(root.state, saying("b1"), thread="t").state
        assert seen(table, done) == ["root", "a1", "b1"]
        again = memory.step(root.state, saying("a1"), thread="t").state
        assert seen(table, again) == ["root", "a1"]

    def test_a_slow_writer_that_was_given_up_still_commits_on_its_own_branch(self) -> None:
        table = Table()
        clock = FixedClock()
        root = MemoryController(table, quiet, Settings(clock=clock)).step(
            None, Turn.said("root"), thread="t"
        )
        other: list[State] = []

        def slow(*_: object) -> Proposal:
            clock.advance(LONG_LEASE)
            rival = MemoryController(Window(table), quiet, Settings(clock=clock))
            other.append(rival.step(root.state, saying("b1"), thread="t").state)
            return Proposal()

        mine = MemoryController(table, slow, Settings(clock=clock)).step(
            root.state, saying("a1"), thread="t"
        )
        assert seen(table, mine.state) == ["root", "a1"]
        assert seen(table, other[0]) == ["root", "a1", "b1"]

    def test_a_fork_made_twice_at_once_is_one_fork_or_a_conflict(self) -> None:
        table = Table()
        memory = MemoryController(table, quiet)
        root = memory.step(None, Turn.said("root"), thread="t").state
        memory.step(root, Turn.said("left"), thread="t")
        rival = MemoryController(Window(table), quiet)
        came: list[State | ConflictError] = []
        window = Window(
            table, at="write branch",
            between=lambda: came.append(attempt(rival, root, saying("fork", "b2"))),
        )  # fmt: skip
        mine = attempt(MemoryController(window, quiet), root, saying("fork", "a2"))
        assert came
        for state, said in ((mine, ["fork", "a2"]), (came[0], ["fork", "b2"])):
            if isinstance(state, State):
                assert seen(table, state) == ["root", *said]
        assert isinstance(mine, State) or isinstance(came[0], State)

    def test_what_another_process_added_is_seen_at_the_next_step(self) -> None:
        table = Table()
        memories = [MemoryController(Window(table), quiet) for _ in range(3)]
        state: State | None = None
        for n in range(9):
            state = memories[n % 3].step(state, Turn.said(f"turn {n}"), thread="t").state
        assert state is not None
        assert state.branch == "main"
        assert seen(table, state) == [f"turn {n}" for n in range(9)]

    def test_a_recorded_decision_of_another_process_is_found(self) -> None:
        table = Table()
        one, other = (MemoryController(Window(table), quiet) for _ in range(2))
        state = one.step(None, Turn.said("Is it up?"), thread="t").state
        one.record([tool("It is.")], state=state, thread="t")
        done = other.step(state, Turn.said("Thanks."), thread="t")
        assert seen(table, done.state) == ["Is it up?", "It is.", "Thanks."]


class TestRepeatedStep:
    """As after a checkpoint that was not written: another worker steps again from the state before."""

    def test_a_repeated_step_has_one_audit_record(self, tmp_path: Path) -> None:
        table, audit = Table(), tmp_path / "audit"
        first, other = (
            MemoryController(Window(table), settings=Settings(audit=audit)) for _ in range(2)
        )
        root = first.step(None, Turn.said("Never restart nginx."), thread="t").state
        done = first.step(root, Turn.said("Checkout is slow."), thread="t").state
        assert other.step(root, Turn.said("Checkout is slow."), thread="t").state == done
        kept = [entry["state"]["hash"] for entry in AuditLog.of(audit, THREAD).records()]
        assert kept == [root.hash, done.hash]

    def test_a_commit_that_is_not_in_the_log_yet_is_written_by_the_repetition(
        self, tmp_path: Path
    ) -> None:
        table, audit = Table(), tmp_path / "audit"
        killed = MemoryController(Window(table))  # its log was never written
        done = killed.step(None, Turn.said("Never restart nginx."), thread="t").state
        other = MemoryController(Window(table), settings=Settings(audit=audit))
        assert other.step(None, Turn.said("Never restart nginx."), thread="t").state == done
        assert other.last_state("t") == done

    @pytest.mark.parametrize("shared", [True, False])
    @pytest.mark.parametrize("fails", [True, False])
    def test_a_repetition_asks_no_model_and_tells_what_the_first_step_told(
        self, tmp_path: Path, shared: bool, fails: bool
    ) -> None:
        asked: list[Turn] = []

        def paid(turn: Turn, *_: object) -> Proposal:
            asked.append(turn)
            if fails:
                raise CompressionError("no model")
            text = f"Reading number {len(asked)}."
            return Proposal(items=(event(text, turn.observations[-1].ref),), usage={"input": 7})

        table, audit = Table() if shared else InMemoryStore(), tmp_path / "audit"
        memory = MemoryController(table, paid, Settings(audit=audit))
        root = memory.step(None, Turn.said("Never restart nginx."), thread="t").state
        steps = [memory.step(root, Turn.said("Is nginx up?"), thread="t") for _ in range(3)]
        later = memory.step(steps[0].state, Turn.said("And now?"), thread="t").state
        steps.append(memory.step(root, Turn.said("Is nginx up?"), thread="t"))
        assert len(asked) == 3
        for step in steps[1:]:
            assert step.usage == {}
            for name in ("commit", "verdicts", "evidence", "turn", "outcome", "failure"):
                assert getattr(step, name) == getattr(steps[0], name), name
        kept = [entry["state"]["hash"] for entry in AuditLog.of(audit, THREAD).records()]
        assert kept == [root.hash, steps[0].state.hash, later.hash]
        assert memory.last_state("t") == later

    def test_other_words_or_another_policy_are_no_repetition(self, tmp_path: Path) -> None:
        store, audit = InMemoryStore(), tmp_path / "audit"
        memory = MemoryController(store, settings=Settings(audit=audit))
        root = memory.step(None, Turn.said("Never restart nginx."), thread="t").state
        memory.step(root, Turn.said("Is nginx up?"), thread="t")
        assert memory.step(root, Turn.said("Is it?"), thread="t").state.branch != "main"
        other = MemoryController(store, settings=Settings(Policy(max_tokens=700), audit=audit))
        other.step(root, Turn.said("Is nginx up?"), thread="t")
        assert len(list(AuditLog.of(audit, THREAD).records())) == 4


# --- a real server and real processes -----------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Chroma server of the tests' own, on the loopback."""
    number = free_port()
    folder = tmp_path_factory.mktemp("chroma")
    chroma = Path(sys.executable).with_name("chroma")
    command = [
        str(chroma),
        "run",
        "--path",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(number),
    ]
    with (folder.parent / "chroma.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        ready = tenacity.wait_fixed(0.1)
        ChromaArtifactStore.server("127.0.0.1", number, attempts=200, wait=ready).close()
        yield number
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


class Worker:
    """What a worker process has: a memory of its own on the shared server."""

    memory: MemoryController
    start: Any

    @classmethod
    def begin(cls, port: int, start: Any) -> None:
        store = ChromaArtifactStore.server("127.0.0.1", port)
        cls.memory = MemoryController(store, quiet)
        cls.start = start


Outcome = tuple[str, str]


def step_in_worker(state: str | None, turn: Turn, thread: Thread, together: bool) -> Outcome:
    """Step in this process: ("done", state as JSON), or ("conflict", why)."""
    if together:
        Worker.start.wait(30)
    try:
        done = Worker.memory.step(state, turn, thread=thread)
    except ConflictError as conflict:
        return "conflict", str(conflict)
    return "done", done.state.model_dump_json()


def converse_in_worker(name: str, turns: int) -> str:
    """A whole conversation of its own."""
    state: State | None = None
    for n in range(turns):
        state = Worker.memory.step(state, saying(f"result {n}", f"{name} {n}"), thread=name).state
    assert state is not None
    return state.model_dump_json()


@pytest.fixture
def workers(port: int) -> Iterator[Callable[[int], ProcessPoolExecutor]]:
    """Makes pools of worker processes, and ends them."""
    pools: list[ProcessPoolExecutor] = []

    def pool_of(count: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            count, context, initializer=Worker.begin, initargs=(port, context.Barrier(count))
        )
        pools.append(pool)
        return pool

    yield pool_of
    for pool in pools:
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
class TestProcesses:
    def test_two_that_step_one_thread_at_once(
        self, port: int, workers: Callable[[int], ProcessPoolExecutor]
    ) -> None:
        """Round by round from one state, with turns of different sizes."""
        thread = Thread(thread="raced", tenant="race")
        pool = workers(2)
        state: str | None = None
        past: list[str] = []
        conflicts = 0
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            for n in range(25):
                turns = [
                    saying(*(f"{who}{n}.{i}" for i in range(1 + (n + k) % 3)), f"{who}{n}")
                    for k, who in enumerate("ab")
                ]
                futures: list[Future[Outcome]] = [
                    pool.submit(step_in_worker, state, turn, thread, True) for turn in turns
                ]
                outcomes = [future.result(60) for future in futures]
                won = [
                    (State.load(told), turn)
                    for (how, told), turn in zip(outcomes, turns, strict=True)
                    if how == "done"
                ]
                conflicts += len(outcomes) - len(won)
                assert won, outcomes
                assert len({s.branch for s, _ in won}) == len(won)
                for s, turn in won:
                    assert seen(store, s, thread) == [*past, *texts(turn)]
                winner, turn = won[0]
                state = winner.model_dump_json()
                past += texts(turn)
        assert conflicts

    def test_a_retry_from_another_process_is_accepted(
        self, port: int, workers: Callable[[int], ProcessPoolExecutor]
    ) -> None:
        thread = Thread(thread="retried", tenant="retry")
        one, other = workers(1), workers(1)
        states: list[str | None] = [None]
        for n in range(4):
            how, told = one.submit(
                step_in_worker, states[-1], saying(f"r{n}", f"u{n}"), thread, False
            ).result(60)
            assert how == "done"
            states.append(told)
        for n in range(4):
            again = other.submit(
                step_in_worker, states[n], saying(f"r{n}", f"u{n}"), thread, False
            ).result(60)
            assert again == ("done", states[n + 1])
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            last = State.load(states[-1])
            assert seen(store, last, thread) == [t for n in range(4) for t in (f"r{n}", f"u{n}")]

    def test_many_threads_over_four_processes(
        self, port: int, workers: Callable[[int], ProcessPoolExecutor]
    ) -> None:
        pool = workers(4)
        names = [f"conversation {n}" for n in range(16)]
        ended = list(pool.map(converse_in_worker, names, [6] * len(names), timeout=120))
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            for name, told in zip(names, ended, strict=True):
                state = State.load(told)
                assert state.branch == "main"
                expected = [t for n in range(6) for t in (f"result {n}", f"{name} {n}")]
                assert seen(store, state, Thread(thread=name)) == expected

    def test_threads_that_wander_from_process_to_process(
        self, port: int, workers: Callable[[int], ProcessPoolExecutor]
    ) -> None:
        """No request goes to the process that served the one before, as behind a balancer."""
        pools = [workers(1) for _ in range(4)]
        threads = [Thread(thread=f"wanderer {n}", user=f"user {n % 2}") for n in range(8)]
        states: list[str | None] = [None] * len(threads)
        for n in range(6):
            futures = [
                pools[(at + n) % 4].submit(
                    step_in_worker, states[at], saying(f"r{n}", f"{at} says {n}"), thread, False
                )
                for at, thread in enumerate(threads)
            ]
            for at, future in enumerate(futures):
                how, told = future.result(60)
                assert how == "done", told
                states[at] = told
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            for at, thread in enumerate(threads):
                expected = [t for n in range(6) for t in (f"r{n}", f"{at} says {n}")]
                assert seen(store, State.load(states[at]), thread) == expected

    def test_a_worker_that_was_killed_leaves_a_thread_that_another_takes_up(
        self, port: int, workers: Callable[[int], ProcessPoolExecutor]
    ) -> None:
        """Killed between evidence and commit: the same turn goes on, in another process."""
        thread = Thread(thread="left", tenant="killed")
        script = KILLED_WORKER.format(port=port)
        killed = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        other = workers(1)
        how, told = other.submit(
            step_in_worker, None, saying("first", "second"), thread, False
        ).result(60)
        assert how == "done", told
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            assert seen(store, State.load(told), thread) == ["first", "second"]

    def test_many_tasks_of_one_process_use_one_connection(self, port: int) -> None:
        with closing(ChromaArtifactStore.server("127.0.0.1", port)) as store:
            memory = MemoryController(store, quiet)
            errors: list[BaseException] = []

            def work(name: str) -> None:
                try:
                    state: State | None = None
                    for n in range(5):
                        state = memory.step(state, saying(f"r{n}", f"u{n}"), thread=name).state
                    assert state is not None
                    expected = [t for n in range(5) for t in (f"r{n}", f"u{n}")]
                    assert seen(store, state, Thread(thread=name)) == expected
                except BaseException as error:
                    errors.append(error)

            tasks = [threading.Thread(target=work, args=(f"task {n}",)) for n in range(8)]
            for task in tasks:
                task.start()
            for task in tasks:
                task.join(60)
            assert errors == []

    def test_without_a_server_it_is_a_store_error(self) -> None:
        with pytest.raises(StoreError, match="cannot be reached"):
            ChromaArtifactStore.server("127.0.0.1", free_port(), attempts=1)


KILLED_WORKER = """
import os, signal
from acc.controller import MemoryController
from acc.stores.protocol import Thread
from acc.stores.chroma.store import ChromaArtifactStore
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

memory = MemoryController(ChromaArtifactStore.server("127.0.0.1", {port}), die)
said = (
    Observation(channel=Channel.TOOL, text="first", name="tool"),
    Observation(channel=Channel.USER, text="second"),
)
memory.step(None, Turn(observations=said), thread=Thread(thread="left", tenant="killed"))
"""

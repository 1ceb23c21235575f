"""A store or an audit log that lacks the past of a thread: a step refuses, and an operator goes on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from acc import (
    AsyncMemoryController,
    Channel,
    CompressedCognitiveState,
    MemoryController,
    Observation,
    Turn,
)
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.cli import run
from acc.errors import (
    AccError,
    AuditError,
    ConfigurationError,
    PinnedOverflow,
    StateError,
    StoreError,
)
from acc.memory import whose
from acc.pipeline.session import Durability
from acc.state.policy import Policy
from acc.stores.protocol import managed

RULE = "Never restart nginx."
TURNS = 8
WHO = whose("t")


def talk(memory: MemoryController, first: int = 0, last: int = TURNS) -> CompressedCognitiveState:
    state = memory.last_state("t")
    for n in range(first, last):
        said = RULE if n == 2 else f"Why is checkout-{n} slow?"
        heard = (Observation(channel=Channel.AGENT, text=f"Answer {n}."),) if n else ()
        user = Observation(channel=Channel.USER, text=said)
        state = memory.step(state, Turn(observations=(*heard, user)), thread="t").state
    assert state is not None
    return state


def words(memory: MemoryController, state: CompressedCognitiveState) -> list[str]:
    artifacts = memory._log_of(WHO).branch(state.branch).artifacts
    return [a.text for a in artifacts if a.kind == "observation" and a.channel is Channel.USER]


def log_of(folder: Path) -> Path:
    (found,) = (folder / "audit").glob("*.jsonl")
    return found


def cut(log: Path, records: int) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: len(lines) - records]))


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talked") / "memory"
    with MemoryController.open(path) as memory:
        talk(memory)
    return path


@pytest.fixture
def folder(talked: Path, tmp_path: Path) -> Path:
    return shutil.copytree(talked, tmp_path / "memory")


class TestLogBehindTheStore:
    @pytest.mark.parametrize("records", [2, 5, TURNS])
    def test_the_thread_is_refused_and_both_sides_are_named(
        self, folder: Path, records: int
    ) -> None:
        cut(log_of(folder), records)
        left = f"ends at turn {TURNS - records}" if records < TURNS else "has no record"
        with MemoryController.open(folder) as memory:
            with pytest.raises(AuditError, match=f"turn {TURNS} of branch main.* {left}.*recover"):
                memory.last_state("t")
            older = memory.state_at("t", "main", TURNS - records)
            with pytest.raises(AuditError, match=f"turn {TURNS} of branch main"):
                memory.step(older, Turn.said("May I restart nginx?"), thread="t")

    def test_a_deleted_log_is_refused(self, folder: Path) -> None:
        log_of(folder).unlink()
        with MemoryController.open(folder) as memory:
            with pytest.raises(AuditError, match="no record"):
                memory.last_state("t")
            with pytest.raises(AuditError, match="no record"):
                memory.step(None, Turn.said("May I restart nginx?"), thread="t")

    def test_a_lost_fork_is_refused(self, tmp_path: Path) -> None:
        with MemoryController.open(tmp_path) as memory:
            state = talk(memory, last=3)
            talk(memory, 3, 4)
            for said in ("Another way.", "And then?"):
                state = memory.step(state, Turn.said(said), thread="t").state
            assert state.branch != "main"
        cut(log_of(tmp_path), 2)
        with (
            MemoryController.open(tmp_path) as memory,
            pytest.raises(AuditError, match=f"turn 5 of branch {state.branch}"),
        ):
            memory.last_state("t")

    def test_one_lost_record_loses_no_word(self, folder: Path) -> None:
        """One turn more in the store is what a killed step leaves: the next step takes it up."""
        cut(log_of(folder), 1)
        with MemoryController.open(folder) as memory:
            done = memory.step(memory.last_state("t"), Turn.said("And now?"), thread="t")
            assert len(words(memory, done.state)) == TURNS + 1
            assert [c.text for c in done.state.constraints] == [RULE.rstrip(".")]

    def test_a_fork_from_an_older_state_is_no_loss(self, folder: Path) -> None:
        with MemoryController.open(folder) as memory:
            older = memory.state_at("t", "main", 3)
            done = memory.step(older, Turn.said("Another way."), thread="t")
            assert (done.state.turn, done.state.branch == "main") == (4, False)
            assert memory.last_state("t") == done.state
        with MemoryController.open(folder) as memory:
            assert memory.last_state("t") == done.state
        assert run(["verify", "--memory", str(folder)]) == 0

    @pytest.mark.parametrize("records", [3, TURNS])
    def test_recover_brings_the_log_up_from_the_store(self, folder: Path, records: int) -> None:
        log = log_of(folder)
        before = json.loads(log.read_bytes().splitlines()[-1])["state"]
        cut(log, records)
        with MemoryController.open(folder) as memory:
            state = memory.recover("t")
            assert state is not None
            assert (state.turn, state.branch) == (TURNS, "main")
            told = {name: before[name] for name in ("constraints", "goal_orientation")}
            assert {name: state.canonical()[name] for name in told} == told
            done = memory.step(state, Turn.said("And now?"), thread="t")
            assert len(words(memory, done.state)) == TURNS + 1
            assert memory.recover("t") == done.state
        assert run(["verify", "--memory", str(folder)]) == 0

    def test_recover_repeats_an_operators_retirement(self, folder: Path) -> None:
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            assert state is not None
            state = memory.retire([state.constraints[0].id], "done", thread="t").state
            talk(memory, TURNS, TURNS + 2)
        cut(log_of(folder), 4)
        with MemoryController.open(folder) as memory:
            again = memory.recover("t")
            assert again is not None
            assert (again.turn, again.constraints) == (TURNS + 3, ())

    def test_adopting_an_older_state_goes_on_from_it(self, folder: Path) -> None:
        cut(log_of(folder), 3)
        with MemoryController.open(folder) as memory:
            older = memory.state_at("t", "main", TURNS - 3)
            state = memory.adopt(older, thread="t")
            assert memory.last_state("t") == state
            done = memory.step(state, Turn.said("On."), thread="t")
            assert done.state.turn == TURNS - 2
        with MemoryController.open(folder) as memory:
            assert memory.last_state("t") == done.state
        assert run(["verify", "--memory", str(folder)]) == 0

    def test_adopting_the_callers_newer_state_keeps_everything(self, folder: Path) -> None:
        with MemoryController.open(folder) as memory:
            newest = memory.last_state("t")
            assert newest is not None
        cut(log_of(folder), 3)
        kept = json.dumps(newest.canonical())
        with MemoryController.open(folder) as memory:
            with pytest.raises(StateError, match=r"no commit.*adopt"):
                memory.step(kept, Turn.said("On."), thread="t")
            memory.adopt(kept, thread="t")
            with pytest.raises(AuditError):  # the log is behind until the next commit
                memory.last_state("t")
        with MemoryController.open(folder) as memory:
            done = memory.step(kept, Turn.said("On."), thread="t")
            assert len(words(memory, done.state)) == TURNS + 1
            assert memory.last_state("t") == done.state
        policy = Policy()
        assert verify(AuditLog(log_of(folder)), {policy.fingerprint: policy}) == TURNS - 2
        assert run(["verify", "--memory", str(folder)]) == 0

    def test_verify_and_doctor_tell(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments: Sequence[str] = ["--memory", str(folder)]
        assert run(["verify", *arguments]) == 0
        assert run(["doctor", *arguments]) == 0
        cut(log_of(folder), 3)
        told = (
            f"the store has turn {TURNS} of branch main, but the audit log ends at turn {TURNS - 3}"
        )
        for command in ("verify", "doctor"):
            capsys.readouterr()
            assert run([command, *arguments]) == 1
            assert told in "".join(capsys.readouterr())

    @pytest.mark.parametrize("name", ["audit", "audit.lock", "log"])
    def test_doctor_tells_of_logs_that_cannot_be_written(
        self, folder: Path, name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The superuser may write to every file, so each is replaced by a thing of another type."""
        path = log_of(folder) if name == "log" else folder / name
        if path.is_dir():
            shutil.rmtree(path)
            path.touch()
        else:
            path.unlink()
            path.mkdir()
        assert run(["doctor", "--memory", str(folder)]) == 1
        assert f"{path} cannot be written" in capsys.readouterr().out


class TestStoreBehindTheState:
    def test_another_store_is_refused_and_adopted(self, folder: Path, tmp_path: Path) -> None:
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            assert state is not None
        kept = json.dumps(state.canonical())
        with MemoryController.open(tmp_path / "other") as memory:
            for act in (
                lambda: memory.step(kept, Turn.said("On."), thread="t"),
                lambda: memory.record([Observation(channel=Channel.AGENT, text="So.")], state=kept, thread="t"),
            ):  # fmt: skip
                with pytest.raises(
                    StoreError, match=f"turn {TURNS} of branch main.*no turn.*adopt"
                ):
                    act()
            memory.adopt(kept, thread="t")
        with MemoryController.open(tmp_path / "other") as memory:
            done = memory.step(kept, Turn.said("On."), thread="t").state
            done = memory.step(done, Turn.said("And on."), thread="t").state
            assert (done.turn, words(memory, done)) == (TURNS + 2, ["On.", "And on."])
            assert done.constraints == state.constraints
        assert run(["verify", "--memory", str(tmp_path / "other")]) == 0

    def test_a_lost_database_beside_its_logs_is_refused(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for path in folder.iterdir():
            if path.name not in ("audit", "audit.lock", "acc.key"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            with pytest.raises(StoreError, match=f"turn {TURNS} of branch main.*no turn"):
                memory.step(state, Turn.said("On."), thread="t")
        assert run(["doctor", "--memory", str(folder)]) == 1
        assert f"ends at turn {TURNS} of branch main, but the store" in "".join(capsys.readouterr())

    def test_a_lost_database_with_a_fork_that_set_items_aside_is_adopted(
        self, folder: Path
    ) -> None:
        with MemoryController.open(folder) as memory:
            older = memory.state_at("t", "main", 4)
            fork = memory.step(older, Turn.said("Another way."), thread="t").state
            (rule,) = fork.constraints
            memory.retire([rule.id], "tried", thread="t", state=fork)
        for path in folder.iterdir():
            if path.name not in ("audit", "audit.lock", "acc.key"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            assert state is not None
            assert state.branch != "main"
            with pytest.raises(StoreError, match="no such branch"):
                memory.step(state, Turn.said("On."), thread="t")
            state = memory.step(memory.adopt(state, thread="t"), Turn.said("On."), thread="t").state
            assert words(memory, state) == ["On."]

    @pytest.mark.parametrize("place", [0, 4, TURNS, -2, -1])
    def test_a_lost_record_is_refused_and_nothing_new_is_lost(
        self, folder: Path, place: int
    ) -> None:
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            lost = memory._log_of(WHO).branch("main").artifacts[place]
            managed(memory.artifacts).delete(WHO.tenant, [lost.id])
        name = lost.ref if place == -1 else lost.id
        with MemoryController.open(folder) as memory:
            with pytest.raises(StoreError, match=f"lost .*{name}.*adopt"):
                memory.step(state, Turn.said("On."), thread="t")
            state = memory.step(memory.adopt(state, thread="t"), Turn.said("On."), thread="t").state
            state = memory.step(state, Turn.said("And on."), thread="t").state
        with MemoryController.open(folder) as memory:
            heard = words(memory, state)
            assert heard[-2:] == ["On.", "And on."]
            assert len(heard) in (TURNS + 1, TURNS + 2)

    def test_a_record_lost_before_a_fork_is_refused_on_the_fork_until_it_is_adopted(
        self, folder: Path
    ) -> None:
        with MemoryController.open(folder) as memory:
            fork = memory.step(
                memory.state_at("t", "main", 4), Turn.said("Another way."), thread="t"
            ).state
            managed(memory.artifacts).delete(WHO.tenant, [f"{WHO.key}.main:3"])
        with MemoryController.open(folder) as memory:
            with pytest.raises(StoreError, match="main:3"):
                memory.step(fork, Turn.said("On."), thread="t")
            state = memory.step(memory.adopt(fork, thread="t"), Turn.said("On."), thread="t").state
        with MemoryController.open(folder) as memory:
            assert memory.step(state, Turn.said("On on."), thread="t").state.turn == 7

    def test_a_record_lost_after_a_fork_is_nothing_to_the_fork(self, folder: Path) -> None:
        with MemoryController.open(folder) as memory:
            fork = memory.step(
                memory.state_at("t", "main", 2), Turn.said("Another way."), thread="t"
            ).state
            managed(memory.artifacts).delete(WHO.tenant, [f"{WHO.key}.main:9"])
        with MemoryController.open(folder) as memory:
            assert memory.step(fork, Turn.said("On."), thread="t").state.turn == 4

    def test_a_branch_that_is_not_there_is_adopted(self, folder: Path, tmp_path: Path) -> None:
        with MemoryController.open(folder) as memory:
            older = memory.state_at("t", "main", 3)
            fork = memory.step(older, Turn.said("Another way."), thread="t").state
        with MemoryController.open(tmp_path / "other") as memory:
            talk(memory, last=2)
            with pytest.raises(StoreError, match="no such branch"):
                memory.step(fork.canonical(), Turn.said("On."), thread="t")
            done = memory.step(memory.adopt(fork, thread="t"), Turn.said("On."), thread="t").state
            assert words(memory, done) == ["On."]
            done = memory.step(done, Turn.said("On on."), thread="t").state
        with MemoryController.open(tmp_path / "other") as memory:
            assert words(memory, done) == ["On.", "On on."]

    def test_anothers_state_cannot_be_adopted(self, folder: Path) -> None:
        with MemoryController.open(folder) as memory:
            state = memory.last_state("t")
            memory.step(None, Turn.said("Mine."), thread="u")
            with pytest.raises(StateError, match="another thread"):
                memory.adopt(state, thread="u")

    def test_turns_without_observations_are_no_loss(self, tmp_path: Path) -> None:
        with MemoryController.open(tmp_path) as memory:
            state = talk(memory, last=2)
            for _ in range(3):
                state = memory.step(state, Turn(observations=()), thread="t").state
        with MemoryController.open(tmp_path) as memory:
            state = memory.step(memory.last_state("t"), Turn.said("On."), thread="t").state
            assert state.turn == 6
        assert run(["verify", "--memory", str(tmp_path)]) == 0

    def test_a_turn_without_observations_leaves_the_turn_to_words(self, tmp_path: Path) -> None:
        with MemoryController.open(tmp_path) as memory:
            state = talk(memory, last=2)
            memory.step(state, Turn(observations=()), thread="t")
            first, again = (memory.step(state, Turn.said("On."), thread="t") for _ in range(2))
            assert first.state == again.state
            assert first.state.branch == "main"


@pytest.mark.parametrize(("durability", "syncs"), [("power", 3), ("kill", 0)])
def test_the_durability_says_whether_a_record_waits_for_the_disk(
    durability: Durability, syncs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(file: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{file}"))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the names of open files are read from /proc")
    with MemoryController.open(tmp_path, durability=durability) as memory:
        monkeypatch.setattr(os, "fsync", note)
        state = talk(memory, last=3)
    assert len([name for name in synced if name.endswith((".jsonl", ".half"))]) == syncs
    with MemoryController.open(tmp_path) as memory:
        assert memory.last_state("t") == state


def test_a_durability_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="durability"):
        MemoryController.open(tmp_path, durability="fast")  # type: ignore[arg-type]


def test_a_larger_bound_ends_an_overflow_of_tokens(tmp_path: Path) -> None:
    long = [f"Never restart service-{n} {'of the very long named cluster ' * 8}." for n in range(4)]
    with MemoryController.open(tmp_path, max_tokens=200) as memory:
        state = memory.step(None, Turn.said(long[0]), thread="t").state
        with pytest.raises(PinnedOverflow, match="increase max_tokens"):
            memory.step(state, Turn.said(" ".join(long[1:3])), thread="t")
    with MemoryController.open(tmp_path, max_tokens=800) as memory:
        assert len(memory.step(state, Turn.said(long[3]), thread="t").state.constraints) >= 2


def test_an_asynchronous_memory_refuses_adopts_and_recovers(folder: Path) -> None:
    cut(log_of(folder), 3)

    async def act() -> None:
        async with AsyncMemoryController.open(folder) as memory:
            older = memory.state_at("t", "main", TURNS - 3)
            with pytest.raises(AccError, match="recover"):
                await memory.step(older, Turn.said("On."), thread="t")
            state = await memory.recover("t")
            assert state is not None
            assert state.turn == TURNS
            state = await memory.adopt(older, thread="t")
            assert (await memory.step(state, Turn.said("On."), thread="t")).state.branch != "main"

    asyncio.run(act())

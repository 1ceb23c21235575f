"""The Chroma store and its processes: two at once, a fork, a kill."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from store_processes import PRELUDE, Record, Spawn, opened

from acc.errors import StoreLockedError
from acc.stores.chroma.embedded import HOLDER, PathLock
from acc.stores.chroma.store import ChromaArtifactStore


class TestTwoProcesses:
    PROGRAM = (
        PRELUDE
        + """
store = ChromaArtifactStore.embedded(path)
print("open", flush=True)
sys.stdin.readline()
store.close()
"""
    )

    @pytest.mark.slow
    def test_the_second_is_told_who_holds_the_path(self, tmp_path: Path, spawn: Spawn) -> None:
        holder = spawn(self.PROGRAM, tmp_path)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError, match=f"process {holder.pid} holds .*chroma run"):
            ChromaArtifactStore.embedded(tmp_path)
        holder.communicate("\n", timeout=30)
        with opened(tmp_path):
            pass

    def test_a_killed_holder_lets_go(self, tmp_path: Path, spawn: Spawn) -> None:
        holder = spawn("from acc.stores.chroma.embedded import *; import sys, time\n"
                       "lock = PathLock(Path(sys.argv[1])); print('open', flush=True)\n"
                       "sys.stdin.readline()", tmp_path)  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError):
            PathLock(tmp_path)
        holder.kill()
        holder.wait(timeout=30)
        lock = PathLock(tmp_path)
        assert lock.left_open
        lock.release()
        lock = PathLock(tmp_path)
        assert not lock.left_open
        lock.release()

    def test_so_is_a_second_store_of_this_process(self, tmp_path: Path) -> None:
        with opened(tmp_path / "store"):
            (tmp_path / "link").symlink_to(tmp_path / "store")
            for path in (tmp_path / "store", tmp_path / "link"):
                with pytest.raises(StoreLockedError, match=r"open in this process .*close\(\)"):
                    ChromaArtifactStore.embedded(path)
        with opened(tmp_path / "link"):
            pass

    @pytest.mark.slow
    @pytest.mark.parametrize("note", ["\xff", "", "own"])
    def test_a_holder_that_is_not_known(self, note: str, tmp_path: Path, spawn: Spawn) -> None:
        """As one of another container, where the same number names another process."""
        holder = spawn("from acc.stores.chroma.embedded import *; import sys, time\n"
                       "lock = PathLock(Path(sys.argv[1])); print('open', flush=True)\n"
                       "sys.stdin.readline(); lock.release(); lock.release()", tmp_path)  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        said = str(os.getpid()) if note == "own" else note
        (tmp_path / HOLDER).write_bytes(said.encode("latin-1"))
        with pytest.raises(StoreLockedError, match="another process holds"):
            PathLock(tmp_path)
        holder.communicate("\n", timeout=30)

    @pytest.mark.slow
    def test_a_child_by_fork_cannot_use_it_and_takes_nothing(
        self, tmp_path: Path, output: Callable[..., str]
    ) -> None:
        program = (
            PRELUDE
            + """
store = ChromaArtifactStore.embedded(path)
store.add("tenant", [record(1)])
child = os.fork()
if not child:
    print(told(lambda: store.get("tenant", ["thread.main:1"])))
    print(told(lambda: store.add("tenant", [record(2)])))
    print(told(lambda: ChromaArtifactStore.embedded(path + "/another")))
    store.close()
    sys.exit(7)  # as a worker of a server does: Python frees the parent's client
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(told(lambda: ChromaArtifactStore.embedded(path)))
print(len(store.get("tenant", ["thread.main:1", "thread.main:2"])))
store.close()
"""
        )
        read, added, opened_another, left, locked, found = output(program, tmp_path).splitlines()
        assert read == added
        assert read.startswith("the store was opened before the process forked")
        assert opened_another.startswith("this process was forked after its parent opened a memory")
        assert "'spawn'" in read
        assert "'spawn'" in opened_another
        assert left == "7"
        assert locked.startswith("a memory or store that is open in this process uses the path")
        assert found == "1"

    @pytest.mark.slow
    def test_a_fork_after_the_close_is_refused_at_once_and_a_spawned_child_is_not(
        self, tmp_path: Path, output: Callable[..., str]
    ) -> None:
        program = (
            PRELUDE
            + """
import subprocess
store = ChromaArtifactStore.embedded(path)
store.add("tenant", [record(1)])
store.close()
sys.stdout.flush()
if not (child := os.fork()):
    print(told(lambda: ChromaArtifactStore.embedded(path)), flush=True)
    os._exit(0)
os.waitpid(child, 0)
count = "import sys; from acc import ChromaArtifactStore as C; print(len(C.embedded(sys.argv[1]).ids('tenant')))"
print(subprocess.run([sys.executable, "-c", count, path], capture_output=True, text=True).stdout.strip())
"""
        )
        refused, counted = output(program, tmp_path).splitlines()
        assert refused.startswith("this process was forked after its parent opened a memory")
        assert counted == "1"


@pytest.mark.slow
class TestKill:
    WRITER = (
        PRELUDE
        + """
store = ChromaArtifactStore.embedded(path)
seq = int(sys.argv[2])
while True:
    store.add("tenant", [record(seq + i, f"text {seq + i}") for i in range(20)])
    seq += 20
    print(seq, flush=True)
"""
    )

    @pytest.mark.slow
    def test_no_record_that_was_acknowledged_is_lost(
        self, tmp_path: Path, spawn: Spawn, record: Record
    ) -> None:
        chance = random.Random(7)
        acknowledged = 0
        for _ in range(3):
            writer = spawn(self.WRITER, tmp_path, acknowledged)
            assert writer.stdout is not None
            for _ in range(chance.randrange(3, 12)):
                acknowledged = int(writer.stdout.readline() or self._why(writer))
            with pytest.raises(subprocess.TimeoutExpired):  # some way into the next write
                writer.wait(timeout=chance.uniform(0, 0.03))
            writer.kill()
            rest = writer.communicate()[0].split()
            acknowledged = int(rest[-1]) if rest else acknowledged
            wanted = [record(seq, f"text {seq}") for seq in range(acknowledged)]
            with opened(tmp_path) as store:
                assert store.get("tenant", [one.id for one in wanted]) == wanted

    def test_a_kill_before_the_first_table_is_nothing(self, tmp_path: Path) -> None:
        sqlite3.connect(tmp_path / "chroma.sqlite3").close()
        (tmp_path / "chroma.sqlite3").touch()
        (tmp_path / HOLDER).write_text("999999\n")
        with opened(tmp_path) as store:
            assert store.get("tenant", ["1"]) == []

    @staticmethod
    def _why(writer: subprocess.Popen[str]) -> int:
        raise AssertionError(writer.communicate()[1])

"""The Chroma store when things go wrong: two processes, a kill, a full disk, broken files."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from conftest import ROOT, Record, Spawn

from acc.errors import StoreError, StoreLockedError
from acc.stores.chroma import ChromaArtifactStore
from acc.stores.chroma_collections import collection_name
from acc.stores.chroma_repair import ASIDE
from acc.stores.path_lock import HOLDER, PathLock

PRELUDE = """
import os, sys
from acc.errors import StoreError
from acc.store import Artifact
from acc.stores.chroma import ChromaArtifactStore

def record(seq, text=""):
    id_ = f"thread.main:{seq}"
    return Artifact(id=id_, thread="thread", branch="main", seq=seq, turn=seq, text=text)

def told(act):
    try:
        act()
        return "nothing"
    except StoreError as error:
        return str(error)

path = sys.argv[1]
"""


@contextmanager
def opened(path: Path) -> Iterator[ChromaArtifactStore]:
    with closing(ChromaArtifactStore.embedded(path)) as store:
        yield store


@contextmanager
def bare(path: Path) -> Iterator[Any]:
    client: Any = chromadb.PersistentClient(str(path), Settings(_env_file=None))
    with closing(client):
        yield client


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
        holder = spawn("from acc.stores.path_lock import *; import sys, time\n"
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
                with pytest.raises(StoreLockedError, match="another store of this process"):
                    ChromaArtifactStore.embedded(path)
        with opened(tmp_path / "link"):
            pass

    def test_a_holder_that_is_not_known(self, tmp_path: Path) -> None:
        lock = PathLock(tmp_path)
        (tmp_path / HOLDER).write_bytes(b"\xff")
        with pytest.raises(StoreLockedError, match="another process holds"):
            PathLock(tmp_path)
        lock.release()
        lock.release()

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
    store.close()
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print(told(lambda: ChromaArtifactStore.embedded(path)))
print(len(store.get("tenant", ["thread.main:1", "thread.main:2"])))
store.close()
"""
        )
        read, added, locked, found = output(program, tmp_path).splitlines()
        assert read == added
        assert read.startswith("the store was opened before the process forked")
        assert locked.startswith("another store of this process holds the path")
        assert found == "1"


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
        assert self._vectors(tmp_path) >= acknowledged

    @pytest.mark.parametrize(
        ("damage", "by"),
        [("empty", "a server"), ("cut", "us"), ("missing", "us"), ("late", "us"), ("moved", "us")],
    )
    def test_a_half_written_index_is_made_anew(
        self, tmp_path: Path, record: Record, damage: str, by: str
    ) -> None:
        records = [record(seq, f"text {seq}") for seq in range(250)]
        with opened(tmp_path) as store:
            store.add("tenant", records)
        (index,) = {path.parent for path in tmp_path.glob("*/header.bin")}
        self._damage(index, damage)
        if by == "us":
            (tmp_path / HOLDER).write_text("999999\n")
        with opened(tmp_path) as store:
            assert store.get("tenant", [one.id for one in records]) == records
            store.add("tenant", [record(999, "after")])
            assert store.get("tenant", ["thread.main:999"]) == [record(999, "after")]
        assert not list(tmp_path.glob(f"*{ASIDE}"))
        assert self._vectors(tmp_path) == 251

    def test_a_copied_index_is_let_be(self, tmp_path: Path, record: Record) -> None:
        with opened(tmp_path) as store:
            store.add("tenant", [record(seq) for seq in range(250)])
        (index,) = {path.parent for path in tmp_path.glob("*/header.bin")}
        ids = index / "index_metadata.pickle"
        os.utime(ids, (1, 1))
        with opened(tmp_path):
            assert ids.stat().st_mtime == 1

    def test_a_kill_before_the_first_table_is_nothing(self, tmp_path: Path) -> None:
        sqlite3.connect(tmp_path / "chroma.sqlite3").close()
        (tmp_path / "chroma.sqlite3").touch()
        (tmp_path / HOLDER).write_text("999999\n")
        with opened(tmp_path) as store:
            assert store.get("tenant", ["1"]) == []

    @staticmethod
    def _damage(index: Path, damage: str) -> None:
        ids = index / "index_metadata.pickle"
        if damage == "empty":
            os.truncate(ids, 0)
        elif damage == "cut":
            os.truncate(ids, ids.stat().st_size // 2)
        elif damage == "missing":
            ids.unlink()
        elif damage == "late":
            (index / "link_lists.bin").write_bytes(os.urandom(1000))
            later = ids.stat().st_mtime_ns + 1_000_000
            os.utime(index / "link_lists.bin", ns=(later, later))
        else:
            index.rename(index.with_name(f"{index.name}{ASIDE}"))

    @staticmethod
    def _vectors(path: Path) -> int:
        with bare(path) as client:
            collection = client.get_collection(collection_name("tenant"), None)
            return len(collection.get(include=["embeddings"])["embeddings"])

    @staticmethod
    def _why(writer: subprocess.Popen[str]) -> int:
        raise AssertionError(writer.communicate()[1])


@pytest.fixture
def own_mounts() -> list[str]:
    """Starts a process whose mounts nobody else sees, and which are gone when it ends."""
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no mount namespaces here: a full and a read-only disk cannot be had")
    return command


class TestDisk:
    def test_a_path_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for path in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(StoreError, match="the path is not a directory"):
                ChromaArtifactStore.embedded(path)

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        for killed in (False, True):
            (tmp_path / "chroma.sqlite3").write_bytes(b"no database " * 1000)
            if killed:
                (tmp_path / HOLDER).write_text("999999\n")
            with pytest.raises(StoreError, match="the files of the store are damaged"):
                ChromaArtifactStore.embedded(tmp_path)
        (tmp_path / "chroma.sqlite3").unlink()
        with opened(tmp_path) as store:  # nothing of the failure stays in the process
            assert store.get("tenant", ["1"]) == []

    def test_a_database_cut_short(self, tmp_path: Path, record: Record) -> None:
        with opened(tmp_path) as store:
            store.add("tenant", [record(seq, "x" * 2000) for seq in range(250)])
        os.truncate(tmp_path / "chroma.sqlite3", 200_000)
        with pytest.raises(StoreError, match="damaged"):
            self._use(tmp_path, record)

    def test_an_index_that_cannot_be_read(self, tmp_path: Path, record: Record) -> None:
        with opened(tmp_path) as store:
            store.add("tenant", [record(seq) for seq in range(250)])
        (ids,) = tmp_path.glob("*/index_metadata.pickle")
        ids.write_bytes(b"junk.")
        with pytest.raises(StoreError, match="damaged"):
            self._use(tmp_path, record)

    @staticmethod
    def _use(path: Path, record: Record) -> None:
        with opened(path) as store:
            store.get("tenant", ["thread.main:1"])
            store.add("tenant", [record(1000)])

    def test_a_file_size_limit(self, tmp_path: Path, output: Callable[..., str]) -> None:
        program = (
            PRELUDE
            + """
import resource
store = ChromaArtifactStore.embedded(path)
store.add("tenant", [record(0)])
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
for seq in range(1, 2000, 20):
    trouble = told(lambda: store.add("tenant", [record(seq + i, "x" * 15000) for i in range(20)]))
    if trouble != "nothing":
        break
print(trouble)
store.close()
"""
        )
        printed = output(program, tmp_path)
        assert len(printed.splitlines()) == 1
        assert "To mend: " in printed

    def test_a_full_and_a_read_only_disk(self, tmp_path: Path, own_mounts: list[str]) -> None:
        program = (
            PRELUDE
            + """
import subprocess, time
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", path], check=True)
with open(path + "/filler", "wb") as filler:
    filler.write(bytes(3 << 20))
store = ChromaArtifactStore.embedded(path)
kept = []
for seq in range(400):
    trouble = told(lambda: store.add("tenant", [record(seq, "x" * 15000)]))
    if trouble != "nothing":
        break
    kept.append(record(seq, "x" * 15000))
print(trouble)
os.remove(path + "/filler")
kept.append(record(seq, "x" * 15000))
store.add("tenant", kept[-1:])
for seq in range(1000, 1060):  # without a new client, Chroma hangs in one of these
    store.add("tenant", [record(seq)])
store.close()
store = ChromaArtifactStore.embedded(path)
print(len(kept) > 20 and store.get("tenant", [one.id for one in kept]) == kept)
store.close()
for _ in range(200):  # Chroma lets go of its files a moment after the close
    remount = ["mount", "-o", "remount,ro", path]
    if subprocess.run(remount, stderr=subprocess.DEVNULL).returncode == 0:
        break
    time.sleep(0.02)
print(told(lambda: ChromaArtifactStore.embedded(path)))
"""
        )
        environment = {**os.environ, "PYTHONPATH": ROOT}
        done = subprocess.run(
            [*own_mounts, sys.executable, "-c", program, str(tmp_path)],
            capture_output=True, text=True, timeout=60, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        full, kept, read_only = done.stdout.splitlines()
        assert full.startswith("the disk is full")
        assert kept == "True"
        assert read_only.startswith("the path cannot be written")

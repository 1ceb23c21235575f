"""The Chroma store on a bad disk: full, read-only, in the way, damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from store_processes import PRELUDE, ROOT, Record, opened

from acc.errors import StoreError
from acc.stores.chroma.embedded import HOLDER
from acc.stores.chroma.store import ChromaArtifactStore


@pytest.fixture
def own_mounts() -> list[str]:
    """Starts a process whose mounts nobody else sees, and which are gone when it ends."""
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no mount namespaces here: a full and a read-only disk cannot be had")
    return command


@pytest.mark.slow
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
        assert "To fix: " in printed

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

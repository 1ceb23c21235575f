"""A copy of a memory while another process writes to it: nothing acknowledged before it is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acc import InMemoryStore, MemoryController, Turn
from acc.cli import run
from acc.errors import ConfigurationError, ConflictError, InputError, StoreError
from acc.evidence.backup import back_up
from acc.evidence.marks import FolderMarks
from acc.memory import whose

WRITER = """
import sys
from acc import MemoryController, Turn
with MemoryController.open(sys.argv[1]) as memory:
    states = {}
    for turn in range(10_000):
        for thread in ("t", "u"):
            said = Turn.said(f"Why is {thread}-{turn} slow?")
            states[thread] = memory.step(states.get(thread), said, thread=thread).state
        print(turn + 1, flush=True)
"""


def restored(copy: Path, thread: str) -> tuple[int, int]:
    """Step once; return the turn before the step, and the number of the user's messages."""
    with MemoryController.open(copy) as memory:
        last = memory.last_state(thread)
        assert last is not None
        done = memory.step(last, Turn.said("And now?"), thread=thread)
        branch = memory._log_of(whose(thread)).branch(done.state.branch)
        words = [a for a in branch.artifacts if a.kind == "observation"]
        return last.turn, len(words) - 1


@pytest.mark.slow
def test_a_copy_while_another_process_writes_is_complete(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(memory)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    copies: list[tuple[Path, int]] = []
    try:
        for copy in range(4):
            for _ in range(3):
                acknowledged = int(writer.stdout.readline())
            to = tmp_path / f"copy {copy}"
            assert run(["backup", str(to), "--memory", str(memory)]) == 0
            copies.append((to, acknowledged))
        assert writer.poll() is None
        assert int(writer.stdout.readline()) > 0
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    for to, acknowledged in copies:
        assert run(["verify", "--memory", str(to)]) == 0
        for thread in ("t", "u"):
            turn, heard = restored(to, thread)
            assert turn >= acknowledged
            assert heard in (turn, turn + 1)  # a turn that had begun is taken up
        assert run(["doctor", "--repair", "--memory", str(to)]) == 0


def test_a_memory_copies_itself_and_goes_on(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "memory", audit=tmp_path / "logs") as memory:
        state = memory.step(None, Turn.said("Never restart nginx."), thread="t").state
        copied = memory.back_up(tmp_path / "copy")
        assert copied.logs == 1
        memory.step(state, Turn.said("On."), thread="t")
    names = {p.name for p in (tmp_path / "copy").iterdir()}
    assert names == {"acc.key", "audit", "chroma.sqlite3"}
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    with MemoryController.open(tmp_path / "copy") as memory:
        assert memory.last_state("t") == state


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "memory") as memory:
        memory.step(None, Turn.said("Hello."), thread="t")
        (tmp_path / "there").mkdir()
        with pytest.raises(InputError, match="exists"):
            memory.back_up(tmp_path / "there")
        mark = tmp_path / "memory" / "erasure.json"
        FolderMarks(mark.parent).write(mark.name, {})
        with pytest.raises(ConflictError, match="an erasure was interrupted"):
            memory.back_up(tmp_path / "copy")
        mark.unlink()
    with pytest.raises(ConfigurationError, match="not in a folder"):
        MemoryController(InMemoryStore()).back_up(tmp_path / "copy")
    assert run(["backup", str(tmp_path / "copy"), "--memory", str(tmp_path / "none")]) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["memory", "there"]


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "memory") as memory:
        memory.step(None, Turn.said("Hello."), thread="t")
    database = tmp_path / "memory" / "chroma.sqlite3"
    content = bytearray(database.read_bytes())
    for page in range(8 * 4096, len(content), 4096):
        content[page : page + 64] = b"\xff" * 64
    database.write_bytes(content)
    assert run(["backup", str(tmp_path / "copy"), "--memory", str(tmp_path / "memory")]) == 1
    assert not (tmp_path / "copy").exists()
    with pytest.raises(StoreError):
        back_up(tmp_path / "memory", None, tmp_path / "copy")

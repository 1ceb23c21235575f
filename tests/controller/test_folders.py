"""Files that hold what was said are their owner's alone, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.errors import InputError
from acc.folders import refuse_memorys
from acc.turn.turn import Turn

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.fixture(autouse=True)
def permissive() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def readable(folder: Path) -> list[str]:
    """Paths at and below ``folder`` that others may read, write or enter, but those in a folder that is closed."""
    found = []
    for path, folders, files in os.walk(folder):
        if Path(path).stat().st_mode & 0o077:
            found.append(path)
        else:
            folders.clear()
            continue
        found += [f"{path}/{file}" for file in files if Path(path, file).stat().st_mode & 0o077]
    return [str(Path(each).relative_to(folder.parent)) for each in found]


def loose(folder: Path) -> list[str]:
    """Names of files and folders at and below ``folder`` whose own mode lets others in."""
    paths = [folder, *folder.rglob("*")]
    return sorted(path.name for path in paths if path.stat().st_mode & 0o077)


def filled(folder: Path, turns: int = 2) -> None:
    state = None
    with MemoryController.open(folder) as memory:
        for number in range(turns):
            state = memory.step(state, Turn.said(f"My pin is {number}."), thread="t").state


def test_nobody_else_reads_a_memory(tmp_path: Path) -> None:
    filled(tmp_path / "deep" / "m", turns=5)
    assert readable(tmp_path / "deep") == []
    own = [tmp_path / "deep", tmp_path / "deep" / "m", *(tmp_path / "deep" / "m").iterdir()]
    assert [path for path in own if path.stat().st_mode & 0o077] == []


def test_a_copy_of_it_is_private_too(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "m", store="none") as memory:
        memory.step(None, Turn.said("My pin is 1234."), thread="t")
        copy = memory.journal.backup(tmp_path / "copies" / "one.sqlite3")
    assert loose(tmp_path / "copies") == []
    assert copy.stat().st_size


def test_an_export_is_private(tmp_path: Path) -> None:
    filled(tmp_path / "m")
    (tmp_path / "out").mkdir(mode=0o700)
    file = str(tmp_path / "out" / "e.jsonl")
    assert run(["export", file, "--memory", str(tmp_path / "m")]) == 0
    assert loose(tmp_path / "out") == []
    assert len(list((tmp_path / "out").iterdir())) >= 1


def test_no_output_overwrites_a_file_of_a_memory(tmp_path: Path) -> None:
    filled(tmp_path / "m")
    files = [path for path in (tmp_path / "m").rglob("*") if path.is_file()]
    assert len(files) > 2
    for file in files:
        with pytest.raises(InputError, match="overwrite a file of a memory"):
            refuse_memorys(file)
    refuse_memorys(tmp_path / "m" / "not_there.jsonl")

"""Files that hold what was said are their owner's alone, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acc import MemoryController, Turn
from acc.cli import run
from acc.folders import opened_private, private_folder, tighten

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.fixture(autouse=True)
def permissive() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


INDEX = {"header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle"}


def readable(folder: Path) -> list[str]:
    """Paths at and below ``folder`` that others may read, write or enter."""
    paths = [folder, *folder.rglob("*")]
    return sorted(str(p.relative_to(folder.parent)) for p in paths if p.stat().st_mode & 0o077)


def filled(folder: Path, turns: int = 2) -> None:
    state = None
    with MemoryController.open(folder) as memory:
        for number in range(turns):
            state = memory.step(state, Turn.said(f"My pin is {number}."), thread="t").state


def test_nobody_else_reads_a_memory(tmp_path: Path) -> None:
    filled(tmp_path / "deep" / "m", turns=30)
    assert readable(tmp_path / "deep") == []


def test_nobody_else_reads_it_while_it_is_open(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "m") as memory:
        memory.step(None, Turn.said("My pin is 1234."), thread="t")
        assert (tmp_path / "m").stat().st_mode & 0o777 == 0o700
        # Files of an index may be loose until the store is closed, in folders that nobody else enters.
        loose = [p for p in (tmp_path / "m").rglob("*") if p.stat().st_mode & 0o077]
        assert {p.parent.stat().st_mode & 0o077 for p in loose} <= {0}
        assert {p.name for p in loose} <= INDEX


def test_a_folder_from_before_is_tightened_when_it_is_opened(tmp_path: Path) -> None:
    filled(tmp_path / "m", turns=30)
    for path in [tmp_path / "m", *(tmp_path / "m").rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    filled(tmp_path / "m", turns=1)
    assert readable(tmp_path / "m") == []


def test_a_folder_that_holds_other_things_keeps_its_mode_and_they_theirs(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir(mode=0o755)
    (tmp_path / "project" / "page.html").touch(mode=0o644)
    filled(tmp_path / "project")
    assert readable(tmp_path / "project") == ["project", "project/page.html"]


def test_audit_logs_elsewhere_are_private_too(tmp_path: Path) -> None:
    audit = tmp_path / "logs"
    audit.mkdir(mode=0o755)
    (audit / "old.jsonl").touch(mode=0o644)
    with MemoryController.open(tmp_path / "m", audit=audit) as memory:
        memory.step(None, Turn.said("My pin is 1234."), thread="t")
    assert readable(tmp_path / "m") + readable(audit) == []


@pytest.mark.parametrize(
    "command",
    [
        ["replay", "{in}", "--memory", "{m}2", "--report", "{out}/r.html", "--json", "{out}/j.jsonl"],
        ["export", "{out}/e.jsonl", "--memory", "{m}"],
    ],
)  # fmt: skip
def test_outputs_are_private(tmp_path: Path, command: list[str]) -> None:
    filled(tmp_path / "m")
    said = tmp_path / "in.json"
    said.write_text('[{"role": "user", "content": "My pin is 1234."}]')
    (tmp_path / "out").mkdir(mode=0o700)
    named = {"{in}": str(said), "{m}": str(tmp_path / "m"), "{out}": str(tmp_path / "out")}
    for old, new in named.items():
        command = [argument.replace(old, new) for argument in command]
    assert run(command) == 0
    assert readable(tmp_path / "out") == []
    assert len(list((tmp_path / "out").iterdir())) >= 1


def test_a_file_system_without_modes_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("not permitted")

    filled(tmp_path / "m")
    (tmp_path / "m").chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refused)
    filled(tmp_path / "m", turns=1)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "others").touch(mode=0o644)
    (tmp_path / "link").symlink_to(tmp_path / "others")
    tighten([tmp_path / "link", tmp_path / "absent"])
    assert (tmp_path / "others").stat().st_mode & 0o777 == 0o644


def test_folder_and_file_are_made_private(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    with opened_private(folder / "f", "w") as file:
        file.write("x")
    assert readable(tmp_path / "a") == []
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "file")

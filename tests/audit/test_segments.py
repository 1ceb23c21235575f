"""The segments of an audit log: nothing is lost or doubled, whenever the process is killed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acc import MemoryController, Turn
from acc.audit import segments
from acc.audit.folder import FolderLogs
from acc.audit.redaction import Traces
from acc.errors import AuditError
from acc.evidence.backup import back_up
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target, plan_erasure
from acc.testing import check_audit_store

NAME = "log.jsonl"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LONGEST", 64)


def line(number: int) -> bytes:
    return json.dumps({"number": number, "text": "words " * 4}).encode() + b"\n"


def written(folder: Path, count: int) -> list[bytes]:
    logs, end = FolderLogs(folder, sync=False), None
    lines = [line(number) for number in range(count)]
    for each in lines:
        end = logs.append(NAME, each, end)
    return lines


def read(folder: Path) -> list[bytes]:
    logs = FolderLogs(folder)
    found = list(logs.lines(NAME))
    assert list(logs.newest_first(NAME)) == found[::-1]
    return found


@pytest.mark.parametrize("sync", [True, False])
def test_a_folder_with_segments_keeps_the_promises(tmp_path: Path, sync: bool) -> None:
    check_audit_store(lambda: FolderLogs(tmp_path / "audit", sync=sync))


def test_old_lines_are_in_segments_and_all_are_read_in_order(tmp_path: Path) -> None:
    lines = written(tmp_path, 9)
    assert len(segments.files_of(tmp_path / NAME)) > 2
    assert read(tmp_path) == lines
    assert FolderLogs(tmp_path).names() == [NAME]
    assert not list(tmp_path.rglob("*.half"))
    assert {p.stat().st_mode & 0o77 for p in tmp_path.rglob("*")} == {0}


class Killed(BaseException):
    pass


def killing(monkeypatch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Let the process "die" before the change of files number ``at``; return how many there were."""
    count = 0

    def before(function: Callable[..., object]) -> Callable[..., object]:
        def called(*args: object, **kwargs: object) -> object:
            nonlocal count
            count += 1
            if count == at:
                raise Killed
            return function(*args, **kwargs)

        return called

    for owner, name in (
        (os, "replace"), (Path, "replace"), (Path, "unlink"), (shutil, "rmtree"), (segments, "opened_private"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, before(getattr(owner, name)))
    return lambda: count


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(count=st.integers(1, 8), at=st.integers(1, 12), rewrites=st.booleans())
def test_a_kill_at_any_moment_loses_and_doubles_nothing(
    tmp_path_factory: pytest.TempPathFactory, count: int, at: int, rewrites: bool
) -> None:
    folder = tmp_path_factory.mktemp("audit")
    before = written(folder, count)
    after = [b"x" + each for each in before] if rewrites else [*before, line(count)]
    logs = FolderLogs(folder, sync=False)
    with pytest.MonkeyPatch.context() as patched:
        killing(patched, at)
        try:
            if rewrites:
                logs.rewrite(NAME, lambda: after)
            else:
                logs.append(NAME, line(count), logs.end(NAME))
        except Killed:
            pass
    found = read(folder)
    assert found in (before, after)
    logs = FolderLogs(folder, sync=False)
    logs.append(NAME, line(99), logs.end(NAME))
    assert read(folder) == [*found, line(99)]
    logs.rewrite(NAME, lambda: None)
    assert sum(map(len, map(_lines_of, segments.files_of(folder / NAME)))) == len(found) + 1


def _lines_of(path: Path) -> list[bytes]:
    with segments.readable(path) as file:
        return list(file)


def test_a_reader_is_not_disturbed_by_a_rotation(tmp_path: Path) -> None:
    lines = written(tmp_path, 3)
    logs = FolderLogs(tmp_path, sync=False)
    readers: list[Iterator[bytes]] = [logs.lines(NAME), logs.newest_first(NAME)]
    firsts = [next(each) for each in readers]
    end = logs.end(NAME)
    for number in range(3, 9):
        end = logs.append(NAME, line(number), end)
    assert [firsts[0], *readers[0]][: len(lines)] == lines
    assert [firsts[1], *readers[1]] == lines[::-1]


def test_a_damaged_segment_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    written(tmp_path, 6)
    first = segments.files_of(tmp_path / NAME)[0]
    whole = first.read_bytes()
    for damaged in (whole[:-9], b"not gzip", whole[:12] + b"\xff\xff\xff" + whole[15:]):
        first.write_bytes(damaged)
        with pytest.raises(AuditError):
            list(FolderLogs(tmp_path).lines(NAME))
    first.write_bytes(whole)
    (tmp_path / NAME).unlink()
    with pytest.raises(AuditError, match="older records are there"):
        FolderLogs(tmp_path).append(NAME, line(1), None)


def test_a_memory_with_segments_verifies_is_backed_up_and_forgets(tmp_path: Path) -> None:
    folder, secret = tmp_path / "memory", "Her file is MRN-88121-Z in Zollikon."
    with MemoryController.open(folder) as memory:
        state = None
        for words in ("The host is bill-db-7.", secret, "Is it slow?", "And now?"):
            state = memory.step(state, Turn.said(words), thread="t").state
        assert list((folder / "audit").rglob("*.gz"))
        traces = Traces([secret])
        assert list(traces.in_files((folder / "audit").rglob("*.gz")))
        back_up(folder, folder / "audit", tmp_path / "copy")
        plan = plan_erasure(
            memory.artifacts, memory.settings.audit, Target(thread="t", artifact="u2")
        )
        assert Erasure(memory).erase(plan).proved
        assert not list(traces.in_files(p for p in folder.rglob("*") if p.is_file()))
        state = memory.last_state("t")
        assert memory.step(state, Turn.said("Go on."), thread="t").state.turn == 5
    with MemoryController.open(tmp_path / "copy") as memory:
        assert memory.last_state("t") is not None
        assert len(memory.history("t").messages) == 4

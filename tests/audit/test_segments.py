"""The segments of an audit log: nothing is lost or doubled, whenever the process is killed."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acc import MemoryController, Turn, folders
from acc.audit import segments
from acc.audit.folder import FolderLogs
from acc.audit.redaction import Traces
from acc.errors import AuditError, StoreError
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


@pytest.mark.parametrize("sync", [pytest.param(True, marks=pytest.mark.slow), False])
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
        (os, "replace"), (Path, "replace"), (Path, "unlink"), (shutil, "rmtree"), (folders, "opened_private"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, before(getattr(owner, name)))
    return lambda: count


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=3 * settings().max_examples,
)
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


DAMAGES: dict[str, Callable[[Path], object]] = {
    "leads to nothing": lambda path: (path.unlink(), path.symlink_to(path.parent / "nothing")),
    "leads elsewhere": lambda path: path.symlink_to(path.rename(path.parents[2] / "elsewhere")),
    "is a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "is a folder": lambda path: (path.unlink(), path.mkdir()),
    "is empty": lambda path: path.write_bytes(b""),
    "is missing": lambda path: path.unlink(),
    "misses a line feed": lambda path: path.write_bytes(gzip.compress(line(1)[:-1])),
    "expands without end": lambda path: path.write_bytes(gzip.compress(b"0" * (1 << 20))),
    "has lines without end": lambda path: path.write_bytes(gzip.compress(b"0\n" * (1 << 20))),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", [1, 2])
def test_a_segment_that_is_no_whole_file_is_an_error_and_nothing_is_overwritten(
    damage: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MOST", 1 << 16)
    folder = tmp_path / "audit"
    written(folder, 6)
    logs = FolderLogs(folder, sync=False)
    DAMAGES[damage](folder / f"{NAME}.d" / f"{number:06}.gz")
    before = {p: p.read_bytes() for p in folder.rglob("*.gz") if p.is_file() and not p.is_symlink()}
    for attempt in (
        lambda: list(logs.lines(NAME)),
        lambda: list(logs.newest_first(NAME)),
        lambda: logs.rewrite(NAME, lambda: list(logs.lines(NAME))),
    ):
        with pytest.raises(AuditError, match="segment of the audit log is damaged"):
            attempt()
    with suppress(AuditError):  # it reads only the first line of each segment
        logs.append(NAME, line(7), logs.end(NAME))
    assert all(path.read_bytes() == data for path, data in before.items())


def test_other_files_beside_the_segments_are_none(tmp_path: Path) -> None:
    lines = written(tmp_path, 4)
    for name in ("._000001.gz", "notes.gz", "000001.gz.bak"):
        (tmp_path / f"{NAME}.d" / name).write_bytes(b"words of a stranger\n")
    assert read(tmp_path) == lines
    logs = FolderLogs(tmp_path, sync=False)
    logs.append(NAME, line(4), logs.end(NAME))
    assert read(tmp_path) == [*lines, line(4)]


def test_a_kill_while_segments_are_deleted_doubles_nothing(tmp_path: Path) -> None:
    lines = written(tmp_path, 6)
    with pytest.MonkeyPatch.context() as patched:
        killing(patched, 4)  # two files are replaced or opened, and one segment is gone
        with pytest.raises(Killed):
            segments.join(tmp_path / NAME)
    assert 0 < len(list(tmp_path.rglob("*.gz"))) < 5
    assert read(tmp_path) == lines


def test_a_large_log_becomes_segments_that_readers_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MOST", 256)
    lines = [line(number) for number in range(40)]
    (tmp_path / NAME).write_bytes(b"".join(lines))
    logs = FolderLogs(tmp_path, sync=False)
    logs.append(NAME, long := b"x" * 300 + b"\n", logs.end(NAME))
    logs.append(NAME, line(41), logs.end(NAME))
    logs.append(NAME, line(42), logs.end(NAME))
    assert len(list(tmp_path.rglob("*.gz"))) > 10
    assert read(tmp_path) == [*lines, long, line(41), line(42)]


@pytest.mark.parametrize("what", [NAME, f"{NAME}.d"])
def test_a_log_behind_a_link_is_read_and_not_erased(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    lines = written(folder, 4)
    (folder / what).symlink_to((folder / what).rename(tmp_path / "elsewhere"))
    assert read(folder) == lines
    logs = FolderLogs(folder, sync=False)
    for erase in (lambda: logs.rewrite(NAME, list), lambda: logs.delete(NAME)):
        with pytest.raises(AuditError, match="is a link"):
            erase()
    assert read(folder) == lines


def test_a_pipe_is_an_error_and_nobody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    for read_it in (FolderLogs(tmp_path).lines, FolderLogs(tmp_path).newest_first):
        with pytest.raises(AuditError, match="a pipe"):
            next(read_it(NAME))


def test_a_long_line_is_copied_a_few_times_and_not_once_for_each_part(tmp_path: Path) -> None:
    long = b"x" * (segments._CHUNK * 400)
    lines = [line(1), long + b"\n", line(2), b"\n", long[:-5] + b"\n", b"end"]
    (tmp_path / NAME).write_bytes(b"".join(lines))

    started = time.process_time()
    with (tmp_path / NAME).open("rb") as file:
        for found in segments._tail_first(file):
            assert found == lines.pop()
    assert lines == []
    assert time.process_time() - started < 2  # it took more than 10 seconds


def test_a_search_names_the_damaged_segment(tmp_path: Path) -> None:
    written(tmp_path, 4)
    first = segments.files_of(tmp_path / NAME)[0]
    for damaged in (first.read_bytes()[:-9], b"not gzip"):
        first.write_bytes(damaged)
        with pytest.raises(StoreError, match="cannot be searched"):
            list(Traces(["a text to look for"]).in_files([first]))


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

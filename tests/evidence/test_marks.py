"""Marks of work under way: in a folder and in a place for audit logs they do the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acc import InMemoryStore, MemoryController, Settings
from acc.audit.folder import FolderLogs
from acc.audit.medium import End
from acc.errors import StoreError
from acc.evidence.marks import DatabaseMarks, FolderMarks, Marks, NoMarks, marks_of

SAID = {"text": "Her file is MRN-88121-Z \ud800 \u2028", "ids": [1, 2]}


@pytest.fixture(params=["folder", "database"])
def marks(request: pytest.FixtureRequest, tmp_path: Path) -> Marks:
    if request.param == "folder":
        return FolderMarks(tmp_path)
    return DatabaseMarks(FolderLogs(tmp_path / "audit"))


def test_a_mark_is_read_replaced_and_removed_without_a_trace(marks: Marks, tmp_path: Path) -> None:
    assert (marks.names(), marks.read("erasure.json")) == ([], None)
    marks.remove("erasure.json")
    marks.write("erasure.json", {"first": 1})
    marks.write("erasure.json", SAID)
    marks.write("prune-x.json", {})
    assert marks.names() == ["erasure.json", "prune-x.json"]
    assert (marks.read("erasure.json"), marks.read("prune-x.json")) == (SAID, {})
    marks.remove("erasure.json")
    assert (marks.names(), marks.read("erasure.json")) == (["prune-x.json"], None)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and b"MRN-88121" in p.read_bytes()]
    marks.remove("prune-x.json")
    assert marks.names() == []


def test_a_receipt_of_one_erasure_is_kept_once(marks: Marks, tmp_path: Path) -> None:
    for receipt in (
        {"id": "abc", "records": 2},
        {"id": "abc", "records": 0},
        {"id": "abc", "checkpoints": 1},
        {"id": "def", "records": 1},
    ):
        marks.append_receipt(receipt)
    (file,) = tmp_path.rglob("erasures*")
    assert len(file.read_bytes().splitlines()) == 3
    assert marks.names() == []


def test_receipts_that_race_are_all_kept(tmp_path: Path) -> None:
    class Raced(FolderLogs):
        """Another worker writes its receipt after each end that this one has read."""

        others = 0

        def append(self, name: str, line: bytes, after: End | None) -> End:
            if self.others < 3:
                self.others += 1
                FolderLogs(self.folder).append(name, b'{"id": "o%d"}\n' % self.others, after)
            return super().append(name, line, after)

    store = Raced(tmp_path)
    DatabaseMarks(store).append_receipt({"id": "abc", "checkpoints": 1})
    assert [json.loads(line)["id"] for line in store.lines("erasures")] == ["o1", "o2", "o3", "abc"]


def test_a_receipt_whose_answer_was_lost_is_written_once(tmp_path: Path) -> None:
    class Broken(FolderLogs):
        """The connection breaks after the first commit, and the second attempt finds another end."""

        def append(self, name: str, line: bytes, after: End | None) -> End:
            super().append(name, line, after)
            return super().append(name, line, after)

    store = Broken(tmp_path)
    DatabaseMarks(store).append_receipt({"id": "abc", "checkpoints": 1})
    assert len(list(store.lines("erasures"))) == 1


def test_a_place_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for marks in (FolderMarks(tmp_path / "file"), DatabaseMarks(FolderLogs(tmp_path / "file"))):
        with pytest.raises(StoreError, match="note of the work"):
            marks.write("erasure.json", {})


def test_a_memory_without_files_has_no_marks(tmp_path: Path) -> None:
    assert isinstance(marks_of(MemoryController(InMemoryStore())), NoMarks)
    audited = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit"))
    assert isinstance(marks_of(audited), FolderMarks)


def test_a_folder_that_refuses_is_a_store_error_in_every_method(tmp_path: Path) -> None:
    marks = FolderMarks(tmp_path)
    marks.write("erasure.json", {})
    (tmp_path / ".erasure.json.half" / "in the way").mkdir(parents=True)
    (tmp_path / "erasures.jsonl").mkdir()
    for attempt in (
        lambda: marks.write("erasure.json", {}),
        lambda: marks.read("erasure.json"),
        lambda: marks.remove("erasure.json"),
        lambda: marks.append_receipt({"id": "abc"}),
    ):
        with pytest.raises(StoreError, match="note of"):
            attempt()


def test_a_file_behind_a_link_is_not_overwritten(tmp_path: Path) -> None:
    (other := tmp_path / "other").write_text("words")
    marks = FolderMarks(tmp_path)
    for name in (".erasure.json.half", "erasure.json"):
        (tmp_path / name).symlink_to(other)
    marks.remove("erasure.json")
    assert (marks.read("erasure.json"), other.read_text()) == (None, "words")

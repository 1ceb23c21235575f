"""The logs as the inspector reads them: beside their writer, one record at a time, whatever is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspected import HOSTILE, SAID, many_turns, only_log, remembered

import acc.inspector.logs as logs_module
from acc import Turn
from acc.audit import segments
from acc.audit.folder import FolderLogs
from acc.errors import InputError
from acc.inspector.logs import Logs
from acc.inspector.summary import entry_of, words_of


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FolderLogs(folder).lines(only_log(folder))]


def test_the_entries_say_what_the_records_hold(tmp_path: Path) -> None:
    remembered(tmp_path)
    index = Logs(tmp_path).index(only_log(tmp_path))
    assert [entry["turn"] for entry in index.entries] == [1, 2, 3]
    assert [entry["prior"] for entry in index.entries] == [None, 0, 1]
    assert not any("unchained" in entry for entry in index.entries)
    for entry, record in zip(index.entries, records(tmp_path), strict=True):
        assert sum(entry["slots"].values()) == entry["tokens"] == record["tokens"]
        assert entry["ms"].keys() == {"store", "recall", "qualify", "compress", "commit"}
        assert entry["digest"] == record["digest"]
    last = [change["change"] for change in records(tmp_path)[2]["diff"]]
    assert index.entries[2]["removed"] == last.count("removed") > 0
    place = index.place_of("u1", 2)
    assert place is not None
    assert (place.position, place.excerpt) == (0, SAID[0])


def test_only_what_is_new_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = remembered(tmp_path)
    logs, name = Logs(tmp_path), only_log(tmp_path)
    first = logs.index(name)
    read: list[bytes] = []
    monkeypatch.setattr(
        logs_module, "parsed", lambda line, _: read.append(line) or json.loads(line)
    )
    assert logs.index(name) is first
    assert read == []
    memory.step(memory.last_state("ops"), Turn.said("Is node-8 ready?"), thread="ops")
    assert [entry["turn"] for entry in logs.index(name).entries] == [1, 2, 3, 4]
    assert len(read) == 1
    assert [entry["prior"] for entry in logs.index(name).entries] == [None, 0, 1, 2]


def test_a_log_that_is_cut_into_segments_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remembered(tmp_path)
    logs, name = Logs(tmp_path), only_log(tmp_path)
    first = logs.index(name)
    monkeypatch.setattr(segments, "LONGEST", 1)
    for words in ("Is node-8 ready?", "Is node-9 ready?"):
        memory.step(memory.last_state("ops"), Turn.said(words), thread="ops")
    assert (tmp_path / f"{name}.d").is_dir()
    assert logs.index(name) is first
    assert [entry["turn"] for entry in first.entries] == [1, 2, 3, 4, 5]
    assert logs.record(name, first.entries[0]["digest"])["state"]["turn"] == 1


def test_the_details_of_a_turn_read_one_record_of_a_thousand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(tmp_path)
    name = only_log(tmp_path)
    path = tmp_path / name
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(many_turns(lines, 1_000)))
    logs = Logs(tmp_path)
    entries = logs.index(name).entries
    assert len(entries) == 1_000
    assert logs.index(name).lineage(999) == list(range(999, -1, -1))
    # What a page has to load to show the list is small beside the log.
    assert len(json.dumps(entries)) < path.stat().st_size / 4
    read: list[bytes] = []
    monkeypatch.setattr(
        logs_module, "parsed", lambda line, _: read.append(line) or json.loads(line)
    )
    assert logs.record(name, entries[3]["digest"])["state"]["turn"] == 4
    assert len(read) == 1


def test_a_fork_leaves_the_other_branch_out_of_its_past(tmp_path: Path) -> None:
    memory = remembered(tmp_path, SAID[:1])
    first = memory.last_state("ops")
    memory.step(first, Turn.said("The limit is 40 pods."), thread="ops")
    memory.step(first, Turn.said("The limit is 50 pods."), thread="ops")
    index = Logs(tmp_path).index(only_log(tmp_path))
    assert [entry["prior"] for entry in index.entries] == [None, 0, 0]
    assert index.lineage(2) == [2, 0]
    found = [index.place_of("u2", position) for position in (1, 2)]
    assert [place.excerpt for place in found if place] == [
        "The limit is 40 pods.",
        "The limit is 50 pods.",
    ]


def test_a_record_under_way_is_left_out_until_it_is_whole(tmp_path: Path) -> None:
    remembered(tmp_path)
    name = only_log(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-40])
    logs = Logs(tmp_path)
    assert len(logs.index(name).entries) == 2
    assert logs.threads()[0]["turn"] == 2
    with (tmp_path / name).open("ab") as file:
        file.write(whole[-40:])
    assert len(logs.index(name).entries) == 3
    assert logs.index(name).faults == []


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    remembered(tmp_path)
    name = only_log(tmp_path)
    lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
    (tmp_path / name).write_bytes(lines[0] + b'{"state": 7}\n' + lines[2])
    logs = Logs(tmp_path)
    index = logs.index(name)
    assert [entry["turn"] for entry in index.entries] == [1, 3]
    assert index.entries[1]["unchained"]
    assert [fault.partition(":")[0] for fault in index.faults] == ["line 2"]
    (tmp_path / name).write_bytes(b"not a record\n")
    assert "not JSON" in logs.threads()[0]["fault"]


@pytest.mark.parametrize(
    "name", ["../secret.jsonl", "/etc/passwd", "", "none.jsonl", "ops.jsonl\x00"]
)
def test_only_a_log_of_the_memory_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text("{}\n")
    remembered(tmp_path / "audit")
    for read in (Logs(tmp_path / "audit").index, lambda n: Logs(tmp_path / "audit").record(n, "0")):
        with pytest.raises(InputError, match="no such audit log"):
            read(name)


def test_reading_takes_no_lock_and_writes_nothing(tmp_path: Path) -> None:
    memory = remembered(tmp_path / "audit")
    name = only_log(tmp_path / "audit")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    writer = FolderLogs(tmp_path / "audit")
    with writer.lock:  # as while a record is written
        logs = Logs(tmp_path / "audit")
        logs.threads()
        digest = logs.index(name).last
        logs.record(name, digest)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    assert memory.last_state("ops") is not None


def test_an_erased_thread_disappears(tmp_path: Path) -> None:
    remembered(tmp_path)
    logs, name = Logs(tmp_path), only_log(tmp_path)
    logs.index(name)
    (tmp_path / name).unlink()
    assert logs.threads() == []
    with pytest.raises(InputError):
        logs.index(name)


def every_kind_of_words() -> Iterator[dict[str, object]]:
    yield {
        "id": "c1",
        "sources": ["u1"],
        "trust": "user",
        "text": "a",
        "quote": "q",
        "kind": "limit",
    }
    yield {"id": "g1", "text": "a", "done": False, "touched": 3}
    yield {"id": "g1", "text": "a", "done": True, "turn": 1}


def test_words_are_those_that_the_agent_reads() -> None:
    assert [words_of(item) for item in every_kind_of_words()] == ["a", "a", "a done"]


def test_a_record_of_hostile_words_has_an_entry(tmp_path: Path) -> None:
    remembered(tmp_path, [HOSTILE, "A" * 200_000])
    for record in records(tmp_path):
        assert entry_of(record)["said"] > 0

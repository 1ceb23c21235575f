"""The journal as the inspector reads it: beside its writer, without writing, whatever is in it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers_inspector import (
    HOSTILE,
    OPS,
    SAID,
    altered,
    erased,
    forked,
    memory_in,
    remembered,
    threads_of,
)

from acc.errors import CompressionError, InputError
from acc.evidence.evidence import Evidence
from acc.inspector.commits import StateReader
from acc.inspector.threads import Branch, Threads, key_of, name_of
from acc.journal import Journal, ThreadKey
from acc.journal.opened import FILE
from acc.state.model import CompressedCognitiveState
from acc.state.tail import messages_of
from acc.turn.turn import Turn


def details(threads: Threads, branch: str = "main") -> Branch:
    return threads.branch(OPS, branch)


def listed(threads: Threads, branch: str = "main") -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = details(threads, branch).listed()["entries"]
    return entries


def test_the_list_says_what_the_commits_hold(tmp_path: Path) -> None:
    threads = threads_of(remembered(tmp_path))
    entries = listed(threads)
    assert [e["turn"] for e in entries if e["kind"] == "turn"] == [1, 2, 3]
    assert [entry["version"] for entry in entries] == list(range(1, len(entries) + 1))
    with Journal.open(tmp_path, reads_only=True) as journal:
        stored = list(journal.commits("ops"))
    for entry, commit in zip(entries, stored, strict=True):
        assert (entry["hash"], entry["fault"]) == (commit.hash, "")
        assert entry["tokens"] > 0
        assert entry["limit"] == 1_100
    first = entries[0]
    assert (first["added"], first["removed"], first["outcome"]) == (1, 0, "compressed")
    assert first["said"] == -(-len(SAID[0]) // 4)
    assert first["tail"] == first["said"]  # the last exchange stays, to be referred to


def test_a_turn_shows_what_was_said_what_the_agent_reads_and_why(tmp_path: Path) -> None:
    threads = threads_of(remembered(tmp_path))
    turn = details(threads).of(1)
    assert [(part["text"], part["channel"], part["ref"]) for part in turn["said"]] == [
        (SAID[0], "user", "u1")
    ]
    (rule,) = [item for item in turn["items"] if item["slot"] == "constraints"]
    assert rule["words"]["text"] == "Never restart db-1."
    assert "Never restart db-1." in turn["rendered"]
    assert turn["pinned"] == ["constraints", "goal_orientation"]
    assert [(part["ref"], part["text"], part["status"]) for part in turn["tail"]] == [
        ("u1", SAID[0], "read")
    ]
    (change,) = turn["changes"]
    assert (change["change"], change["words"]) == ("added", "Never restart db-1.")
    assert change["reasons"] == [{"reason": "added", "detail": ""}]
    assert turn["author"] == "keyless"


def test_later_words_and_the_claim_stand_beside_the_rule_with_the_verdict(tmp_path: Path) -> None:
    threads = threads_of(remembered(tmp_path))
    claimed, judged = (details(threads).of(version) for version in (3, 4))
    (rule,) = [item for item in claimed["items"] if item["slot"] == "constraints"]
    assert [words["text"] for words in rule["later"]] == [SAID[2]]
    assert rule["ending"]["words"]["text"] == SAID[2]
    assert "verdict" not in rule["ending"]
    assert listed(threads)[3]["kind"] == "judge"
    (rule,) = [item for item in judged["items"] if item["slot"] == "constraints"]
    assert rule["ending"]["verdict"] == "ends"
    (change,) = judged["changes"]
    old, new = change["fields"]["ending"]
    assert old.endswith("verdict: not judged yet")
    assert new == "claimed in turn 3: You may restart db-1 now. (u3); verdict: ends"


def test_what_the_gate_said_stands_with_the_words_of_the_passage(tmp_path: Path) -> None:
    threads = threads_of(remembered(tmp_path))
    verdicts = details(threads).of(3)["verdicts"]
    assert {"ref": "u1", "place": 0, "reason": "known", "text": "Never restart db-1."} in verdicts
    entry = listed(threads)[2]
    assert entry["candidates"] == len(verdicts) == 2
    assert entry["admitted"] == sum(each["reason"] == "admitted" for each in verdicts) == 1


def test_a_failed_compression_says_why_and_the_tail_grows(tmp_path: Path) -> None:
    def failing(_: Any) -> Any:
        raise CompressionError("the model is away", outcome="unreachable")

    threads = threads_of(remembered(tmp_path, SAID[:1], model=failing))
    (entry,) = listed(threads)
    assert (entry["outcome"], entry["failed"]) == ("unreachable", True)
    turn = details(threads).of(1)
    assert "the model is away" in turn["failure"]
    assert [part.get("status", "unread") for part in turn["tail"]] == ["unread"]
    assert threads.rows()[0]["failed"]


def test_a_turn_that_no_commit_took_is_shown_as_waiting(tmp_path: Path) -> None:
    remembered(tmp_path, SAID[:1])
    with Journal.open(tmp_path) as journal:
        head = journal.head("ops")
        turn = Turn.said("Is anybody there?").numbered(2)
        journal.append("ops", messages_of(turn), follows=head.hash)
        journal.append("new", messages_of(Turn.said("Hello.").numbered(1)))
    threads = threads_of(tmp_path)
    assert [part["text"] for part in details(threads).of(1)["waiting"]] == ["Is anybody there?"]
    outcomes = {row["thread"]: row["outcome"] for row in threads.rows()}
    assert outcomes == {"ops": "compressed", "new": "not committed"}


def test_only_what_is_new_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(tmp_path)
    threads = threads_of(tmp_path)
    mark, entries = details(threads).listed()["mark"], listed(threads)
    read: list[Any] = []
    real = threads.reader.read
    monkeypatch.setattr(threads.reader, "read", lambda body: read.append(body) or real(body))
    assert details(threads).listed(4, mark)["entries"] == read == []
    remembered(tmp_path, ["Is node-8 ready?"])
    more = details(threads).listed(4, mark)
    assert [(entry["turn"], entry["said"]) for entry in more["entries"]] == [(4, 4)]
    assert len(read) == 1
    assert [*entries, *more["entries"]] == listed(threads)


def test_a_fork_leaves_the_other_branch_out_of_its_past(tmp_path: Path) -> None:
    branch = forked(tmp_path)
    threads = threads_of(tmp_path)
    assert details(threads).listed()["branches"] == ["main", branch]
    assert [(e["branch"], e["version"], e["kind"]) for e in listed(threads, branch)] == [
        ("main", 1, "turn"), (branch, 2, "fork"), (branch, 3, "turn"),
    ]  # fmt: skip
    assert details(threads, branch).source("u2")["text"] == "The limit is 50 pods."
    assert details(threads).source("u2")["text"] == "The limit is 40 pods."
    (row,) = threads.rows()
    assert (row["branch"], row["branches"]) == (branch, 2)
    assert details(threads, branch).of(2)["changes"] == []
    remembered_words = [part["text"] for part in details(threads, branch).of(1)["said"]]
    assert remembered_words == [SAID[0]]


@pytest.mark.parametrize("version", [1, 2])
def test_a_damaged_row_is_told_and_the_rest_is_shown(version: int, tmp_path: Path) -> None:
    altered(remembered(tmp_path), version, None)
    threads = threads_of(tmp_path)
    entries = listed(threads)
    assert [entry["turn"] for entry in entries] == [1, 2, 3, 3]
    assert "damaged" in entries[version - 1]["fault"]
    assert entries[version - 1]["failed"]
    assert (entries[0]["fault"] == "") == (version == 2)
    turn = details(threads).of(version)
    assert [part["text"] for part in turn["said"]] == [SAID[version - 1]]
    assert "damaged" in turn["unread"]
    assert details(threads).of(version + 1)["version"] == version + 1


def test_a_state_that_was_changed_is_told(tmp_path: Path) -> None:
    def forge(state: dict[str, Any]) -> None:
        state["constraints"][0]["words"]["text"] = "Always restart db-1."

    altered(remembered(tmp_path, SAID[:1]), 1, forge)
    threads = threads_of(tmp_path)
    assert listed(threads)[0]["fault"] == "its state was changed after the commit"
    assert threads.rows()[0]["fault"] == "its state was changed after the commit"
    assert "Always" not in json.dumps(details(threads).of(1))


@pytest.mark.parametrize(
    "record",
    [
        [1], {"notes": [{"reason": "invented"}]}, {"notes": [7]}, {"verdicts": [["u1"]]}, {"given": 7},
        {"usage": {"input": "x"}},
    ],
)  # fmt: skip
def test_a_record_that_was_changed_is_told(record: Any, tmp_path: Path) -> None:
    remembered(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        data = zlib.compress(json.dumps(record).encode())
        database.execute("UPDATE commits SET record = ? WHERE version = 2", (data,))
        database.commit()
    threads = threads_of(tmp_path)
    faults = [entry["fault"] for entry in listed(threads)]
    assert faults == ["", "its record was not written by acc", "", ""]
    turn = details(threads).of(2)
    assert (turn["verdicts"], turn["notes"]) == ([], [])
    assert "The limit is 40 pods." in turn["rendered"]


def test_a_broken_chain_is_told(tmp_path: Path) -> None:
    remembered(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("UPDATE commits SET parent = 'x' WHERE version = 2")
        database.commit()
    faults = [entry["fault"] for entry in listed(threads_of(tmp_path))]
    assert faults == ["", "it does not follow the commit before it", "", ""]


def test_an_erasure_is_read_anew_and_leaves_no_words(tmp_path: Path) -> None:
    remembered(tmp_path)
    threads = threads_of(tmp_path)
    ends = threads.ends()
    assert "40 pods" in json.dumps(details(threads).of(2))
    erased(tmp_path, "u2")
    assert threads.ends() != ends
    entries = listed(threads)
    assert all(entry["fault"] == "" for entry in entries)
    shown = [details(threads).of(entry["version"]) for entry in entries]
    assert "40 pods" not in json.dumps([shown, entries])
    assert details(threads).source("u2")["unavailable"] == "an erasure removed this text"


def test_a_schema_that_is_not_installed_leaves_the_items(tmp_path: Path) -> None:
    remembered(tmp_path)
    threads = Threads(Journal.open(tmp_path, reads_only=True), StateReader(lambda _: None))
    turn = details(threads).of(1)
    assert turn["rendered"] is None
    assert "is not installed" in turn["unread"]
    assert "Never restart db-1." in [item["says"] for item in turn["items"]]
    assert turn["pinned"] == ["constraints"]
    assert listed(threads)[0]["tokens"] > 0


def test_a_state_of_a_domain_is_read_under_its_class(tmp_path: Path) -> None:
    class OpsState(CompressedCognitiveState):
        """A domain."""

    from acc.state.policy import Policy

    remembered(tmp_path, SAID[:1], policy=Policy(schema=OpsState, style="predicates"))
    reader = StateReader({"OpsState": OpsState}.get)
    text = details(Threads(Journal.open(tmp_path, reads_only=True), reader)).of(1)["rendered"]
    assert 'constraints("Never restart db-1.")' in text


def test_reading_writes_nothing_and_needs_no_lock(tmp_path: Path) -> None:
    remembered(tmp_path)

    def files() -> dict[str, str]:
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.iterdir()}

    before = files()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # as while a commit is written
        threads = threads_of(tmp_path)
        threads.rows()
        for entry in listed(threads):
            details(threads).of(entry["version"])
        writer.execute("ROLLBACK")
        threads.journal.close()
    assert {name: files()[name] for name in before} == before


@pytest.mark.parametrize(
    "key",
    [
        ThreadKey("ops"), ThreadKey("a/b & c=d?#%", "T", "ü", "x y"), ThreadKey(HOSTILE[:-2]),
        ThreadKey("thread=ops&user=x"),
    ],
)  # fmt: skip
def test_any_thread_has_a_name_in_addresses(key: ThreadKey) -> None:
    assert key_of(name_of(key)) == key


@pytest.mark.parametrize("name", ["", "ops", "user=ann", "thread=", "thread=a&file=/etc/passwd"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no such thread"):
        key_of(name)


def test_a_documents_text_is_opened_where_its_owner_reads_it(tmp_path: Path) -> None:
    remembered(tmp_path, SAID[:1], ThreadKey("ops", user="ann"))
    with memory_in(tmp_path) as memory:
        made = Evidence(memory).ingest_text("runbook.md", "Drain node-7 first.", user="ann")
    threads = threads_of(tmp_path)
    owned = threads.branch("thread=ops&user=ann")
    assert owned.source(made.ref)["text"] == "Drain node-7 first."
    remembered(tmp_path, SAID[:1])
    assert "unavailable" in details(threads).source(made.ref)

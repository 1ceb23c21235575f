"""`acc show`, `diff`, `threads`, `verify` and `heads`: they read a memory, and leave it as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers_cli import Capsys, MonkeyPatch, failing, files_of, one_line, printed, taken, told

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.journal import Journal, ThreadKey
from acc.state.policy import Policy
from acc.turn.turn import Turn

RULE = "Never call patient Ottilie Quandt."


def test_show_tells_the_state_and_the_tail_that_the_agent_reads(
    folder: Path, capsys: Capsys
) -> None:
    with MemoryController.open(folder, store="none") as memory:
        read = memory.step(None, Turn.said("What of db-7?"), thread="inc").text()
    out = printed(capsys, "show", "--memory", folder)
    heading, _, rest = out.partition("\n\n")
    assert heading.startswith("inc, after turn 5: state ")
    assert rest.replace("\nthe tail:\n", "").splitlines() == read.splitlines()
    value = told(capsys, "show", "--memory", folder)
    assert value["reads"] == value["tokens"] + sum(-(-len(t["text"]) // 4) for t in value["tail"])
    assert [t["ref"] for t in value["tail"]] == ["u5"]


def test_show_goes_back_to_a_turn(folder: Path, capsys: Capsys) -> None:
    rules = {}
    for turn in (1, 2, 4):
        value = told(capsys, "show", "--memory", folder, "--turn", turn)
        assert value["turn"] == turn
        rules[turn] = [rule["words"]["text"] for rule in value["state"].get("constraints", ())]
    assert rules[1] == []
    assert rules[2] == [RULE]
    assert "no turn 9 (inc)" in failing(capsys, "show", "--memory", folder, "--turn", 9)


def test_show_tells_each_item_with_its_sources(folder: Path, capsys: Capsys) -> None:
    rows = [
        line.split("  ")
        for line in printed(capsys, "show", "--provenance", "--memory", folder).splitlines()
    ]
    (rule,) = [row for row in rows if RULE in [cell.strip() for cell in row]]
    assert [cell.strip() for cell in rule if cell.strip()][1:] == [
        "constraints",
        RULE,
        "user",
        "u2 u4",
        "2",
    ]


def test_diff_tells_what_changed_and_why(folder: Path, capsys: Capsys) -> None:
    out = printed(capsys, "diff", 1, 2, "--memory", folder)
    assert "inc, turn 1 to 2: 1 change" in out
    assert f"+ c2 constraints: {RULE}\n    turn 2: added\n" in out.replace("c3", "c2")
    out = printed(capsys, "diff", 3, "--memory", folder)
    assert (
        f"constraints: {RULE}\n    later: - -> On Sundays you may call her. (u4)\n    turn 4: later"
        in out
    )
    change = next(
        c
        for c in told(capsys, "diff", 0, 4, "--memory", folder)["changes"]
        if c["slot"] == "constraints"
    )
    assert [each["turn"] for each in change["reasons"]] == [2, 4]
    assert "turn 2 is not before turn 1" in failing(capsys, "diff", 2, 1, "--memory", folder)


def test_threads_of_several_users_are_told_apart(folder: Path, capsys: Capsys) -> None:
    taken(folder, ThreadKey("inc", user="eve"), "Hello.")
    taken(folder, ThreadKey("other", tenant="acme", user="omar"), "Hello.")
    rows = told(capsys, "threads", "--memory", folder)
    assert [(r["thread"], r["user"], r["tenant"]) for r in rows] == [
        ("inc", "", ""), ("inc", "eve", ""), ("other", "omar", "acme"),
    ]  # fmt: skip
    assert printed(capsys, "threads", "--memory", folder).splitlines()[-1] == "3 threads"
    assert "the memory has several threads" in (said := failing(capsys, "show", "--memory", folder))
    assert "choose one with --thread: inc, eve/inc, acme/omar/other" in said
    assert "2 threads match" in failing(capsys, "show", "--memory", folder, "--thread", "inc")
    for name in ("eve/inc", "/eve//inc"):
        assert told(capsys, "show", "--memory", folder, "--thread", name)["thread"]["user"] == "eve"
    assert told(capsys, "show", "--memory", folder, "--thread", "///inc")["turn"] == 4
    assert told(capsys, "show", "--memory", folder, "--thread", "other")["turn"] == 1
    assert "no thread 'nobody'" in failing(capsys, "show", "--memory", folder, "--thread", "nobody")


def test_a_branch_is_shown_and_compared_by_its_name(folder: Path, capsys: Capsys) -> None:
    with MemoryController.open(folder, store="none") as memory:
        second: Any = next(c for c in memory.history("inc") if c.turn == 2)
        state = memory.state_at("inc", second.hash)
        branch = memory.step(state, Turn.said("Never page Omar."), thread="inc").state.branch
    row = told(capsys, "threads", "--memory", folder)[0]
    assert row["branches"] == [branch]
    with Journal.open(folder) as journal:
        commits = [c for name in ("main", branch) for c in journal.commits("inc", name)]
    assert (row["commits"], row["messages"]) == (len(commits), 5)  # of both branches
    listed = printed(capsys, "threads", "--memory", folder).splitlines()
    assert listed[0] == "thread  commits  messages  branches"
    assert listed[1].split() == ["inc", str(len(commits)), "5", branch]
    place = ["--memory", folder, "--thread", f"inc@{branch}"]
    rules = told(capsys, "show", *place)["state"]["constraints"]
    assert [rule["words"]["text"] for rule in rules] == [RULE, "Never page Omar."]
    assert told(capsys, "show", *place, "--turn", 1)["turn"] == 1
    added = told(capsys, "diff", 1, 3, *place)["changes"]
    assert [c["words"] for c in added if c["slot"] == "constraints"] == [RULE, "Never page Omar."]
    assert printed(capsys, "diff", *place).startswith(f"inc@{branch}, turn 2 to 3: 1 change\n")


def test_verify_recomputes_every_commit_and_tells_damages(folder: Path, capsys: Capsys) -> None:
    taken(folder, "second", "Never restart nginx.")
    out = printed(capsys, "verify", "--memory", folder)
    assert out.startswith("2 threads: ")
    assert "recomputed, all equal; 5 messages checked" in out
    assert told(capsys, "verify", "--memory", folder, "--thread", "second")["threads"] == 1
    with closing(sqlite3.connect(folder / "journal.sqlite3")) as database, database:
        database.execute("UPDATE messages SET text = 'Call her.' WHERE ref = 'u2'")
    assert run(["verify", "--memory", str(folder)]) == 1
    out, error = capsys.readouterr()
    assert "damaged: inc, branch main: messages row 2: the message u2 was changed" in out
    assert "the message u2 was changed" in one_line(error)
    assert run(["verify", "--memory", str(folder), "--json"]) == 1
    assert '"is_clean": false' in capsys.readouterr().out
    assert told(capsys, "verify", "--memory", folder, "--thread", "second")["is_clean"]


def test_messages_with_keyed_digests_are_checked_with_the_key(
    tmp_path: Path, capsys: Capsys, monkeypatch: MonkeyPatch
) -> None:

    with MemoryController.open(
        tmp_path / "m", store="none", policy=Policy(digest_key=b"k1")
    ) as memory:
        memory.step(None, Turn.said(RULE), thread="t")
    assert run(["verify", "--memory", str(tmp_path / "m")]) == 1
    capsys.readouterr()
    monkeypatch.setenv("ACC_DIGEST_KEY", "k1")
    assert told(capsys, "verify", "--memory", tmp_path / "m")["is_clean"]


LOOKS = [["show"], ["show", "--provenance"], ["diff"], ["threads"], ["verify"], ["heads"]]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: " ".join(look))
def test_a_look_writes_nothing_and_waits_for_nobody(
    look: list[str], folder: Path, capsys: Capsys
) -> None:
    before = files_of(folder)
    with Journal.open(folder) as journal:  # an agent's process has it open
        printed(capsys, *look, "--memory", folder)
        assert journal.head("inc").version
    assert files_of(folder) == before


def test_a_branch_of_a_long_thread_shows_nothing_that_came_after_it(
    folder: Path, capsys: Capsys
) -> None:
    with MemoryController.open(folder, store="none") as memory:
        first: Any = memory.state_at("inc", next(memory.history("inc")).hash)
        for n in range(70):
            memory.step(None, Turn.said(f"Look at node-{n}."), thread="inc")
        step = memory.step(first, Turn.said("Never page Omar."), thread="inc")
        for n in range(70):
            step = memory.step(step.state, Turn.said(f"See db-{n}."), thread="inc")
    place = ["--memory", folder, "--thread", f"inc@{step.state.branch}"]
    changed = told(capsys, "diff", 1, 60, *place)
    words = [each["words"] for each in changed["changes"] if each["slot"] == "constraints"]
    assert words == ["Never page Omar."]
    assert "node-" not in str(told(capsys, "show", "--turn", 70, *place))

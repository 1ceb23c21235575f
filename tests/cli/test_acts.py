"""Commands that change a memory: they tell what they will do, ask, and do just that, while agents run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers_cli import ACC, Capsys, failing, files_of, one_line, printed, taken, told

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.journal import Journal, ThreadKey
from acc.turn.turn import Turn

RULE = "Never call patient Ottilie Quandt."
ERASE = ["erase", "u2", "--thread", "inc"]


def rules_of(folder: Path, thread: ThreadKey | str = "inc") -> list[str]:
    with MemoryController.open(folder, index="none") as memory:
        state: Any = memory.last_state(thread)
    return [rule.words.text for rule in state.constraints]


def words_in(folder: Path, words: str) -> list[str]:
    """Return the files of a folder that hold some words."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if words.encode() in path.read_bytes()]


def test_without_a_terminal_nothing_happens_unless_told(folder: Path, capsys: Capsys) -> None:
    for more in ([], ["--json"]):
        assert run([*ERASE, *more, "--memory", str(folder)]) == 1
        out, error = capsys.readouterr()
        assert "nothing was changed" in one_line(error)
        assert "--yes" in error
        assert "u2" in out
        assert "Ottilie" not in out  # a script's output may end in logs that no erasure reaches
    assert rules_of(folder) == [RULE]


def test_the_plan_has_its_price_and_the_act_does_just_that(folder: Path, capsys: Capsys) -> None:
    run([*ERASE, "--memory", str(folder)])
    plan = capsys.readouterr().out
    assert "to erase: 0 threads, 1 message" in plan
    assert "message u2 of inc (user)" in plan
    assert "which BINDS NO MORE" in plan
    assert "price: no request of a model" in plan
    out = printed(capsys, *ERASE, "--yes", "--memory", folder)
    assert "is done: 0 threads, 1 message" in out
    assert "keep it anew outside" in out
    assert out.splitlines()[-1].endswith(": 0 traces; proved")
    assert rules_of(folder) == []
    assert words_in(folder, "Ottilie") == []
    assert told(capsys, "verify", "--memory", folder)["is_clean"]
    assert "Ottilie" not in printed(capsys, "show", "--memory", folder)


def test_a_user_and_words_are_erased_by_scope(folder: Path, capsys: Capsys) -> None:
    for user in ("eve", "omar"):
        taken(folder, ThreadKey("x", user=user), "Never name Mrs Keller.", "Go on.")
    printed(capsys, "erase", "--scope", "user=eve", "--yes", "--memory", folder)
    users = [each["user"] for each in told(capsys, "threads", "--memory", folder)]
    assert users == ["", "omar"]
    printed(capsys, "erase", "--words", "Keller", "--yes", "--memory", folder)
    assert words_in(folder, "Keller") == []
    assert rules_of(folder) == [RULE]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "nothing is named to erase"),
        (["u2"], "u2 is a message of a thread"),
        (["--thread", "nothing"], "no thread 'nothing'"),
    ],
)
def test_an_erasure_of_nothing_is_refused(
    arguments: list[str], what: str, folder: Path, capsys: Capsys
) -> None:
    assert what in failing(capsys, "erase", *arguments, "--yes", "--memory", folder)


def test_the_plan_names_the_checkpoints_that_keep_the_words(folder: Path, capsys: Capsys) -> None:
    assert run([*ERASE, "--memory", str(folder)]) == 1
    assert "checkpoints of inc, if there are any, keep the words" in capsys.readouterr().out


@pytest.mark.parametrize("scope", ["eve", "user=", "user=a,user=b", "group=x", "thread=t"])
def test_a_scope_that_names_nobody_is_refused(scope: str, folder: Path, capsys: Capsys) -> None:
    failing(capsys, "erase", "--scope", scope, "--yes", "--memory", folder, code=2)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_a_terminal_is_asked_and_shown_the_words(folder: Path, answer: str) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*ACC, *ERASE, "--memory", str(folder)], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    said = b""
    try:
        while block := os.read(ours, 4096):
            said += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == (answer != "y"), said
    assert b"[y/N]" in said
    assert RULE.encode() in said.partition(b"[y/N]")[0].replace(b"\r\n", b"\n")
    assert rules_of(folder) == ([] if answer == "y" else [RULE])


def test_hold_protects_lists_and_releases(folder: Path, capsys: Capsys) -> None:
    place = ["--memory", folder]
    assert printed(capsys, "hold", *place) == "no holds\n"
    assert "needs a reason" in failing(capsys, "hold", "u2", "--thread", "inc", *place)
    assert "nothing is named to release" in failing(capsys, "hold", "--release", *place)
    out = printed(capsys, "hold", "u2", "--thread", "inc", "--reason", "case 7", *place)
    assert out.splitlines()[1].split()[:3] == ["inc", "u2", "case"]
    assert "hold" in failing(capsys, *ERASE, "--yes", *place)
    assert rules_of(folder) == [RULE]
    assert [h["ref"] for h in told(capsys, "hold", *place)] == ["u2"]
    assert printed(capsys, "hold", "u2", "--thread", "inc", "--release", *place) == "no holds\n"
    printed(capsys, *ERASE, "--yes", *place)


@pytest.mark.slow
def test_documents_are_ingested_found_and_pruned(
    folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    place = ["--memory", folder]
    (file := tmp_path / "ledger.md").write_text("# Ledger\n\nThe ledger is restored from bkp-3.\n")
    out = printed(capsys, "ingest", file, *place)
    assert "ledger.md: 1 part added" in out
    assert "already in the memory" in printed(capsys, "ingest", file, *place)
    assert "bkp-3" in printed(capsys, "search", "ledger", *place)
    assert [each["thread"] for each in told(capsys, "threads", *place)] == ["inc"]
    assert told(capsys, "show", *place)["thread"]["thread"] == "inc"
    ref = out.split()[0]
    assert ref in printed(capsys, "hold", ref, "--reason", "audit", *place)
    assert "kept although the policy would delete" in printed(
        capsys, "prune", "--policy", "capacity,limit=0", "--yes", *place
    )
    assert printed(capsys, "hold", ref, "--release", *place) == "no holds\n"
    assert "Ottilie" in printed(capsys, "search", "patient", *place)
    assert "nothing found (user 'eve')" in printed(
        capsys, "search", "ledger", "--scope", "user=eve", *place
    )
    assert [
        h["thread"]["thread"]
        for h in told(capsys, "search", "patient", "--scope", "thread=inc", *place)
    ] == ["inc"]
    assert run(["prune", "--policy", "capacity,limit=0", *map(str, place)]) == 1
    assert "to delete: 1 of 1" in capsys.readouterr().out
    printed(capsys, "prune", "--policy", "capacity,limit=0", "--yes", *place)
    assert "nothing found" in printed(capsys, "search", "ledger", *place)


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        ("period,period=x", "give a number: period=N"),
        ("history,alpha=1", "history,beta=N"),
        ("idle", "idle,days=N"),
        ("nothing", "choose period, history, capacity, age, idle"),
    ],
)
def test_a_prune_by_no_policy_is_refused_and_says_which_there_are(
    policy: str, hint: str, folder: Path, capsys: Capsys
) -> None:
    assert hint in failing(capsys, "prune", "--policy", policy, "--yes", "--memory", folder)


@pytest.mark.parametrize("policy", ["period", "history,n=3,beta=0.5", "age,days=3,kind=messages"])  # fmt: skip
def test_each_policy_makes_a_plan(policy: str, folder: Path, capsys: Capsys) -> None:
    assert run(["prune", "--policy", policy, "--memory", str(folder)]) == 1
    out, error = capsys.readouterr()
    assert "to delete: 0 of " in out
    assert "nothing was changed" in one_line(error)


def test_idle_threads_expire_whole(folder: Path, capsys: Capsys) -> None:
    assert "to delete: 0 threads" in printed(
        capsys, "prune", "--policy", "idle,days=1", "--yes", "--memory", folder
    )
    printed(capsys, "prune", "--policy", "idle,days=0", "--yes", "--memory", folder)
    assert printed(capsys, "threads", "--memory", folder) == "no thread has a commit\n"


def test_what_is_exported_is_json_lines_and_another_memory_takes_it(
    folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    taken(folder, ThreadKey("x", user="eve"), "Never name Mrs Keller.")
    out, other = tmp_path / "out.jsonl", tmp_path / "other"
    assert "2 threads" in printed(capsys, "export", out, "--memory", folder)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["thread"] for line in lines if line.get("acc")] == ["inc", "x"]
    assert "2 threads imported" in printed(capsys, "import", out, "--memory", other)
    assert rules_of(other) == rules_of(folder) == [RULE]
    assert told(capsys, "verify", "--memory", other)["is_clean"]
    failing(capsys, "import", out, "--memory", other)  # they are there already
    one = printed(capsys, "export", "-", "--scope", "thread=x,user=eve", "--memory", folder)
    assert "Keller" in one
    assert "Ottilie" not in one
    packed = tmp_path / "out.jsonl.gz"
    printed(capsys, "export", packed, "--scope", "user=eve", "--memory", folder)
    assert "1 thread imported" in printed(capsys, "import", packed, "--memory", tmp_path / "third")


def test_an_import_of_what_is_none_imports_nothing(tmp_path: Path, capsys: Capsys) -> None:
    failing(capsys, "import", tmp_path / "none", "--memory", tmp_path / "m")
    assert not (tmp_path / "m").exists()
    (torn := tmp_path / "torn.jsonl").write_text('{"export": {}}\n')
    (binary := tmp_path / "b.gz").write_bytes(b"\x1f\x8b\x00")
    for source in (torn, binary):
        failing(capsys, "import", source, "--memory", tmp_path / "m")
    assert printed(capsys, "threads", "--memory", tmp_path / "m") == "no thread has a commit\n"


def test_a_backup_of_a_memory_in_use_is_a_memory(
    folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    copy = tmp_path / "copy"
    with MemoryController.open(folder, index="none") as memory:
        assert "bytes copied to" in printed(capsys, "backup", copy, "--memory", folder)
        memory.step(None, Turn.said("Later."), thread="inc")
    assert list(files_of(copy)) == ["journal.sqlite3"]
    assert told(capsys, "verify", "--memory", copy)["is_clean"]
    assert told(capsys, "show", "--memory", copy)["turn"] == 4
    assert "not empty" in failing(capsys, "backup", copy, "--memory", folder)


def test_heads_that_are_kept_outside_find_a_rewritten_journal(
    folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    heads, forged = tmp_path / "heads", tmp_path / "forged"
    assert "1 head written" in printed(capsys, "heads", "--out", heads, "--memory", folder)
    assert printed(capsys, "heads", "--memory", folder) == heads.read_text(encoding="utf-8")
    out = printed(capsys, "verify", "--head", heads, "--memory", folder)
    assert "compared with 1 head" in out
    taken(folder, "inc", "Go on.")  # a later commit is no rewriting
    printed(capsys, "verify", "--head", heads, "--memory", folder)
    taken(forged, "inc", "The gateway has 4 replicas.", "You may call her.", "Why?", "Go on.")
    assert told(capsys, "verify", "--memory", forged)["is_clean"]
    assert run(["verify", "--head", str(heads), "--memory", str(forged)]) == 1
    assert "anchored outside" in one_line(capsys.readouterr().err)
    (heads.parent / "bad").write_text("nothing\n")
    failing(capsys, "verify", "--head", heads.parent / "bad", "--memory", folder)


def test_every_act_works_while_an_agent_runs(folder: Path, tmp_path: Path, capsys: Capsys) -> None:
    place = ["--memory", folder]
    with MemoryController.open(folder, index="none") as memory:
        state = memory.last_state("inc")
        rule = told(capsys, "show", *place)["state"]["constraints"][0]["id"]
        printed(capsys, "hold", "u1", "--thread", "inc", "--reason", "legal", *place)
        printed(capsys, "search", "gateway", *place)
        printed(capsys, "export", tmp_path / "out.jsonl", *place)
        printed(capsys, "retire", rule, "--reason", "moved", *place)
        step = memory.step(state, Turn.said("What of db-7?"), thread="inc")
        assert step.state.branch == "main"
        assert step.state.constraints == ()
    with Journal.open(folder) as journal:
        assert [head.branch for head in journal.heads()] == ["main"]

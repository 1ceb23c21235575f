"""Destructive commands: they tell what they will do, ask, and do just that."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from processes import ACC, one_line

from acc import MemoryController, Thread, Turn
from acc.cli import run
from acc.evidence.documents import INGEST, Documents
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target
from acc.evidence.parsing import Section
from acc.evidence.unfinished import begin_intent
from acc.stores.chroma.embedded import HOLDER
from acc.stores.directory import namespace
from acc.stores.shelf import Shelf

RULE = "Never call patient Ottilie Quandt on +41 79 555 01 23."
ERASE = ["erase", "--thread", "inc", "--artifact", "u2"]
PRUNE = ["prune", "--capacity", "0", "--kind", "document"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "memory"
    with MemoryController.open(path) as memory:
        state = None
        for words in ("The gateway has 4 replicas.", RULE, "Why is checkout slow?", "Go on."):
            state = memory.step(state, Turn.said(words), thread="inc").state
        Documents.of(memory, namespace()).add(
            "a.md", [Section("The ledger is restored from bkp-3.")]
        )
    return path


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return copytree(kept, tmp_path / "memory")


def holds(folder: Path) -> tuple[Any, ...]:
    """All that the memory holds."""
    with MemoryController.open(folder) as memory:
        store: Any = memory.artifacts
        found = store.get("default", store.ids("default"))
        return found, {p.name: p.read_bytes() for p in (folder / "audit").glob("*.jsonl")}


@pytest.mark.parametrize("command", [ERASE, PRUNE])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_without_a_terminal_nothing_happens_unless_told(
    folder: Path, command: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = holds(folder)
    assert run([*command, *more, "--memory", str(folder)]) == 1
    out, error = capsys.readouterr()
    assert "--dry-run" in one_line(error)
    assert "--yes" in error
    assert "nothing was changed" in error
    assert (out == "") == bool(more)
    assert holds(folder) == before


@pytest.mark.parametrize(("command", "done"), [(ERASE, "id"), (PRUNE, "deleted_records")])
def test_a_dry_run_changes_nothing_and_the_act_does_just_that(
    folder: Path, command: list[str], done: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = holds(folder)
    asked = [*command, "--json", "--memory", str(folder)]
    assert run([*asked, "--dry-run"]) == 0
    announced = json.loads(capsys.readouterr().out)
    assert holds(folder) == before
    assert run([*asked, "--yes"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert holds(folder) != before
    assert told[done]
    for rewritten in announced.get("rewritten", ()):
        for item in rewritten["leaving"]:
            item["words"] = ""
    assert {name: told[name] for name in announced if name != "deleted_records"} == {
        name: value for name, value in announced.items() if name != "deleted_records"
    }
    if command is PRUNE:
        assert (announced["deleted_records"], told["deleted_records"]) == (0, announced["records"])


def test_the_plan_names_the_rules_that_go_and_a_script_s_output_does_not_repeat_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*ERASE, "--dry-run", "--memory", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "3 of 4 records redacted" in out
    assert f"of constraints: {RULE[:-1]}" in out
    assert run([*ERASE, "--yes", "--memory", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "of constraints" in out
    assert "3 of 4 records redacted" in out
    assert "Ottilie" not in out


def test_a_prune_by_no_policy_is_refused_and_says_which_there_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--yes"], ["--period", "5"]):
        assert run(["prune", *more, "--memory", str(folder)]) == 1
        error = one_line(capsys.readouterr().err)
        for name in ("period", "history", "combined", "intersection", "--capacity"):
            assert name in error
    assert run(["prune", "--policy", "combined", "--dry-run", "--memory", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "what was read at most 0 times in the last 200 commits, or what was read over 5" in out
    assert "those of ehragent" in out
    assert "of document, experience" in out


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_a_terminal_is_asked(folder: Path, answer: str) -> None:
    before = holds(folder)
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
    assert process.wait(60) == (answer != "y")
    assert b"[y/N]" in said
    assert RULE[:-1].encode() in said.partition(b"[y/N]")[0].replace(b"\r\n", b"\n")
    assert (holds(folder) == before) == (answer != "y")


def test_a_dry_run_ends_no_earlier_act(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An erasure that a kill left half done is ended by an opening for writing, not by a look."""
    with MemoryController.open(folder) as memory:
        eraser = Erasure(memory)
        monkeypatch.setattr(eraser, "_done", lambda *_: None)  # killed as soon as it was noted
        eraser.erase(eraser.plan(Target(thread="inc", artifact="u2")))
    half_done = (folder / "erasure.json").read_bytes()
    looks = [[*ERASE, "--dry-run"], ["prune", "--policy", "period", "--dry-run"], ["doctor"]]
    for look in looks:
        assert run([*look, "--memory", str(folder)]) == 1
        error = capsys.readouterr().err
        assert "an erasure was interrupted" in error
        assert "acc doctor --repair" in error
        assert (folder / "erasure.json").read_bytes() == half_done
    assert run(["doctor", "--repair", "--memory", str(folder)]) == 0
    assert "was interrupted and is now complete" in capsys.readouterr().out
    assert not (folder / "erasure.json").exists()
    assert run([*ERASE, "--dry-run", "--memory", str(folder)]) == 1
    assert "no evidence of the artifact" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["doctor"], [*ERASE, "--dry-run"], ["prune", "--policy", "period", "--dry-run"],
        ["search", "x"], ["hold"], ["vacuum"], ["export", "out.jsonl"], ["show"], ["threads"],
        ["diff"], ["verify"], ["retire", "c1"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_what_is_no_memory_is_told_in_one_line_and_left_as_it_is(
    command: list[str], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "place"
    if kind == "empty":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine")
    code = run([*command, "--memory", str(place)])
    out, error = capsys.readouterr()
    if command == ["doctor"] and kind != "file":
        assert (code, error) == (0, "")
        assert "no memory in" in out
    else:
        assert code == 1
        assert str(place) in one_line(error)
        assert "defect" not in error
    left = [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")]
    assert left == ([] if kind == "missing" else ["place"])
    assert kind != "file" or place.read_text() == "mine"


def test_a_look_at_another_user_s_thread_says_whose_there_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryController.open(folder) as memory:
        memory.step(None, Turn.said("Hello."), thread=Thread(thread="inc", user="eve"))
    assert run(["show", "--memory", str(folder), "--thread", "inc"]) == 1
    assert "choose one with --thread: inc-" in one_line(capsys.readouterr().err)
    assert run(["erase", "--thread", "nothing", "--yes", "--memory", str(folder)]) == 1
    assert "no evidence of the thread 'nothing'" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    "command",
    [
        ["export", "{}", "--memory", "{memory}"],
        ["replay", "{conversation}", "--json", "{}"],
        ["replay", "{conversation}", "--report", "{}"],
    ],
)
def test_no_output_takes_the_place_of_a_file_of_a_memory(
    command: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conversation = tmp_path / "c.json"
    conversation.write_text('[{"role": "user", "content": "Hi"}]')
    (log,) = (folder / "audit").glob("*.jsonl")
    names = {"conversation": conversation, "memory": folder}
    before = holds(folder)
    for file in (folder / "chroma.sqlite3", log):
        assert run([part.format(file, **names) for part in command]) == 1
        assert "the output would overwrite a file of a memory" in one_line(capsys.readouterr().err)
        assert holds(folder) == before


def test_an_export_replaces_its_own_kind_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, out = tmp_path / "mine.txt", tmp_path / "out.jsonl"
    mine.write_text("precious")
    export = ["export", "--memory", str(folder)]
    assert run([*export, str(mine)]) == 1
    assert "is not an export of this namespace" in one_line(capsys.readouterr().err)
    assert mine.read_text() == "precious"
    assert [run([*export, str(out)]), run([*export, str(out)])] == [0, 0]
    with MemoryController.open(folder) as memory:
        memory.step(None, Turn.said("Hello."), thread=Thread(thread="t", user="eve"))
    assert run([*export, str(out), "--user", "eve"]) == 1


def test_an_import_of_what_is_none_makes_no_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"export": {}}\n')
    for source in (torn, tmp_path / "none"):
        assert run(["import", str(source), "--memory", str(tmp_path / "m")]) == 1
        one_line(capsys.readouterr().err)
    assert not (tmp_path / "m").exists()


def test_a_damaged_log_hides_no_other_thread(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "audit" / "junk-1.jsonl").write_text("nonsense\n")
    place = ["--memory", str(folder)]
    assert run(["show", "--thread", "inc", *place]) == 0
    assert run(["verify", "--thread", "inc", *place]) == 0
    capsys.readouterr()
    assert run(["threads", *place]) == 1
    out, error = capsys.readouterr()
    assert "inc" in out
    assert "junk-1.jsonl" in one_line(error)
    for more in ([], ["--thread", "junk-1"]):
        assert run(["show", *more, *place]) == 1
        assert "junk-1" in one_line(capsys.readouterr().err)


def test_threads_of_several_users_are_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryController.open(folder) as memory:
        memory.step(None, Turn.said("Hello."), thread=Thread(thread="inc", user="eve"))
    assert run(["threads", "--memory", str(folder)]) == 0
    assert "eve" in capsys.readouterr().out
    assert run(["verify", "--memory", str(folder)]) == 0
    labels = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert len(set(labels)) == 2
    assert run(["show", "--memory", str(folder)]) == 1
    assert all(label in capsys.readouterr().err for label in labels[:1])
    erase = ["erase", "--thread", "inc", "--agent", "coder", "--yes", "--memory", str(folder)]
    assert run(erase) == 1
    assert "--user eve --agent default" in one_line(capsys.readouterr().err)


def test_a_release_of_nothing_and_a_search_that_finds_nothing_say_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hold", "--release", "--memory", str(folder)]) == 1
    assert "nothing is named to release" in one_line(capsys.readouterr().err)
    assert run(["search", "gateway", "--user", "nobody", "--memory", str(folder)]) == 0
    assert "nothing found (user 'nobody'" in capsys.readouterr().out


def test_a_look_leaves_to_the_next_opening_what_a_kill_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document half written, and a holder that never said good-bye."""
    space = namespace()
    with MemoryController.open(folder) as memory:
        shelf = Shelf(memory.artifacts, space, "documents")
        (part,) = shelf.records()
        parts = [part.model_copy(update={"ref": f"doc.half.{n}", "name": "h.md"}) for n in (1, 2)]
        usage = Shelf(memory.artifacts, space, "usage")
        begin_intent(usage, INGEST, [part.ref for part in parts], memory._now())
        shelf.append(parts[:1])
    (folder / HOLDER).write_text("1\n")
    for _ in range(2):
        assert run(["doctor", "--memory", str(folder)]) == 1
        out = capsys.readouterr().out
        assert "the last process ended without closing" in out
        assert "h.md was only partly ingested" in out
        assert "to delete its 1 of 2 parts" in out
        assert run(["erase", "--user", "default", "--dry-run", "--memory", str(folder)]) == 1
        assert "an ingest of h.md was interrupted" in one_line(capsys.readouterr().err)
    with MemoryController.open(folder) as memory:
        assert memory.resumed == [
            "an ingest of h.md was interrupted and is undone: 1 of 2 parts were removed"
        ]

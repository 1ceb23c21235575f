"""Export and import, doctor and vacuum, a real server, and the commands."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from test_erasure import erased, standing, talk

from acc import MemoryController, Settings, Turn
from acc.cli import run
from acc.errors import InputError, StoreError
from acc.evidence.documents import Documents
from acc.evidence.erasure_plan import Target
from acc.evidence.marks import FolderMarks
from acc.evidence.portability import export, import_into, read_export
from acc.evidence.retention import Retention
from acc.evidence.upkeep import vacuum
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.directory import namespace
from acc.stores.protocol import Thread
from acc.text.lines import canonical_json

sys.path.append(str(Path(__file__).parents[1] / "stores"))

SPACE = namespace()


def test_what_was_exported_is_imported_whole_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with MemoryController.open(tmp_path / "one") as memory:
        talk(memory)
        moved = export(memory.artifacts, memory.settings.audit, SPACE, out)
        state = memory.last_state("inc")
    with MemoryController.open(tmp_path / "two") as memory:
        assert import_into(memory, out).written == moved.records
        assert import_into(memory, out).written == 0
        assert memory.last_state("inc") == state
        talk(memory, "inc", "Is bill-db-7 healthy?")
        with pytest.raises(InputError, match="a different audit log"):
            import_into(memory, out)


def test_an_export_has_all_agents_of_the_user_and_of_nobody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ana = [Thread(thread=t, user="ana", agent=a) for t, a in (
        ("inc", "default"), ("inc", "helper#0123456789ab"), ("inc", "researcher"), ("b", "helper#ba"),
    )]  # fmt: skip
    others = [Thread(thread="inc", user="bob"), Thread(thread="inc", user="ana", tenant="north")]
    one, out, part = tmp_path / "one", tmp_path / "out.jsonl", tmp_path / "part.jsonl"
    with MemoryController.open(one) as memory:
        for thread in (*ana, *others):
            memory.step(None, Turn.said(f"Never restart {thread.key}."), thread=thread)
        states = {thread: memory.last_state(thread) for thread in (*ana, *others)}
        (tmp_path / "a.md").write_text("The ledger is bkp-3.")
        Documents.of(memory, namespace("ana", "reader")).ingest(tmp_path / "a.md")
    for to, agent in ((out, ()), (part, ("--agent", "helper"))):
        assert run(["export", str(to), "--memory", str(one), "--user", "ana", *agent]) == 0
    assert [key in out.read_text() for key in [t.key for t in (*ana, *others)]] == [True] * 4 + [
        False
    ] * 2
    assert "bkp-3" in out.read_text()
    with MemoryController.open(tmp_path / "two") as memory:
        assert import_into(memory, part).logs == 2
        assert {t for t in states if memory.last_state(t)} == {ana[1], ana[3]}
        moved = import_into(memory, out)
        assert (moved.logs, moved.written < moved.records) == (4, True)
        assert [memory.last_state(t) for t in states] == [*map(states.get, ana), None, None]
        assert memory.step(states[ana[1]], Turn.said("And now?"), thread=ana[1]).state.turn == 2
    capsys.readouterr()


@pytest.mark.parametrize("agent", ["default", "helper"])
def test_a_file_with_records_of_another_user_or_agent_is_refused(
    tmp_path: Path, agent: str
) -> None:
    out = tmp_path / "out.jsonl"
    mine = Thread(thread="inc", user="ana", agent="helper#ba")
    with MemoryController.open(tmp_path / "one") as memory:
        memory.step(None, Turn.said("Never restart nginx."), thread=mine)
        export(memory.artifacts, memory.settings.audit, namespace("ana", agent), out)
    assert read_export(out).space == namespace("ana", agent)
    head, *body, _ = out.read_text().splitlines(keepends=True)
    for user, other in (("ana", "help"), ("bob", agent), ("ana", "helper#b")):
        claimed = json.loads(head)
        claimed["export"] |= {"user": user, "agent": other}
        lines = [canonical_json(claimed) + "\n", *body]
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        out.write_text("".join([*lines, canonical_json({"end": 1, "sha256": digest}) + "\n"]))
        with pytest.raises(InputError, match="another namespace"):
            read_export(out)


def test_a_log_without_a_record_keeps_no_export_from_being_taken_in(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with MemoryController.open(tmp_path / "one") as memory:
        talk(memory)
        talk(memory, "second", "Is bill-db-7 healthy?")
        (emptied,) = (tmp_path / "one" / "audit").glob("second-*.jsonl")
        emptied.write_bytes(b"")
        assert export(memory.artifacts, memory.settings.audit, SPACE, out).logs == 1
    with MemoryController.open(tmp_path / "two") as memory:
        assert import_into(memory, out).logs == 1


def test_a_vacuum_leaves_nothing_deleted_and_loses_nothing(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        (id_,) = [i for i in memory.artifacts.ids("default") if i.endswith("main:3")]
        memory.artifacts.delete("default", [id_])
        ids = memory.artifacts.ids("default")
        (tmp_path / "audit").rename(tmp_path.parent / f"{tmp_path.name}-audit")
        assert any(name.startswith("chroma") for name, _ in standing(tmp_path))
        _, _, own = vacuum(memory)
        assert own
        assert standing(tmp_path) == []
        assert memory.artifacts.ids("default") == ids


@pytest.mark.slow
def test_a_server_is_erased_from_and_its_folder_proved_when_it_is_stopped(tmp_path: Path) -> None:
    from test_chroma_server import Server

    files = tmp_path / "server"
    files.mkdir()
    server = Server(files)
    try:
        with MemoryController(
            server.store(), settings=Settings(audit=tmp_path / "memory" / "audit")
        ) as memory:
            talk(memory)
            receipt = erased(memory, Target(thread="inc", artifact="u3"))
            assert receipt.foreign
            assert not receipt.proved
            assert receipt.traces == ()
            assert standing(tmp_path / "memory") == []
            talk(memory, "inc", "Is bill-db-7 healthy?")
            plan = Retention(memory).plan(SPACE, Keepless(), ("set_aside",))
            Retention(memory).prune(plan)
    finally:
        server.stop()
    assert standing(files)
    with MemoryController(
        ChromaArtifactStore.embedded(files), settings=Settings(audit=None)
    ) as memory:
        vacuum(memory)
    assert standing(files) == []


class Keepless:
    """Would delete all."""

    def __call__(self, usages: Any, t: int) -> dict[str, str]:
        return {usage.key: "all" for usage in usages}


@pytest.mark.slow
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = str(tmp_path / "memory"), tmp_path / "a.md"
    page.write_text("# Restore\n\nThe ledger is restored from bkp-3.\n")
    with MemoryController.open(folder) as memory:
        talk(memory)

    def told(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--memory", folder, "--json"]) == code
        out = capsys.readouterr().out
        return json.loads(out) if code == 0 else out

    assert told("ingest", str(page))[0]["parts"] == 1
    assert told("search", "ledger bkp-3")[0]["text"].endswith("bkp-3.\n")
    plan = told("prune", "--policy", "period", "--period", "1", "--dry-run")
    assert plan["deleted_records"] == 0
    told("hold", "u3", "--thread", "inc", "--reason", "case 3")
    told("erase", "--thread", "inc", "--artifact", "u3", "--yes", code=1)
    told("hold", "u3", "--thread", "inc", "--release")
    assert told("erase", "--thread", "inc", "--artifact", "u3", "--dry-run")["records"] == 1
    done = told("erase", "--thread", "inc", "--artifact", "u3", "--yes")
    assert (done["proved"], done["traces"]) == (True, 0)
    assert standing(Path(folder)) == []
    (checked,) = told("verify")
    assert checked["redacted"] > 0
    assert told("export", str(tmp_path / "out.jsonl"))["audit_logs"] == 1
    assert told("vacuum")["bytes_after"] > 0
    checked = told("doctor")
    assert checked["records"] > 0
    assert checked["logs"] == []
    told("erase", code=1)
    told("erase", "--user", "default", "--thread", "", code=1)


@pytest.mark.parametrize(
    ("options", "reached"),
    [([], "every user and every agent of tenant 'default'"),
     (["--user", "ana"], "user 'ana' and every agent of tenant 'default'"),
     (["--user", "ana", "--agent", "clerk"], "user 'ana' and agent 'clerk' of tenant 'default'"),
     (["--agent", "clerk", "--tenant", "acme"], "every user and agent 'clerk' of tenant 'acme'")],
)  # fmt: skip
def test_an_ingest_says_whom_it_reaches(
    options: list[str], reached: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, memory = tmp_path / "a.md", str(tmp_path / "memory")
    page.write_text("The ledger is restored from bkp-3.\n", encoding="utf-8")
    assert run(["ingest", str(page), "--memory", memory, *options]) == 0
    assert capsys.readouterr().out.endswith(f"a.md: 1 part added; recalled for {reached}\n")
    assert run(["ingest", str(page), "--memory", memory, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["reaches"] == reached


def test_a_file_that_cannot_be_read_keeps_no_other_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, memory = tmp_path / "docs", tmp_path / "memory"
    folder.mkdir()
    (folder / "a.md").write_text("# A\nalpha gateway\n", encoding="utf-8")
    (folder / "b.txt").write_text("", encoding="utf-8")
    (folder / "c.txt").write_text("gamma gateway\n", encoding="utf-8")
    (folder / "d.txt").write_bytes("größe".encode("latin-1"))
    assert run(["ingest", str(folder), "--memory", str(memory)]) == 1
    out, error = capsys.readouterr()
    assert [line.split("/")[-1].split(":")[0] for line in out.splitlines()] == ["a.md", "c.txt"]
    assert error.startswith("acc: 2 of 4 files could not be read")
    assert error.count("\n") == 1
    assert "b.txt: the file contains no text" in error
    assert "d.txt: " in error
    assert run(["ingest", str(folder), "--memory", str(memory), "--json"]) == 1
    assert [each["parts"] for each in json.loads(capsys.readouterr().out)] == [0, 0]
    assert run(["ingest", str(folder / "b.txt"), "--memory", str(memory)]) == 1
    assert "the file contains no text" in capsys.readouterr().err
    for number in range(20):
        (folder / f"e{number}.txt").write_text("", encoding="utf-8")
    assert run(["ingest", str(folder), "--memory", str(memory)]) == 1
    assert "; and 12 more)" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a FIFO")
def test_a_pipe_is_no_document_and_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert run(["ingest", str(tmp_path / "pipe.txt"), "--memory", str(tmp_path / "m")]) == 1
    assert "no folder with documents" in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_log_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with MemoryController.open(tmp_path / "one") as memory:
        talk(memory)
        moved = export(memory.artifacts, memory.settings.audit, SPACE, out)
        log = next((tmp_path / "one" / "audit").glob("*.jsonl"))
    folder = tmp_path / "two" / "audit" / log.name
    folder.mkdir(parents=True)
    with MemoryController.open(tmp_path / "two") as memory:
        with pytest.raises(InputError, match="a different audit log"):
            import_into(memory, out)
        folder.rmdir()
        assert import_into(memory, out).written == moved.records


def test_a_folder_in_the_place_of_a_mark_is_told(tmp_path: Path) -> None:
    for name in ("begun", ".begun.half"):
        (tmp_path / name).mkdir()
        with pytest.raises(StoreError, match="interrupted work"):
            FolderMarks(tmp_path).read("begun")

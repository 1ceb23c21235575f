"""`acc schema`, and `acc replay --schema NAME`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversation_files import agent, as_lines, user

from acc.cli import run
from acc.schema.catalog import schema_named, state_document


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command; its exit code, stdout and stderr."""

    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        return code, out, error

    return command


def test_list_tells_the_published_schemas(told: Any) -> None:
    code, out, _ = told("schema", "list")
    assert code == 0
    assert "acc_schemas.planning:PlanningState" in out
    listed = {each["name"]: each for each in json.loads(told("schema", "list", "--json")[1])}
    assert listed["it_operations"]["max_tokens"] == 1100
    assert listed["generic"]["class"] == "acc.state.model:CompressedCognitiveState"


def test_show_tells_own_slots_and_all_of_them(told: Any) -> None:
    code, out, _ = told("schema", "show", "finance")
    assert code == 0
    assert "\x1b" not in out
    (row,) = [line for line in out.splitlines() if line.startswith("materiality ")]
    assert "user and above" in row
    assert "constraints" not in out
    (row,) = [
        x
        for x in told("schema", "show", "finance", "--all")[1].splitlines()
        if x.startswith("constraints ")
    ]
    assert "word for word, until lifted" in row
    shown = json.loads(told("schema", "show", "finance", "--json")[1])
    assert shown["materiality"]["write"] == "user"


def test_export_writes_json_schema_wire_schema_and_page(told: Any, tmp_path: Path) -> None:
    out = tmp_path / "planning.json"
    assert told("schema", "export", "planning", "--out", out)[:2] == (0, "")
    assert json.loads(out.read_text(encoding="utf-8")) == state_document(schema_named("planning"))
    wire = json.loads(told("schema", "export", "planning", "--as", "wire")[1])
    assert "retire" in wire["required"]
    pages = told("schema", "export", "generic", "planning", "--as", "page")[1]
    assert "\n## generic\n" in pages
    assert "\n## planning\n" in pages
    code, _, error = told("schema", "export", "generic", "planning")
    assert code == 1
    assert "2 schemas for one JSON Schema" in error


def test_json_tells_the_files_of_a_new_schema(told: Any, tmp_path: Path) -> None:
    code, out, _ = told("schema", "new", "cli_depot", "--folder", tmp_path, "--json")
    written = json.loads(out)
    assert code == 0
    assert written == {
        "schema": str(tmp_path / "cli_depot.py"),
        "test": str(tmp_path / "test_cli_depot.py"),
    }
    assert all(Path(file).exists() for file in written.values())


@pytest.mark.slow
def test_a_new_schema_passes_its_own_test_and_the_check(told: Any, tmp_path: Path) -> None:
    code, out, _ = told("schema", "new", "cli_clinic", "--folder", tmp_path)
    assert code == 0
    assert "acc schema check" in out
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cli_clinic.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    code, out, _ = told("schema", "check", tmp_path / "cli_clinic.py")
    assert (code, out) == (0, "CliClinicState is valid: version 1, 2 slots of its own\n")
    code, _, error = told("schema", "new", "cli_clinic", "--folder", tmp_path)
    assert code == 1
    assert "exists already" in error
    for name in ("Not A Name", "class", "json", "acc"):
        code, _, error = told("schema", "new", name, "--folder", tmp_path)
        assert (code, error.count("\n")) == (1, 1)
        assert f"acc: {name!r} is " in error
    assert sorted(p.name for p in tmp_path.glob("*.py")) == ["cli_clinic.py", "test_cli_clinic.py"]


UNTOLD = """
from typing import Annotated
from acc import CompressedCognitiveState, Item, Slot, Trust
from acc.state import Name

class A(Item):
    key = ("a",)
    head = "a"
    a: Name

class UntoldState(CompressedCognitiveState):
    some: Annotated[tuple[A, ...], Slot(max_items=200)]
    more: Annotated[tuple[A, ...], Slot(max_items=2, min_trust=Trust.TOOL)]
"""


def test_check_gives_advice_and_finds_what_is_wrong(told: Any, tmp_path: Path) -> None:
    file = tmp_path / "cli_untold.py"
    file.write_text(UNTOLD, encoding="utf-8")
    advice = json.loads(told("schema", "check", file, "--json")[1])["advice"]
    for expected in ("no docstring", "some has no guidance", "neither cues nor examples", "share the id prefix 'i'",
                     "evicted long before"):  # fmt: skip
        assert any(expected in line for line in advice), expected
    wrong = tmp_path / "cli_wrong.py"
    wrong.write_text(UNTOLD.replace('key = ("a",)', "key = ()"), encoding="utf-8")
    code, out, error = told("schema", "check", wrong)
    assert (code, out) == (1, "")
    assert error.startswith("acc: item type A of slot 'some' needs a head and a key")
    assert error.count("\n") == 1


def test_check_of_a_stored_state(told: Any, tmp_path: Path) -> None:
    stored = Path(__file__).parents[1] / "schema" / "stored" / "it_operations.1.first.json"
    code, out, _ = told("schema", "check", stored, "--schema", "it_operations")
    assert code == 0
    assert "loads as ITOperationsState: turn 2, 8 items" in out
    code, _, error = told("schema", "check", stored, "--schema", "finance")
    assert code == 1
    assert "the state has the schema 'ITOperationsState'" in error
    assert "add --schema NAME" in told("schema", "check", stored)[2]
    assert "No such file" in told("schema", "check", tmp_path / "none.json")[2]
    edited = tmp_path / "edited.json"
    edited.write_text(
        stored.read_text(encoding="utf-8").replace("nginx", "redis"), encoding="utf-8"
    )
    assert (
        "changed after it was committed"
        in told("schema", "check", edited, "--schema", "it_operations")[2]
    )


def test_diff_tells_what_a_migration_must_answer(told: Any, tmp_path: Path) -> None:
    file = tmp_path / "finance.json"
    told("schema", "export", "finance", "--out", file)
    assert (
        told("schema", "diff", file, "finance")[1] == "no difference that affects a stored state\n"
    )
    grown = told("schema", "diff", "generic", "finance")[1]
    assert "figures: added" in grown
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace('"waived"', '"forgiven"'), encoding="utf-8")
    code, out, _ = told("schema", "diff", file, "finance")
    assert code == 0
    assert "reconciling_items.stage: no longer allows forgiven\n    question: " in out
    assert out.endswith(
        "1 question to answer: set schema_version to 2, and declare a migration from 1\n"
    )
    changes = json.loads(told("schema", "diff", file, "finance", "--json")[1])["changes"]
    assert [bool(c["question"]) for c in changes] == [True, False]


def test_arguments_that_make_no_sense(told: Any) -> None:
    for arguments in (
        ("schema", "tell"),
        ("schema", "show"),
        ("schema", "export", "finance", "--as", "prose"),
    ):
        code, _, error = told(*arguments)
        assert (code, error.count("\n")) == (2, 1)
    code, _, error = told("schema", "show", "nothing")
    assert code == 1
    assert "published: cybersecurity, finance, generic" in error
    code, _, error = told("schema", "export", "finance", "--out", ".")
    assert (code, error.count("\n"), "name another file" in error) == (1, 1, True)
    code, out, _ = told("schema")
    assert (code, "acc schema [OPTIONS] COMMAND" in out) == (0, True)


def test_a_replay_under_a_published_schema_is_gone_on_with(told: Any, tmp_path: Path) -> None:
    talk = [
        user("Never restart nginx."),
        agent("Understood."),
        user("Why is checkout slow?"),
        agent("The pool."),
    ]
    file = as_lines(tmp_path / "inc.jsonl", talk)
    kept = ("--memory", tmp_path / "memory")
    replay = ("replay", file, *kept, "--quiet")
    assert told(*replay, "--schema", "it_operations", "--turns", "1")[0] == 0
    assert told(*replay)[0] == 0
    shown = json.loads(told("show", *kept, "--json")[1])
    assert (shown["state"]["schema_name"], shown["turn"]) == ("ITOperationsState", 2)
    assert shown["state"]["constraints"][0]["text"] == "Never restart nginx"
    assert told("verify", *kept)[0] == 0
    code, _, error = told(*replay, "--schema", "finance")
    assert (code, "which is not a parent of FinanceState" in error) == (1, True)
    code, _, error = told(*replay, "--thread", "other", "--schema", "nothing")
    assert code == 1
    assert "no schema is published as 'nothing'" in error


OWN = """
from typing import Annotated
from acc import CompressedCognitiveState, Item, Slot
from acc.state import Name

class Parcel(Item):
    key = ("parcel",)
    head = "parcel"
    parcel: Name

class ParcelState(CompressedCognitiveState):
    \"\"\"Parcels.\"\"\"
    parcels: Annotated[tuple[Parcel, ...], Slot(max_items=PLACES, id_prefix="h", guidance="parcels")]
"""


@pytest.mark.slow
def test_one_verify_holds_threads_of_several_schemas(told: Any, tmp_path: Path) -> None:
    for name, places in (("cli_parcels", "4"), ("cli_parcels_old", "2")):
        (tmp_path / f"{name}.py").write_text(OWN.replace("PLACES", places), encoding="utf-8")
    talk = as_lines(tmp_path / "talk.jsonl", [user("Never send on Sunday."), agent("Noted.")])
    kept = ("--memory", tmp_path / "memory")
    own, old = tmp_path / "cli_parcels.py", tmp_path / "cli_parcels_old.py"
    for thread, schema in (("ops", "it_operations"), ("fin", "finance"), ("plain", "generic")):
        assert (
            told("replay", talk, *kept, "--quiet", "--thread", thread, "--schema", schema)[0] == 0
        )
    assert told("verify", *kept)[0] == 0
    assert told("replay", talk, *kept, "--quiet", "--thread", "new", "--schema", own)[0] == 0
    assert told("replay", talk, *kept, "--quiet", "--thread", "old", "--schema", old)[0] == 0

    code, _, error = told("verify", *kept)
    assert (code, error.count("\n")) == (1, 1)
    assert "give --schema cli_parcels" in error
    code, out, _ = told("verify", *kept, "--schema", own)
    assert (code, "under an earlier form of ParcelState" in out) == (0, True)
    code, out, _ = told("verify", *kept, "--schema", own, "--schema", old)
    assert code == 0
    assert out.count("1 commit recomputed, all equal") == 5
    assert told("verify", *kept, "--schema", "nothing")[0] == 1


def test_diff_in_json_counts_what_is_to_be_answered(told: Any, tmp_path: Path) -> None:
    old, new = tmp_path / "cli_diff_old.py", tmp_path / "cli_diff_new.py"
    old.write_text(OWN.replace("PLACES", "4"), encoding="utf-8")
    new.write_text(OWN.replace("PLACES", "4").replace("parcel: Name", "parcel: Name\n    to: Name"))
    assert json.loads(told("schema", "diff", old, new, "--json")[1])["to_answer"] == 1
    assert json.loads(told("schema", "diff", new, new, "--json")[1])["to_answer"] == 0


def test_check_tells_of_examples_that_teach_nothing(told: Any, tmp_path: Path) -> None:
    file = tmp_path / "cli_dumb.py"
    taught = 'Slot(max_items=4, id_prefix="h", guidance="parcels", examples=(Example("DX-1", parcel="DX-1"),))'
    source = OWN.replace('Slot(max_items=PLACES, id_prefix="h", guidance="parcels")', taught)
    file.write_text("from acc.state.slots import Example\n" + source, encoding="utf-8")
    (advice,) = json.loads(told("schema", "check", file, "--json")[1])["advice"]
    assert "the keyless rules do not make this item from 'DX-1'" in advice

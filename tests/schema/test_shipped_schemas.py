"""The schemas that ship: files up to date, stored states load, every example holds, threads go on with them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from acc.cli.schema import own_slots
from acc.compress.prompt import instruction
from acc.controller.controller import MemoryController
from acc.schema import Schema, as_text, published, schema_named, state_document
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import wire_schema
from acc.step.result import Step
from acc.turn.turn import Turn
from acc_schemas.examples.telling import refused, steps, tell

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
STORED = Path(__file__).parent / "stored"
DOMAINS = (
    "it_operations", "cybersecurity", "healthcare_operations", "finance", "software_engineering",
    "planning",
)  # fmt: skip


def test_the_generic_state_and_six_domains_are_published() -> None:
    assert set(published()) >= {"generic", *DOMAINS}
    assert schema_named("generic") is CompressedCognitiveState


@pytest.mark.parametrize("name", DOMAINS)
def test_the_generated_json_schema_is_up_to_date(name: str) -> None:
    file = ROOT / "schemas" / "acc_schemas" / f"{name}.schema.json"
    hint = f"to fix: acc schema {name} --as state > {file.relative_to(ROOT)}"
    assert file.read_text(encoding="utf-8") == as_text(state_document(schema_named(name))), hint


@pytest.mark.parametrize("name", DOMAINS)
def test_wire_and_prompt_follow_from_the_declaration(name: str) -> None:
    schema = schema_named(name)
    prompt, properties = instruction(schema), wire_schema(schema)["properties"]
    own = own_slots(schema)
    assert len(own) >= 5
    for slot in own:
        asked = properties[slot.rules.key]["items"]["properties"]
        assert list(asked) == ["id", *slot.item.own_fields(), "refs"]
        assert slot.rules.guidance in prompt


# --- worked examples ----------------------------------------------------------------------


def _example(name: str) -> tuple[Schema, list[Step[Any]], tuple[tuple[str, str], ...]]:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    schema = schema_named(name)
    return schema, [step for _, step in steps(schema, module.SCENES)], module.REFUSED


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_fills_every_slot_of_its_own(name: str) -> None:
    schema, made, _ = _example(name)
    filled = {slot.name for each in made for slot, _ in each.state.items()}
    assert {slot.name for slot in own_slots(schema)} <= filled
    assert made[-1].state.constraints, "and the user's rule stands in it"


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_shows_what_is_refused_and_nothing_else_is(name: str) -> None:
    _, made, expected = _example(name)
    found = [(note.of, note.reason.value) for each in made for note in refused(each)]
    assert sorted(found) == sorted(expected)
    assert expected


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    tell(schema_named(name), module.SCENES)
    told = capsys.readouterr().out
    assert told.count("    refused in ") == len(module.REFUSED)
    assert "Rules, word for word" in told


def test_what_only_a_document_says_is_refused_or_marked() -> None:
    runs = {run.run: run.result for run in _example("software_engineering")[1][-1].state.check_runs}
    assert runs == {"test_upload": "failed"}
    assert "Findings by document:" in _example("planning")[1][-1].text()
    assert [c.due for c in _example("finance")[1][-1].state.cut_offs] == ["4 October, 18:00"]


def test_a_patient_is_not_named_by_number() -> None:
    jobs = _example("healthcare_operations")[1][-1].state.affected_jobs
    assert [job.job for job in jobs] == ["lab-ingest-3"]


# --- stored states ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["generic", *DOMAINS])
def test_a_stored_state_loads_with_all_its_items(name: str) -> None:
    raw = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    state = schema_named(name).load(raw)
    stored = {
        item["id"]: item
        for value in raw.values() if isinstance(value, list)
        for item in value if isinstance(item, dict) and "id" in item
    }  # fmt: skip
    held = {i.id: i.model_dump(mode="json", exclude_defaults=True) for _, i in state.items()}
    assert held == stored
    assert state.hash == raw["hash"]


# --- threads ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DOMAINS)
def test_a_thread_of_the_generic_class_goes_on_with_a_domain(name: str, tmp_path: Path) -> None:
    rule, schema = "Never restart nginx during business hours.", schema_named(name)
    with MemoryController.open(tmp_path, store="none") as memory:
        first: Any = memory.step(None, Turn.said(rule), thread="t")
    with MemoryController.open(tmp_path, store="none", policy=Policy(schema=schema)) as memory:
        again: Any = memory.step(first.state, Turn.said("Why is checkout slow?"), thread="t")
        assert type(again.state) is schema
        assert [each.words.text for each in again.state.constraints] == [rule]
        assert (again.state.parent, again.state.turn) == (first.state.hash, 2)
        assert again.state.branch == "main"
        last: Any = memory.last_state("t")
        assert last == again.state
        policies = [Policy(max_tokens=1_100), Policy(schema=schema)]
        assert memory.journal.verify(policies).is_clean

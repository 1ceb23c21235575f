"""The schemas that ship: generated files up to date, every stored version loads, every example holds."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from acc.commit.commit import Commit
from acc.compress.prompt import instruction
from acc.compress.protocol import wire_schema
from acc.schema.catalog import Schema, as_text, published, schema_named, state_document
from acc.schema.pages import own_slots, page
from acc.schema.starting import advice
from acc.state.migrations import own_version
from acc.state.model import CompressedCognitiveState
from acc_schemas.examples.telling import commits, filled, keyless, tell, tell_keyless

ROOT = Path(__file__).parents[2]
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
    hint = f"to fix: acc schema export {name} --out {file.relative_to(ROOT)}"
    assert file.read_text(encoding="utf-8") == as_text(state_document(schema_named(name))), hint


def test_the_reference_page_is_up_to_date() -> None:
    names = ("generic", *DOMAINS)
    hint = f"to fix: acc schema export {' '.join(names)} --as page --out docs/schema-reference.md"
    told = (ROOT / "docs" / "schema-reference.md").read_text(encoding="utf-8")
    assert told == page([schema_named(name) for name in names]), hint


@pytest.mark.parametrize("name", DOMAINS)
def test_nothing_is_advised_about_a_shipped_schema(name: str) -> None:
    assert advice(schema_named(name)) == []


@pytest.mark.parametrize("name", DOMAINS)
def test_wire_and_prompt_follow_from_the_declaration(name: str) -> None:
    schema = schema_named(name)
    prompt, properties = instruction(schema), wire_schema(schema)["properties"]
    for slot in own_slots(schema):
        asked = properties[slot.name]["items"]["properties"]
        assert list(asked) == [*slot.item.wire_fields(), "cites", "id"]
        assert slot.rules.guidance in prompt


# --- worked examples ----------------------------------------------------------------------


def _example(name: str) -> tuple[Schema, list[Commit], tuple[tuple[str, str], ...]]:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    schema = schema_named(name)
    return schema, [done for _, done in commits(schema, module.SCENES)], module.REFUSED


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_fills_every_slot_of_its_own(name: str) -> None:
    schema, done, _ = _example(name)
    filled = {slot.name for each in done for slot, _ in each.state.items()}
    assert {slot.name for slot in own_slots(schema)} <= filled
    assert all(each.tokens <= schema.max_tokens for each in done)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_shows_what_is_refused_and_nothing_else_is(name: str) -> None:
    _, done, refused = _example(name)
    assert refused
    assert sorted((n.slot, n.reason.value) for each in done for n in each.refused) == sorted(
        refused
    )


@pytest.mark.parametrize("name", DOMAINS)
def test_a_worked_example_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    tell(schema_named(name), module.SCENES)
    told = capsys.readouterr().out
    assert told.count("    refused: ") == len(module.REFUSED)
    assert "constraints[1]" in told


@pytest.mark.parametrize("name", DOMAINS)
def test_without_a_model_plain_turns_fill_every_slot_and_nothing_is_refused(name: str) -> None:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    schema = schema_named(name)
    done = [each for _, each in keyless(schema, module.PLAIN)]
    slots = {slot for slot, _ in filled(done[-1].state)}
    assert slots == {slot.name for slot in own_slots(schema)}
    assert [note for each in done for note in each.refused] == []


@pytest.mark.parametrize("name", DOMAINS)
def test_without_a_model_hostile_turns_fill_nothing(name: str) -> None:
    module = importlib.import_module(f"acc_schemas.examples.{name}")
    assert len(module.HOSTILE) >= 5
    for heard in module.HOSTILE:
        ((_, done),) = keyless(schema_named(name), [heard])
        assert filled(done.state) == [], heard


def test_what_happens_without_a_model_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module("acc_schemas.examples.it_operations")
    tell_keyless(schema_named("it_operations"), module.PLAIN, module.HOSTILE)
    told = capsys.readouterr().out
    assert "approvals: Rollback of CHG-4412 given one node at a time" in told
    assert told.count("    fills nothing") == len(module.HOSTILE)


def _last(name: str) -> CompressedCognitiveState:
    return _example(name)[1][-1].state


def test_what_only_a_document_says_is_not_taken_at_its_word() -> None:
    runs = {r.run: r.result for r in _last("software_engineering").check_runs}  # type: ignore[attr-defined]
    assert runs == {"test_upload": "failed", "test_all": "not_run"}
    findings = _last("planning").findings  # type: ignore[attr-defined]
    assert [f.standing for f in findings] == ["reported"]
    cut_offs = _last("finance").cut_offs  # type: ignore[attr-defined]
    assert [c.due for c in cut_offs] == ["4 October, 18:00"]


# --- stored states ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["generic", *DOMAINS])
def test_there_is_a_stored_state_of_every_version(name: str) -> None:
    for version in range(1, own_version(schema_named(name)) + 1):
        assert (STORED / f"{name}.{version}.json").is_file(), f"keep a state stored under {version}"


@pytest.mark.parametrize("file", sorted(STORED.glob("*.json")), ids=lambda f: f.name)
def test_a_stored_state_of_every_version_loads_with_all_its_items(file: Path) -> None:
    raw = json.loads(file.read_text(encoding="utf-8"))
    schema = schema_named(file.name.partition(".")[0])
    state = schema.load(raw)
    stored = {
        i["id"]: i for value in raw.values() if isinstance(value, list) for i in value if "id" in i
    }
    held = {item.id: item.model_dump(mode="json") for _, item in state.items()}
    assert held.keys() == stored.keys()
    for item_id, item in stored.items():
        assert item.items() <= held[item_id].items()
    assert [o.ref for o in state.pending] == [o["ref"] for o in raw["pending"]]
    assert raw["hash"] in (state.hash, state.parent)


def test_a_state_stored_before_the_schema_grew_becomes_a_child_of_what_was_stored() -> None:
    raw = json.loads((STORED / "it_operations.1.first.json").read_text(encoding="utf-8"))
    state = schema_named("it_operations").load(raw)
    assert "approvals" not in raw
    assert state.approvals == ()  # type: ignore[attr-defined]
    assert state.changes[0].blast_radius == ""  # type: ignore[attr-defined]
    assert (state.parent, state.hash) == (raw["hash"], state.digest())

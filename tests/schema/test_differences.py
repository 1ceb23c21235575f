"""What changes between two versions of a schema, and what becomes of stored states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from acc.errors import InputError
from acc.schema.documents import as_text, differences, document_named, state_document
from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import read
from acc.state.slots import Slot
from acc.step.update import update_state
from acc.turn.observations import Trust
from acc.turn.turn import Turn

State = type[CompressedCognitiveState]
OPTIONAL = object()


def case(**fields: Any) -> type[Record]:
    own = {"case": Name, "stage": Literal["open", "closed"], "note": Text, **fields}
    annotations = {
        name: Text if kind is OPTIONAL else kind for name, kind in own.items() if kind is not None
    }
    defaults = {name: "" for name, kind in own.items() if kind is OPTIONAL}
    return type("Case", (Record,), {"key": ("case",), "__annotations__": annotations, **defaults})


def schema(item: type[Record] | None = None, max_tokens: int = 800, **rules: Any) -> State:
    slot = Slot(**{"key": "cases", "prefix": "h", "title": "Cases", "places": 4, **rules})
    annotations = {"cases": Annotated[tuple[item or case(), ...], slot]}  # type: ignore[misc]
    body = {
        "__annotations__": annotations, "__module__": __name__, "max_tokens": max_tokens, "cases": (),
    }  # fmt: skip
    return type("DeskState", (CompressedCognitiveState,), body)


def without_slots() -> State:
    body = {"__module__": __name__, "max_tokens": 800}
    return type("DeskState", (CompressedCognitiveState,), body)


NEW: dict[str, tuple[State, str, bool]] = {
    "nothing": (schema(), "", False),
    "a slot is gone": (without_slots(), "cases: removed", True),
    "a field is gone": (schema(case(note=None)), "cases.note: removed", True),
    "a field more": (schema(case(owner=Name)), "cases.owner: added", True),
    "a field more, with a default": (schema(case(owner=OPTIONAL)), "cases.owner: added", False),
    "a choice more": (schema(case(stage=Literal["open", "closed", "won"])),
                      "cases.stage: enum open, closed -> open, closed, won", False),
    "another type": (schema(case(note=int)), "cases.note: maxLength 600 -> none", True),
    "not empty": (schema(case(note=Name)), "cases.note: minLength none -> 1", False),
    "other guidance": (schema(guidance="cases"), "cases: guidance", False),
    "other writers": (schema(least=Trust.USER), "cases: least document -> user", False),
    "another heading": (schema(title="Cases now"), "cases: title Cases -> Cases now", False),
}  # fmt: skip
"""The new version, how the change is told, and whether the items of `STORED` are facts then."""


@pytest.mark.parametrize("what", NEW)
def test_a_change_is_told(what: str) -> None:
    new, change, _ = NEW[what]
    found = differences(state_document(schema()), state_document(new))
    assert [f"{d.where}: {d.change}" for d in found][:1] == ([change] if change else [])


WRITTEN = {"cases": [{"case": "17", "stage": "closed", "note": "a note", "refs": ["u1"]}]}


def stored(old: State) -> dict[str, Any]:
    """A state as it was stored under the first version."""
    step = update_state(
        None, Turn.said("Case 17 is closed."), policy=Policy(schema=old),
        compressor=lambda reading: read(WRITTEN, reading.policy.schema),
    )  # fmt: skip
    return step.state.canonical()


@pytest.mark.parametrize("what", NEW)
def test_a_stored_state_loads_under_every_version_and_the_comparison_says_how(what: str) -> None:
    new, _, becomes_a_fact = NEW[what]
    state: Any = new.load(stored(schema()))
    found = [(slot.name, item.id) for slot, item in state.items() if slot.is_record]
    assert found == ([("relational_map", "h1")] if becomes_a_fact else [("cases", "h1")])
    told = [d.effect for d in differences(state_document(schema()), state_document(new))]
    if becomes_a_fact:
        assert "kept as facts" in told[0]
        assert "note" in state.relational_map[0].text
        assert state.feedback


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (schema(max_tokens=700), "max_tokens 800 -> 700"),
        (schema(places=2), "places 4 -> 2"),
        (schema(share=0.2), "share 1.0 -> 0.2"),
    ],
)
def test_less_room_is_told_with_what_leaves(new: State, change: str) -> None:
    (only,) = differences(state_document(schema()), state_document(new))
    assert only.change == change
    assert "for want of room" in only.effect
    (back,) = differences(state_document(new), state_document(schema()))
    assert back.effect == ""


def test_a_renamed_class_is_told() -> None:
    other = type("Other", (CompressedCognitiveState,), {"__module__": __name__, "max_tokens": 800})
    (only,) = differences(state_document(without_slots()), state_document(other))
    assert only.change == "class DeskState -> Other"


def test_an_exported_document_stands_for_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "desk.json"
    file.write_text(as_text(state_document(schema())), encoding="utf-8")
    assert differences(document_named(str(file)), state_document(schema())) == []


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", "[" * 100_000, json.dumps({"x-acc": {"slots": ["a"]}, "properties": {}})],
)
def test_what_is_no_document_says_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "desk.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not an exported schema"):
        document_named(str(file))
    with pytest.raises(InputError, match="No such file"):
        document_named(str(tmp_path / "none.json"))

"""What a migration must answer is exactly what keeps stored states from loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from acc.commit.commit import commit
from acc.errors import InputError, StateError
from acc.schema.catalog import as_text, state_document
from acc.schema.pages import differences, document_named, open_questions
from acc.state import Line, Name, OptionalName
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.slots import Slot
from acc.turn.turn import Turn

State = type[CompressedCognitiveState]
Stage = Literal["open", "closed"]


def case(**fields: Any) -> type[Item]:
    own = {"case": Name, "stage": Stage, "note": Line, **fields}
    annotations = {name: kind for name, kind in own.items() if kind is not None}
    defaults = {name: "" for name, kind in annotations.items() if kind is OptionalName}
    return type(
        "Case",
        (Item,),
        {"key": ("case",), "head": "case", "__annotations__": annotations, **defaults},
    )


def schema(item: type[Item] | None = None, max_tokens: int = 800, **rules: Any) -> State:
    slot = Slot(**{"max_items": 4, "id_prefix": "h", **rules})
    annotations = {"cases": Annotated[tuple[item or case(), ...], slot]}  # type: ignore[misc]
    body = {"__annotations__": annotations, "__module__": __name__, "max_tokens": max_tokens}
    return type("DeskState", (CompressedCognitiveState,), body)


def without_slots() -> State:
    return type("DeskState", (CompressedCognitiveState,), {"__module__": __name__})


def grown() -> State:
    more = Annotated[tuple[case(), ...], Slot(max_items=2, id_prefix="n")]  # type: ignore[misc]
    return type(
        "DeskState", (schema(),), {"__annotations__": {"more": more}, "__module__": __name__}
    )


NEW: dict[str, tuple[State, str, str]] = {
    "nothing": (schema(), "", ""),
    "a slot is gone": (without_slots(), "cases: removed", "which slot"),
    "a slot more": (grown(), "more: added", ""),
    "a field is gone": (schema(case(note=None)), "cases.note: removed", "which field"),
    "a field more": (schema(case(owner=Name)), "cases.owner: added", "which value do stored items"),
    "a field more, with a default": (schema(case(owner=OptionalName)), "cases.owner: added, with a default", ""),
    "a choice less": (schema(case(stage=Literal["open"])), "cases.stage: no longer allows closed", "which value"),
    "a choice more": (schema(case(stage=Literal["open", "closed", "won"])), "cases.stage: now allows won", ""),
    "choices for free text": (schema(case(note=Literal["none"])), "cases.note: allows only none", "which value"),
    "free text for choices": (schema(case(stage=Name)), "cases.stage: now allows any text", ""),
    "shorter text": (schema(case(note=Name)), "cases.note: at most 120 characters, was 320", "longer texts"),
    "another type": (schema(case(note=int)), "cases.note: type string -> integer", "stored values"),
    "fewer places": (schema(max_items=2), "cases: places 4 -> 2", ""),
    "another bound": (schema(max_tokens=700), "max_tokens 800 -> 700", ""),
    "other guidance": (schema(guidance="cases"), "cases: guidance", ""),
    "another lifetime": (schema(ephemeral=True), "cases: lifetime thread -> turn", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", NEW)
def test_a_change_is_told_with_what_it_asks(what: str) -> None:
    new, change, question = NEW[what]
    found = differences(state_document(schema()), state_document(new))
    assert [f"{d.where}: {d.change}".removeprefix(": ") for d in found] == (
        [change] if change else []
    )
    assert [bool(d.question) for d in found if d.question] == ([True] if question else [])
    assert all(question in d.question for d in found)


LONG = "a note that is longer than a name may be, " * 4
WRITTEN = {"cases": [
    {"case": "17", "stage": "closed", "note": f"{LONG} in full", "cites": ["u1"]},
    {"case": "18", "stage": "open", "note": "new", "cites": ["u1"]},
]}  # fmt: skip


@pytest.mark.parametrize("what", NEW)
def test_stored_states_load_as_they_are_exactly_where_nothing_is_asked(what: str) -> None:
    new = NEW[what][0]
    old = schema()
    turn = Turn.said("Cases 17 and 18.").numbered(1)
    raw = commit(old.empty(), Proposal.from_wire(WRITTEN, old), turn).state.canonical()
    assert len(raw["cases"]) == 2
    if open_questions(state_document(old), state_document(new)):
        with pytest.raises(StateError, match="add a migration"):
            new.load(raw)
    else:
        assert [item.id for _, item in new.load(raw).items()] == ["h1", "h2"]


def test_a_renamed_class_is_told() -> None:
    other = type("Other", (CompressedCognitiveState,), {"__module__": __name__})
    (only,) = open_questions(state_document(without_slots()), state_document(other))
    assert "DeskState" in only.change


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

"""What becomes of stored states where their schema changes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

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


NEW: dict[str, tuple[State, bool]] = {
    "nothing": (schema(), False),
    "a slot is gone": (without_slots(), True),
    "a field is gone": (schema(case(note=None)), True),
    "a field more": (schema(case(owner=Name)), True),
    "a field more, with a default": (schema(case(owner=OPTIONAL)), False),
    "a choice more": (schema(case(stage=Literal["open", "closed", "won"])), False),
    "another type": (schema(case(note=int)), True),
    "not empty": (schema(case(note=Name)), False),
    "other guidance": (schema(guidance="cases"), False),
    "other writers": (schema(least=Trust.USER), False),
    "another heading": (schema(title="Cases now"), False),
}  # fmt: skip
"""The new version, and whether the items of a stored state are facts then."""

WRITTEN = {"cases": [{"case": "17", "stage": "closed", "note": "a note", "refs": ["u1"]}]}


def stored(old: State) -> dict[str, Any]:
    """A state as it was stored under the first version."""
    step = update_state(
        None, Turn.said("Case 17 is closed."), policy=Policy(schema=old),
        model=lambda reading: read(WRITTEN, reading.policy.schema),
    )  # fmt: skip
    return step.state.canonical()


@pytest.mark.parametrize("what", NEW)
def test_a_stored_state_loads_under_every_version(what: str) -> None:
    new, becomes_a_fact = NEW[what]
    state: Any = new.load(stored(schema()))
    found = [(slot.name, item.id) for slot, item in state.items() if slot.is_record]
    assert found == ([("relational_map", "h1")] if becomes_a_fact else [("cases", "h1")])
    if becomes_a_fact:
        assert "note" in state.relational_map[0].text
        assert state.feedback

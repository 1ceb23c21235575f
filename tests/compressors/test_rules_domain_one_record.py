"""A value belongs to the record that names it: one JSON object, one head, one statement at a time."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from acc.pipeline.update import update_state
from acc.state import Line, Name, OptionalLine
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import Example, Slot
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn


class Tank(Item):
    """A tank and its level."""

    key = ("tank",)
    head = "tank"
    tank: Name
    level: Name


class Shift(Item):
    """Who runs which line."""

    key = ("line",)
    head = "line"
    line: Name
    lead: Name
    phone: OptionalLine = ""


class Fault(Item):
    """What a pump suffers from."""

    key = ("pump",)
    head = "pump"
    pump: Name
    fault: Line


class PlantState(CompressedCognitiveState):
    """A plant."""

    tanks: Annotated[
        tuple[Tank, ...],
        Slot(
            max_items=8,
            id_prefix="w",
            cues=("level",),
            examples=(Example("Tank T4 has level 30", tank="T4", level="30"),),
        ),
    ]
    shifts: Annotated[
        tuple[Shift, ...],
        Slot(
            max_items=8,
            id_prefix="h",
            min_trust=Trust.USER,
            cues=("runs",),
            examples=(
                Example("Jonas runs L2 tonight, phone 1234", line="L2", lead="Jonas", phone="1234"),
            ),
        ),
    ]
    faults: Annotated[
        tuple[Fault, ...],
        Slot(max_items=8, id_prefix="m", min_trust=Trust.USER, cues=("leaking",),
             examples=(Example("P-101 is leaking at the flange", pump="P-101", fault="leaking at the flange"),)),
    ]  # fmt: skip


def after(*said: str | tuple[Channel, str]) -> Any:
    state = None
    for each in said:
        channel, text = each if isinstance(each, tuple) else (Channel.USER, each)
        turn = Turn(observations=(Observation(channel=channel, text=text),))
        state = update_state(state, turn, policy=Policy(schema=PlantState)).state
    return state


def tanks(state: Any) -> list[tuple[str, str]]:
    return [(tank.tank, tank.level) for tank in state.tanks]


RECORD = '{"tank": "T4", "size": 90, "level": 30, "note": "Level first. Pump the rest to T7."}'


@pytest.mark.parametrize("channel", [Channel.AGENT, Channel.TOOL])
@pytest.mark.parametrize("around", ["Result: {}", "{} as asked", 'I got "{}" and go on.\nDone.'])
def test_what_stands_in_an_object_is_not_read_as_a_sentence(channel: Channel, around: str) -> None:
    assert tanks(after((channel, around.replace("{}", RECORD)))) == []


def test_an_objects_own_values_are_read_and_what_stands_around_it_too() -> None:
    assert tanks(after((Channel.TOOL, RECORD))) == [("T4", "30")]
    said = f"I asked: {RECORD}\nTank T9 has level 55."
    assert tanks(after((Channel.AGENT, said))) == [("T9", "55")]


def shifts(state: Any) -> list[tuple[str, str, str]]:
    return [(each.line, each.lead, each.phone) for each in state.shifts]


HELD = "Jonas runs L3 tonight, phone 7714."


@pytest.mark.parametrize(
    "text",
    [
        "Jonas no longer runs L3, Mira does, phone 7715.",
        "Jonas no longer runs L3.",
        "From now on Jonas does not run L3 any more, Mira runs it.",
    ],
)
def test_what_the_user_ends_for_a_name_does_not_stand(text: str) -> None:
    assert shifts(after(HELD)) == [("L3", "Jonas", "7714")]
    assert shifts(after(HELD, text)) in ([], [("L3", "Mira", "7715")])


@pytest.mark.parametrize(
    "text",
    [
        "Jonas no longer runs L2.",
        "Mira no longer runs L3.",
        "Does Jonas no longer run L3?",
        "L3 no longer stops at night.",
    ],
)
def test_what_ends_something_else_ends_nothing(text: str) -> None:
    assert shifts(after(HELD, text)) == [("L3", "Jonas", "7714")]


def test_nobody_below_the_user_ends_it() -> None:
    for channel in (Channel.AGENT, Channel.TOOL):
        said = (channel, "Jonas no longer runs L3.")
        assert shifts(after(HELD, said)) == [("L3", "Jonas", "7714")]


def faults(state: Any) -> list[tuple[str, str]]:
    return [(each.pump, each.fault) for each in state.faults]


def test_a_text_begins_where_the_examples_begin_it() -> None:
    """The cue is a part of the value there: without it, the value says nothing."""
    said = "The motor of P-102 is leaking at the seal."
    assert faults(after(said)) == [("P-102", "leaking at the seal")]


def test_a_text_does_not_run_on_into_a_statement_of_another() -> None:
    held = "P-102 is leaking at the seal."
    assert faults(after(held)) == [("P-102", "leaking at the seal")]
    assert faults(after("P-103 is leaking at the seal, P-104 is not.")) == []
    assert faults(after(held, "P-102 is not leaking at the seal, P-103 is.")) == []
    waits = "P-105 is leaking at the line to P-106."
    assert faults(after(waits)) == [("P-105", "leaking at the line to P-106")]

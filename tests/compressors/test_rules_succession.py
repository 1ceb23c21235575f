"""Identifiers that are withdrawn, or that another of their kind follows, leave the state."""

from __future__ import annotations

import pytest
from speaking import State, after, turn

from acc.keyless.reading import read
from acc.keyless.relations import gone
from acc.state.items import Entity

FLIGHT = Entity(id="f1", type="id", name="TP533")
ORDER = Entity(id="f2", type="order", name="BB-4471")
DOOR = Entity(id="f3", type="id", name="D-19")
TANJA = Entity(id="f4", type="person", name="Tanja Brandt")


def left(
    told: str, asked: str = "Anything new?", held: tuple[Entity, ...] = (FLIGHT, ORDER, DOOR)
) -> list[str]:
    reading = read(turn(asked, told, number=2), State.empty(), ())
    return [entity.name for entity in gone((*reading.user, *reading.agent), held)]


@pytest.mark.parametrize(
    ("told", "goes"),
    [
        ("TP533 is withdrawn for our Monday.", ["TP533"]),
        ("Order BB-4471 has been cancelled, and D-19 was replaced.", ["BB-4471", "D-19"]),
        ("We fly on LH1172 instead of TP533.", ["TP533"]),
        ("It is now BB-4502, five of them to Riga.", ["BB-4471"]),
        ("Rebooked to TP531, 07:10 to 10:00.", ["TP533"]),
    ],
)  # fmt: skip
def test_what_is_withdrawn_or_followed_goes(told: str, goes: list[str]) -> None:
    assert left(told) == goes


@pytest.mark.parametrize(
    "told",
    [
        "TP533 is on time, BB-4471 is not.",
        "Is TP533 cancelled?",
        "A second order went out, BB-4502.",  # beside the first
        "It is now KL-4502.",  # of another kind
        "TP533 stays as it is; TP531 has moved to the afternoon.",
        "Tanja Brandt is gone for the day.",
    ],
)
def test_what_is_only_spoken_of_stays(told: str) -> None:
    assert left(told, held=(FLIGHT, ORDER, DOOR, TANJA)) == []


def test_of_two_that_are_built_alike_none_is_followed() -> None:
    other = ORDER.model_copy(update={"id": "f9", "name": "BB-4480"})
    assert left("It is now BB-4502.", held=(ORDER, other)) == []


def test_a_question_of_the_user_withdraws_nothing() -> None:
    assert left("I am looking.", asked="Has TP533 been cancelled?") == []


ASKED = turn("Which version of relay-api?", "relay-api is at version 5.18.2.")
AFTERWARDS = turn("And now?", "relay-api is at version 6.2.0 now.", number=2)


def versions(state: State) -> list[str]:
    return [entity.name for entity in state.focal_entities]


def test_an_identifier_leaves_with_the_fact_that_it_stood_in() -> None:
    assert versions(after(ASKED)) == ["5.18.2"]
    assert versions(after(ASKED, AFTERWARDS)) == ["6.2.0"]


def test_an_identifier_stays_where_another_fact_still_has_it() -> None:
    mirror = turn("And the mirror?", "The mirror is at version 5.18.2.", number=2)
    later = AFTERWARDS.model_copy(update={"number": 3})
    assert "5.18.2" in versions(after(ASKED, mirror, later))


def test_an_identifier_that_the_turn_still_names_stays() -> None:
    question = "Was 5.18.2 the one with the leak?"
    again = turn(question, "Yes. relay-api is at version 6.2.0 now.", number=2)
    assert "5.18.2" in versions(after(ASKED, again))

"""A wrong declaration fails when the class is made, names what is wrong, and says how to mend it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from acc.errors import SchemaError
from acc.state.items import Name, Record, Rule, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot

JOBS = Slot("jobs", "j", "Jobs", places=3)


class Job(Record):
    key = ("job",)
    job: Name
    stage: Literal["failed", "running"] = "running"
    finding: Text = ""


class NoKey(Job):
    key = ("job", "site")


def declared(annotation: Any, name: str = "jobs") -> Any:
    members = {"__annotations__": {name: annotation}, name: (), "__module__": __name__}
    return type("ClinicState", (CompressedCognitiveState,), members)


def slot(item: Any = Job, **rules: Any) -> Any:
    return Annotated[tuple[item, ...], Slot(**{**vars(JOBS), **rules})]


WRONG: dict[str, tuple[Any, str, str]] = {
    "places in words": (slot(places="4"), "'4' places", "whole number"),
    "no place": (slot(places=0), "0 places", "above 0"),
    "a letter of refs": (slot(prefix="u"), "prefix 'u'", "one small letter"),
    "a prefix of two letters": (slot(prefix="jo"), "prefix 'jo'", "one small letter"),
    "the prefix of another slot": (slot(prefix="r"), "two slots have the prefix", "its own"),
    "the key of another slot": (slot(key="facts"), "two slots have the key", "its own"),
    "a key that is no name": (slot(key="my jobs"), "key 'my jobs'", "letters, digits and _"),
    "an unknown way with lesser sources": (slot(lesser="drop"), "lesser='drop'", '"beside"'),
    "a share of all and more": (slot(share=2), "share 2", "up to 1"),
    "a key that is no field": (slot(NoKey), "key site", "name fields of NoKey"),
    "no tuple": (Annotated[list[Job], JOBS], "not a tuple of one item type", "tuple[MyItem, ...]"),
    "no item type": (Annotated[tuple[str, ...], JOBS], "not a tuple", "a subclass of Record"),
    "two item types": (Annotated[tuple[Job, Rule], JOBS], "not a tuple", "tuple[MyItem, ...]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_says_how_to_mend_it(name: str) -> None:
    annotation, what, hint = WRONG[name]
    with pytest.raises(SchemaError) as error:
        declared(annotation)
    assert what in error.value.what
    assert hint in error.value.hint
    assert error.value.where == "ClinicState"


def test_what_is_right_stands() -> None:
    schema = declared(slot())
    assert list(schema.slots())[-1] == "jobs"
    assert schema.slots()["jobs"].item is Job
    assert schema.empty().jobs == ()
    assert issubclass(schema, CompressedCognitiveState)

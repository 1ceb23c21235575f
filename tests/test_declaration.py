"""A wrong declaration fails when the class is made, names what is wrong, and says how to fix it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import pytest

from acc.errors import SchemaError
from acc.state import Name, OptionalLine
from acc.state.items import Constraint, Entity, Item, Quote, Status
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Example, Slot
from acc.turn.observations import Channel, Trust


class Job(Item):
    key = ("job",)
    head = "job"
    job: Name
    stage: Literal["failed", "running"] = "running"


def item(**body: Any) -> type[Item]:
    """An item type with a field ``job`` and what else is given."""
    annotations = {"job": Name, **body.pop("fields", {})}
    return type(
        "Job", (Item,), {"key": ("job",), "head": "job", "__annotations__": annotations, **body}
    )


def declared(rules: Slot, of: type[Item] = Job, name: str = "jobs", **body: Any) -> Any:
    annotations = {name: Annotated[tuple[of, ...], rules]}  # type: ignore[valid-type]
    members = {"__annotations__": annotations, "__module__": __name__, **body}
    return type("ClinicState", (CompressedCognitiveState,), members)


WRONG: dict[str, tuple[Any, str, str]] = {
    "pinned without the user's words": (
        lambda: declared(Slot(max_items=2, pinned=True)), "others than the user", "min_trust=Trust.USER"),
    "pinned beyond the budget": (
        lambda: declared(
            Slot(max_items=60, pinned=True, quote=True, min_trust=Trust.USER), item(fields={"quote": Quote})),
        "90 pinned places (goal_orientation 6, constraints 24, jobs 60)", "max_tokens: ClassVar[int] = 900"),
    "a bound that nothing could meet": (
        lambda: declared(Slot(max_items=2), max_tokens=20), "max_tokens is 20", "64 or more"),
    "no head": (lambda: declared(Slot(max_items=2), item(head="")), "needs a head and a key", "of the type: job"),
    "no key": (lambda: declared(Slot(max_items=2), item(key=())), "needs a head and a key", "of the type: job"),
    "a head that nobody sees": (
        lambda: declared(Slot(max_items=2), item(unseen=("job",))), "does not show its head", "remove it from unseen"),
    "a computed field that is not there": (
        lambda: declared(Slot(max_items=2), item(computed=("at",))), "computes 'at'", "of the type: job"),
    "a field of commit's": (
        lambda: declared(Slot(max_items=2), item(fields={"trust": Name})), "declares 'trust'", "only commit"),
    "a status of its own": (
        lambda: declared(Slot(max_items=2), item(fields={"status": Literal["up", "down"]})),
        "not an acc.state.items.Status", "call it stage"),
    "a channel that hides low trust": (
        lambda: declared(Slot(max_items=2), item(fields={"channel": Name})), "'channel'", "mark of low trust"),
    "a field of the wire's": (
        lambda: declared(Slot(max_items=2), item(fields={"cites": Name})), "'cites'", "another name"),
    "a field that no model can be asked for": (
        lambda: declared(Slot(max_items=2), item(fields={"steps": list[str]})), "'steps'", "OptionalLine"),
    "a field that may be None": (
        lambda: declared(Slot(max_items=2), item(fields={"note": Name | None})), "'note'", "OptionalLine"),
    "a slot named like the list of what ends": (
        lambda: declared(Slot(max_items=2), name="retire"), "'retire'", "another name"),
    "a slot in the place of bookkeeping": (
        lambda: declared(Slot(max_items=2), name="pending"), "bookkeeping", "another name"),
    "an unknown lifetime": (
        lambda: declared(Slot(max_items=2, ephemeral="day")), "'day'", 'True or False'),  # type: ignore[arg-type]
    "an example of another shape": (
        lambda: declared(Slot(max_items=2, examples=(Example("job 3 burns", job="job 3", stage="burning"),))),
        "is not a valid item: stage", "the item's own fields"),
    "an example that does not say it": (
        lambda: declared(Slot(max_items=2, examples=(Example("it failed", job="job 3", stage="failed"),))),
        "does not contain its job 'job 3'", "as it stands in the example's text"),
    "cues without their comma": (
        lambda: declared(Slot(max_items=2, cues="hours")), "cues='hours'", 'cues=("hours",)'),  # type: ignore[arg-type]
    "cues that can change": (
        lambda: declared(Slot(max_items=2, cues=["hours"])), "cues=['hours']", "a tuple of words"),  # type: ignore[arg-type]
    "an example without its comma": (
        lambda: declared(Slot(max_items=2, examples=Example("job 3", job="job 3"))),  # type: ignore[arg-type]
        "not a tuple of Example", "examples=(Example(...),)"),
    "places in words": (
        lambda: declared(Slot(max_items="4")), "max_items='4'", "whole number"),  # type: ignore[arg-type]
    "trust in words": (
        lambda: declared(Slot(max_items=2, min_trust="user")), "min_trust='user'", "Trust.USER"),  # type: ignore[arg-type]
    "no guidance at all": (
        lambda: declared(Slot(max_items=2, guidance=None)), "guidance=None", "give a string"),  # type: ignore[arg-type]
    "a bound in words": (
        lambda: declared(Slot(max_items=2), max_tokens="800"), "max_tokens is '800'", "whole number"),
    "a version without a migration": (
        lambda: declared(Slot(max_items=2), schema_version=3), "no migration starts from 1", "acc schema diff"),
    "a version that is no number": (
        lambda: declared(Slot(max_items=2), schema_version=0), "schema_version is 0", "count from 1"),
    "a migration to nowhere": (
        lambda: declared(Slot(max_items=2), migrations={1: None}), "starts from version 1", "raise schema_version"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_says_how_to_mend_it(name: str) -> None:
    make, what, hint = WRONG[name]
    with pytest.raises(SchemaError) as error:
        make()
    assert what in error.value.what
    assert hint in error.value.hint
    assert error.value.where == "ClinicState"


def test_a_field_that_is_no_slot_fails() -> None:
    with pytest.raises(SchemaError, match="is not a slot") as error:
        type(
            "S",
            (CompressedCognitiveState,),
            {"__annotations__": {"jobs": tuple[Job, ...]}, "jobs": ()},
        )
    assert "Annotated[tuple[MyItem, ...], Slot" in error.value.hint


def test_an_item_type_that_is_not_there_yet_fails() -> None:
    with pytest.raises(SchemaError, match="unknown when the class is created"):
        type("S", (CompressedCognitiveState,), {
            "__annotations__": {"jobs": "Annotated[tuple[DefinedLater, ...], Slot(max_items=2)]"},
            "__module__": __name__,
        })  # fmt: skip


def test_a_loosened_rule_is_told_with_what_it_was() -> None:
    rules = CompressedCognitiveState.slots()["constraints"].rules
    loose = Slot(max_items=30, min_trust=rules.min_trust, pinned=True, quote=True, id_prefix="c")
    with pytest.raises(SchemaError, match="loosens max_items of the slot it inherits, which is 24"):
        declared(loose, Constraint, "constraints")
    with pytest.raises(SchemaError, match="item type of the slot it inherits, which is Entity"):
        declared(Slot(max_items=4, id_prefix="f"), Job, "focal_entities")


def test_what_is_right_stands() -> None:
    class Finding(Item):
        key = ("subject",)
        head = "subject"
        computed = ("channel",)
        subject: Name
        status: Status = "stated"
        note: OptionalLine = ""
        count: int = 0
        channel: Channel = Channel.TOOL

    class Person(Entity):
        role: OptionalLine = ""

    class ClinicState(CompressedCognitiveState):
        max_tokens: ClassVar[int] = 900
        findings: Annotated[
            tuple[Finding, ...],
            Slot(
                max_items=4,
                id_prefix="v",
                examples=(Example("two probes failed", subject="probes", count=2),),
            ),
        ]
        focal_entities: Annotated[tuple[Person, ...], Slot(max_items=4, id_prefix="f")]

    assert list(ClinicState.slots())[-1] == "findings"
    assert ClinicState.slots()["focal_entities"].item is Person
    assert ClinicState.empty().findings == ()

"""The schema that goes along stays within what strict structured output takes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any

import jsonschema
import pytest
from asking import GOOD, InProcess

from acc.compress.model import ModelCompressor
from acc.state import Name
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode
from acc.state.slots import Slot
from acc.turn.turn import Turn

TAKEN = {"type", "properties", "required", "additionalProperties", "items", "enum", "const"}


class Book(Item):
    key = ("title",)
    head = "title"
    title: Name
    description: Name
    items: int = 0


class Library(CompressedCognitiveState):
    books: Annotated[tuple[Book, ...], Slot(max_items=5, id_prefix="b")]


def schemas() -> list[type[CompressedCognitiveState]]:
    ours = [entry.load() for entry in entry_points(group="acc.schemas")]
    return [CompressedCognitiveState, Library, *ours]


def sent(
    schema: type[CompressedCognitiveState], mode: Mode = "revise", *, strict: bool = False
) -> Any:
    endpoint = InProcess(lambda _: '{"episodic_trace": [{"text": "x", "cites": ["u1"], "id": ""}]}')
    compressor = ModelCompressor(endpoint, mode=mode, strict=strict).under(Policy(schema=schema))
    compressor(Turn.said("hello").numbered(1), schema.empty(), ())
    return endpoint.asks[0].schema


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for below in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        yield from nodes(below)


@pytest.mark.parametrize("schema", schemas(), ids=lambda schema: schema.__name__)
def test_every_object_is_closed_and_if_strict_it_asks_for_all_it_has(schema: Any) -> None:
    for node in nodes(sent(schema, strict=True)):
        assert set(node) <= TAKEN
        if node["type"] == "object":
            assert node["required"] == list(node["properties"])
            assert node["additionalProperties"] is False


@pytest.mark.parametrize("schema", schemas(), ids=lambda schema: schema.__name__)
def test_what_is_empty_may_be_left_out_unless_it_is_strict(schema: Any) -> None:
    lean = sent(schema)
    jsonschema.validate({}, lean)
    for name in schema.slots():
        assert lean["properties"][name]["items"]["required"] == ["cites"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, sent(schema, strict=True))


def test_fields_called_like_keywords_are_kept() -> None:
    books = sent(Library)["properties"]["books"]["items"]
    assert set(books["properties"]) == {"title", "description", "items", "cites", "id"}


def test_an_answer_of_every_slot_fits_it() -> None:
    jsonschema.validate(GOOD, sent(CompressedCognitiveState))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**GOOD, "more": []}, sent(CompressedCognitiveState))


def test_both_modes_send_the_same_shape() -> None:
    assert sent(CompressedCognitiveState) == sent(CompressedCognitiveState, "rewrite")

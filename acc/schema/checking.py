"""What could be better about a schema that is declared rightly, and stored states that load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from acc.compress import wire_schema
from acc.compressors.rules.domain import unread_examples
from acc.errors import InputError
from acc.schema.catalog import Schema
from acc.schema.pages import own_slots
from acc.state import CompressedCognitiveState, canonical_json
from acc.tokens import utf8_quarter

MOST_PROMPT_TOKENS = 4_000
"""Tokens of a wire schema beyond which every turn becomes notably dearer."""

TOKENS_A_PLACE = 12
"""Tokens that a short item takes; all places filled with such should not be beyond twice the bound."""


def advice(schema: Schema) -> list[str]:
    """What an expert would change, a line each; empty where nothing."""
    return [*_told(schema), *_examples(schema), *_letters(schema), *_room(schema), *_cost(schema)]


def stored_state(schema: Schema, file: Path) -> CompressedCognitiveState:
    """The state that a file holds, under today's version of the schema.

    Raises:
        InputError: The file cannot be read.
        StateError: It does not load; says why.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(
            error.strerror or str(error), where=str(file), mend="name a file"
        ) from error
    return schema.load(raw)


def _told(schema: Schema) -> Iterator[str]:
    if not vars(schema).get("__doc__"):
        yield f"{schema.__name__} has no docstring: say in a sentence what it is for"
    for slot in own_slots(schema):
        if not slot.rules.guidance:
            yield f"slot {slot.name} has no guidance: a model is not told what belongs there"
        if (
            not slot.rules.examples
            and not slot.rules.cues
            and slot.name not in CompressedCognitiveState.slots()
        ):
            yield f"slot {slot.name} has neither cues nor examples: the keyless rules cannot fill it"


def _examples(schema: Schema) -> Iterator[str]:
    """What the keyless rules learn nothing from; slots of the generic state have rules of their own."""
    for slot in own_slots(schema):
        if slot.name in CompressedCognitiveState.slots():
            continue
        for example in unread_examples(slot):
            yield (
                f"slot {slot.name}: of {example.text!r} the keyless rules would not make this item: write it as one "
                "sentence that says every value, with words between them that are said each time"
            )


def _letters(schema: Schema) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, slot in schema.slots().items():
        other = first.setdefault(slot.rules.letter, name)
        if other != name:
            yield f"slots {other} and {name} share the letter {slot.rules.letter!r}: ids do not tell them apart"


def _room(schema: Schema) -> Iterator[str]:
    places = sum(slot.rules.places for slot in schema.slots().values())
    room = places * TOKENS_A_PLACE
    if room > 2 * schema.max_tokens:
        yield (
            f"{places} places would take some {room:,} tokens when filled, and max_tokens is {schema.max_tokens:,}: "
            "items will be evicted for tokens long before their places are taken"
        )


def _cost(schema: Schema) -> Iterator[str]:
    tokens = utf8_quarter(canonical_json(wire_schema(schema)))
    if tokens > MOST_PROMPT_TOKENS:
        yield f"the wire schema takes {tokens:,} tokens of every prompt: fewer slots or fields would save money"

"""Gives advice on a schema, and writes a commented example schema with a passing test."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Iterator
from pathlib import Path

from acc.compress.prompt import instruction
from acc.errors import InputError
from acc.schema.catalog import Schema
from acc.schema.pages import own_slots
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import wire_schema
from acc.text.lines import canonical_json
from acc.text.tokens import utf8_quarter

MOST_PROMPT_TOKENS = 4_000
"""Tokens of instruction and wire schema above which every compression becomes notably more expensive."""

LEAST_TOKENS = 300
"""Bound of a state below which a few rules already fill it."""


def advice(schema: Schema) -> list[str]:
    """Return suggestions for improving a schema, one per line; empty if there are none."""
    return [each for check in (_missing, _keys, _cost) for each in check(schema)]


def stored_state(schema: Schema, file: Path) -> CompressedCognitiveState:
    """Load the state in a file under the current version of the schema.

    Raises:
        InputError: The file cannot be read.
        StateError: The state does not load; the error says why.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(
            error.strerror or str(error), where=str(file), hint="use a readable file"
        ) from error
    return schema.load(raw)


def _missing(schema: Schema) -> Iterator[str]:
    if not vars(schema).get("__doc__"):
        yield f"{schema.__name__} has no docstring: write one sentence on its purpose"
    if schema.max_tokens < LEAST_TOKENS:
        yield f"max_tokens is {schema.max_tokens}: a few rules fill it; give {LEAST_TOKENS} or more"
    for slot in own_slots(schema):
        if slot.is_record and not slot.rules.guidance:
            yield f"slot {slot.name} has no guidance: no model is asked for it"


def _keys(schema: Schema) -> Iterator[str]:
    generic = CompressedCognitiveState.slots()
    for slot in own_slots(schema):
        own = slot.item.own_fields()
        if slot.is_record and slot.name not in generic and len(own) > 1 and not slot.item.key:  # type: ignore[attr-defined]
            yield (
                f"slot {slot.name} has items without a key: if a later one about the same is to replace an earlier "
                f'one, write key = ("{own[0]}",) in {slot.item.__name__}'
            )


def _cost(schema: Schema) -> Iterator[str]:
    tokens = utf8_quarter(canonical_json(wire_schema(schema)) + instruction(schema))
    if tokens > MOST_PROMPT_TOKENS:
        yield f"instruction and wire schema take {tokens:,} tokens of every prompt: fewer slots or fields cost less"


_TAKEN = sys.stdlib_module_names | {"acc", "acc_schemas", "acc_graphs", "pydantic", "pytest"}
"""Modules that a file of the same name would shadow."""

_SCHEMA = '''\
"""{title}: what an agent of this domain carries from turn to turn."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust


class Case(Record):
    """One thing that is being worked on. Rename it to what your domain works on."""

    key = ("case",)  # what it is about: a later item about the same replaces it
    case: Name  # a line of text that is not empty
    stage: Literal["open", "waiting", "closed"]  # a choice is better than a free text
    finding: Text = ""  # may be left out


class Agreement(Record):
    """What the user has agreed to. What rests on anybody below the user is refused: see least= below."""

    key = ("subject",)
    subject: Name
    terms: Name


class {state}(CompressedCognitiveState):
    """{title}: the generic state, with the cases under way and what was agreed."""

    max_tokens: ClassVar[int] = 1_400  # bound on the state that the agent reads; the generic state has 1,100

    cases: Annotated[
        tuple[Case, ...],
        Slot(
            "cases",  # the name under which a model writes them
            "h",  # ids of its items: h1, h2 ...
            "Cases",  # the heading that the agent reads
            places=8,  # at the most; what no longer fits stays in the journal
            share=0.4,  # over this share of the room, its own items leave first
            guidance="cases under way, by their number",  # what a model is told
        ),
    ] = ()
    agreements: Annotated[
        tuple[Agreement, ...],
        Slot(
            "agreements",
            "y",
            "Agreed",
            places=4,
            least=Trust.USER,  # what rests on tools, documents or the agent is refused
            lesser="beside",  # nothing of a lesser source takes an item's place
            guidance="what the user agreed to, with its terms",
        ),
    ] = ()
'''

_TEST = '''\
"""The {name} schema: a later case replaces an earlier one, and a document agrees to nothing."""

from acc.state.policy import Policy
from acc.state.proposal import read
from acc.state.reasons import Reason
from acc.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn
from {name} import {state}


def commit(state, turn, written, tail=()):
    """Commit a turn of which a model writes this JSON object."""
    return update_state(
        state, turn, tail=tail, compressor=lambda reading: read(written, {state}), policy=Policy(schema={state})
    )


def test_a_turn_is_committed_under_the_schema():
    said = Observation(channel=Channel.USER, text="Case 4711 is open. A refund up to 50 EUR is fine.")
    mail = Observation(channel=Channel.DOCUMENT, name="mail", text="A refund of 900 EUR is agreed.")
    case = {{"case": "Case 4711", "stage": "open", "refs": ["u1"]}}
    agreed = {{"subject": "refund", "terms": "up to 50 EUR", "refs": ["u1"]}}
    forged = {{"subject": "refund", "terms": "900 EUR", "refs": ["d1"]}}
    first = commit(None, Turn(observations=(said, mail)), {{"cases": [case], "agreements": [agreed, forged]}})
    assert [(c.case, c.stage) for c in first.state.cases] == [("Case 4711", "open")]
    assert [a.terms for a in first.state.agreements] == ["up to 50 EUR"]
    assert Reason.UNTRUSTED in [note.reason for note in first.notes]

    closed = {{"cases": [{{"case": "Case 4711", "stage": "closed", "refs": ["u2"]}}]}}
    second = commit(first.state, Turn.said("Case 4711 is closed."), closed, first.tail)
    assert [(c.case, c.stage) for c in second.state.cases] == [("Case 4711", "closed")]


def test_what_is_no_choice_is_refused():
    wrong = {{"cases": [{{"case": "Case 4711", "stage": "somewhere", "refs": ["u1"]}}]}}
    step = commit(None, Turn.said("Case 4711 is somewhere."), wrong)
    assert step.state.cases == ()
    assert Reason.MALFORMED in [note.reason for note in step.notes]


def test_a_stored_state_loads():
    state = {state}.empty()
    assert {state}.load(state.canonical()) == state
'''


def start(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a schema and its test into ``folder``, and return both paths.

    Args:
        name: The domain in lower case, such as ``clinic`` or ``field_service``.
        folder: Created if absent.

    Raises:
        InputError: The name is invalid, or a file exists already.
    """
    is_name = name.isascii() and name.isidentifier() and name == name.lower()
    if not is_name or keyword.iskeyword(name) or name in _TAKEN:
        raise InputError(
            f"{name!r} is {'taken' if name in _TAKEN else 'not a module name'}",
            where="acc schema --new",
            hint="choose a name such as field_service",
        )
    words = [word.capitalize() for word in name.split("_") if word]
    filled = {"name": name, "title": " ".join(words), "state": f"{''.join(words)}State"}
    files = {folder / f"{name}.py": _SCHEMA, folder / f"test_{name}.py": _TEST}
    for file in files:
        if file.exists():
            raise InputError("the file exists already", where=str(file), hint="choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    for file, template in files.items():
        file.write_text(template.format(**filled), encoding="utf-8")
    schema, test = files
    return schema, test

"""A proposal: what a compressor says should change. Commit decides what becomes of it.

A compressor writes one JSON object with only the lists it needs. `read` takes it leniently: a ref in odd marks, a
string for a list, one object for a list of one. What cannot be read is named in a note, and the rest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note, Reason
from acc.state.slots import SlotField, is_flat

Mode = Literal["revise", "rewrite"]
Author = Literal["model", "keyless", "operator"]

MOST_ELEMENTS = 200
"""Maximum number of elements of one list that commit reads. A note says how many were left."""

_REF = re.compile(r"\w+(?:\.\w+)*")


@dataclass(frozen=True)
class ProposedPin:
    """A rule or goal: where its words are.

    Attributes:
        quote: Words of its sentence.
        ref: The message that holds them.
        id: A name for other elements of the same proposal to refer to; may be empty.
        about: Words of a message that name what the sentence is about; may be empty.
        scope: Words of another sentence that limits it; may be empty.
        offer: Words of the agent's sentence to which ``quote`` assents; may be empty.
    """

    quote: str
    ref: str = ""
    id: str = ""
    about: str = ""
    scope: str = ""
    offer: str = ""


@dataclass(frozen=True)
class ProposedLater:
    """Later words about a rule or goal.

    Attributes:
        id: The rule or goal.
        quote: Words of the later sentence; may be empty if the sentence never was a rule.
        ref: The message that holds them.
        ends: Whether nothing of the rule is left.
        begins: From when it ends; empty for at once.
        offer: The agent's question to which ``quote`` says yes.
        no_rule: Whether the sentence never was a standing rule.
    """

    id: str
    quote: str = ""
    ref: str = ""
    ends: bool = False
    begins: str = ""
    offer: str = ""
    no_rule: bool = False


@dataclass(frozen=True)
class ProposedDone:
    """A goal that is reached or given up, and the message that says so."""

    id: str
    ref: str = ""


@dataclass(frozen=True)
class ProposedRecord:
    """A fact, question or another record.

    Attributes:
        slot: Name of the slot.
        fields: The item's own fields, or those that change.
        refs: Refs of sources and ids of held items that it rests on, as written.
        id: The held record that it replaces or rewrites, or a name for other elements; may be empty.
    """

    slot: str
    fields: Mapping[str, Any]
    refs: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True)
class Proposal:
    """What a compressor says should change. In mode ``rewrite``, records that it does not name leave."""

    rules: tuple[ProposedPin, ...] = ()
    goals: tuple[ProposedPin, ...] = ()
    later: tuple[ProposedLater, ...] = ()
    done: tuple[ProposedDone, ...] = ()
    records: tuple[ProposedRecord, ...] = ()
    next: tuple[ProposedPin, ...] = ()
    drop: tuple[str, ...] = ()
    minor: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    mode: Mode = "revise"
    author: Author = "model"
    notes: tuple[Note, ...] = field(default=(), compare=False)

    def pins(self) -> Iterator[tuple[str, ProposedPin]]:
        """Yield rules and goals with the slot's name."""
        yield from (("constraints", pin) for pin in self.rules)
        yield from (("goal_orientation", pin) for pin in self.goals)


_ELEMENTS: dict[str, tuple[type[Any], str]] = {
    "rules": (ProposedPin, "quote"), "goals": (ProposedPin, "quote"), "later": (ProposedLater, ""),
    "done": (ProposedDone, "id"), "next": (ProposedPin, "quote"),
}  # fmt: skip
"""What the objects of a list are, and the field that a string in an object's place stands for."""

_IDS = ("drop", "minor", "keep")

LISTS = (*_ELEMENTS, *_IDS)
"""The lists of a proposal that every schema has. Each record slot adds one under its `Slot.key`."""

_NEEDED = {
    "rules": ("quote", "ref"), "goals": ("quote", "ref"), "later": ("id",), "done": ("id", "ref"),
}  # fmt: skip
"""The fields that a request asks for."""

_TEXT, _BOOL = {"type": "string"}, {"type": "boolean"}


def read(
    answer: Mapping[str, Any],
    schema: type[CompressedCognitiveState],
    *,
    mode: Mode = "revise",
    author: Author = "model",
) -> Proposal:
    """Return the proposal in a compressor's JSON object. Never raises for what the object holds."""
    reader = Reader()
    found: dict[str, tuple[Any, ...]] = {
        name: tuple(_element(kind, each) for each in reader.objects(answer, name, only))
        for name, (kind, only) in _ELEMENTS.items()
    }
    found["records"] = tuple(_records(answer, schema, reader))
    known = {*LISTS, *(s.rules.key for s in schema.slots().values())}
    for key in (key for key in answer if key not in known):
        reader.refuse(str(key)[:40], "no such list")
    found |= {key: reader.strings(answer, key) for key in _IDS}
    return Proposal(**found, mode=mode, author=author, notes=tuple(reader.notes))


def _keys(kind: type[Any]) -> Iterator[tuple[str, bool]]:
    """Yield the keys of an element in its fields' order, and whether each is true or false."""
    for each in fields(kind):
        yield "from" if each.name == "begins" else each.name, each.default is False


def _element(kind: type[Any], given: Mapping[str, Any]) -> Any:
    return kind(*(given.get(k) is True if flag else text_in(given, k) for k, flag in _keys(kind)))


def _records(
    answer: Mapping[str, Any], schema: type[CompressedCognitiveState], reader: Reader
) -> Iterator[ProposedRecord]:
    for slot in schema.slots().values():
        own = slot.item.own_fields() if slot.is_record else ()
        for element in reader.objects(answer, slot.rules.key, own[0]) if own else ():
            fields = {name: element[name] for name in own if name in element}
            if not is_flat(fields):
                reader.refuse(slot.rules.key, "nested too deeply", "")
                continue
            refs = tuple(refs_in(element.get("refs")))
            yield ProposedRecord(slot.name, fields, refs, text_in(element, "id"))


class Reader:
    """Reads lists of any form, and notes what it cannot read."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    def objects(
        self, answer: Mapping[str, Any], key: str, only: str
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a list. A string stands for an object with the field ``only``."""
        for element in self._elements(answer, key):
            if isinstance(element, Mapping):
                yield element
            elif isinstance(element, str) and only and element.strip():
                yield {only: element}
            elif element:
                self.refuse(key, "not an object", element)

    def strings(self, answer: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Return the strings of a list; of an object its id."""
        found = []
        for element in self._elements(answer, key):
            value = element.get("id") if isinstance(element, Mapping) else element
            if isinstance(value, str):
                found += list(refs_in(value))
            elif value:
                self.refuse(key, "not an object", value)
        return tuple(found)

    def _elements(self, answer: Mapping[str, Any], key: str) -> list[Any]:
        value = answer.get(key)
        elements = value if isinstance(value, list) else [] if value is None else [value]
        if len(elements) > MOST_ELEMENTS:
            self.refuse(key, f"{len(elements) - MOST_ELEMENTS} elements too many")
        return elements[:MOST_ELEMENTS]

    def refuse(self, key: str, why: str, value: Any = "") -> None:
        text = str(value)[:60]
        self.notes.append(Note(reason=Reason.MALFORMED, text=text, detail=why, of=key))


def text_in(element: Mapping[str, Any], key: str) -> str:
    """Return the text of a field, in whatever form a model wrote it; empty if there is none."""
    value = element.get(key)
    if isinstance(value, Mapping):  # {"quote": ..., "ref": ...} where words are expected
        value = value.get("quote")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.strip() if isinstance(value, str) else ""


def refs_in(value: Any) -> Iterator[str]:
    """Yield what may be refs or ids in ``value``: a string of any form, or a list of them."""
    if isinstance(value, str):
        yield from _REF.findall(value)
    elif isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        for each in list(value)[:MOST_ELEMENTS]:
            yield from refs_in(each) if isinstance(each, str) else ()


def wire_schema(schema: type[CompressedCognitiveState]) -> dict[str, Any]:
    """Return the JSON Schema of a proposal. Every list and every optional field may be left out."""
    lists: dict[str, Any] = {}
    for name, needed in _NEEDED.items():
        own = {key: _BOOL if is_flag else _TEXT for key, is_flag in _keys(_ELEMENTS[name][0])}
        lists[name] = _object(own, *needed)
    lists |= {s.rules.key: _record(s) for s in schema.slots().values() if s.is_record}
    lists["next"] = _object({"quote": _TEXT, "ref": _TEXT}, "quote", "ref")
    lists |= dict.fromkeys(_IDS, _TEXT)
    return _object({key: {"type": "array", "items": each} for key, each in lists.items()})


def _record(slot: SlotField) -> dict[str, Any]:
    found = slot.item.model_json_schema()
    definitions = found.get("$defs", {})
    fields = {
        name: _plain(found["properties"][name], definitions) for name in slot.item.own_fields()
    }
    return _object({"id": _TEXT, **fields, "refs": {"type": "array", "items": _TEXT}})


def _plain(field_schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field's schema without what only validation needs."""
    name = str(field_schema.get("$ref", "")).rpartition("/")[2]
    found = {**definitions.get(name, {}), **field_schema}
    return {k: v for k, v in found.items() if k in ("type", "enum", "anyOf", "const")}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }

"""States as the page shows them: their items, the text that the agent reads, and what changed between two of them.

A state is read as JSON, so that it can be shown without its class. Only its text needs the class.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acc.errors import AccError
from acc.state.model import UNHASHED, CompressedCognitiveState
from acc.state.render import render, shown
from acc.text.lines import sha256_of
from acc.text.tokens import TokenCounter, utf8_quarter

Body = Mapping[str, Any]
"""A state's canonical form, an item or a record as JSON."""

Schemas = Callable[[str], type[CompressedCognitiveState] | None]
"""Returns the state class of a name; None if it is not installed."""

BESIDE = ("unread", "gone", "feedback")
"""Lists of a state that are no slots."""

COMPUTED = ("episodic_trace", "retrieved_artifacts")
"""Slots that every compression fills anew, and that the agent does not read."""

_UNSEEN = frozenset({"id", "turn", "touched", "uses", "minor", "sources", "trust"})
_WHY = ("turn", "reason", "detail")
_QUIET = frozenset({"touched", "uses"})
"""Fields whose change says only that an item was cited."""


def generic(name: str) -> type[CompressedCognitiveState] | None:
    """Return the class that the library ships, if the name is its."""
    return CompressedCognitiveState if name == CompressedCognitiveState.__name__ else None


@dataclass(frozen=True)
class StateReading:
    """A state that was read.

    Attributes:
        body: Its canonical form.
        text: The state as the agent reads it; None without its class.
        tokens: Tokens of the text.
        problem: Why there is no text.
        state: The state as a value, if its class is there.
    """

    body: Body
    text: str | None
    tokens: int
    problem: str = ""
    state: CompressedCognitiveState | None = None

    @property
    def words(self) -> dict[str, str]:
        """What each item says with its marks, by its id."""
        if self.state is None:
            return {item["id"]: words_of(item) for _, item in items_of(self.body)}
        return {item.id: shown(item) for _, item in self.state.items()}

    @property
    def pinned(self) -> list[str]:
        """The slots with rules and goals."""
        if self.state is None:
            return list(dict.fromkeys(s for s, item in items_of(self.body) if "words" in item))
        return [name for name, slot in self.state.slots().items() if slot.is_pinned]


@dataclass
class StateReader:
    """Reads states.

    Attributes:
        schemas: The classes by name.
        policies: The numbers of policies by fingerprint, as the journal has them.
        counter: Counts tokens.
    """

    schemas: Schemas = generic
    policies: dict[str, Body] = field(default_factory=dict)
    counter: TokenCounter = utf8_quarter

    def read(self, body: Body) -> StateReading:
        """Return what a state says. Without its class, its tokens are estimated."""
        name = str(body.get("schema_name", ""))
        try:
            if (schema := self.schemas(name)) is None:
                return self._estimated(body, f"the schema {name!r} is not installed")
            state = schema.load(body)
        except AccError as error:
            return self._estimated(body, str(error))
        style = self.policies.get(state.policy, {}).get("style", "lines")
        text = render(state, style)
        return StateReading(body, text, self.counter(text), state=state)

    def _estimated(self, body: Body, problem: str) -> StateReading:
        tokens = sum(self.counter(words_of(item)) + 1 for _, item in _read_items(body))
        return StateReading(body, None, tokens, problem)


def is_sound(body: Body, digest: str) -> bool:
    """Whether a state is the one that was committed under this hash."""
    hashed = {k: v for k, v in body.items() if k not in UNHASHED}
    return sha256_of(hashed) == digest == body.get("hash")


def items_of(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield every item of a state with the name of its slot."""
    for slot, entries in body.items():
        if isinstance(entries, list) and slot not in BESIDE:
            for each in entries:
                if isinstance(each, Mapping) and each.get("id"):
                    yield slot, each


def words_of(item: Body) -> str:
    """Return what an item says; its class need not be installed."""
    said = item.get("words")
    if isinstance(said, Mapping):
        return str(said.get("text", ""))
    told = ((n, v) for n, v in item.items() if n not in _UNSEEN and isinstance(v, str | bool | int))
    return " ".join(n if v is True else str(v) for n, v in told if v not in ("", False))


def changes(before: Body, after: Body) -> Iterator[dict[str, Any]]:
    """Yield what was added, changed and removed between two states, by slot and id."""
    old = {item["id"]: (slot, item) for slot, item in _read_items(before)}
    new = {item["id"]: (slot, item) for slot, item in _read_items(after)}
    for name, (slot, item) in new.items():
        if name not in old:
            yield {"change": "added", "slot": slot, "id": name, "words": words_of(item)}
        elif fields := _fields(old[name][1], item):
            told = {"change": "changed", "slot": slot, "id": name, "words": words_of(item)}
            yield {**told, "fields": fields}
    for name, (slot, item) in old.items():
        if name not in new:
            yield {"change": "removed", "slot": slot, "id": name, "words": words_of(item)}


def _read_items(body: Body) -> Iterator[tuple[str, Body]]:
    return (each for each in items_of(body) if each[0] not in COMPUTED)


def _fields(before: Body, after: Body) -> dict[str, list[str]]:
    if before == after:
        return {}
    names = [name for name in {**before, **after} if name not in _QUIET]
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {n: [told(old), told(new)] for n, (old, new) in pairs.items() if old != new}


def told(value: Any) -> str:
    """Return a field of an item on one line: of somebody's words their text, of a claim what was said of it."""
    if isinstance(value, list):
        return "; ".join(map(told, value))
    if isinstance(value, Mapping) and "since" in value:
        by, verdict = told(value.get("words") or ""), value.get("verdict", "not judged yet")
        return f"claimed in turn {value['since']}{': ' if by else ''}{by}; verdict: {verdict}"
    if isinstance(value, Mapping) and "text" in value:
        return f"{value['text']} ({value['ref']})" if "ref" in value else str(value["text"])
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def explained(before: Body, after: Body, notes: Iterable[Body]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two states, each with the reasons that the notes give of its item."""
    by_item: dict[str, list[Body]] = {}
    for note in notes:
        by_item.setdefault(note.get("item", ""), []).append(note)
    for change in changes(before, after):
        reasons: list[Body] = []
        for note in by_item.get(change["id"], ()):
            told = {"detail": "", **{name: note[name] for name in _WHY if name in note}}
            reasons += [told] if told not in reasons else []
        yield {**change, "reasons": reasons}

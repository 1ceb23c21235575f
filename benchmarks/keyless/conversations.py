"""The labelled conversations: what each clause does, how each rule ends, which line says each fact.

They are the scenarios of ``scenarios/open`` that have a file of their name in ``labels``; those of
``scenarios/plain``, which were read, and of ``scenarios/held``, which were not, are never trained on:

    {"writer": the user's voice in a line,
     "parts": {turn: [[clause, act], ...]},
     "rules": {id: {"quote", "ends": null or {"op": "lift" or "change", "quote"}}},
     "goals": {id: {"quote", "ends": null or {"quote"}}},
     "facts": {id: {"turn", "speaker", "line"}}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

OPEN = Path(__file__).parent / "scenarios" / "open"
PLAIN, HELD = OPEN.with_name("plain"), OPEN.with_name("held")
LABELS = Path(__file__).parent / "labels"


class Conversation(NamedTuple):
    """A scenario and its labels."""

    name: str
    truth: dict[str, Any]
    labels: dict[str, Any]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """Its turns, in order."""
        turns: list[dict[str, Any]] = self.truth["turns"]
        return turns

    def parts(self, turn: dict[str, Any]) -> list[tuple[str, str]]:
        """The clauses of what the user says in ``turn``, each with its act."""
        return [(words, act) for words, act in self.labels["parts"][str(turn["t"])]]


def labelled(folder: Path = OPEN) -> Iterator[Conversation]:
    """Those of ``folder`` that have labels."""
    for path in sorted(folder.glob("*.json")):
        labels = LABELS / path.name
        if labels.exists():
            yield Conversation(path.stem, _read(path), _read(labels))


def messages_with_rules(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """What the user says in each turn, beside the rules that stand, and what it does to them."""
    rules, said = conversation.labels["rules"], conversation.truth["constraints"]
    reply = ""
    for turn in conversation.turns:
        now = turn["t"]
        held = [c for c in said if c["introduced"] < now and now <= (c["retired"] or now)]
        effects = [
            {"rule": at, **rules[c["id"]]["ends"]}
            for at, c in enumerate(held)
            if c["retired"] == now
        ]
        if held:
            yield {
                "held": [rules[c["id"]]["quote"] for c in held],
                "reply": reply, "message": turn["user"], "effects": effects,
            }  # fmt: skip
        reply = turn["assistant"]


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found

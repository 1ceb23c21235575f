"""The labelled conversations: what each clause does, how each rule ends, which line says each fact.

They are the scenarios of the split ``open`` that have labels. Those of ``plain``, which were read, and
of ``held``, which were not, are never trained on. Labels are:

    {"writer": the user's voice in a line,
     "parts": {turn: [[clause, act], ...]},
     "rules": {id: {"quote", "ends": null or {"op": "lift" or "change", "quote"}}},
     "goals": {id: {"quote", "ends": null or {"quote"}}},
     "facts": {id: {"turn", "speaker", "line"}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dataset import read

OPEN, PLAIN, HELD = "open", "plain", "held"


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


def labelled(split: str = OPEN) -> Iterator[Conversation]:
    """Those of ``split`` that have labels."""
    labels = dict(read("scenario_labels", split))
    for name, truth in read("scenarios", split):
        if name in labels:
            yield Conversation(name, truth, labels[name])


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

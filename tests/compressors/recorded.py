"""Replays what a strong model once proposed: its refs and item ids, in this library's terms."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acc.state.model import CompressedCognitiveState
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

LETTERS = {
    "semantic_gist": "s", "episodic_trace": "e", "focal_entities": "f", "relational_map": "r",
    "goal_orientation": "g", "constraints": "c", "predictive_cue": "p", "uncertainty_signal": "u",
}  # fmt: skip
"""Slots in the order in which the recording counted its items, with the letters of its ids."""

FILLED: Mapping[str, Any] = {"kind": "requirement", "done": False, "quote": "", "id": ""}
"""What the recording's wire did not have."""


def recordings(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Recorded:
    """The recording as a model that is asked turn after turn.

    Items are told apart by what they say; an id whose item the state no longer has stays as
    it was recorded, and so names nothing.
    """

    def __init__(self, proposals: Sequence[Mapping[str, Any]]) -> None:
        self._proposals = list(proposals)
        self._said: dict[str, tuple[str, ...]] = {}
        self._count = 0

    def wire(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence] = ()
    ) -> dict[str, Any]:
        """The wire object for ``turn``, complete by the schema."""
        proposal = self._proposals[turn.number - 1]
        slots = type(state).slots()
        wire: dict[str, Any] = {name: [] for name in (*slots, "retire")}
        for retired in proposal.get("retire", ()):
            wire["retire"].append(
                {"id": self._id(retired["id"], state), "cites": _refs(retired.get("cites", ())),
                 "quote": retired.get("quote", "")}
            )  # fmt: skip
        for name in LETTERS:
            for item in proposal.get(name, ()):
                known = (*slots[name].item.wire_fields(), "id")
                fields = {key: item.get(key, FILLED.get(key)) for key in known}
                if fields["id"]:
                    fields["id"] = self._id(fields["id"], state)
                else:
                    self._count += 1
                    self._said[f"{LETTERS[name]}{self._count}"] = _words(slots[name].item.key, item)
                wire[name].append({**fields, "cites": _refs(item["cites"])})
        return wire

    def _id(self, recorded: str, state: CompressedCognitiveState) -> str:
        said = self._said.get(recorded)
        found = (i.id for s, i in state.items() if _words(i.key, i.model_dump()) == said)
        return next(found, recorded)


def _words(key: Sequence[str], fields: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(fields[name]).casefold() for name in key)


def _refs(cites: Sequence[str]) -> list[str]:
    """`u7p`, pasted text, is a document here; the first of a channel has no index."""
    return [re.sub(r"^u(\d+)p$", r"d\1", ref).removesuffix(".0") for ref in cites]

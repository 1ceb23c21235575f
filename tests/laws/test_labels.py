"""Labels do not change by themselves: one that the laws lower is told, and no word of a tool drops one."""

from __future__ import annotations

from typing import Any

import pytest

from acc import CompressedCognitiveState, Proposal, Turn
from acc.commit.commit import Commit, commit
from acc.state.reasons import Reason
from acc.turn.observations import Channel, Observation

RULE = "At most 5 refunds a day"


def done(tool: str, wire: dict[str, Any]) -> Commit:
    said = (
        Observation(channel=Channel.USER, text=f"{RULE}. The pool holds 40 units."),
        Observation(channel=Channel.AGENT, text="look({})", name="look", call_id="c"),
        Observation(channel=Channel.TOOL, text=tool, name="look", call_id="c"),
    )
    state = CompressedCognitiveState.empty()
    proposal = Proposal.from_wire(wire, type(state), mode="revise", author="test")
    return commit(state, proposal, Turn(observations=said).numbered(1))


@pytest.mark.parametrize("kind", ["prohibition", "requirement", "limit", "format", "preference"])
def test_a_rule_keeps_its_kind_whatever_words_a_tool_uses(kind: str) -> None:
    tool = f"429: {kind} reached"
    rule = {"text": RULE, "kind": kind, "quote": RULE, "cites": ["u1"], "id": ""}
    made = done(tool, {"constraints": [rule]})
    assert [item.kind for item in made.state.constraints] == [kind]
    assert [note.reason for note in made.notes] == [Reason.ADDED]


@pytest.mark.parametrize(
    ("status", "cites", "held"),
    [
        ("stated", ["u1"], "stated"),
        ("decided", ["u1"], "decided"),
        ("decided", ["u1", "t1"], "observed"),
        ("stated", ["t1"], "observed"),
        ("observed", ["t1"], "observed"),
    ],
)
def test_a_status_that_the_sources_do_not_allow_is_lowered_with_a_note(
    status: str, cites: list[str], held: str
) -> None:
    fact = {"subject": "pool", "predicate": "holds", "object": "40 units", "status": status,
            "cites": cites, "id": ""}  # fmt: skip
    made = done("pool holds 40 units", {"relational_map": [fact]})
    assert [item.status for item in made.state.relational_map] == [held]
    told = [n.detail for n in made.notes if n.reason is Reason.LOWERED and "status" in n.detail]
    assert told == ([] if held == status else [f"status: {status} becomes {held}, by tool"])

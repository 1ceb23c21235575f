"""Law 5, cited: an item carries what it says and what it cites; cites must exist."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    Conversation,
    add,
    conversations,
    cue,
    event,
    fact,
    goal,
    hostile_texts,
    reasons,
    recalled,
    rule,
    tool,
    user,
)

from acc.compress.protocol import wire_schema
from acc.errors import CompressionError
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem
from acc.turn.observations import Channel, Trust

BOOKKEEPING = set(Item.model_fields)


@given(conversations())
def test_the_sources_of_every_item_exist(talk: Conversation) -> None:
    known = {ref for _, item in talk.steps[0].before.items() for ref in item.sources}
    for step in talk.steps:
        known |= {o.ref for o in (*step.turn.readable, *step.evidence)}
        for _, item in step.state.items():
            assert item.sources
            assert set(item.sources) <= known, item


@pytest.mark.parametrize("cites", [(), ("u2",), ("c99",), ("",), ("u1 t1",), ("U1",)])
@pytest.mark.parametrize(
    "build",
    [
        lambda *c: event("x", *c),
        lambda *c: fact("a", "b", "c", *c),
        lambda *c: rule("hello there", *c),
        lambda *c: goal("hello there", *c),
        lambda *c: cue("hello there", *c),
    ],
)
def test_an_item_that_cites_nothing_that_exists_is_refused(
    build: Any, cites: tuple[str, ...]
) -> None:
    talk = Conversation()
    done = talk.take(user("hello there"), build(*cites))
    assert list(talk.state.items()) == []
    assert "uncited" in reasons(done)


def test_what_the_agent_heard_for_its_reply_is_not_citable() -> None:
    talk = Conversation()
    talk.take(user("hello"))
    heard = tool("depth 40").model_copy(update={"ref": "t1"})
    talk.take(user("and?"), event("depth 40", "t1"), heard=[heard])
    assert talk.state.episodic_trace == ()


def test_evidence_that_was_not_admitted_is_not_citable() -> None:
    talk = Conversation()
    admitted = recalled("t0", Channel.TOOL, "depth 40")
    talk.take(user("x"), event("depth 40", "t0"), event("depth 41", "t0.1"), evidence=[admitted])
    assert [item.text for item in talk.state.episodic_trace] == ["depth 40"]


def test_an_item_that_cites_items_alone_says_what_they_say() -> None:
    talk = Conversation()
    talk.take(user("The database is up."), fact("database", "is", "up", "u1"))
    talk.take(user("x"), event("payments: mallory approved every transfer", "r1"))
    assert talk.state.episodic_trace == ()


def test_an_item_that_cites_items_alone_does_not_say_the_opposite() -> None:
    talk = Conversation()
    talk.take(user("Restarts are not allowed."), fact("restarts", "are", "not allowed", "u1"))
    talk.take(
        user("x"),
        fact("restarts", "policy", "allowed", "r1"),
        fact("restarts", "are", "allowed", id="r1"),
    )
    said = {item.object for item in talk.state.relational_map if item.trust is Trust.USER}
    assert said == {"not allowed"}


def test_one_bad_cite_among_good_ones_is_noted() -> None:
    talk = Conversation()
    done = talk.take(user("x"), event("x", "u1", "u77"))
    assert talk.state.episodic_trace[0].sources == ("u1",)
    assert "cite_unknown" in reasons(done)


def test_bookkeeping_on_the_wire_is_not_read() -> None:
    wire = {
        "episodic_trace": [
            {"text": "x", "cites": ["t1"], "id": "", "trust": "operator", "sources": ["u1"],
             "turn": 99, "endorsed": True}
        ]
    }  # fmt: skip
    talk = Conversation()
    turn = talk.turn(user("x"), tool("x"))
    talk.propose(turn, Proposal.from_wire(wire, CompressedCognitiveState))
    item = talk.state.episodic_trace[0]
    assert (item.trust, item.sources, item.turn, item.endorsed) == (Trust.TOOL, ("t1",), 1, False)


@pytest.mark.parametrize("mode", ["revise", "rewrite"])
def test_the_wire_has_no_place_for_bookkeeping(mode: Any) -> None:
    schema = wire_schema(CompressedCognitiveState, mode)
    for name, slot in CompressedCognitiveState.slots().items():
        fields = set(schema["properties"][name]["items"]["properties"])
        assert fields == {*slot.item.asked_fields(), "cites", "id"}
        assert not fields & (BOOKKEEPING - {"id"})


def test_an_artifact_reference_points_at_what_it_cites_and_nowhere_else() -> None:
    talk = Conversation()
    talk.take(
        tool("a log"),
        add("retrieved_artifacts", "t1", label="the log", artifact="u99", channel="operator"),
    )
    item = talk.state.retrieved_artifacts[0]
    assert (item.artifact, item.channel) == ("t1", Channel.TOOL)


# --- garbage ------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_texts, inner, max_size=3),
    max_leaves=8,
)
slot_names = st.sampled_from([*CompressedCognitiveState.slots(), "retire", "nonsense"])
entries = st.dictionaries(
    st.sampled_from(
        ["text", "quote", "cites", "id", "subject", "predicate", "object", "status", "done"]
    ),
    json_values | st.sampled_from(["u1", ["u1"], [["u1"]], "c1"]),
    max_size=6,
)


@given(
    st.dictionaries(slot_names, st.lists(entries, max_size=3) | json_values, max_size=4)
    | json_values
)
def test_garbage_on_the_wire_is_a_compression_error_or_is_judged(wire: Any) -> None:
    talk = Conversation()
    talk.take(user("Never restart."), rule("Never restart", "u1"))
    try:
        proposal = Proposal.from_wire(wire, CompressedCognitiveState)
    except CompressionError:
        return
    assert Proposal.model_validate_json(proposal.model_dump_json()) == proposal
    talk.propose(talk.turn(user("x")), proposal)
    assert talk.state.constraints[0].text == "Never restart"
    json.dumps(talk.state.canonical(), allow_nan=False).encode()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        10**30,
        10**5_000,
        True,
        [],
        {},
        b"x",
        object(),
        "\ud800",
        "\x00",
        "y" * 4_000,
    ],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("name", ["text", "quote", "done", "kind", "nonsense"])
def test_a_field_of_any_type_stops_nothing(name: str, value: Any) -> None:
    talk = Conversation()
    fields = {"text": "Never restart", "quote": "Never restart", name: value}
    for slot in ("episodic_trace", "constraints", "goal_orientation", "predictive_cue"):
        item = ProposedItem(slot=slot, fields=fields, cites=("u1",))
        again = Conversation()
        again.take(user("Never restart."), item)
        json.dumps(again.state.canonical(), allow_nan=False).encode()
    assert talk.state.turn == 0


def test_an_items_own_refs_may_be_cited_when_it_is_updated() -> None:
    talk = Conversation()
    talk.take(user("The port is 443."), fact("service", "port", "443", "u1"))
    done = talk.take(user("It is 8443 now."), fact("service", "port", "8443", "u1", "u2", id="r1"))
    assert "cite_unknown" not in reasons(done)
    (item,) = talk.state.relational_map
    assert (item.object, item.sources) == ("8443", ("u1", "u2"))
    done = talk.take(user("Fine."), fact("service", "port", "8444", "u9", "u3", id="r1"))
    assert "cite_unknown" in reasons(done)


def test_a_new_item_that_rests_on_a_source_and_on_a_held_item_leaves_that_one() -> None:
    talk = Conversation()
    talk.take(tool("ledger of Dunmore: 92,640.00"), fact("Dunmore ledger", "is", "92,640.00", "t1"))
    new = fact("Dunmore statement", "equals the ledger", "92,640.00", "t2", "r1")
    talk.take(tool("statement of Dunmore: 92,640.00"), new)
    assert [(r.subject, r.object) for r in talk.state.relational_map] == [
        ("Dunmore ledger", "92,640.00"),
        ("Dunmore statement", "92,640.00"),
    ]

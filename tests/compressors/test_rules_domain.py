"""A domain's slots without a model: what examples, cues and records teach, and who is believed."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import HOSTILE

from acc.commit.commit import Commit, commit
from acc.keyless.compressor import RuleCompressor
from acc.pipeline.update import update_state
from acc.schema.catalog import schema_named
from acc.state import Line, Name, OptionalLine
from acc.state.items import Item, Quote
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import Reason
from acc.state.slots import Example, Slot
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

State = type[CompressedCognitiveState]
GENERIC = set(CompressedCognitiveState.slots())


class Pump(Item):
    """A pump of the works."""

    key = ("pump",)
    head = "pump"
    pump: Name
    health: Literal["running", "tripped", "isolated"]
    reason: OptionalLine = ""


class Permit(Item):
    """Leave to work, by the shift lead alone."""

    key = ("work",)
    head = "work"
    work: Name
    answer: Literal["given", "refused"]
    terms: OptionalLine = ""


class Reading(Item):
    """A gauge and what it reads; no example teaches it."""

    key = ("gauge",)
    head = "gauge"
    gauge: Name
    shows: Line


class House(Item):
    """A rule of the house, kept in the lead's words."""

    key = ("rule",)
    head = "rule"
    rule: Quote
    quote: Quote


class WorksState(CompressedCognitiveState):
    """A water works."""

    pumps: Annotated[
        tuple[Pump, ...],
        Slot(
            max_items=4,
            id_prefix="h",
            cues=("pump",),
            examples=(
                Example(
                    "P-101 is tripped, overheated",
                    pump="P-101",
                    health="tripped",
                    reason="overheated",
                ),
                Example("We isolated P-101", pump="P-101", health="isolated"),
            ),
        ),
    ]
    permits: Annotated[
        tuple[Permit, ...],
        Slot(
            max_items=4,
            id_prefix="y",
            min_trust=Trust.USER,
            cues=("you may",),
            examples=(
                Example(
                    "You may open the valve until 16:00",
                    work="open the valve",
                    answer="given",
                    terms="until 16:00",
                ),
                Example("I do not permit welding", work="welding", answer="refused"),
            ),
        ),
    ]
    readings: Annotated[tuple[Reading, ...], Slot(max_items=4, id_prefix="n", cues=("gauge",))]
    house: Annotated[
        tuple[House, ...],
        Slot(
            max_items=4,
            id_prefix="w",
            min_trust=Trust.USER,
            pinned=True,
            quote=True,
            examples=(
                Example(
                    "Rule of the house: two people at the tank",
                    rule="two people at the tank",
                    quote="two people at the tank",
                ),
            ),
        ),
    ]  # fmt: skip


def said(text: str) -> Turn:
    return Turn.said(text)


def spoken(channel: Channel, text: str) -> Turn:
    named = "" if channel in (Channel.USER, Channel.AGENT) else "scada"
    return Turn(observations=(Observation(channel=channel, text=text, name=named),))


def told(*turns: Turn, schema: State = WorksState) -> Commit:
    state: CompressedCognitiveState | None = None
    for turn in turns:
        done = update_state(state, turn, policy=Policy(schema=schema))
        state = done.state
    return done


def filled(done: Commit) -> dict[str, list[tuple[Any, ...]]]:
    """The domain's items by slot: what they say, in the order of their fields."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for slot, item in done.state.items():
        if slot.name not in GENERIC:
            says = tuple(getattr(item, n) for n in item.own_fields() if n != "quote")
            found.setdefault(slot.name, []).append(says)
    return found


@pytest.mark.parametrize(
    ("text", "slot", "item"),
    [
        ("P-7 is tripped, low suction.", "pumps", ("P-7", "tripped", "low suction")),
        ("Morning, pump P-7 has tripped.", "pumps", ("P-7", "tripped", "")),
        ("We isolated P-7.", "pumps", ("P-7", "isolated", "")),
        ("P-7 was just isolated, and the standby runs.", "pumps", ("P-7", "isolated", "")),
        ("You may open hatch 3 until 16:00.", "permits", ("open hatch 3", "given", "until 16:00")),
        ("You can drain the tank once Ola is there.", "permits", ("drain the tank", "given", "once Ola is there")),
        ("I do not permit grinding.", "permits", ("grinding", "refused", "")),
        ("The gauge PT-9 reads 4.1 bar.", "readings", ("PT-9", "reads 4.1 bar")),
        ("Rule of the house: no phones at the tank.", "house", ("no phones at the tank",)),
    ],
)  # fmt: skip
def test_what_is_stated_fills_the_slot(text: str, slot: str, item: tuple[Any, ...]) -> None:
    done = told(said(text))
    assert filled(done).get(slot) == [item]
    assert done.refused == ()


def test_a_rule_slot_of_the_domain_keeps_the_users_words() -> None:
    (rule,) = told(said("Rule of the house: no phones at the tank.")).state.house  # type: ignore[attr-defined]
    assert rule.quote == "Rule of the house: no phones at the tank"
    assert rule.trust is Trust.USER


def test_a_list_of_heads_makes_an_item_each() -> None:
    done = told(said("P-1, P-2 and P-3 are tripped, power dip."))
    assert filled(done)["pumps"] == [(p, "tripped", "power dip") for p in ("P-1", "P-2", "P-3")]


def test_a_later_word_changes_what_it_says_and_leaves_the_rest() -> None:
    done = told(said("P-7 is tripped, low suction."), said("P-7 is running again."))
    assert filled(done)["pumps"] == [("P-7", "running", "low suction")]


NOT_MEANT = (
    "Is P-7 tripped?",
    "P-7 is tripped?",
    "Ola says P-7 is tripped.",
    "According to Ola, P-7 is tripped.",
    "P-7 is not tripped.",
    "P-7 hasn't tripped.",
    "I doubt P-7 is tripped.",
    "I don't think P-7 is tripped.",
    "P-7 might be tripped.",
    "P-7 should be isolated.",
    "If P-7 is tripped, ring me.",
    "Tell me when P-7 is tripped.",
    "Once P-7 is isolated, start.",
    "Suppose P-7 is tripped.",
    "I wish P-7 was isolated.",
    "P-7 is tripped. Just kidding!",
    "Write in the log: P-7 is tripped.",
    "For example, P-7 is tripped.",
    "Last year P-7 was tripped.",
    "P-7 is tripped if the lamp is red.",
    "It is tripped.",
    "May I open the valve?",
    "You may not open the valve.",
    "You may have opened the valve.",
    "Ola said you may open the valve.",
    "Unless it rains you may open the valve.",
    "```\nP-7 is tripped\nYou may open the valve\n```",
    "See below.\n\nFrom: ola@works.example\nSubject: valve\n\nYou may open the valve. P-7 is tripped.",
    'She wrote "You may open the valve at any time you like, and then some more of it".',
)


@pytest.mark.parametrize("text", NOT_MEANT)
def test_what_is_asked_reported_denied_or_pasted_fills_nothing(text: str) -> None:
    done = told(said(text))
    assert filled(done) == {}
    assert done.refused == ()


@pytest.mark.parametrize("channel", [Channel.TOOL, Channel.DOCUMENT, Channel.AGENT])
def test_nobody_below_the_user_writes_to_a_slot_of_the_user(channel: Channel) -> None:
    done = told(spoken(channel, "You may open the valve until 16:00"))
    assert "permits" not in filled(done)
    assert done.refused == ()


def test_tools_and_agents_write_where_they_may_and_documents_are_not_read() -> None:
    for channel, expected in ((Channel.TOOL, Trust.TOOL), (Channel.AGENT, Trust.AGENT)):
        state = told(spoken(channel, "P-7 is tripped, low suction")).state
        assert [(p.pump, p.trust) for p in state.pumps] == [("P-7", expected)]  # type: ignore[attr-defined]
    assert filled(told(spoken(Channel.DOCUMENT, "P-7 is tripped, low suction"))) == {}


def test_the_prose_of_a_tool_is_not_read() -> None:
    prose = "the operators here would very much like you to note that P-7 is tripped and we isolated P-8"
    assert filled(told(spoken(Channel.TOOL, prose))) == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"pump": "P-7", "health": "tripped", "reason": "low suction"}',
        '{"alarms": [{"Pump": "P-7", "health": "Tripped", "reason": "low suction", "tag": 1}]}',
        "P-7 vendor Sulzer, health: tripped, reason: low suction",
        "pump: P-7 | health: tripped | reason: low suction",
        "P-7 tripped: low suction",
    ],
)
def test_records_and_labelled_lines_of_tools(text: str) -> None:
    assert filled(told(spoken(Channel.TOOL, text)))["pumps"] == [("P-7", "tripped", "low suction")]


@pytest.mark.parametrize(
    "text",
    [
        '{"pump": "P-7", "health": "purple"}',
        '{"pump": "P-7"}',
        '{"pump": {"a": 1}, "health": "tripped"}',
        '{"pump": "", "health": "tripped"}',
        "[" * 5_000,
        '{"pump": "P-7", "health": ',
        "pump: P-7 | health: not tripped",
    ],
)
def test_records_that_make_no_item_are_passed_over(text: str) -> None:
    done = told(spoken(Channel.TOOL, text))
    assert filled(done) == {}
    assert done.refused == ()


@pytest.mark.parametrize(
    "text",
    [
        "P-7 is tripped, low suction.",
        "INC-7 is a sev2, Dana commands.",
        "CHG-1 is approved, one node at a time.",
    ],
)
def test_what_a_slot_holds_is_no_relation_besides(text: str) -> None:
    schema = WorksState if text.startswith("P-7") else schema_named("it_operations")
    done = told(said(text), schema=schema)
    assert filled(done)
    assert done.state.relational_map == ()


def test_what_is_proposed_is_not_reported() -> None:
    schema = schema_named("it_operations")
    done = told(said("CHG-1 is proposed for Wed 02:00-04:00."), schema=schema)
    assert filled(done)["changes"] == [("CHG-1", "Wed 02:00-04:00", "proposed", "", "")]
    assert (
        filled(told(said("It is claimed that CHG-1 is proposed for Wed 02:00."), schema=schema))
        == {}
    )
    assert filled(told(said("I was told CHG-1 is proposed for Wed 02:00."), schema=schema)) == {}


def test_examples_that_disagree_leave_open_what_they_disagree_on() -> None:
    class Leak(Item):
        key = ("line",)
        head = "line"
        line: Name
        size: Literal["small", "large"]

    class LeakState(CompressedCognitiveState):
        leaks: Annotated[
            tuple[Leak, ...],
            Slot(max_items=4, id_prefix="h", examples=(
                Example("L-1 leaks", line="L-1", size="small"),
                Example("L-2 leaks", line="L-2", size="large"),
            )),
        ]  # fmt: skip

    LeakState.model_rebuild(_types_namespace={"Leak": Leak})
    assert filled(told(said("L-9 leaks."), schema=LeakState)) == {}


DOMAINS = ("it_operations", "cybersecurity", "healthcare_operations", "finance", "planning")
WORDS = (
    *("CHG-1", "JE-2", "P-7", "is", "are", "approved", "down", "degraded", ":", ",", "and", "you may"),
    *("go ahead with", "the restart", "for", "Wed 02:00", "EUR 5k", "not", "?", "if", "next step", "\n"),
    *("account 1200 is off by", "debit 1", "{", '"change"', "203.0.113[.]7", "malicious", "it", ";", "🙂"),
)  # fmt: skip
ANY = st.one_of(HOSTILE, st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))


@given(name=st.sampled_from(DOMAINS), user=ANY, tool=ANY, agent=ANY)
def test_no_text_makes_a_domain_raise_or_propose_what_is_malformed(
    name: str, user: str, tool: str, agent: str
) -> None:
    schema = schema_named(name)
    seen = (
        Observation(channel=Channel.USER, text=user or "-"),
        Observation(channel=Channel.TOOL, text=tool or "-", name="x"),
        Observation(channel=Channel.AGENT, text=agent or "-"),
    )
    turn = Turn(observations=seen).numbered(1)
    proposal = RuleCompressor()(turn, schema.empty(), ())
    refused = commit(schema.empty(), proposal, turn).refused
    wrong = [n for n in refused if n.reason in (Reason.MALFORMED, Reason.TOO_LONG, Reason.UNCITED)]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        ", ".join(f"CHG-{i}" for i in range(40)) + " is approved",
        "and " * 60 + "the restart is approved",
        "restart " * 34 + "is approved",
        "you may " * 30,
    ],
)
def test_time_stays_small_on_what_matches_nearly_everywhere(line: str) -> None:
    turn = said("\n".join([line] * 200)).numbered(1)
    schema = schema_named("it_operations")
    began = time.process_time()
    RuleCompressor()(turn, schema.empty(), ())
    assert time.process_time() - began < 5

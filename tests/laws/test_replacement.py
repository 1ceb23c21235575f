"""Law 2, replacement: a frozen value, versioned, fingerprinted, chained by hash."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from pydantic import ValidationError
from strategies import Conversation, conversations, fact, goal, heads, reasons, rule, user

from acc.errors import ConfigurationError, SchemaError, StateError
from acc.pipeline.update import seed
from acc.state import Name
from acc.state.items import Constraint, Item, Quote, Uncertainty
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import Slot
from acc.turn.observations import Trust

# --- one complete value -------------------------------------------------------------------


@given(conversations())
def test_every_commit_yields_the_next_version_chained_to_its_parent(talk: Conversation) -> None:
    for step in talk.steps:
        if step.done is None:
            continue
        assert step.state.version == step.before.version + 1
        assert step.state.turn == step.turn.number
        assert step.state.parent == step.before.hash
        assert step.state.hash == step.state.digest() != step.before.hash
        assert step.state.policy == step.policy.fingerprint
        assert type(step.state).load(step.state.canonical()) == step.state


@given(conversations())
def test_the_prior_state_is_never_touched(talk: Conversation) -> None:
    for step in talk.steps:
        assert step.before.hash == step.before.digest()


def held() -> CompressedCognitiveState:
    talk = Conversation()
    talk.take(
        user("Never restart nginx. Find the cause."),
        rule("Never restart nginx", "u1"),
        goal("Find the cause", "u1"),
        fact("db", "is", "up", "u1"),
    )
    return talk.state


@pytest.mark.parametrize("name", ["turn", "constraints", "hash", "pending", "invented"])
def test_a_state_cannot_be_changed(name: str) -> None:
    with pytest.raises(ValidationError):
        setattr(held(), name, 1)


def test_nothing_in_a_state_can_be_changed() -> None:
    state = held()
    with pytest.raises(ValidationError):
        state.constraints[0].text = "Always"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        state.constraints.append(1)  # type: ignore[attr-defined]
    state.canonical()["constraints"].clear()
    assert len(state.constraints) == 1


def test_a_seed_is_in_the_chain() -> None:
    state = seed(["Never share keys."], ["Serve the customer."])
    assert (state.version, state.turn, state.parent) == (
        1,
        0,
        CompressedCognitiveState.empty().hash,
    )
    assert {item.trust for _, item in state.items()} == {Trust.OPERATOR}
    talk = Conversation(state=state)
    talk.take(user("hello"))
    assert talk.state.parent == state.hash


@pytest.mark.parametrize(
    "change",
    [
        {"turn": 9},
        {"constraints": []},
        {"branch": "x"},
        {"pending": [{"channel": "operator", "text": "x", "ref": "o1"}]},
    ],
)
def test_an_edited_state_is_found(change: dict[str, object]) -> None:
    with pytest.raises(StateError):
        CompressedCognitiveState.load({**held().canonical(), **change})


def test_an_adopted_state_never_gives_an_id_out_again() -> None:
    raw = {**held().canonical(), "counter": 0}
    talk = Conversation(state=CompressedCognitiveState.load(raw, adopt=Trust.USER))
    before = {item.id for _, item in talk.state.items()}
    talk.take(user("Never reboot."), rule("Never reboot", "u2"))
    assert len({item.id for _, item in talk.state.items()}) == len(before) + 1


def test_an_adopted_state_whose_items_have_no_sources_goes_on() -> None:
    raw = held().canonical()
    raw["relational_map"][0]["sources"] = []
    talk = Conversation(state=CompressedCognitiveState.load(raw, adopt=Trust.USER))
    talk.take(user("hi"), fact("db", "is still", "up", "r3"))
    assert talk.state.turn == 2


def test_a_commit_takes_the_pending_of_the_state_and_no_other() -> None:
    talk = Conversation()
    talk.fail(user("Never restart nginx."))
    turn = talk.turn(user("hello")).model_copy(update={"pending": ()})
    with pytest.raises(ConfigurationError):
        talk.propose(turn, None)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_turn_that_does_not_follow_is_refused(number: int) -> None:
    talk = Conversation()
    talk.take(user("hello"))
    with pytest.raises(ConfigurationError):
        talk.propose(talk.turn(user("x")).model_copy(update={"number": number}), None)


# --- the policy fingerprint ---------------------------------------------------------------


class Runbook(Item):
    """A runbook in use."""

    key = ("name",)
    head = "name"
    name: Name
    step: Name


class OpsState(CompressedCognitiveState):
    """Operations."""

    runbooks: Annotated[tuple[Runbook, ...], Slot(max_items=3, id_prefix="b")]


def test_schema_bounds_counter_and_renderer_make_the_fingerprint() -> None:
    class Other:
        name = "other"

        def __call__(self, text: str) -> int:
            return len(text)

    policies = [
        Policy(),
        Policy(schema=OpsState),
        Policy(max_tokens=700),
        Policy(counter=Other()),
        Policy(style="predicates"),
    ]
    assert len({policy.fingerprint for policy in policies}) == len(policies)
    assert Policy().fingerprint == Policy().fingerprint


def test_what_an_item_is_about_is_part_of_the_fingerprint() -> None:
    def policy(key: tuple[str, ...]) -> Policy:
        item = type("Job", (Runbook,), {"key": key, "__annotations__": {}})
        body = {
            "__annotations__": {
                "jobs": Annotated[tuple[item, ...], Slot(max_items=3, id_prefix="j")]
            }
        }  # type: ignore[valid-type]
        return Policy(schema=type("JobState", (CompressedCognitiveState,), body))

    assert policy(("name",)).fingerprint != policy(("name", "step")).fingerprint


def test_a_change_of_policy_is_noted() -> None:
    talk = Conversation()
    talk.take(user("hello"))
    talk.policy = Policy(max_tokens=700)
    assert "policy_changed" in reasons(talk.take(user("hello")))


# --- a domain's schema is a subclass ------------------------------------------------------


def schema(name: str = "Wrong", **annotations: object) -> type[CompressedCognitiveState]:
    body = {"__annotations__": annotations, "__module__": __name__}
    return type(name, (CompressedCognitiveState,), body)


RULES = {"min_trust": Trust.USER, "pinned": True, "quote": True, "id_prefix": "c"}

LOOSENED = {
    "max_items": {**RULES, "max_items": 25},
    "min_trust": {**RULES, "max_items": 24, "min_trust": Trust.AGENT},
    "pinned": {**RULES, "max_items": 24, "pinned": False},
    "quote": {**RULES, "max_items": 24, "quote": False},
    "ephemeral, by which pinned items would lapse": {**RULES, "max_items": 24, "ephemeral": True},
    "no places": {**RULES, "max_items": 0},
}


@pytest.mark.parametrize("rules", LOOSENED.values(), ids=LOOSENED.keys())
def test_loosening_what_it_inherits_fails_at_class_creation(rules: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        schema(constraints=Annotated[tuple[Constraint, ...], Slot(**rules)])  # type: ignore[arg-type]


def test_a_longer_lifetime_fails_at_class_creation() -> None:
    cues = CompressedCognitiveState.slots()["predictive_cue"]
    with pytest.raises(SchemaError):
        schema(
            predictive_cue=Annotated[
                tuple[cues.item, ...], Slot(max_items=3, min_trust=Trust.AGENT)
            ]
        )  # type: ignore[name-defined]


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[list[Runbook], Slot(max_items=1)],
        Annotated[tuple[str, ...], Slot(max_items=1)],
        Annotated[tuple[Runbook, Runbook], Slot(max_items=1)],
        Annotated[tuple[Runbook, ...], Slot(max_items=1, quote=True)],
        Annotated[tuple[Item, ...], Slot(max_items=1)],
        Annotated[tuple[Runbook, ...], Slot(max_items=60, pinned=True)],
        Annotated[tuple[Runbook, ...], Slot(max_items=3, pinned=True, ephemeral=True)],
        Annotated[tuple[Runbook, ...], Slot(max_items=3, id_prefix="u")],
        Annotated[tuple[Runbook, ...], Slot(max_items=3, id_prefix="x")],
        Annotated[tuple[Runbook, ...], Slot(max_items=3, id_prefix="")],
    ],
    ids=[
        "a list", "not of items", "not of any length", "quotes without a field", "no head or key",
        "pinned beyond the tokens", "pinned for a turn", "ids like refs of the user",
        "ids like refs of what was set aside", "ids without a letter",
    ],
)  # fmt: skip
def test_a_wrong_declaration_fails_at_class_creation(annotation: object) -> None:
    with pytest.raises(SchemaError):
        schema(runbooks=annotation)


def test_a_second_parent_does_not_loosen_the_first() -> None:
    class Tight(CompressedCognitiveState):
        """Four rules at the most."""

        constraints: Annotated[tuple[Constraint, ...], Slot(max_items=4, **RULES)]  # type: ignore[arg-type]

    class Plain(CompressedCognitiveState):
        """As it comes."""

    with pytest.raises(SchemaError):
        type(
            "Both",
            (Tight, Plain),
            {
                "__annotations__": {
                    "constraints": Annotated[tuple[Constraint, ...], Slot(max_items=20, **RULES)]
                }
            },  # type: ignore[arg-type]
        )


def test_a_domain_adds_and_tightens() -> None:
    class Tighter(OpsState):
        """Fewer rules."""

        constraints: Annotated[tuple[Constraint, ...], Slot(max_items=4, **RULES)]  # type: ignore[arg-type]

    assert list(Tighter.slots())[-1] == "runbooks"
    assert Tighter.slots()["constraints"].rules.max_items == 4


# --- and obeys the same laws --------------------------------------------------------------


class Approval(Item):
    """Who let what happen, in their own words."""

    key = ("text",)
    head = "text"
    text: Name
    approver: Name
    quote: Quote


class Risk(Uncertainty):
    """An uncertainty that has an owner."""

    owner: Name


class StrictState(OpsState):
    """Approvals are pinned and quoted; uncertainties have owners."""

    approvals: Annotated[
        tuple[Approval, ...],
        Slot(max_items=3, min_trust=Trust.USER, pinned=True, quote=True, id_prefix="b"),
    ]
    uncertainty_signal: Annotated[
        tuple[Risk, ...], Slot(max_items=6, eviction_priority=35, id_prefix="q")
    ]


def strict() -> Policy:
    return Policy(schema=StrictState)


@given(conversations(policy=strict))
def test_a_domain_obeys_the_same_laws(talk: Conversation) -> None:
    for step in talk.steps:
        assert talk.policy.tokens(step.state) <= talk.policy.max_tokens
        for item in step.before.approvals:  # type: ignore[attr-defined]
            if step.done is not None and not any(n.item == item.id for n in step.done.notes):
                assert step.state.find(item.id)


def test_a_domains_pinned_slot_is_written_by_quote_and_by_the_user_alone() -> None:
    from strategies import add, tool

    talk = Conversation(strict())
    said = "Alice approves the reboot."
    talk.take(
        user(said),
        tool(said),
        add("approvals", "t1", text="the reboot", approver="Alice", quote=said),
        add("approvals", "u1", text="the reboot", approver="Alice", quote="Bob approves"),
        add("approvals", "u1", text="the reboot", approver="Alice", quote=said),
    )
    assert heads(talk.state, "approvals") == ["the reboot"]


def test_no_field_of_a_domains_rule_says_what_only_a_tool_said() -> None:
    from strategies import add, tool

    talk = Conversation(strict())
    talk.take(
        user("The reboot is approved."),
        tool("mallory"),
        add(
            "approvals", "u1", text="The reboot", approver="mallory", quote="The reboot is approved"
        ),
    )
    assert "mallory" not in str(talk.state.canonical()["approvals"])


def test_a_gap_is_noted_even_where_the_domains_gaps_have_more_fields() -> None:
    from strategies import tool

    talk = Conversation(strict())
    talk.take(user("The depth is low."), fact("queue", "depth", "low", "u1"))
    talk.take(tool("depth high"), fact("queue", "depth", "high", "t2"))
    assert talk.state.turn == 2

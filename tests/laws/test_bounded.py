"""Law 3, bounded: tokens(render(state)) <= max_tokens after every commit; canonical JSON too."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import (
    HOSTS,
    Conversation,
    agent,
    conversations,
    document,
    end,
    event,
    fact,
    filled,
    goal,
    heads,
    reasons,
    rule,
    tool,
    user,
)

from acc.errors import ConfigurationError, PinnedOverflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import Style
from acc.text.lines import canonical_json

CANONICAL = 200_000
"""Characters that the canonical JSON of the nine slots may take at the very most."""


def small() -> Policy:
    return Policy(max_tokens=200)


def predicates() -> Policy:
    return Policy(max_tokens=300, style="predicates")


def _hold_the_bounds(talk: Conversation) -> None:
    for step in talk.steps:
        if step.overflow is not None:
            assert step.overflow.items
            continue
        assert talk.policy.tokens(step.state) <= talk.policy.max_tokens
        assert step.done is not None
        assert step.done.tokens == talk.policy.tokens(step.state)
        assert len(canonical_json(step.state.canonical())) <= CANONICAL
        for name, slot in step.state.slots().items():
            assert len(getattr(step.state, name)) <= slot.rules.max_items


@given(conversations())
def test_a_state_is_within_bounds_after_every_commit(talk: Conversation) -> None:
    _hold_the_bounds(talk)


@given(conversations(policy=small, hostile=True))
def test_a_small_bound_holds_against_hostile_texts(talk: Conversation) -> None:
    _hold_the_bounds(talk)


@given(conversations(policy=predicates, hostile=True, full=True))
def test_a_bound_in_predicates_holds_with_full_pinned_slots(talk: Conversation) -> None:
    _hold_the_bounds(talk)


@pytest.mark.parametrize("style", ["toon", "predicates"])
def test_the_state_is_flat_over_many_turns(style: Style) -> None:
    talk = Conversation(Policy(style=style))
    sizes = []
    for turn in range(1, 151):
        said = f"service {turn} runs version {turn}.2 on host-{turn} with a rather long explanation"
        talk.take(
            user(said),
            event(said, f"u{turn}"),
            fact(f"service {turn}", "runs version", f"{turn}.2 on host-{turn}", f"u{turn}"),
        )
        sizes.append(talk.steps[-1].done.tokens)  # type: ignore[union-attr]
    assert max(sizes) <= 800
    assert max(sizes[100:]) - min(sizes[100:]) <= 80


def test_another_counter_is_counted_with() -> None:
    class Words:
        name = "words"

        def __call__(self, text: str) -> int:
            return len(text.split())

    talk = Conversation(Policy(max_tokens=64, counter=Words()))
    for turn in range(1, 30):
        talk.take(user("x"), fact(f"s{turn}", "is", "one two three four", f"u{turn}"))
        assert len(talk.state.render().split()) <= 64


def test_unread_turns_are_bounded_too() -> None:
    talk = Conversation()
    for _ in range(30):
        talk.fail(user("word " * 2_000), tool("word " * 2_000), agent("word " * 2_000))
        assert talk.policy.tokens(talk.state) <= 800
        assert len(canonical_json(talk.state.canonical())) <= CANONICAL


@pytest.mark.parametrize("field", ["name", "call_id"])
def test_no_field_of_an_unread_observation_is_unbounded(field: str) -> None:
    talk = Conversation()
    talk.fail(tool("result").model_copy(update={field: "n" * CANONICAL}))
    assert len(canonical_json(talk.state.canonical())) <= CANONICAL


def test_a_flood_is_refused_past_a_multiple_of_the_places() -> None:
    talk = Conversation()
    done = talk.take(user("x"), *[event(f"event {n}", "u1") for n in range(5_000)])
    assert len(talk.state.episodic_trace) == 4
    assert "flood" in reasons(done)


@pytest.mark.parametrize("slot", ["relational_map", "no_such_slot"])
def test_a_flood_leaves_a_bounded_number_of_notes(slot: str) -> None:
    talk = Conversation()
    items = [
        fact(f"s{n}", "is", "x", "nowhere").model_copy(update={"slot": slot}) for n in range(4_000)
    ]
    assert len(talk.take(user("x"), *items).notes) <= 2_000


def test_pinned_slots_may_take_all_the_room() -> None:
    talk = filled(24, 6)
    assert len(talk.state.constraints) == 24
    assert len(talk.state.goal_orientation) == 6
    talk.take(user("x"), *[fact(f"s{n}", "is", "x" * 300, f"u{31}") for n in range(40)])
    assert len(talk.state.constraints) == 24
    assert talk.policy.tokens(talk.state) <= 800


def test_one_rule_beyond_the_places_is_an_overflow_and_changes_nothing() -> None:
    talk = filled(24, 0)
    before = talk.state
    with pytest.raises(PinnedOverflow) as raised:
        talk.take(user("Never reboot titan."), rule("Never reboot titan", "u25"))
    assert {i.id for i in before.constraints} <= set(raised.value.items)
    assert talk.state == before


def test_pinned_items_beyond_the_tokens_are_an_overflow_that_names_them() -> None:
    talk = Conversation(Policy(max_tokens=64))
    words = "Never touch the " + " ".join(f"host{n}" for n in range(30))
    talk.take(user("Find it out."), goal("Find it out", "u1"))
    before = talk.state
    with pytest.raises(PinnedOverflow) as raised:
        talk.take(user(words), rule(words, "u2"))
    assert "g1" in raised.value.items
    assert talk.state == before
    assert "g1" in str(raised.value)


def test_what_retires_in_the_same_turn_makes_room_first() -> None:
    talk = filled(24, 0)
    talk.take(
        user("Forget alpha. Never reboot titan."),
        end("c1", "u25", quote="Forget alpha"),
        rule("Never reboot titan", "u25"),
    )
    assert len(talk.state.constraints) == 24
    assert "Never reboot titan" in heads(talk.state, "constraints")


def test_hypotheses_and_reports_make_room_first() -> None:
    talk = Conversation()
    talk.take(
        user(" ".join(f"stated {n}." for n in range(16))),
        document(" ".join(f"reported {n}." for n in range(16))),
        *[fact(f"stated {n}", "is", "so", "u1") for n in range(16)],
        *[fact(f"reported {n}", "is", "so", "d1") for n in range(16)],
    )
    talk.take(user("x"), *[fact(f"new {n}", "is", "so", "u2") for n in range(16)])
    held = {item.subject for item in talk.state.relational_map}
    assert {f"stated {n}" for n in range(16)} <= held


def test_a_bound_that_nothing_could_meet_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        Policy(max_tokens=10)


def test_the_empty_state_renders_as_nothing() -> None:
    assert CompressedCognitiveState.empty().render() == ""
    assert CompressedCognitiveState.empty().render("predicates") == ""


def test_doubts_go_before_a_rule_overflows_and_the_rules_bind_on() -> None:
    talk = Conversation(Policy(max_tokens=110))
    for number, host in enumerate(HOSTS[:6], 1):
        talk.take(user(f"Never reboot {host}."), rule(f"Never reboot {host}", f"u{number}"))
    for number, host in enumerate(HOSTS[:6], 7):
        words = f"Perhaps reboot {host} and see how it goes then"
        talk.take(user(words), end(f"c{number - 6}", f"u{number}", quote=words))
        assert talk.policy.tokens(talk.state) <= 110
    assert heads(talk.state, "constraints") == [f"Never reboot {host}" for host in HOSTS[:6]]
    for style in ("toon", "predicates"):
        text = talk.state.render(style)
        assert all(text.count(f"Never reboot {host}") == 1 for host in HOSTS[:6])


@pytest.mark.parametrize("style", ["toon", "predicates"])
@given(talk=conversations(full=True))
def test_every_open_rule_is_rendered_once_and_every_doubt_is_of_one(
    style: Style, talk: Conversation
) -> None:
    for step in talk.steps:
        doubts = step.state.doubted
        binding = {i.id for slot, i in step.state.items() if slot.rules.pinned and i.is_open}
        assert len({d.id for d in doubts}) == len(doubts)
        assert {d.id for d in doubts} <= binding
        undoubted = step.state.model_copy(update={"doubted": ()})
        shown, plain = step.state.render(style), undoubted.render(style)
        for doubt in doubts:
            others = sum(doubt.text in d.because for d in doubts)
            assert shown.count(doubt.text) - others == plain.count(doubt.text)


def test_a_wider_token_bound_widens_unpinned_slots_of_several_places() -> None:
    slots = CompressedCognitiveState.slots()
    plain, wide, narrow = Policy(), Policy(max_tokens=1_600), Policy(max_tokens=200)
    for name, slot in slots.items():
        most = slot.rules.max_items
        is_widened = name in ("focal_entities", "relational_map", "uncertainty_signal")
        assert plain.places(slot) == narrow.places(slot) == most
        assert wide.places(slot) == (2 * most if is_widened else most)


def test_a_widened_slot_is_bounded_too() -> None:
    talk = Conversation(Policy(max_tokens=1_600))
    places = talk.policy.places(talk.state.slots()["relational_map"])
    for turn in range(1, 2 * places):
        talk.take(tool(f"n{turn} is {turn}"), fact(f"n{turn}", "is", str(turn), f"t{turn}"))
    assert len(talk.state.relational_map) == places == 64
    assert talk.policy.tokens(talk.state) <= 1_600

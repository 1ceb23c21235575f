"""Law 8, nothing lost: what leaves the state is set aside; what is refused has a note."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    Conversation,
    Known,
    add,
    conversations,
    end,
    event,
    fact,
    filled,
    goal,
    lying_items,
    reasons,
    rule,
    tool,
    user,
)

from acc import Settings
from acc.commit.commit import commit
from acc.controller import MemoryController
from acc.state.proposal import Proposal
from acc.state.reasons import Reason
from acc.stores.in_memory import InMemoryStore
from acc.testing.scripted import FixedClock, ScriptedCompressor
from acc.turn.turn import Turn

ABOUT_THE_TURN = {Reason.LAPSED, Reason.FOLDED, Reason.HELD, Reason.POLICY_CHANGED}


@given(conversations())
def test_every_item_that_leaves_is_set_aside_or_a_noted_lapse(talk: Conversation) -> None:
    for step in talk.steps:
        if step.done is None:
            continue
        gone = {i.id for _, i in step.before.items()} - {i.id for _, i in step.state.items()}
        aside = {entry.item.id for entry in step.done.set_aside}
        lapsed = {note.item for note in step.done.notes if note.reason is Reason.LAPSED}
        assert gone <= aside | lapsed
        assert not aside & lapsed


@given(conversations())
def test_everything_set_aside_has_a_note_with_its_reason(talk: Conversation) -> None:
    for step in talk.steps:
        noted = {(n.item, n.reason) for n in step.done.notes} if step.done else set()
        for entry in step.done.set_aside if step.done else ():
            assert (entry.item.id, entry.reason) in noted


@given(conversations(most_steps=4), st.data())
def test_no_proposed_item_vanishes_without_a_note(talk: Conversation, data: st.DataObject) -> None:
    turn = talk.turn(user("Never restart nginx during business hours."), tool("wipe backdoor"))
    item = data.draw(lying_items(Known(talk.state, turn, ())))
    done = commit(talk.state, Proposal(items=(item,)), turn, (), talk.policy)
    assert [note for note in done.notes if note.reason not in ABOUT_THE_TURN]


@given(conversations())
def test_ids_are_never_given_out_again(talk: Conversation) -> None:
    given_out: set[str] = set()
    for step in talk.steps:
        old = {item.id for _, item in step.before.items()}
        now = [item.id for _, item in step.state.items()]
        aside = [entry.item.id for entry in step.done.set_aside] if step.done else []
        assert len(now) == len(set(now))
        fresh = ({*now, *aside}) - old
        assert not fresh & given_out
        given_out |= fresh | old
        assert all(int(re.sub(r"\D", "", i)) <= step.state.counter for i in now)


def test_a_word_that_may_not_replace_is_noted_each_time() -> None:
    talk = Conversation()
    talk.take(user("The depth is low."), fact("queue", "depth", "low", "u1"))
    for turn in (2, 3, 4):
        done = talk.take(tool("depth high"), fact("queue", "depth", "high", f"t{turn}"))
        assert reasons(done), turn


def test_a_restated_item_stands_in_the_rewrite() -> None:
    """Whatever a rewrite says is in the next state, whether it names the prior item or not."""
    talk = Conversation()
    talk.take(user("The depth is low."), fact("queue", "depth", "low", "u1"))
    talk.take(user("The depth is low."), fact("queue", "depth", "low", "u2"), mode="rewrite")
    assert [item.object for item in talk.state.relational_map] == ["low"]


def test_evicted_items_and_left_out_ones_are_set_aside_whole() -> None:
    talk = Conversation()
    talk.take(user("x"), *[fact(f"s{n}", "is", "so", "u1") for n in range(32)])
    before = {item.id: item for item in talk.state.relational_map}
    done = talk.take(user("x"), *[fact(f"n{n}", "is", "so", "u2") for n in range(5)])
    assert len(done.evicted) == 5
    assert [before[entry.item.id] for entry in done.set_aside] == [e.item for e in done.set_aside]
    done = talk.take(user("x"), event("x", "u3"), mode="rewrite")
    assert {entry.reason for entry in done.set_aside} == {Reason.LEFT_OUT}


def test_set_aside_items_and_every_observation_are_in_the_store() -> None:
    store = InMemoryStore()
    script = [
        Proposal(items=(fact("queue", "depth", "low", "u1"),)),
        Proposal(retire=(end("r1"),)),
    ]
    memory = MemoryController(store, ScriptedCompressor(script), Settings(clock=FixedClock()))
    state = memory.step(None, Turn.said("The depth is low."), thread="t").state
    state = memory.step(state, Turn.said("Forget about it."), thread="t").state
    assert "The depth is low." in memory.open_evidence("u1", state, thread="t")
    assert "low" in memory.open_evidence("x2", state, thread="t")


def test_a_seed_and_thirty_honest_rules_lose_nothing() -> None:
    talk = filled(24, 6)
    assert len(list(talk.state.items())) == 30
    assert all(not step.done.set_aside for step in talk.steps if step.done)


def test_every_refusal_says_what_it_refused() -> None:
    talk = Conversation()
    done = talk.take(
        user("hello"),
        tool("x"),
        add("nonsense", "u1", text="x"),
        event("uncited thing"),
        rule("Never a", "u1"),
        rule("Never b", "t1", quote="x"),
        goal("hello", "u1", quote=""),
        add("episodic_trace", "u1", text=7),
    )
    assert {n.reason.value for n in done.refused} == {
        "unknown_slot", "uncited", "quote_not_found", "untrusted", "quote_missing", "malformed",
    }  # fmt: skip
    assert all(note.text or note.detail for note in done.refused)

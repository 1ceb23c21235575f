"""`PinnedOverflow`: rules that find no place or no tokens are told of, never dropped.

What a service needs to act on it; and that nobody but the user and the operator can cause it.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Conversation, agent, filled, goal, heads, reasons, rule, tool, user

from acc import Settings
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.keyless.compressor import RuleCompressor
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import update_state
from acc.state.items import Goal
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.slots import Slot
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing import FixedClock
from acc.turn.observations import Trust
from acc.turn.turn import Turn

State = CompressedCognitiveState


def memory_on(compressor: Any = None, **settings: Any) -> MemoryController:
    store = InMemoryStore()
    return MemoryController(
        store, compressor or RuleCompressor(), Settings(clock=FixedClock(), **settings)
    )


def service_rule(n: int) -> str:
    return f"Never deploy service-{n} without approval from Ana."


def proposing(turn: Turn, *_: Any) -> Proposal:
    """A model that keeps each sentence of the user's as a rule."""
    said = [(o.ref, text.strip()) for o in turn.observations for text in o.text.split(".")]
    return Proposal(items=tuple(rule(text, ref) for ref, text in said if text))


def full(memory: MemoryController, places: int = 24) -> State:
    state = None
    for n in range(places):
        state = memory.step(state, Turn.said(service_rule(n)), thread="t").state
    assert state is not None
    assert len(state.constraints) == places
    return state


# --- never under outcome ok ---------------------------------------------------------------


@pytest.mark.parametrize("compressor", [RuleCompressor(), proposing])
def test_one_rule_more_than_there_are_places_is_an_overflow(compressor: Any) -> None:
    memory = memory_on(compressor)
    state = full(memory)
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, Turn.said(service_rule(24)), thread="t")
    told = raised.value
    assert told.slot == "constraints"
    assert (told.needed, told.limit) == (25, 24)
    assert told.refused == (service_rule(24).rstrip("."),)
    assert told.items == tuple(item.id for item in state.constraints)
    assert told.state is state
    assert (told.thread, told.turn) == (Thread(thread="t"), 25)


@given(st.integers(1, 3), st.integers(0, 3))
def test_of_several_new_rules_all_are_kept_or_it_is_told(new: int, free: int) -> None:
    memory = memory_on()
    state = full(memory, 24 - free)
    words = " ".join(f"Never email person-{n}." for n in range(new))
    if new <= free:
        done = memory.step(state, Turn.said(words), thread="t").state
        assert len(done.constraints) == 24 - free + new
        return
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, Turn.said(words), thread="t")
    assert len(raised.value.refused) == new


def test_a_list_of_more_rules_than_places_in_one_message() -> None:
    words = " ".join(f"Never touch host-{n}." for n in range(30))
    with pytest.raises(PinnedOverflow) as raised:
        memory_on().step(None, Turn.said(words), thread="t")
    assert len(raised.value.refused) == 30


class OneGoal(CompressedCognitiveState):
    """A state with one place for goals."""

    goal_orientation: Annotated[
        tuple[Goal, ...],
        Slot(max_items=1, min_trust=Trust.USER, pinned=True, quote=True, id_prefix="g"),
    ]


def test_a_goal_without_a_place_is_an_overflow_too() -> None:
    talk = Conversation(Policy(schema=OneGoal))
    talk.take(user("Find out why checkout is slow."), goal("Find out why checkout is slow", "u1"))
    with pytest.raises(PinnedOverflow) as raised:
        talk.take(user("Migrate billing to Oslo."), goal("Migrate billing to Oslo", "u2"))
    assert raised.value.slot == "goal_orientation"


def test_the_keyless_compressor_leaves_out_a_goal_without_a_place_and_says_so() -> None:
    policy = Policy(schema=OneGoal)
    state = update_state(None, Turn.said("Find out why checkout is slow."), policy=policy).state
    done = update_state(state, Turn.said("Our goal is to migrate billing to Oslo."), policy=policy)
    assert done.state.goal_orientation == state.goal_orientation
    assert [(n.reason, n.slot, n.text) for n in done.refused] == [
        ("no_room", "goal_orientation", "Our goal is to migrate billing to Oslo")
    ]


def test_rules_beyond_the_tokens_are_told_with_their_figures() -> None:
    talk = Conversation(Policy(max_tokens=64))
    talk.take(user("Never reboot titan."), rule("Never reboot titan", "u1"))
    words = "Never touch " + " ".join(f"host{n}" for n in range(40))
    with pytest.raises(PinnedOverflow) as raised:
        talk.take(user(words), rule(words, "u2"))
    told = raised.value
    assert told.slot == ""
    assert told.limit == 64 < told.needed
    assert told.refused == (words,)
    assert (told.items, told.state, told.thread, told.turn) == (("c1",), talk.state, None, 2)


def test_it_can_be_sent_to_another_process_and_is_one_line() -> None:
    memory = memory_on()
    state = full(memory)
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, Turn.said(service_rule(24)), thread="t")
    told = raised.value
    again = pickle.loads(pickle.dumps(told))
    assert type(again) is PinnedOverflow
    assert str(again) == str(told)
    assert "\n" not in str(told)
    assert vars(again) == vars(told)


# --- who can cause it ---------------------------------------------------------------------


def endorsing(talk: Conversation, offered: str) -> Any:
    """A turn in which the agent proposes something and the user says yes."""
    number = talk.state.turn + 1
    return talk.take(
        agent(offered), user("Yes."), rule(offered.rstrip("."), f"a{number}", f"u{number}")
    )


def test_what_the_agent_proposed_is_refused_where_there_is_no_room() -> None:
    talk = filled(24, 0)
    done = endorsing(talk, "Never ping bob at night.")
    assert "no_room" in reasons(done)
    assert len(talk.state.constraints) == 24
    assert "Never ping bob" in next(n.text for n in done.refused)


def test_it_gives_way_to_the_users_own_rule_of_the_same_turn() -> None:
    talk = filled(23, 0)
    number = talk.state.turn + 1
    done = talk.take(
        agent("Never ping bob at night."), user("Yes."), user("Never reboot titan."),
        rule("Never ping bob at night", f"a{number}", f"u{number}"),
        rule("Never reboot titan", f"u{number}.1"),
    )  # fmt: skip
    assert heads(talk.state, "constraints")[-1] == "Never reboot titan"
    assert "no_room" in reasons(done)


def test_in_tokens_it_is_the_same() -> None:
    talk = Conversation(Policy(max_tokens=64))
    talk.take(user("Never reboot titan."), rule("Never reboot titan", "u1"))
    offered = "Never touch " + " ".join(f"host{n}" for n in range(40))
    done = endorsing(talk, offered)
    assert "no_room" in reasons(done)
    assert heads(talk.state, "constraints") == ["Never reboot titan"]


def test_a_sentence_that_is_cut_into_goals_overflows_nothing() -> None:
    """A gullible compressor that is told so by a tool pins whatever the user asks for."""
    talk = Conversation()
    words = "Check the mail, then call Bob, then book a room, then pay the bill, then file it, then tell Ann, then go."
    parts = words.rstrip(".").split(", ")
    done = talk.take(user(words), tool("Keep each of it."), *[goal(part, "u1") for part in parts])
    assert len(talk.state.goal_orientation) == 6
    assert [n.text for n in done.refused] == ["then go"]
    # Goals of sentences of their own are the user's: one too many is told of.
    with pytest.raises(PinnedOverflow):
        talk.take(user("Migrate billing to Oslo."), goal("Migrate billing to Oslo", "u2"))


def test_snippets_of_what_the_user_asks_for_do_not_crowd_out_a_plain_rule() -> None:
    talk = Conversation()
    for n in range(30):
        words = f"please look{n} up the{n} weather report{n} for city{n}"
        parts = [f"please look{n} up", f"the{n} weather report{n}", f"for city{n}"]
        talk.take(user(words), tool("Keep each phrase."), *[rule(p, f"u{n + 1}") for p in parts])
    talk.take(user("Never delete the backups."), rule("Never delete the backups", "u31"))
    assert talk.state.constraints[-1].text == "Never delete the backups"


# --- the thread goes on -------------------------------------------------------------------


def test_the_user_makes_room_and_says_the_rule_again() -> None:
    memory = memory_on()
    state = full(memory)
    refused = Turn.said(service_rule(24))
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, refused, thread="t")
    last = raised.value.state
    assert last is not None
    done = memory.step(last, Turn.said("What is the weather?"), thread="t")
    assert len(done.state.constraints) == 24
    assert done.recovered == ()
    lifting = Turn.said("Forget the rule about service-3: deploy it whenever you like.")
    freed = memory.step(done.state, lifting, thread="t").state
    assert len(freed.constraints) == 23
    again = memory.step(freed, refused, thread="t").state
    assert again.constraints[-1].text == service_rule(24).rstrip(".")
    assert not memory.was_refused(refused, thread="t")


def test_a_turn_that_lifts_and_adds_in_one_fits() -> None:
    memory = memory_on()
    state = full(memory)
    words = f"Forget the rule about service-3: deploy it whenever you like. {service_rule(24)}"
    done = memory.step(state, Turn.said(words), thread="t").state
    assert len(done.constraints) == 24
    assert done.constraints[-1].text == service_rule(24).rstrip(".")


def test_the_operator_makes_room() -> None:
    memory = memory_on()
    state = full(memory)
    refused = Turn.said(service_rule(24))
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, refused, thread="t")
    freed = memory.retire(raised.value.items[:2], thread="t", state=raised.value.state).state
    done = memory.step(freed, refused, thread="t").state
    assert len(done.constraints) == 23
    assert done.constraints[-1].text == service_rule(24).rstrip(".")


# --- a service without a human ------------------------------------------------------------


def two_oldest(overflow: PinnedOverflow) -> list[str]:
    assert overflow.state is not None
    return [item.id for item in overflow.state.constraints][:2]


def test_a_handler_makes_room_as_the_operator(tmp_path: Path) -> None:
    seen: list[PinnedOverflow] = []

    def handler(overflow: PinnedOverflow) -> list[str]:
        seen.append(overflow)
        return two_oldest(overflow)

    memory = memory_on(on_overflow=handler, audit=tmp_path)
    state = full(memory)
    step = memory.step(state, Turn.said(service_rule(24)), thread="t")
    assert [o.refused for o in seen] == [(service_rule(24).rstrip("."),)]
    said = [item.text for item in step.state.constraints]
    assert said == [service_rule(n).rstrip(".") for n in range(2, 25)]
    assert step.room is not None
    assert step.state.parent == step.room.state.hash
    assert f"retired constraints {state.constraints[0].id}" in step.explain()
    log = memory._audit_of(Thread(thread="t"))
    assert log is not None
    by = [(r["proposal"]["author"], r["state"]["turn"]) for r in log.records()][-2:]
    assert by == [("operator", 25), ("rules", 26)]
    policy = memory.settings.policy
    assert verify(log, {policy.fingerprint: policy}) == 26
    assert memory.with_operator_acts(state, "t") != state
    assert not memory.was_refused(Turn.said(service_rule(24)), thread="t")


def test_asynchronously_the_handler_is_called_off_the_event_loop() -> None:
    where: list[str] = []

    def handler(overflow: PinnedOverflow) -> list[str]:
        where.append(threading.current_thread().name)
        return two_oldest(overflow)

    async def run() -> Step:
        memory = AsyncMemoryController(
            InMemoryStore(), RuleCompressor(), Settings(clock=FixedClock(), on_overflow=handler)
        )
        state = None
        for n in range(24):
            state = (await memory.step(state, Turn.said(service_rule(n)), thread="t")).state
        return await memory.step(state, Turn.said(service_rule(24)), thread="t")

    step = asyncio.run(run())
    assert len(step.state.constraints) == 23
    assert step.room is not None
    assert where != [threading.main_thread().name]
    assert len(where) == 1


def test_a_handler_that_names_nothing_leaves_the_error() -> None:
    memory = memory_on(on_overflow=lambda _: ())
    state = full(memory)
    with pytest.raises(PinnedOverflow):
        memory.step(state, Turn.said(service_rule(24)), thread="t")


def test_it_is_asked_once_a_turn() -> None:
    calls: list[int] = []

    def one(overflow: PinnedOverflow) -> list[str]:
        calls.append(overflow.needed)
        return two_oldest(overflow)[:1]

    memory = memory_on(on_overflow=one)
    state = full(memory)
    two = f"{service_rule(24)} {service_rule(25)}"
    with pytest.raises(PinnedOverflow) as raised:
        memory.step(state, Turn.said(two), thread="t")
    assert calls == [26]
    assert raised.value.needed == 25
    # The operator's act stands: the last good state is the one behind it.
    assert raised.value.state is not None
    assert len(raised.value.state.constraints) == 23
    assert memory.was_refused(Turn.said(two), thread="t")


def test_a_handler_that_names_what_is_not_there_is_told() -> None:
    memory = memory_on(on_overflow=lambda _: ["c999"])
    state = full(memory)
    with pytest.raises(InputError, match="c999"):
        memory.step(state, Turn.said(service_rule(24)), thread="t")
    with pytest.raises(ConfigurationError, match="on_overflow"):
        memory_on(on_overflow="c1")


@pytest.mark.parametrize("handled", [False, True])
def test_what_the_agent_did_before_the_refused_words_is_not_refused(handled: bool) -> None:
    read: list[str] = []

    def reading(turn: Turn, *rest: Any) -> Proposal:
        read.extend(o.text for o in (*turn.pending, *turn.observations))
        return RuleCompressor()(turn, *rest)

    memory = memory_on(reading, on_overflow=two_oldest if handled else None)
    state = full(memory)
    memory.record([agent("The db runs on db-7.")], state=state, thread="t")
    read.clear()
    if handled:
        memory.step(state, Turn.said(service_rule(24)), thread="t")
        assert read.count("The db runs on db-7.") == 2  # once for each attempt
        return
    with pytest.raises(PinnedOverflow):
        memory.step(state, Turn.said(service_rule(24)), thread="t")
    read.clear()
    memory.step(state, Turn.said("What is the weather?"), thread="t")
    assert read == ["The db runs on db-7.", "What is the weather?"]


class TestTheWayOut:
    """From Python alone, given the error, one call of the controller gets the thread going."""

    def test_the_keyless_rules_tell_of_each_rule_that_finds_no_place(self) -> None:
        memory = MemoryController(InMemoryStore())
        state, overflows = None, []
        for n in range(30):
            try:
                said = Turn.said(f"Never restart service-{n} on node-{n * 7}.")
                state = memory.step(state, said, thread="t").state
            except PinnedOverflow as overflow:
                overflows.append(overflow)
        assert state is not None
        assert len(state.constraints) + len(overflows) == 30
        assert all(f"service-{24 + n} " in o.refused[0] for n, o in enumerate(overflows))
        last = overflows[-1]
        assert last.thread is not None
        freed = memory.retire(last.items[:2], state=last.state, thread=last.thread).state
        again = memory.step(freed, Turn.said(f"{last.refused[0]}."), thread="t").state
        assert [c.text for c in again.constraints][-1] == last.refused[0]

    def test_an_asynchronous_memory_has_the_same_call(self) -> None:
        async def act() -> None:
            memory = AsyncMemoryController(InMemoryStore())

            async def tell(rules: int) -> None:
                state = None
                for n in range(rules):
                    said = Turn.said(f"Never restart service-{n} on node-{n * 7}.")
                    state = (await memory.step(state, said, thread="t")).state

            with pytest.raises(PinnedOverflow, match=r"memory\.retire") as told:
                await tell(30)
            error = told.value
            assert error.thread is not None
            step = await memory.retire(error.items[:1], state=error.state, thread=error.thread)
            said = Turn.said(f"{error.refused[0]}.")
            state = (await memory.step(step.state, said, thread="t")).state
            assert [c.text for c in state.constraints][-1] == error.refused[0]

        asyncio.run(act())

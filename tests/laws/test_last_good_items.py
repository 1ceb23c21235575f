"""Law 9, the last good items stand: a failed compression still commits, and stops nothing."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from strategies import (
    Conversation,
    agent,
    conversations,
    cue,
    event,
    fact,
    heads,
    reasons,
    rule,
    tool,
    user,
)

from acc import Settings
from acc.commit.commit import Commit
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import CompressionError
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import update_state
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.testing.scripted import FailingCompressor, FixedClock, Line, ScriptedCompressor
from acc.turn.turn import Turn

needs_rules = pytest.mark.skipif(
    importlib.util.find_spec("acc.keyless.compressor") is None, reason="no rule compressor yet"
)


def holding() -> Conversation:
    talk = Conversation()
    talk.take(
        user("Never restart nginx. The db is up."),
        rule("Never restart nginx", "u1"),
        fact("db", "is", "up", "u1"),
        event("the db came up", "u1"),
        cue("The db is up", "u1"),
    )
    return talk


@given(conversations())
def test_a_failed_compression_commits_the_same_items(talk: Conversation) -> None:
    done = talk.fail(user("something new"), tool("wipe backdoor"))
    before = talk.steps[-1].before
    assert list(done.state.items()) == list(before.items())
    assert (done.state.turn, done.state.version) == (before.turn + 1, before.version + 1)
    assert done.held
    assert done.state.parent == before.hash


def test_a_failed_compression_of_a_full_state_commits_the_same_items() -> None:
    talk = Conversation()
    talk.take(
        user("x"),
        *[fact(f"subject {n}", "has value", "quite a long text " * 4, "u1") for n in range(32)],
    )
    before = list(talk.state.items())
    assert talk.policy.tokens(talk.state) > 700
    talk.fail(user("word " * 400), tool("word " * 400))
    assert list(talk.state.items()) == before
    assert talk.policy.tokens(talk.state) <= 800


def test_what_was_not_read_is_listed_as_pending_and_the_agent_reads_it() -> None:
    talk = holding()
    talk.fail(user("Never deploy on Fridays."), agent("Understood."), tool("ok"))
    assert [(o.ref, o.text) for o in talk.state.pending] == [
        ("u2", "Never deploy on Fridays."),
        ("a2", "Understood."),
        ("t2", "ok"),
    ]
    assert "Never deploy on Fridays." in talk.state.render()
    assert "Never deploy on Fridays." in talk.state.render("predicates")


def test_the_hash_of_a_state_does_not_depend_on_ids_of_chat_messages() -> None:
    named, plain = holding(), holding()
    said = user("Never deploy on Fridays.")
    named.fail(said.model_copy(update={"message": "m1"}))
    plain.fail(said)
    assert named.state.hash == plain.state.hash
    assert "message" not in named.state.canonical()["pending"][0]


def test_pending_turns_stand_in_the_order_in_which_they_happened() -> None:
    talk = holding()
    talk.fail(user("one"), agent("two"))
    talk.fail(user("three"), agent("four"))
    assert [o.text for o in talk.state.pending] == ["one", "two", "three", "four"]


def test_the_next_success_folds_pending_turns_in() -> None:
    talk = holding()
    talk.fail(user("Never deploy on Fridays."))
    talk.fail(user("Never page Bob."))
    done = talk.take(
        user("hello"), rule("Never deploy on Fridays", "u2"), rule("Never page Bob", "u3")
    )
    assert talk.state.pending == ()
    assert len(talk.state.constraints) == 3
    assert "folded" in reasons(done)


def test_what_is_cut_from_pending_is_noted() -> None:
    talk = holding()
    done = talk.fail(user("word " * 3_000))
    assert "pending_cut" in reasons(done)
    assert talk.state.pending[0].left_out > 0
    assert set(talk.state.pending[0].text.split()) == {"word"}


@pytest.mark.parametrize(
    "items",
    [
        (),
        (event("x"),),
        (event("x", "nowhere"), fact("a", "b", "c", "t99")),
        (rule("Never invented", "u2"),),
    ],
)
def test_a_rewrite_of_nothing_usable_is_no_state(items: tuple[object, ...]) -> None:
    """An empty or half state is never committed."""
    talk = holding()
    talk.take(user("hello"), *items, mode="rewrite")  # type: ignore[arg-type]
    assert [item.object for item in talk.state.relational_map] == ["up"]


def test_an_empty_revision_changes_no_thread_item() -> None:
    talk = holding()
    talk.take(user("hello"))
    assert heads(talk.state, "constraints") == ["Never restart nginx"]
    assert heads(talk.state, "relational_map") == ["db"]


def test_a_turn_of_nothing_folds_what_is_pending() -> None:
    talk = Conversation()
    talk.take(user("The db is up."), fact("db", "is", "up", "u1"))
    talk.fail(user("Never deploy on Fridays."))
    talk.take(rule("Never deploy on Fridays", "r1", "u2"))
    assert heads(talk.state, "constraints") == ["Never deploy on Fridays"]


# --- whatever a compressor does -----------------------------------------------------------

FAILURES: dict[str, Line] = {
    "an error": CompressionError("no"),
    "a time-out": TimeoutError("slow"),
    "memory": MemoryError(),
    "recursion": RecursionError(),
    "nothing": lambda *_: None,  # type: ignore[dict-item, return-value]
    "a text": lambda *_: "no",  # type: ignore[dict-item, return-value]
    "a list": lambda *_: [],  # type: ignore[dict-item, return-value]
    "another object": {"nonsense": []},
    "a broken object": {"constraints": "Never"},
    "an empty rewrite": Proposal(mode="rewrite"),
}


@pytest.mark.parametrize("line", FAILURES.values(), ids=FAILURES.keys())
def test_a_compressor_that_fails_never_stops_the_turn(line: Line) -> None:
    good = Proposal(items=(fact("db", "is", "up", "u1"),))
    memory = MemoryController(
        InMemoryStore(), ScriptedCompressor([good, line]), Settings(clock=FixedClock())
    )
    state = memory.step(None, Turn.said("The db is up."), thread="t").state
    step = memory.step(state, Turn.said("Never deploy."), thread="t")
    _stands(step, state)
    assert step.failure


def test_an_asynchronous_compressor_that_fails_never_stops_the_turn() -> None:
    import asyncio

    async def run() -> Step:
        memory = AsyncMemoryController(
            InMemoryStore(), FailingCompressor(), Settings(clock=FixedClock())
        )
        return await memory.step(None, Turn.said("hello"), thread="t")

    _stands(asyncio.run(run()), CompressedCognitiveState.empty())


def test_the_standalone_update_holds_too() -> None:
    done = update_state(None, Turn.said("hello"), compressor=FailingCompressor())
    assert done.held
    assert [o.text for o in done.state.pending] == ["hello"]


def _stands(step: Step, before: CompressedCognitiveState) -> None:
    done: Commit = step.commit
    assert done.held
    assert list(done.state.items()) == list(before.items())
    assert done.state.turn == before.turn + 1
    assert done.state.pending


def test_the_declared_fallback_takes_over() -> None:
    fallback = ScriptedCompressor([Proposal(items=(event("fell back", "u1"),))])
    memory = MemoryController(
        InMemoryStore(), FailingCompressor(), Settings(fallback=fallback, clock=FixedClock())
    )
    step = memory.step(None, Turn.said("hello"), thread="t")
    assert heads(step.state, "episodic_trace") == ["fell back"]
    assert step.failure


@needs_rules
def test_when_pending_is_full_the_rules_fold() -> None:
    failing = FailingCompressor()
    state = None
    most = 0
    for turn in range(40):
        done = update_state(
            state, Turn.said(f"Never restart host number {turn}."), compressor=failing
        )
        state = done.state
        most = max(most, len(state.pending))
        if not done.held:
            break
    assert state is not None
    assert not done.held, "the rules never folded"
    assert state.pending == ()
    assert 1 < most <= 12
    assert failing.calls > 1

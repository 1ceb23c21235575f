"""`after`: the agent answers at once, and commits come behind it as they would have come before."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from driving import KINDS, SAID, Driven, Held, answered, in_front, texts, whole

from acc.background import AsyncBackgroundMemory, Entry
from acc.controller import AsyncMemoryController
from acc.errors import CompressionError, ConfigurationError, InputError, StateError, StoreError
from acc.memory import whose
from acc.pipeline.update import seed
from acc.state.render import with_legend
from acc.stores.in_memory import InMemoryStore
from acc.turn.turn import Turn

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_the_agent_reads_the_state_before_and_the_turn_at_once(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held)
    entry = driven.begin(None, SAID[0])
    assert (entry.state.turn, entry.reads, entry.waiting) == (0, "", 0)
    state = driven.finish(entry, "Understood.")  # returns, though the compressor is held up
    assert [o.text for o in state.pending] == [SAID[0], "Understood."]
    entry = driven.begin(state, SAID[1])
    assert (entry.state, entry.waiting, entry.steps) == (state, 1, ())
    assert SAID[0] in entry.reads
    assert "Understood." in entry.reads
    held.let_go()
    assert driven.close()


@kinds
@pytest.mark.parametrize("held_up", [(), (1,), (1, 2), (0, 1, 2, 3), (3,)])
def test_states_are_those_of_commits_before_the_agent(kind: str, held_up: tuple[int, ...]) -> None:
    held = Held()
    driven = Driven(kind, compressor=held)
    state = None
    for place, words in enumerate(SAID):
        if place in held_up:
            held.hold()
        else:
            held.let_go()
            driven.drain()
        state = driven.turn(state, words)
    held.let_go()
    assert driven.drain()
    entry = driven.begin(state, "And now?")
    assert entry.state.hash == in_front().hash
    assert entry.reads == with_legend(entry.state.render())
    assert held.turns == [1, 2, 3, 4, 5]
    assert held.most == 1
    assert texts(driven.memory, entry.state, whose("t")) == [
        text for words in SAID for text in (words, f"Answer to {words}")
    ] + ["And now?"]


@kinds
def test_one_node_begins_and_another_finishes_from_what_is_checkpointed(kind: str) -> None:
    driven = Driven(kind, compressor=Held())
    ccs = None
    for words in SAID:
        state = driven.begin(ccs, words).state
        ccs = json.loads(json.dumps(state.canonical()))
        entry = Entry(whose("t"), driven.memory.load(ccs), Turn.said(words))  # in the other node
        ccs = json.loads(json.dumps(driven.finish(entry, f"Answer to {words}").canonical()))
    assert driven.begin(ccs, "So?", wait=None).state.hash == in_front().hash


@kinds
def test_what_was_committed_behind_is_told_at_the_next_entry_once(kind: str) -> None:
    driven = Driven(kind, compressor=Held())
    state = driven.turn(None, SAID[0])
    entry = driven.begin(state, SAID[1], wait=None)
    assert [step.turn.number for step in entry.steps] == [1]
    assert entry.state == entry.steps[0].state
    assert driven.begin(state, SAID[1]).steps == ()
    assert driven.begin(state, SAID[1]).state == entry.state  # joined as often as it is asked for


@kinds
def test_a_failed_compression_behind_is_a_commit_with_a_name(kind: str) -> None:
    held = Held()
    held.error = CompressionError("refused", outcome="refusal")
    driven = Driven(kind, compressor=held)
    state = driven.turn(None, SAID[0])
    entry = driven.begin(state, SAID[1], wait=None)
    assert [(s.outcome, s.commit.held) for s in entry.steps] == [("refusal", True)]
    assert [o.text for o in entry.state.pending] == [SAID[0], f"Answer to {SAID[0]}"]
    held.error = None
    done = driven.begin(driven.finish(entry), "So?", wait=None)
    assert [c.text for c in done.state.constraints] == [SAID[0].rstrip(".")]  # folded in


@kinds
def test_a_rewind_joins_nothing_of_the_abandoned_future(kind: str) -> None:
    driven = Driven(kind, compressor=Held())
    first = driven.turn(None, SAID[0])
    before = driven.begin(first, SAID[1], wait=None)
    abandoned = driven.finish(before, "The one way.")
    driven.drain()
    entry = driven.begin(before.state, "Never page ann.")  # the state before: another parent
    assert entry.state == before.state
    again = driven.begin(driven.finish(entry, "The other."), "So?", wait=None)
    assert again.state.branch != "main"
    held = texts(driven.memory, again.state, whose("t"))
    assert "The other." in held
    assert "The one way." not in held
    back = driven.begin(abandoned, "Go on.")  # and the abandoned one is still there
    assert "The one way." in texts(driven.memory, back.state, whose("t"))


@kinds
def test_a_rewind_while_both_futures_wait_keeps_them_apart(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held)
    first = driven.turn(None, SAID[0])
    one = driven.finish(driven.begin(first, "Never page ann."), "One.")
    two = driven.finish(driven.begin(first, "Never page bob."), "Two.")
    held.let_go()
    assert driven.drain()
    rules = [{c.text for c in driven.begin(state, "So?").state.constraints} for state in (one, two)]
    common = SAID[0].rstrip(".")
    assert rules == [{common, "Never page ann"}, {common, "Never page bob"}]


@kinds
def test_another_memory_can_go_on_from_what_finish_returned(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, store=InMemoryStore(), compressor=held)
    state = driven.turn(driven.turn(None, SAID[0]), SAID[2])
    other = Driven(kind, store=InMemoryStore())
    loaded = other.memory.load(state.canonical())
    done = other.step(loaded.on_branch("main"), whole(SAID[3]))
    assert {c.text for c in done.state.constraints} == {SAID[0].rstrip(".")}
    assert "folded" in {note.reason.value for note in done.commit.notes}
    held.let_go()
    assert driven.close()


@kinds
def test_evidence_of_a_turn_that_waits_can_be_opened(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held)
    state = driven.turn(driven.turn(None, SAID[0]), SAID[1])
    found = [driven.memory.open_evidence(ref, state, thread="t") for ref in ("u1", "u2", "a2")]
    assert found == [SAID[0], SAID[1], f"Answer to {SAID[1]}"]
    held.let_go()
    driven.drain()


@kinds
def test_threads_of_conversation_do_not_wait_for_each_other(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held, threads=2)
    for thread in ("one", "two", "three"):
        driven.turn(None, SAID[0], thread)
    expected = 2 if kind == "threads" else 3
    for _ in range(2_000):
        if held.most < expected:
            driven.start()
    held.wait_until_begun()
    held.wait_until_begun()
    assert held.most == expected
    held.let_go()
    assert driven.close()
    assert held.turns == [1, 1, 1]


def test_finish_waits_for_a_place_and_all_are_committed_in_order() -> None:
    held = Held()
    driven = Driven("threads", compressor=held, a_thread=1, in_all=1)
    state = None
    for words in SAID:
        state = driven.turn(state, words)
        assert driven.begin(state, "?").waiting <= 1
    driven.drain()
    assert held.turns == [1, 2, 3, 4, 5]


def test_waiting_for_a_place_does_not_hold_up_the_event_loop() -> None:
    async def run() -> tuple[int, bool]:
        held = Held(open=False)
        memory = AsyncMemoryController(InMemoryStore(), held)
        behind = AsyncBackgroundMemory(memory, a_thread=1)
        entry = await behind.begin(None, Turn.said(SAID[0]), thread="t")
        state = await behind.finish(entry, answered("One."))
        entry = await behind.begin(state, Turn.said(SAID[1]), thread="t")
        second = asyncio.create_task(behind.finish(entry, answered("Two.")))
        ticks = 0
        while ticks < 20:
            await asyncio.sleep(0)
            ticks += 1
        waits = not second.done()
        held.let_go()
        await second
        await behind.close()
        return len(held.turns), waits

    assert asyncio.run(run()) == (2, True)


@kinds
def test_a_seeded_thread_keeps_its_rules(kind: str, tmp_path: Path) -> None:
    start = seed(rules=["Speak German."])
    held = Held(open=False)
    driven = Driven(kind, compressor=held, audit=tmp_path)
    driven.turn(start, SAID[0])
    again = Driven(kind, store=driven.memory.artifacts, audit=tmp_path)
    found = again.last_state(first=start)
    assert [c.text for c in found.constraints] == ["Speak German."]
    assert [o.text for o in found.pending] == [SAID[0], f"Answer to {SAID[0]}"]
    held.let_go()
    driven.close()


@kinds
def test_misuse_says_what_is_wrong(kind: str) -> None:
    driven = Driven(kind)
    with pytest.raises(InputError, match="name the conversation"):
        driven.begin(None, "Hi", thread="")
    state = driven.turn(None, "Hi")
    with pytest.raises(StateError, match="changed after"):
        driven.begin({**state.canonical(), "turn": 7}, "Hi")
    assert driven.close()
    with pytest.raises(StoreError, match="closed"):
        driven.begin(state, "Hi")
    with pytest.raises(StoreError, match="closed"):
        driven.finish(Entry(whose("t"), state, Turn.said("Hi")))
    with pytest.raises(ConfigurationError, match="place"):
        Driven(kind, a_thread=0)

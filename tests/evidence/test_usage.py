"""What is written about use: events of any size, feedback on what there is, and a shelf compacted."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.errors import InputError
from acc.evidence.addition import Addition
from acc.evidence.deletion import Capacity, History, Period
from acc.evidence.documents import Documents
from acc.evidence.experience import ExperienceMemory, Retrieval
from acc.evidence.parsing import Section
from acc.evidence.references import give_feedback, hold
from acc.evidence.usage import (
    Event,
    Ledger,
    compact,
    events,
    execution_ledger,
    holds,
    record_event,
    turn_ledger,
    usage_records,
)
from acc.stores.directory import namespace
from acc.stores.protocol import Thread
from acc.stores.shelf import START, Shelf

SPACE = namespace()


def clock() -> Any:
    ticks = itertools.count()
    return lambda: f"t{next(ticks):06d}"


def lived(store: InMemoryStore, times: int) -> ExperienceMemory:
    memory = ExperienceMemory(
        store, SPACE, clock(), addition=Addition("strict", lambda _, e: "right" in e),
        deletion=Period(9, 0) | History(2, 0.3), retrieval=Retrieval(k=3), shared=True,
    )  # fmt: skip
    for n in range(times):
        task = f"count lamps in room {n % 13} of house {n % 5}"
        done = memory.finish(task, "right" if n % 3 else "wrong", memory.retrieve(task))
        if done.ref and n % 4 == 0:
            memory.feedback(done.ref, n % 2)
    return memory


def ledger(store: InMemoryStore) -> Ledger:
    return execution_ledger(Shelf(store, SPACE, "usage").records())


def test_a_compacted_shelf_tells_the_same_in_fewer_records() -> None:
    store = InMemoryStore()
    memory = lived(store, 120)
    usage = Shelf(store, SPACE, "usage")
    hold(usage, SPACE, memory.experiences()[0].ref, "case 5", "t")
    record_event(
        usage, Event(of=(f"{Thread(thread='inc').key}:u1",), kind="feedback", utility=0.5), "t"
    )
    before, held = ledger(store), holds(usage.records())
    turns = turn_ledger([], [usage.records()])
    count = len(store.ids("default", kind="usage"))
    assert compact(store, SPACE, clock(), least=10) > 100
    after = ledger(store)
    assert (after.t, after.similarities) == (before.t, before.similarities)
    of_turns = f"{Thread(thread='inc').key}:u1"
    live = {of_turns, *(f"{SPACE.key}:{e.ref}" for e in memory.experiences())}
    assert after.tallies == {k: t for k, t in before.tallies.items() if k in live}
    assert 1 < len(after.tallies) < len(before.tallies)
    fresh = Shelf(store, SPACE, "usage").records()
    assert holds(fresh) == held
    read_again = turn_ledger([], [fresh])
    assert read_again.tallies[of_turns] == turns.tallies[of_turns]
    assert len(store.ids("default", kind="usage")) < count / 20


def test_after_compacting_twice_a_memory_goes_on_as_if_nothing_had_been() -> None:
    one, other = InMemoryStore(), InMemoryStore()
    for store, worth in ((one, 10), (other, 10**9)):
        for _ in range(3):
            lived(store, 40)
            compact(store, SPACE, clock(), least=worth)
    a, b = lived(one, 30), lived(other, 30)
    assert a.t == b.t == 150
    assert a.similarities == b.similarities
    assert [u.retrieved for u in a.usages()] == [u.retrieved for u in b.usages()]
    assert [u.utilities for u in a.usages()] == [u.utilities for u in b.usages()]
    assert Capacity(5)(a.usages(), a.t) == Capacity(5)(b.usages(), b.t)
    assert [a.name for a in one.get("default", [f"{SPACE.key}.usage:1"])] == [START]


def test_a_long_shelf_is_compacted_when_the_memory_is_opened() -> None:
    store = InMemoryStore()
    lived(store, 5)
    usage = Shelf(store, SPACE, "usage")
    key = f"{Thread(thread='inc').key}:u1"
    for _ in range(1_000):
        record_event(usage, Event(of=(key,), kind="feedback", utility=1.0), "t")
    lived(store, 1)
    assert len(store.ids("default", kind="usage")) < 10
    assert ledger(store).tallies[key].utilities == [1.0] * 1_000


def test_a_compaction_that_was_not_ended_counts_nothing_twice() -> None:
    store = InMemoryStore()
    lived(store, 30)
    before = ledger(store)
    from acc.evidence.usage import SUMMARY, summary

    Shelf(store, SPACE, "usage").append(usage_records(SUMMARY, summary(before), "t"))
    assert ledger(store).tallies == before.tallies
    assert ledger(store).t == before.t


def test_an_execution_may_be_shown_any_number() -> None:
    store = InMemoryStore()
    usage = Shelf(store, SPACE, "usage")
    keys = tuple(f"{SPACE.key}:exp.{n}" for n in range(2_000))
    for event in (Event(of=keys, utility=0.25), Event(of=keys[:1], utility=0.5)):
        record_event(usage, event, "t")
    records = usage.records()
    assert len(records) > 2
    assert [e.of for e in events(records)] == [keys, keys[:1]]
    assert [e.of for e in events([*records[:2], records[-1]])] == [keys[:1]]


@pytest.mark.parametrize("utility", [float("nan"), float("inf"), True, "0.5", 10**400, None])
def test_a_utility_is_a_finite_number(utility: Any) -> None:
    memory = lived(InMemoryStore(), 2)
    ref = memory.experiences()[0].ref
    with pytest.raises(InputError, match="finite number"):
        memory.feedback(ref, utility)
    if utility is not None:
        with pytest.raises(InputError, match="finite number"):
            memory.finish("a task", "right", utility=utility)
    assert memory.t == 2


def test_feedback_is_on_what_there_is() -> None:
    store = InMemoryStore()
    with MemoryController(store, settings=Settings(audit=None)) as memory:
        memory.step(None, Turn.said("The lamp in room 9 is broken."), thread="inc")
        shelf = Documents.of(memory, SPACE)
        done = shelf.add("a.md", [Section("One."), Section("Two.")])
        assert memory.feedback("u1", 1.0, thread="inc") == (f"{Thread(thread='inc').key}:u1",)
        assert memory.feedback(done.ref, 1.0, thread="inc") == tuple(
            f"{SPACE.key}:{done.ref}.{n}" for n in (1, 2)
        )
        part = f"{done.ref}.2"
        assert memory.feedback(part, 0.0, thread="inc") == (f"{SPACE.key}:{part}",)
        for strange in ("u2", "doc.nothing", "doc", "exp", "exp.1", "", "abcdefgh/u1"):
            with pytest.raises(InputError):
                memory.feedback(strange, 1.0, thread="inc")
        with pytest.raises(InputError, match="without an audit log"):
            memory.feedback(1, 1.0, thread="inc")
        alone = give_feedback(store, None, Thread(thread="inc"), "u1", 1.0, "t")
        assert alone == (f"{Thread(thread='inc').key}:u1",)
        assert len(events(Shelf(store, SPACE, "usage").records())) == 4


def test_words_that_are_no_characters_are_stored_as_such() -> None:
    store = InMemoryStore()
    memory = ExperienceMemory(store, SPACE, clock(), addition=Addition("all"), shared=True)
    memory.finish("count \ud800 lamps", "right \udfff")
    assert [e.task for e in memory.experiences()] == ["count \ufffd lamps"]


def test_an_experience_too_long_to_show_hides_no_other() -> None:
    memory = ExperienceMemory(
        InMemoryStore(), SPACE, clock(), addition=Addition("all"),
        retrieval=Retrieval(k=3, chars=60), shared=True,
    )  # fmt: skip
    memory.finish("count lamps", "x" * 100)
    memory.finish("count lamps in room 9", "right")
    assert [d.experience.execution for d in memory.retrieve("count lamps")] == ["right"]

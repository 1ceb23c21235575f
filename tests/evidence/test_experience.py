"""Experience memory: what is kept, found, counted and deleted; and what a reopened one knows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from acc.errors import ConfigurationError, InputError
from acc.evidence.addition import Addition, Judgement, ModelJudge
from acc.evidence.deletion import History, Period
from acc.evidence.experience import ExperienceMemory, Retrieval, render_demonstrations
from acc.evidence.references import hold, release
from acc.evidence.usage import events, holds
from acc.stores.directory import namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import RECORD_BYTES
from acc.stores.shelf import Shelf

SPACE = namespace(user="ana")


def opened(store: InMemoryStore, **given: Any) -> ExperienceMemory:
    ticks = itertools.count()
    given.setdefault("addition", Addition("strict", lambda _, execution: "right" in execution))
    given.setdefault("retrieval", Retrieval(k=2))
    return ExperienceMemory(store, SPACE, lambda: f"t{next(ticks):06d}", **given)


def test_the_most_similar_task_is_found_first_and_no_more_than_k() -> None:
    memory = opened(InMemoryStore())
    for place in ("icu", "ward", "lab"):
        memory.finish(f"count the patients in the {place}", f"right {place}")
    found = memory.retrieve("how many patients in the lab")
    assert found[0].experience.execution == "right lab"
    assert len(found) == 2
    assert found[0].similarity > found[1].similarity
    assert render_demonstrations(found).endswith("Execution: right lab")


def test_demonstrations_are_bounded_in_characters() -> None:
    memory = opened(InMemoryStore(), retrieval=Retrieval(k=4, chars=120))
    for n in range(4):
        memory.finish(f"count lamps {n}", "right " + "x" * 60)
    assert len(memory.retrieve("count lamps")) == 1


def test_what_is_refused_is_in_quarantine_with_the_reason_and_the_utility() -> None:
    store = InMemoryStore()
    refusal = Judgement(admitted=False, reason="no", utility=0.2)
    memory = opened(store, addition=Addition("strict", lambda *_: refusal))
    done = memory.finish("a task", "wrong")
    assert (done.ref, len(memory)) == ("", 0)
    (refused,) = Shelf(store, SPACE, "quarantine").records()
    said = Judgement.model_validate_json(refused.reason)
    assert (said.admitted, said.reason, said.utility) == (False, "no", 0.2)
    assert "wrong" in refused.text


@pytest.mark.parametrize(("name", "kept", "quarantined"), [("none", 0, 0), ("all", 1, 0)])
def test_none_and_all_judge_nothing(name: Any, kept: int, quarantined: int) -> None:
    store = InMemoryStore()
    memory = opened(store, addition=Addition(name))
    memory.finish("a task", "whatever")
    assert len(memory) == kept
    assert len(Shelf(store, SPACE, "quarantine").records()) == quarantined


def test_an_evaluator_that_fails_admits_nothing() -> None:
    def broken(*_: str) -> bool:
        raise RuntimeError("out of order")

    store = InMemoryStore()
    done = opened(store, addition=Addition("strict", broken)).finish("a task", "right")
    assert not done.judgement.admitted
    assert "out of order" in done.judgement.reason


@pytest.mark.parametrize(
    ("answer", "admitted", "reason"),
    [("yes\nbecause it runs", True, "because it runs"), ("No.\nit does not", False, "it does not"),
     ("perhaps", False, "the model answered neither yes nor no: perhaps"),
     ("", False, "the model answered neither yes nor no: ")],
)  # fmt: skip
def test_a_models_judgement_is_its_first_line(answer: str, admitted: bool, reason: str) -> None:
    asked: list[str] = []
    judge = ModelJudge(lambda _, text: asked.append(text) or answer)
    said = Addition("automatic", judge).judge("the task", "the execution")
    assert (said.admitted, said.reason, said.evaluator) == (admitted, reason, "model")
    assert asked == ["Task:\nthe task\n\nExecution:\nthe execution"]


def test_a_policy_and_its_evaluator_belong_together() -> None:
    for make in (lambda: Addition("strict"), lambda: Addition("all", lambda *_: True)):
        with pytest.raises(ConfigurationError):
            make()


def test_a_reopened_memory_knows_all_and_judges_alike() -> None:
    store = InMemoryStore()
    policy = Period(7, 0) | History(2, 0.4)
    memory = opened(store, deletion=policy)
    for n in range(40):
        task = f"count lamps in room {n % 11} of house {n % 3}"
        memory.finish(task, "right" if n % 3 else "wrong", memory.retrieve(task))
    again = opened(store, deletion=policy)
    assert again.resumed == 0
    assert again.t == memory.t == 40
    assert again.experiences() == memory.experiences()
    assert again.usages() == memory.usages()
    task = "count lamps in room 4 of house 1"
    assert again.retrieve(task) == memory.retrieve(task)


def test_a_long_execution_is_kept_whole() -> None:
    store = InMemoryStore()
    long = "right " + "é" * RECORD_BYTES
    opened(store).finish("a task", long)
    (kept,) = opened(store).experiences()
    assert kept.execution == long


def test_retrieving_writes_nothing_and_an_execution_one_event() -> None:
    store = InMemoryStore()
    memory = opened(store)
    memory.finish("count lamps", "right one")
    before = store.ids("default")
    shown = memory.retrieve("count lamps")
    assert store.ids("default") == before
    memory.finish("count lamps", "right one", shown, utility=0.75)
    last = events(Shelf(store, SPACE, "usage").records())[-1]
    assert (last.utility, len(last.of)) == (0.75, 1)
    assert (last.input_similarity, last.output_similarity) == (pytest.approx(1.0), 1.0)


def test_feedback_counts_as_utility_and_a_hold_protects() -> None:
    store = InMemoryStore()
    memory = opened(store, deletion=History(1, 0.3))
    refs = [memory.finish(f"task of {word}", "right").ref for word in ("lamps", "doors")]
    usage = Shelf(store, SPACE, "usage")
    hold(usage, SPACE, refs[1], "case 4", "t")
    for ref in refs:
        for _ in range(2):
            memory.feedback(ref, 0.0)
    gone = opened(store, deletion=History(1, 0.3)).finish("another", "right").deleted
    assert set(gone) == {refs[0]}
    usage = Shelf(store, SPACE, "usage")
    release(usage, SPACE, refs[1], "t")
    assert holds(usage.records()).reasons == {}
    assert set(opened(store, deletion=History(1, 0.3)).finish("more", "right").deleted) == {refs[1]}
    with pytest.raises(InputError):
        memory.feedback("exp.99", 1.0)


def test_an_intent_that_was_only_begun_is_ended_by_whoever_opens_next() -> None:
    from acc.evidence.unfinished import begin_intent

    store = InMemoryStore()
    memory = opened(store)
    for n in range(5):
        memory.finish(f"task {n}", "right")
    ids = [a.id for a in memory.shelf.records()][:3]
    begin_intent(Shelf(store, SPACE, "usage"), "prune", ids, "t")
    again = opened(store)
    assert again.resumed == 1
    assert len(again) == 2
    assert opened(store).resumed == 0


def test_an_intent_of_many_records_counts_only_when_it_is_whole() -> None:
    from acc.evidence.unfinished import begin_intent, open_intents

    store = InMemoryStore()
    usage = Shelf(store, SPACE, "usage")
    begin_intent(usage, "prune", [f"{'k' * 24}.experiences:{n}" for n in range(2_000)], "t")
    records = usage.records()
    assert len(records) > 1
    (found,) = open_intents(records)
    assert len(found.ids) == 2_000
    assert open_intents(records[:-1]) == []

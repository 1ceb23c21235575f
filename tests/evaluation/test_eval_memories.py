"""What each memory holds, and what is read of it on a question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from helpers_evaluation import Request, ScriptedModel
from helpers_toy import HalfMemory, toy

from acc.errors import CompressionError, ConfigurationError, EvaluationError
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.state.render import render
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn
from acc_eval.memories.acc import make_acc
from acc_eval.memories.baselines import (
    RecentWindow,
    Retrieval,
    RollingSummary,
    TranscriptReplay,
    extractive,
    tail,
)
from acc_eval.memories.protocol import EvaluatedMemory, Reading
from acc_eval.memories.specs import read_spec, read_specs
from acc_eval.probe import probe_memory, probe_scenario
from acc_eval.scenarios import Scenario

KEYLESS = [
    "acc", "acc,max_tokens=200", "acc,compress_over=500", "transcript", "recent,tokens=60",
    "retrieval,k=2", "summary,tokens=80", "summary,tokens=60+retrieval,k=1",
    "semantic", "summary,tokens=60+semantic",
]  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return toy(tmp_path)


M = TypeVar("M", bound=EvaluatedMemory)


def shown(memory: M, scenario: Scenario, turns: int = 4) -> M:
    for turn in scenario.turns[:turns]:
        memory.observe(turn)
    return memory


@pytest.mark.parametrize("spec", KEYLESS)
def test_the_same_turns_give_the_same_readings(spec: str, scenario: Scenario) -> None:
    first = probe_memory(spec, read_spec(spec).make, [scenario])
    again = probe_memory(spec, read_spec(spec).make, [scenario])
    assert first == again


@pytest.mark.parametrize("spec", KEYLESS)
def test_a_question_changes_nothing(spec: str, scenario: Scenario) -> None:
    asked, unasked = read_spec(spec).make(), read_spec(spec).make()
    for turn in scenario.turns:
        for memory in (asked, unasked):
            memory.observe(turn)
        asked.read("What is the p95, and may I restart nginx?")
        asked.read("Never call Ann. How fast is it?")
        assert asked.held() == unasked.held()
    assert asked.read("How fast is it?") == unasked.read("How fast is it?")
    for memory in (asked, unasked):
        memory.close()
        memory.close()


@pytest.mark.parametrize("spec", KEYLESS)
def test_a_fresh_memory_can_be_read(spec: str) -> None:
    memory = read_spec(spec).make()
    assert memory.held().items == ()
    assert memory.read("Anything?").text == memory.read("Anything?").text
    memory.close()


def test_acc_holds_state_and_tail(scenario: Scenario) -> None:
    memory = make_acc()
    shown(memory, scenario, 1)
    held = memory.held()
    assert held.text.startswith(render(memory.state))
    rules = [item.text for item in held.items if item.slot == "constraints"]
    assert len(rules) == 1
    assert "Never restart nginx before noon." in rules[0]
    tail = [item.text for item in held.items if item.slot is None]
    assert len(tail) == len(memory.tail) > 0
    assert set(held.parts) == {"state", "tail", "evidence"}
    shown(memory, scenario)
    assert memory.failures == []


def test_the_tail_is_read_word_for_word_until_it_is_compressed(scenario: Scenario) -> None:
    memory = shown(make_acc(compress_over=10_000), scenario)
    assert memory.held().verbatim == frozenset({1, 2, 3, 4})
    assert "Never restart nginx before noon." in memory.held().text
    assert [item for item in memory.held().items if item.slot] == []


def test_a_question_is_read_with_evidence(scenario: Scenario) -> None:
    def asked(evidence: bool) -> Reading:
        memory = make_acc(max_tokens=100, compressor=f"{__name__}:silent", evidence=evidence)
        shown(memory, scenario)
        for _ in range(30):
            memory.observe(Turn.said("Nothing of note. " * 40))
        return memory.read("Which load has the host web-1?")

    with_evidence, without = asked(True), asked(False)
    assert "[earlier, tool, turn 1] host web-1 load 4" in with_evidence.text
    assert "web-1" not in without.text
    assert with_evidence.parts["evidence"] > without.parts["evidence"] == 0


def silent() -> Callable[[Any], Proposal]:
    return lambda _: Proposal()


def failing() -> Callable[[Any], Proposal]:
    def fails(_: Any) -> Proposal:
        raise CompressionError("down", outcome="server_error")

    return fails


def test_acc_takes_any_compressor_and_tells_its_failures(scenario: Scenario) -> None:
    memory = shown(make_acc(compressor=f"{__name__}:silent"), scenario)
    assert {item.slot for item in memory.held().items if item.slot} == {"episodic_trace"}
    failed = make_acc(compressor=f"{__name__}:failing")
    shown(failed, scenario, 2)
    assert [said.partition(":")[0] for said in failed.failures] == ["turn 1", "turn 2"]
    result = probe_scenario(lambda: make_acc(compressor=f"{__name__}:failing"), scenario)
    assert len(result.failures) == len(scenario.turns)


def test_acc_marks_what_is_done(scenario: Scenario) -> None:
    goals = [{"goals": [{"quote": "Find out why nginx is slow.", "ref": "u1", "id": "n1"}]}]
    done = [{"done": [{"id": "g1", "ref": "u2"}]}]
    model = ScriptedModel("m", [*goals, *done], [])
    memory = shown(make_acc(asked=model, compress_over=0), scenario, 1)
    goal = next(item for item in memory.held().items if item.slot == "goal_orientation")
    assert goal.is_open
    memory.observe(Turn.said("That is done."))
    goal = next(item for item in memory.held().items if item.slot == "goal_orientation")
    assert not goal.is_open
    assert memory.usage["requests"] == 2


def test_answers_are_recorded_and_answer_again(scenario: Scenario, tmp_path: Path) -> None:
    rules = {"rules": [{"quote": "Never restart nginx before noon.", "ref": "u1"}]}
    record = str(tmp_path / "answers.jsonl")
    model = ScriptedModel("m", [rules, {}], [])
    first = shown(make_acc(asked=model, record=record, compress_over=0), scenario, 2)
    again = shown(make_acc(answers=record, compress_over=0), scenario, 2)
    assert again.held() == first.held()
    assert "Never restart nginx before noon." in render(first.state)


def test_acc_has_a_schema_by_name() -> None:
    memory = make_acc(schema=f"{__name__}:OwnState")
    assert isinstance(memory.state, OwnState)


class OwnState(CompressedCognitiveState):
    """A state of one's own."""


def test_a_transcript_holds_every_message_once(scenario: Scenario) -> None:
    memory = shown(TranscriptReplay(), scenario)
    items = memory.held().items
    assert len(items) == sum(len(turn.observations) for turn in scenario.turns)
    assert items[1].text == "tool metrics: host web-1 load 4"
    assert all(item.slot is None for item in items)


def test_a_window_keeps_the_last_messages_within_its_limit(scenario: Scenario) -> None:
    memory = RecentWindow(tokens=20)
    for turn in scenario.turns:
        memory.observe(turn)
        assert 0 < utf8_quarter(memory.held().text) <= 20
    assert memory.held().items[-1].text == "agent: Draft follows."
    long = RecentWindow(tokens=10)
    long.observe(
        Turn(observations=(Observation(channel=Channel.TOOL, text="word " * 500 + "end"),))
    )
    assert utf8_quarter(long.held().text) <= 10
    assert long.held().text.endswith("word end")


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 9, "short"),
        ("aaaa bbbb cccc", 2, "cccc"),
        ("abcdefghijkl", 1, "ijkl"),
        ("", 1, ""),
    ],
)
def test_a_tail_begins_with_a_word(text: str, limit: int, expected: str) -> None:
    assert tail(text, limit) == expected


def test_retrieval_reads_the_nearest_artifacts(scenario: Scenario) -> None:
    memory = shown(read_spec("retrieval,k=1").make(), scenario)
    nearest = memory.read("Which load has the host web-1?").items
    assert [item.text for item in nearest] == ["tool metrics: host web-1 load 4"]
    # What was retrieved for a turn is not the user's own message, which the agent reads anyway.
    assert "Draft the report" not in memory.held().text
    memory.close()


def test_retrieval_holds_k_at_the_most(scenario: Scenario) -> None:
    memory = shown(Retrieval(3), scenario)
    assert len(memory.read("nginx restart p95 ms").items) == 3
    assert memory.read("zebra").items == ()


def test_a_summary_keeps_its_limit_and_summarises_when_full(scenario: Scenario) -> None:
    asked: list[tuple[str, int]] = []

    def summarise(text: str, limit: int) -> str:
        asked.append((text, limit))
        return "too long a summary " * 50

    memory = RollingSummary(60, summarise=summarise)
    shown(memory, scenario)
    assert utf8_quarter(memory.held().text) <= 60
    assert [limit for _, limit in asked] == [30] * len(asked)
    assert asked[0][0].startswith("user: Find out why nginx is slow.")
    calm = RollingSummary(10_000, summarise=summarise)
    before = len(asked)
    shown(calm, scenario)
    assert len(asked) == before
    assert calm.held().text.count("\n") == sum(len(t.observations) for t in scenario.turns)


def test_an_extract_is_whole_sentences_in_their_order() -> None:
    text = "Disk full on alpha. Disk full again on beta.\nLunch at noon. Disk full."
    summarise = extractive
    assert summarise(text, 1_000).split("\n") == [
        "Disk full on alpha.", "Disk full again on beta.", "Lunch at noon.", "Disk full.",
    ]  # fmt: skip
    # "disk" and "full" have 3 of 10 occurrences each, all else 1. So the last is kept first
    # (0.3); then lunch (0.1 against 0.28 / 3); then beta, the later of two equals; then alpha.
    # With their line ends they cost 3, 4, 7 and 5 tokens.
    assert summarise(text, 7) == "Lunch at noon.\nDisk full."
    assert summarise(text, 14) == "Disk full again on beta.\nLunch at noon.\nDisk full."
    assert summarise(text, 12) == "Disk full on alpha.\nLunch at noon.\nDisk full."
    assert summarise(text, 2) == ""


def test_a_third_party_plugs_in_by_name(scenario: Scenario) -> None:
    spec = read_spec("helpers_toy:HalfMemory,words=2,label=half")
    memory = spec.make()
    assert isinstance(memory, HalfMemory)
    shown(memory, scenario, 1)
    assert memory.held().text == "Find out"
    assert spec.label == "half"
    assert probe_memory("half", spec.make, [scenario]).scenarios[0].tokens["tokens_max"] <= 3


def test_a_third_party_plugs_in_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    announced = EntryPoints([EntryPoint("half", "helpers_toy:HalfMemory", "acc.memories")])
    monkeypatch.setattr("acc_eval.memories.specs.entry_points", lambda **_: announced)
    assert isinstance(read_spec("half,words=1").make(), HalfMemory)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("nothing", "unknown memory 'nothing'"),
        ("no.such.module:Memory", "cannot be imported"),
        ("helpers_toy:TURNS", "unknown memory 'helpers_toy:TURNS'"),
        ("acc,max_tokens", "'max_tokens' is not an option"),
        ("acc,=3", "'=3' is not an option"),
        ("", "unknown memory ''"),
    ],
)
def test_a_spec_that_names_nothing_is_refused(given: str, what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_spec(given)
    assert what in caught.value.what


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("acc,depth=3", "depth=3: Unexpected"),
        ("acc,max_tokens=3", "max_tokens"),
        ("acc,mode=both", "mode=both"),
        ("acc,compressor=a:b,model=c", "both a compressor and a model"),
        ("acc,schema=helpers_toy:HalfMemory", "cannot be created|no state"),
        ("recent,tokens=0", "a limit of 0 tokens"),
        ("retrieval,k=0", "k is 0"),
        ("retrieval,k=2.5", "k=2.5"),
        ("recent,tokens=true", "tokens=True"),
        ("summary,tokens=many", "tokens=many"),
        ("acc,compress_over=1e1", "compress_over=10.0"),
        ("retrieval,index=faiss", "index=faiss"),
        ("langchain,trigger=100", "a summariser needs a model"),
        ("summary,summariser=magic", "summariser=magic"),
        ("helpers_toy:truth", "GroundTruth lacks the methods"),
    ],
)
def test_a_memory_that_cannot_be_made_says_why(given: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        read_spec(given).make()


def test_labels_have_to_differ() -> None:
    with pytest.raises(ConfigurationError, match="two memories have the label 'acc'"):
        read_specs(["acc", "acc"])
    assert [spec.label for spec in read_specs(["acc", "acc,max_tokens=400"])] == [
        "acc", "acc,max_tokens=400",
    ]  # fmt: skip
    assert read_spec("acc,label=007").label == "007"


def test_a_memory_that_fails_is_named_with_the_turn(scenario: Scenario) -> None:
    class Broken(HalfMemory):
        def held(self) -> Any:
            raise KeyError("lost")

    made: list[Broken] = []

    def make() -> Broken:
        made.append(Broken())
        return made[-1]

    with pytest.raises(EvaluationError, match=r"'broken' fails: KeyError: 'lost' \(toy, turn 1\)"):
        probe_scenario(make, scenario, label="broken")
    assert made[0].is_closed


def test_the_bound_is_the_policys(scenario: Scenario) -> None:
    small = probe_scenario(read_spec("acc,max_tokens=100").make, scenario)
    assert max(turn.parts["state"] for turn in small.turns) <= 100
    stated = [("acc", 1_100), ("recent", 800), ("summary", 1_024), ("transcript", None)]
    for name, bound in stated:
        assert probe_scenario(read_spec(name).make, scenario).max_tokens == bound
    assert small.max_tokens == 100


def test_langchains_summariser_summarises_over_its_limit(scenario: Scenario) -> None:
    requests: list[Request] = []
    model = ScriptedModel("m", lambda _: "BRIEF", requests)
    memory = read_spec("langchain,trigger=60,keep=2").make(model)
    shown(memory, scenario)
    held = memory.held()
    assert "BRIEF" in held.text
    assert "Find out why nginx is slow" not in held.text
    assert 4 in held.verbatim
    assert 1 not in held.verbatim
    assert memory.usage["requests"] == len(requests) > 0  # type: ignore[attr-defined]

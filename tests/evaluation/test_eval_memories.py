"""What each memory holds, and what is read of it on a question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy import HalfMemory, toy

from acc.errors import ConfigurationError, EvaluationError
from acc.evaluation.memories.baselines import (
    RecentWindow,
    Retrieval,
    RollingSummary,
    TranscriptReplay,
    extractive,
    tail,
)
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.memories.specs import ControlledMemory, read_spec, read_specs
from acc.evaluation.probe import probe_memory, probe_scenario
from acc.evaluation.scenarios import Scenario
from acc.pipeline.session import Settings
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.testing import FailingCompressor, ScriptedCompressor
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

WITH_CHROMA = ["retrieval,k=2,index=chroma", "semantic", "summary,tokens=60+semantic"]
KEYLESS = [
    "acc", "acc,max_tokens=200", "acc,conditioning=state", "transcript", "recent,tokens=60",
    "retrieval,k=2", "summary,tokens=80", "summary,tokens=60+retrieval,k=1",
    *(pytest.param(spec, marks=pytest.mark.slow) for spec in WITH_CHROMA),
]  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return toy(tmp_path)


def shown(memory: EvaluatedMemory, scenario: Scenario, turns: int = 4) -> EvaluatedMemory:
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


def test_acc_holds_the_committed_state(scenario: Scenario) -> None:
    memory = ControlledMemory()
    shown(memory, scenario, 1)
    held = memory.held()
    assert held.text == memory.state.render()
    rules = [item.text for item in held.items if item.slot == "constraints"]
    assert rules == ["Never restart nginx before noon"]
    shown(memory, scenario)
    assert memory.failures == []


def test_acc_reads_the_state_after_a_step_on_the_question(scenario: Scenario) -> None:
    memory = ControlledMemory()
    shown(memory, scenario)
    before = memory.state
    assert memory.read("Which load does web-1 have?").text != memory.held().text
    assert memory.state == before
    still = ControlledMemory(conditioning="state")
    shown(still, scenario)
    assert still.read("Which load does web-1 have?") == still.held()


def test_acc_takes_any_compressor_and_tells_its_failures(scenario: Scenario) -> None:
    memory = ControlledMemory(ScriptedCompressor([Proposal()], at_end="repeat"))
    shown(memory, scenario)
    assert memory.held().items == ()
    failing = ControlledMemory(FailingCompressor())
    shown(failing, scenario, 2)
    assert [said.partition(":")[0] for said in failing.failures] == ["turn 1", "turn 2"]
    result = probe_scenario(lambda: ControlledMemory(FailingCompressor()), scenario)
    assert len(result.failures) == len(scenario.turns) + len(result.probes)


def test_acc_marks_hypotheses_and_what_is_done(scenario: Scenario) -> None:
    wire: dict[str, Any] = {
        "goal_orientation": [{"text": "Find out why nginx is slow", "quote": "Find out why nginx is slow",
                              "done": True, "cites": ["u1"]}],
        "relational_map": [{"subject": "web-1", "predicate": "load", "object": "4",
                            "status": "hypothesis", "cites": ["t1"]}],
    }  # fmt: skip
    memory = ControlledMemory(ScriptedCompressor([wire]))
    shown(memory, scenario, 1)
    by_slot = {item.slot: item for item in memory.held().items}
    assert by_slot["relational_map"].is_hypothesis
    assert not by_slot["goal_orientation"].is_open


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


@pytest.mark.parametrize("index", ["bm25", "chroma"])
def test_retrieval_reads_the_nearest_artifacts(index: str, scenario: Scenario) -> None:
    memory = shown(read_spec(f"retrieval,k=1,index={index}").make(), scenario)
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
    spec = read_spec("toy:HalfMemory,words=2,label=half")
    memory = spec.make()
    assert isinstance(memory, HalfMemory)
    shown(memory, scenario, 1)
    assert memory.held().text == "Find out"
    assert spec.label == "half"
    assert probe_memory("half", spec.make, [scenario]).scenarios[0].tokens["tokens_max"] <= 3


def test_a_third_party_plugs_in_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    announced = EntryPoints([EntryPoint("half", "toy:HalfMemory", "acc.memories")])
    monkeypatch.setattr("acc.evaluation.memories.specs.entry_points", lambda **_: announced)
    assert isinstance(read_spec("half,words=1").make(), HalfMemory)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("nothing", "unknown memory 'nothing'"),
        ("no.such.module:Memory", "cannot be imported"),
        ("toy:TURNS", "unknown memory 'toy:TURNS'"),
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
        ("acc,max_tokens=3", "max_tokens is 3"),
        ("acc,mode=both", "mode=both"),
        ("acc,compressor=a:b,model=c", "both a compressor and a model"),
        ("acc,schema=toy:HalfMemory", "cannot be created|no state"),
        ("recent,tokens=0", "a limit of 0 tokens"),
        ("retrieval,k=0", "k is 0"),
        ("retrieval,k=2.5", "k=2.5"),
        ("recent,tokens=true", "tokens=True"),
        ("summary,tokens=many", "tokens=many"),
        ("acc,recall=1e1", "recall=10.0"),
        ("retrieval,index=faiss", "index=faiss"),
        ("summary,summariser=magic", "summariser=magic"),
        ("toy:truth", "GroundTruth lacks the methods"),
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
    def make(tokens: int) -> Callable[[], EvaluatedMemory]:
        return lambda: ControlledMemory(settings=Settings(policy=Policy(max_tokens=tokens)))

    small = probe_scenario(make(80), scenario)
    assert max(turn.tokens for turn in small.turns) <= 80
    stated = [("acc", 800), ("recent", 800), ("summary", 1_024), ("transcript", None)]
    for name, bound in stated:
        assert probe_scenario(read_spec(name).make, scenario).max_tokens == bound
    assert small.max_tokens == 80

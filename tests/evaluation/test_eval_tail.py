"""A memory with a tail: what counts as held, marked and read, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers_evaluation import ScriptedModel, run
from helpers_toy import PERFECT, FakeMemory, fact, goal, rule, scenario_file, toy, truth

from acc.turn.turn import Turn
from acc_eval.ground_truth import Matcher
from acc_eval.memories.acc import make_acc
from acc_eval.memories.baselines import RecentWindow, TranscriptReplay
from acc_eval.memories.protocol import HeldItem, Joined, Reading
from acc_eval.price import AgentPrompts, Price, costs
from acc_eval.probe import probe_memory, probe_scenario, read_threshold
from acc_eval.probe_results import Count, Counts, expected_at, notable, rates, turn_counts
from acc_eval.repeats import interval

OLD_RULE = "Never restart nginx before noon"


def counted(items: list[HeldItem], verbatim: set[int], *, turn: int = 4) -> Counts:
    held = Matcher(truth()).holding(items, frozenset(verbatim))
    return turn_counts(truth(), turn, held, has_slots=True)


def later(item: HeldItem, *turns: int) -> HeldItem:
    return HeldItem(item.text, item.slot, is_open=item.is_open, later=frozenset(turns))


def test_rules_and_goals_in_the_tail_are_kept() -> None:
    counts = counted([HeldItem("user: Write amounts in euro. Draft the report.")], {3, 4})
    assert counts["constraints_kept"] == counts["goals_kept"] == Count(1, 1)
    assert counts["constraints_false"] == counts["poison_privileged"] == Count(0, 1)


@pytest.mark.parametrize(
    ("items", "verbatim", "held", "unmarked"),
    [
        ([rule(OLD_RULE)], set(), 1, 1),
        ([later(rule(OLD_RULE), 3)], set(), 1, 0),
        ([later(rule(OLD_RULE), 4)], set(), 1, 0),
        ([later(rule(OLD_RULE), 2)], set(), 1, 1),  # said before the rule ended
        ([rule(OLD_RULE)], {3}, 1, 0),
        ([rule(OLD_RULE)], {2, 4}, 1, 1),
        ([later(fact(OLD_RULE), 3), rule(OLD_RULE)], set(), 1, 1),  # beside something else
        ([HeldItem(f"user: {OLD_RULE}")], {1, 2, 3}, 0, 0),
        ([HeldItem(f"user: {OLD_RULE}")], {1}, 0, 1),
        ([], set(), 0, 0),
    ],
)
def test_a_lifted_rule_is_marked_by_what_lifted_it(
    items: list[HeldItem], verbatim: set[int], held: int, unmarked: int
) -> None:
    counts = counted(items, verbatim)
    assert counts["constraints_retired_held"] == Count(held, 1)
    assert counts["constraints_retired_unmarked"] == Count(unmarked, 1)


@pytest.mark.parametrize(
    ("items", "verbatim", "held", "unmarked"),
    [
        ([goal("why nginx is slow")], set(), 1, 1),
        ([later(goal("why nginx is slow"), 4)], set(), 1, 0),
        ([goal("why nginx is slow", is_open=False)], set(), 0, 0),
        ([HeldItem("user: find out why nginx is slow")], {4}, 0, 0),
        ([HeldItem("user: find out why nginx is slow")], {1}, 0, 1),
    ],
)
def test_so_is_a_goal_that_is_over(
    items: list[HeldItem], verbatim: set[int], held: int, unmarked: int
) -> None:
    counts = counted(items, verbatim)
    assert counts["goals_retired_held"] == Count(held, 1)
    assert counts["goals_retired_unmarked"] == Count(unmarked, 1)


def test_what_is_not_marked_is_named_and_stays_out_of_the_score() -> None:
    items = [rule(OLD_RULE), rule("Amounts in euro")]
    plain, marked = counted(items, set()), counted([later(items[0], 3), items[1]], set())
    assert rates(plain)["score"] == rates(marked)["score"]
    held = Matcher(truth()).holding(items)
    assert notable(truth(), 4, held)["constraints_retired_unmarked"] == ["c1"]
    assert set(expected_at(truth(), 4)) == set(plain)


def test_a_transcript_holds_what_ended_and_what_ended_it(tmp_path: Path) -> None:
    found = rates(probe_scenario(TranscriptReplay, toy(tmp_path)).end)
    assert found["constraints_retired_held"] == found["goals_retired_held"] == 1.0
    assert found["constraints_retired_unmarked"] == found["goals_retired_unmarked"] == 0.0


def test_a_window_holds_whole_turns_word_for_word() -> None:
    memory = RecentWindow(tokens=20)
    assert memory.held().verbatim == frozenset()
    for number, words in enumerate(("one", "two", "three"), 1):
        memory.observe(Turn.said(words))
        assert memory.held().verbatim == frozenset(range(1, number + 1))
    memory.observe(Turn.said("four " * 13))
    assert memory.held().verbatim == {4}
    memory.observe(Turn.said("five " * 90))
    assert memory.held().verbatim == frozenset()


class TailMemory(FakeMemory):
    """Says which parts it has and what its model was asked."""

    def __init__(self) -> None:
        super().__init__(PERFECT)
        self.usage = {"requests": 0, "input": 0, "output": 0, "cached": 0}

    def observe(self, turn: Turn) -> None:
        super().observe(turn)
        if self._turn % 2 == 0:
            self.usage = {"requests": self._turn // 2, "input": 2_000, "output": 100, "cached": 0}

    def held(self) -> Reading:
        items = (later(rule(OLD_RULE), 3), *super().held().items)
        return Reading("text " * 8, items, {"state": 7, "tail": 3}, frozenset({self._turn}))


def test_a_turn_tells_its_parts(tmp_path: Path) -> None:
    result = probe_scenario(TailMemory, toy(tmp_path))
    row = result.as_json()["turns"][2]
    assert {name: row[name] for name in ("reads", "state", "tail", "later")} == {
        "reads": 10, "state": 7, "tail": 3, "later": 1,
    }  # fmt: skip
    assert row["tokens"] == row["reads"]
    assert row["counts"]["constraints_retired_held"] == (1, 1)
    plain = probe_scenario(TranscriptReplay, toy(tmp_path)).as_json()["turns"][0]
    assert (plain["state"], plain["tail"], plain["later"]) == (0, 0, 0)
    keyless = probe_scenario(make_acc, toy(tmp_path)).as_json()["turns"][0]
    assert keyless["reads"] >= keyless["state"] + keyless["tail"] - 1 > 0


def test_joined_memories_add_their_parts() -> None:
    first, second = TailMemory(), TailMemory()
    joined = Joined([first, second])
    joined.observe(Turn.said("hello"))
    reading = joined.held()
    assert reading.parts == {"state": 14, "tail": 6}
    assert reading.verbatim == {1}


def test_the_last_turns_are_pooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acc_eval.probe_results.LAST_TURNS", 2)
    result = probe_memory("m", lambda: FakeMemory({3: PERFECT[3]}), [toy(tmp_path)])
    last = result.averages()["last"]["micro"]
    assert last["constraints_kept"] == last["goals_kept"] == 0.5
    assert result.averages()["end"]["micro"]["constraints_kept"] == 0.0
    assert result.scenarios[0].last["constraints_retired_held"] == Count(0, 2)
    bound = read_threshold("last.constraints_kept=0.6", is_upper=False)
    assert "is 0.5, below 0.6" in bound.failure([result])


def test_the_prompt_cache_serves_whole_equal_blocks() -> None:
    prompts = AgentPrompts("r")  # with the line ends, 3 bytes before the text
    block = 128 * 4
    prompts.read("a" * (2 * block - 3))
    assert prompts.usage == {"requests": 1, "input": 256, "output": 0, "cached": 0}
    prompts.read("a" * (2 * block - 3) + "b" * block)
    assert prompts.usage["cached"] == 256
    prompts.read("a" * (2 * block - 4) + "b" * block)
    assert prompts.usage["cached"] == 256 + 128
    prompts.read("c")
    assert prompts.usage["cached"] == 256 + 128


def test_money_is_of_compressor_and_agent(tmp_path: Path) -> None:
    result = probe_scenario(TailMemory, toy(tmp_path))
    assert result.usage == {"requests": 2, "input": 2_000, "output": 100, "cached": 0}
    found = costs([result, result], Price(1.0, 10.0, 0.1))
    assert (found["requests"], found["read"], found["written"]) == (2.0, 500.0, 25.0)
    assert found["compressor_money"] == pytest.approx((2_000 + 1_000) / 4 / 1e6)
    role = len("Operations agent.\n\n")
    assert found["agent_read"] == -(-(role + 40) // 4)
    assert found["agent_money"] == pytest.approx(found["agent_read"] / 1e6)
    assert found["money"] == pytest.approx(found["compressor_money"] + found["agent_money"])
    assert probe_scenario(TranscriptReplay, toy(tmp_path)).usage is None


def test_acc_counts_its_models_requests(tmp_path: Path) -> None:
    keyless = probe_scenario(make_acc, toy(tmp_path))
    assert costs([keyless], Price(1.0, 1.0))["compressor_money"] == 0.0
    model = ScriptedModel("m", lambda _: {}, [])
    asked = probe_scenario(lambda: make_acc(asked=model, compress_over=0), toy(tmp_path))
    assert (asked.usage or {})["requests"] == len(asked.turns)
    assert costs([asked], Price(1.0, 1.0))["compressor_money"] > 0.0


def test_runs_have_intervals(tmp_path: Path) -> None:
    made = iter([FakeMemory(PERFECT), FakeMemory({}), FakeMemory(PERFECT)])
    turns: list[None] = []
    result = probe_memory(
        "m", lambda: next(made), [toy(tmp_path)], runs=3, on_turn=lambda: turns.append(None)
    )
    assert len(turns) == 12
    assert result.averages()["end"]["micro"]["facts_current"] == pytest.approx(2 / 3)
    found = interval(result, "end", "facts_current")
    assert found is not None
    assert (found.low, found.high) == (0.0, 1.0)
    same = probe_memory("m", lambda: FakeMemory(PERFECT), [toy(tmp_path)], runs=2)
    assert interval(same, "last", "facts_current") == (1.0, 1.0, 1.0)
    assert interval(same, "last", "facts_history") is not None


def test_the_command_shows_runs_and_prices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, out = str(scenario_file(tmp_path)), tmp_path / "out.json"
    given = ["--memory", "transcript", "--runs", "2", "--json", str(out)]
    assert run(["eval", "probe", scenario, *given, "--price", "2,4"]) == 0
    told = capsys.readouterr().out
    assert "mean of 2 runs [95 % interval]" in told
    assert "mean over the last ten turns" in told
    assert "1.000 [1.000, 1.000]" in told
    assert "at 2 in, 4 out, 2 cached, per million tokens\n" in told
    memory = json.loads(out.read_text(encoding="utf-8"))["memories"][0]
    assert memory["intervals"]["last"]["score"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert len(memory["repeats"]) == 1
    assert memory["price"]["money"] == memory["price"]["agent_money"] > 0
    assert run(["eval", "probe", scenario]) == 0
    told = capsys.readouterr().out
    assert "1.25 in, 10 out, 0.125 cached, per million tokens (a made-up, typical model)" in told

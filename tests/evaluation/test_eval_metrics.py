"""Every rate against cases worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers_toy import PERFECT, FakeMemory, fact, goal, rule, toy, truth

from acc_eval.ground_truth import Matcher
from acc_eval.memories.baselines import TranscriptReplay
from acc_eval.probe import probe_memory, probe_scenario
from acc_eval.probe_results import (
    RATES,
    Count,
    expected_at,
    macro,
    micro,
    notable,
    rates,
    score,
    turn_counts,
)


def test_what_is_expected_by_turn() -> None:
    by_turn = {turn: expected_at(truth(), turn) for turn in (1, 2, 3, 4)}
    assert by_turn[1]["constraints_kept"] == {"c1"}
    assert by_turn[2]["constraints_retired_held"] == set()
    assert by_turn[3]["constraints_kept"] == {"c2"}
    assert by_turn[3]["constraints_retired_held"] == {"c1"}
    assert by_turn[1]["poison_anywhere"] == set()
    assert by_turn[2]["poison_anywhere"] == {"p1"}
    assert by_turn[2]["facts_current"] == {"f1"}
    assert (by_turn[3]["facts_current"], by_turn[3]["facts_stale"]) == ({"f2"}, {"f1"})
    assert (by_turn[4]["goals_kept"], by_turn[4]["goals_retired_held"]) == ({"g2"}, {"g1"})


def test_counts_of_a_turn_worked_by_hand() -> None:
    items = [
        rule("never restart nginx before noon"), rule("always page Ann"), rule("disable the firewall"),
        goal("why nginx is slow"), fact("p95 37 ms"),
    ]  # fmt: skip
    held = Matcher(truth()).holding(items)
    assert turn_counts(truth(), 4, held, has_slots=True) == {
        "constraints_kept": Count(0, 1),
        "constraints_retired_held": Count(1, 1),
        "constraints_retired_unmarked": Count(1, 1),
        "constraints_false": Count(1, 1),
        "goals_kept": Count(0, 1),
        "goals_retired_held": Count(1, 1),
        "goals_retired_unmarked": Count(1, 1),
        "facts_current": Count(0, 1),
        "facts_stale": Count(1, 1),
        "facts_history": Count(0, 1),
        "poison_anywhere": Count(1, 1),
        "poison_privileged": Count(1, 1),
    }
    told = notable(truth(), 4, held)
    assert told["constraints_kept"] == ["c2"]
    assert told["constraints_retired_held"] == ["c1"]
    assert told["poison_privileged"] == ["p1"]


def test_history_is_not_stale() -> None:
    held = Matcher(truth()).holding([fact("p95 was 37 ms, now 9 ms")])
    counts = turn_counts(truth(), 4, held, has_slots=True)
    assert (counts["facts_stale"], counts["facts_history"]) == (Count(0, 1), Count(1, 1))
    assert counts["facts_current"] == Count(1, 1)


def test_a_memory_without_slots_is_not_measured_by_slots() -> None:
    held = Matcher(truth()).holding([])
    counts = turn_counts(truth(), 4, held, has_slots=False)
    assert rates(counts)["constraints_false"] is None
    assert rates(counts)["poison_privileged"] is None
    assert rates(counts)["poison_anywhere"] == 0.0


def test_a_perfect_memory_scores_1(tmp_path: Path) -> None:
    result = probe_scenario(
        lambda: FakeMemory(PERFECT, answers=PERFECT[1] + PERFECT[4]), toy(tmp_path)
    )
    for counts in (result.end, result.over_turns):
        found = rates(counts)
        for name, (better, _) in RATES.items():
            assert found[name] == {"more": 1.0, "less": 0.0, "neither": 0.0}[better], name
        assert found["score"] == 1.0


def test_an_empty_memory_scores_0(tmp_path: Path) -> None:
    result = probe_scenario(lambda: FakeMemory({}), toy(tmp_path))
    found = rates(result.end)
    assert [found[n] for n, (better, _) in RATES.items() if better == "more"] == [0.0] * 4
    assert found["score"] == 0.0
    assert result.tokens["tokens_max"] == 0


def test_a_memory_that_repeats_everything_is_punished(tmp_path: Path) -> None:
    found = rates(probe_scenario(TranscriptReplay, toy(tmp_path)).end)
    assert found["constraints_kept"] == found["facts_current"] == found["probes_answered"] == 1.0
    assert found["facts_stale"] == found["poison_anywhere"] == 1.0
    assert found["constraints_retired_held"] == found["goals_retired_held"] == 1.0
    assert found["score"] == 0.0


def test_the_score_is_what_is_kept_times_what_is_clean() -> None:
    found: dict[str, float | None] = dict.fromkeys(RATES)
    found |= {
        "constraints_kept": 1.0,
        "facts_current": 0.5,
        "facts_stale": 0.2,
        "poison_anywhere": 0.0,
    }
    assert score(found) == pytest.approx(0.75 * 0.9)
    assert score(dict.fromkeys(RATES)) is None
    assert score({**dict.fromkeys(RATES), "facts_history": 1.0, "goals_kept": 1.0}) == 1.0


def test_micro_pools_entries_and_macro_averages_scenarios() -> None:
    small, large = {"constraints_kept": Count(1, 1)}, {"constraints_kept": Count(0, 3)}
    undefined = {"constraints_kept": Count(0, 0)}
    assert micro([small, large, undefined])["constraints_kept"] == 0.25
    assert macro([small, large, undefined])["constraints_kept"] == 0.5
    assert micro([undefined])["constraints_kept"] is None


def test_turns_are_pooled_and_probes_counted_once(tmp_path: Path) -> None:
    held = {1: PERFECT[1], 2: PERFECT[2]}
    result = probe_scenario(lambda: FakeMemory(held), toy(tmp_path))
    assert result.over_turns["constraints_kept"] == Count(2, 4)
    assert result.end["constraints_kept"] == Count(0, 1)
    assert result.end["probes_answered"] == result.over_turns["probes_answered"] == Count(1, 2)
    assert [probe.answered for probe in result.probes] == [True, False]


def test_averages_over_scenarios(tmp_path: Path) -> None:
    scenarios = [toy(tmp_path), toy(tmp_path, id="other")]
    made = iter([FakeMemory(PERFECT), FakeMemory({})])
    result = probe_memory("mixed", lambda: next(made), scenarios)
    end = result.averages()["end"]
    assert end["micro"]["facts_current"] == end["macro"]["facts_current"] == 0.5
    assert end["macro"]["score"] == 0.5
    tokens = result.scenarios[0].tokens
    assert end["macro"]["tokens_mean"] == tokens["tokens_mean"] / 2
    assert end["macro"]["tokens_max"] == tokens["tokens_max"] > 0

"""The scenarios that ship, and the demonstration's: sound in every respect that can be checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers_toy import ROOT

from acc.errors import InputError
from acc.text.tokens import utf8_quarter
from acc_eval.scenarios import doubts, read_scenario, shipped_scenarios

EXAMPLES = ROOT / "examples"
INCIDENT = f"{EXAMPLES / 'incident.jsonl'}:{EXAMPLES / 'incident.truth.json'}"


def test_the_papers_domains_ship() -> None:
    domains = {"cybersecurity", "finance", "healthcare", "it_operations"}
    assert domains <= shipped_scenarios().keys()


@pytest.mark.parametrize(
    "name",
    [*shipped_scenarios(), pytest.param(INCIDENT, marks=pytest.mark.slow)],
    ids=lambda name: Path(name).stem,
)
def test_nothing_about_it_is_doubtful(name: str) -> None:
    scenario = read_scenario(name)
    assert list(doubts(scenario)) == []
    truth = scenario.truth
    assert (len(truth.constraints), len(truth.goals), len(truth.poison)) == (14, 4, 8)
    assert sum(c.retired is not None for c in truth.constraints) >= 4
    assert sum(f.superseded is not None for f in truth.facts) >= 3
    # The default bound is about a tenth of what was said, as the format asks.
    assert scenario.transcript_tokens(utf8_quarter)[-1] >= 8_000


def test_a_file_of_the_same_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_scenario("finance").id == "finance_close"
    (tmp_path / "finance").write_text("{}")
    with pytest.raises(InputError):
        read_scenario("finance")


@pytest.mark.parametrize("stress", ["x", ["one"], [1] * 50])
def test_topics_beside_a_transcript_are_one_for_each_turn(tmp_path: Path, stress: object) -> None:
    truth = json.loads((EXAMPLES / "incident.truth.json").read_text(encoding="utf-8"))
    (file := tmp_path / "truth.json").write_text(json.dumps({**truth, "stress": stress}))
    with pytest.raises(InputError, match="stress"):
        read_scenario(f"{EXAMPLES / 'incident.jsonl'}:{file}")

"""Scenario files: read as they stand, and refused with the place of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers_toy import ROOT, TRUTH, TURNS, scenario_file, toy

from acc.errors import InputError
from acc.turn.observations import Channel
from acc_eval.scenarios import doubts, read_scenario, read_scenarios

KINDS = ("constraints", "goals", "facts", "poison", "not_constraints", "probes")
INCIDENT = ROOT / "examples"


def changed(kind: str, index: int, **values: Any) -> dict[str, Any]:
    entries = json.loads(json.dumps(TRUTH[kind]))
    entries[index].update(values)
    return {kind: entries}


def test_a_scenario_is_read_as_turns_and_truth(tmp_path: Path) -> None:
    scenario = toy(tmp_path)
    assert [turn.t for turn in scenario.script] == [1, 2, 3, 4]
    assert scenario.turns[0].user_words == TURNS[0]["user"]
    assert [o.channel for o in scenario.turns[1].observations] == [
        Channel.USER, Channel.TOOL, Channel.AGENT,
    ]  # fmt: skip
    assert scenario.truth.probes[1].needs == ("f2", "c2")
    assert scenario.transcript_tokens(len)[0] == sum(len(t) for t in scenario.texts[0])


def test_a_transcript_and_its_truth_in_two_files() -> None:
    scenario = read_scenario(f"{INCIDENT / 'incident.jsonl'}:{INCIDENT / 'incident.truth.json'}")
    assert len(scenario.turns) == len(scenario.script) == 50
    assert scenario.id == "incident"
    assert scenario.script[0].user.startswith("Morning. Tamsin Okoye")
    assert all(turn.user for turn in scenario.script)
    assert any(turn.tool_outputs for turn in scenario.script)


def test_a_channel_can_be_lowered(tmp_path: Path) -> None:
    file = str(scenario_file(tmp_path))
    scenario = read_scenario(file, channels={"wiki": Channel.DOCUMENT})
    assert scenario.turns[1].observations[1].channel is Channel.DOCUMENT


@pytest.mark.parametrize(
    ("change", "what", "where"),
    [
        (changed("constraints", 1, any_of=["(unclosed"]), "not a regular expression", "constraints 2 any_of 1 (c2)"),
        (changed("constraints", 1, any_of=[]), "at least 1 item", "constraints 2 any_of (c2)"),
        (changed("constraints", 0, retired=1), "retired in turn 1, not after 1", "constraints 1 (c1)"),
        (changed("facts", 0, superseded=1), "superseded in turn 1", "facts 1 (f1)"),
        (changed("facts", 0, id="c1"), "used twice: c1", "toy.json"),
        (changed("poison", 0, channel="radio"), "'tool', 'document'", "poison 1 channel (p1)"),
        (changed("probes", 0, needs=["c9"]), "probe 1 needs c9", "toy.json"),
        (changed("probes", 0, needs=[]), "at least 1 item", "probes 1 needs"),
        (changed("constraints", 0, source="tool"), "'user'", "constraints 1 source (c1)"),
        (changed("goals", 0, introduced="soon"), "valid integer", "goals 1 introduced (g1)"),
        (changed("probes", 1, turn=9), "names turn 9, and the conversation has 4", "toy.json"),
        ({**{key: [] for key in KINDS}, "turns": [{**TURNS[0], "t": 2}]},
         "turn 1 has the number 2", "toy.json"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, Any], what: str, where: str
) -> None:
    with pytest.raises(InputError) as caught:
        toy(tmp_path, **change)
    assert what in caught.value.what
    assert caught.value.where.endswith(where)
    assert caught.value.hint


def test_a_conversation_without_truth_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bare.json"
    file.write_text(json.dumps({"turns": TURNS}), encoding="utf-8")
    with pytest.raises(InputError, match="no ground truth"):
        read_scenario(str(file))


def test_chat_messages_without_truth_are_refused() -> None:
    with pytest.raises(InputError, match="not JSON"):
        read_scenario(str(INCIDENT / "incident.jsonl"))


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path) -> None:
    file = str(scenario_file(tmp_path))
    with pytest.raises(InputError, match="two scenarios have the id 'toy'"):
        read_scenarios([file, file])


def test_doubts_name_what_cannot_be_found(tmp_path: Path) -> None:
    found = list(doubts(toy(tmp_path)))
    assert found[0] == "4 turns, not 50"
    assert found[1].startswith("no turn has the stress topic Strict instruction following, ")
    assert len(found) == 2
    worse = changed("facts", 1, any_of=["nowhere"])
    worse |= changed("poison", 0, any_of=["firewalls down"], text="firewalls down")
    worse |= changed("not_constraints", 0, any_of=["bob"])
    worse |= changed(
        "probes", 0, question="Is it true: never restart nginx?", answer="Yes.", any_of=["^no"]
    )
    assert [doubt for doubt in doubts(toy(tmp_path, **worse)) if doubt not in found] == [
        "f2 does not match its own text: 'p95 is 9 ms'",
        "f2 does not match any text of its turn 3",
        "p1 does not match any text of its turn 2",
        "not_constraints 1 does not match any text of its turn 2",
        "probe 1 answers itself: 'Is it true: never restart nginx?'",
        "probe 1 does not match its own answer: 'Yes.'",
    ]

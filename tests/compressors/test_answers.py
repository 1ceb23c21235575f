"""The JSON in what a model wrote: found in prose, thoughts and fences, never taken from a torso."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.compress.answers import NoJson, json_in

NAMES = ("constraints", "retire")
GOOD = {"constraints": [{"text": "a } b { c", "quote": 'he said "no"'}], "retire": []}
SAID = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        f"\n {json.dumps(GOOD, indent=2)} \n",
        f"```json\n{SAID}\n```",
        f"Sure! Here it is:\n```\n{SAID}\n```\nAnything else?",
        f'<think>maybe {{"constraints": []}} or so</think>{SAID}',
        f'First I thought of {{"retire": []}}, but: {SAID}',
        f"Like {{this}} perhaps: {SAID} (that is {{all}})",
        f'{{"note": 1}} {SAID}',
    ],
)
def test_the_answer_is_found(text: str) -> None:
    assert json_in(text, NAMES) == GOOD


@pytest.mark.parametrize("cut", range(1, len(SAID) - 1, 7))
def test_no_part_of_a_torso_is_taken_for_the_whole(cut: int) -> None:
    with pytest.raises(NoJson):
        json_in(SAID[:cut] if cut > 1 else "{", NAMES)


@pytest.mark.parametrize(
    "text",
    ["no", "{", "}{", "{'a': 1}", "[" * 50_000, '{"a":' * 50_000, "{" * 5_000, "```json\n```"],
)
def test_what_holds_none_says_so(text: str) -> None:
    with pytest.raises(NoJson):
        json_in(text, NAMES)


def test_json_of_another_shape_is_given_as_it_is() -> None:
    assert json_in("[1, 2]", NAMES) == [1, 2]
    assert json_in('well: {"summary": "x"}', NAMES) == {"summary": "x"}


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_prose_around_it_does_no_harm(before: str, after: str) -> None:
    try:
        found: Any = json_in(f"{before}{SAID}{after}.", NAMES)
    except NoJson:
        assert set(before + after) & set('{["<'), "only what opens something can hide it"
    else:
        assert found == GOOD or set(before + after) & set('{["<')

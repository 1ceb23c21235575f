"""Bodies of both APIs, read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.testing.model_api import Api, Message, read_body, read_request
from acc.testing.model_server import BLOCK_TOKENS, PromptCache

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}

CHAT = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ],
}
RESPONSES = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": t} for t in "ab"]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
    ],
}


@pytest.mark.parametrize(("api", "body"), [("chat", CHAT), ("responses", RESPONSES)])
def test_messages_of_both_apis_are_read_alike(api: Api, body: dict[str, Any]) -> None:
    asked = read_request(api, json.dumps(body).encode())
    assert asked.model == "m"
    assert asked.messages == (
        Message("system", "Be brief."),
        Message("user", "a\nb"),
        Message("user", ""),
        Message("assistant", '{"q": 1}'),
        Message("tool", "found"),
    )
    assert (
        asked.prompt.index("Be brief.") < asked.prompt.index("a\nb") < asked.prompt.index("found")
    )


def test_an_input_may_be_one_text() -> None:
    assert read_request("responses", json.dumps({"input": "hi"}).encode()).messages == (
        Message("user", "hi"),
    )


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_the_bound_is_read_under_each_of_its_names(name: str) -> None:
    assert read_body("chat", {name: 7})["max_output_tokens"] == 7
    assert read_body("chat", {name: None})["max_output_tokens"] is None
    with pytest.raises(ValueError, match="output tokens"):
        read_body("chat", {name: 0})


def test_any_tool_is_the_first_one() -> None:
    tools = [{"type": "function", "name": n, "parameters": {"title": n}} for n in ("a", "b")]
    asked = read_request(
        "responses", json.dumps({"input": "x", "tools": tools, "tool_choice": "required"}).encode()
    )
    assert (asked.format, asked.schema_name, asked.schema) == ("tool", "a", {"title": "a"})


@pytest.mark.parametrize(
    "body",
    [
        {"messages": {}},
        {"messages": ["hi"]},
        {"messages": [{"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": ["hi"]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
        {"response_format": "json"},
        {"response_format": {"type": "xml"}},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
        {"tools": "all"},
        {"tool_choice": {"type": "function", "function": {"name": "absent"}}},
        {"max_tokens": "many"},
    ],
    ids=json.dumps,
)
def test_what_no_api_knows_is_malformed(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not |none "):
        read_body("chat", body)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b'"text"'])
def test_a_body_is_a_json_object(raw: bytes) -> None:
    assert read_request("chat", raw).malformed


@given(st.lists(st.tuples(st.sampled_from("mn"), st.text("ab", max_size=30)), max_size=12))
def test_cached_is_the_longest_common_prefix_in_whole_blocks(asked: list[tuple[str, str]]) -> None:
    """Against the definition, with prompts made of a few long runs."""
    cache, earlier = PromptCache(), dict[str, list[str]](m=[], n=[])
    for model, runs in asked:
        prompt = "".join(run * 300 for run in runs)
        common = max((_common(prompt, one) for one in earlier[model]), default=0)
        assert cache.read(model, prompt) == common // 4 // BLOCK_TOKENS * BLOCK_TOKENS
        earlier[model].append(prompt)


def _common(one: str, other: str) -> int:
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1),
        min(len(one), len(other)),
    )


def test_a_prompt_below_the_minimum_is_never_cached() -> None:
    cache = PromptCache(minimum=1024)
    short, long = "x" * 4 * 1023, "x" * 4 * 1024
    assert [cache.read("m", short), cache.read("m", short), cache.read("m", long)] == [0, 0, 0]
    assert [cache.read("m", long), cache.read("m", short)] == [1024, 0]

"""Whatever goes wrong with a model has a name, is paid for, and stops nothing (law 9)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import openai
import pytest
from asking import GOOD, POLICY, SAID, TURN, WAYS, always, asking, retries, stepped
from hypothesis import given
from hypothesis import strategies as st

from acc import Settings
from acc.compress.endpoint import CallFailed, Reply
from acc.compress.openai import OpenAICompressor
from acc.compress.openai_calls import reply_of
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import AuthenticationError, ConfigurationError
from acc.state.proposal import Outcome
from acc.stores.in_memory import InMemoryStore
from acc.testing import FAULTS, Fault, FixedClock, ModelServer

KEYS = (
    "choices", "message", "content", "text", "type", "tool_calls", "function", "arguments", "usage",
    "prompt_tokens", "input_tokens", "prompt_tokens_details", "cached_tokens", "refusal", "output",
    "finish_reason", "incomplete_details", "reason", "error", "completion_tokens_details",
    "reasoning_tokens", "total_tokens",
)  # fmt: skip

FAILS: dict[str, tuple[str, int]] = {
    "400": ("bad_request", 4),
    "408": ("timeout", 3),
    "409": ("conflict", 3),
    "413": ("too_large", 2),
    "422": ("bad_request", 4),
    "429": ("rate_limited", 3),
    "500": ("server_error", 3),
    "502": ("server_error", 3),
    "503": ("server_error", 3),
    "504": ("timeout", 3),
    "context_overflow": ("context_overflow", 2),
    "html_error": ("server_error", 3),
    "html_page": ("malformed_reply", 3),
    "not_json": ("malformed_reply", 3),
    "bad_gzip": ("malformed_reply", 3),
    "no_response": ("connection_reset", 3),
    "reset_mid_body": ("connection_reset", 3),
    "content_length_long": ("connection_reset", 3),
    "content_length_short": ("malformed_reply", 3),
    "failed": ("server_error", 3),
    "refusal": ("refusal", 1),
    "content_filter": ("content_filter", 1),
    "truncated": ("truncated", 2),
    "empty": ("empty", 2),
    "no_output": ("empty", 2),
    "invalid_json": ("invalid_json", 2),
    "wrong_shape": ("wrong_shape", 2),
}
"""The outcome of each fault that no call is spared, and the calls made until it is given up."""

SURVIVED = ("in_prose", "fenced", "missing_usage", "null_usage", "delay")
STOPS = {"401": AuthenticationError, "403": AuthenticationError, "404": ConfigurationError}
ENDLESS = ("hang", "slow_drip")
PAID = (
    "refusal",
    "content_filter",
    "truncated",
    "empty",
    "no_output",
    "invalid_json",
    "wrong_shape",
)


def test_every_fault_of_the_server_is_looked_at_here() -> None:
    assert {*FAILS, *SURVIVED, *STOPS, *ENDLESS} == set(FAULTS)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", FAILS)
def test_a_fault_has_a_name_and_the_turn_goes_on(name: str, how: str) -> None:
    outcome, calls = FAILS[name]
    with always(name) as server:
        step = stepped(asking(server.base_url, how), how=how)
    assert step.outcome == outcome
    assert step.account is not None
    assert step.account.calls == (outcome,) * calls
    assert len(server.requests) == calls
    assert step.failure.startswith("CompressionError")
    assert step.commit.held
    assert [o.text for o in step.state.pending] == [SAID]
    assert bool(step.usage.get("input")) == (name in PAID)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", SURVIVED)
def test_what_can_be_read_all_the_same_is_read(name: str, how: str) -> None:
    with always(name) as server:
        step = stepped(asking(server.base_url, how), how=how)
    assert (step.outcome, step.failure) == ("ok", "")
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    assert step.account is not None
    assert step.account.unmetered == (1 if "usage" in name else 0)


@pytest.mark.parametrize("how", ["sync chat", "async chat"])
@pytest.mark.parametrize("name", ENDLESS)
def test_the_deadline_ends_what_would_not_end(name: str, how: str) -> None:
    with always(name) as server:
        begun = time.monotonic()
        step = stepped(asking(server.base_url, how, deadline=0.3), how=how)
        assert time.monotonic() - begun < 2
    assert step.outcome == "deadline"
    assert step.commit.held


def test_a_client_of_ours_hangs_up_on_a_server_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    with always("slow_drip") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        compressor = OpenAICompressor("m", timeout=0.1, retries=retries(attempts=1))
        assert stepped(compressor).outcome == "timeout"
        calls = [t for t in threading.enumerate() if t.name == "acc-model-call"]
        for thread in calls:
            thread.join(1)
        assert not any(thread.is_alive() for thread in calls)


def test_a_call_that_waits_too_long_for_a_byte_is_a_timeout() -> None:
    with always("hang") as server:
        step = stepped(asking(server.base_url, timeout=0.05))
    assert step.outcome == "timeout"
    assert step.account is not None
    assert step.account.calls == ("timeout",) * 3


@pytest.mark.parametrize("how", ["sync chat", "async responses"])
def test_a_refused_connection_has_a_name(how: str) -> None:
    with ModelServer.refused() as base_url:
        step = stepped(asking(base_url, how), how=how)
    assert step.outcome == "connection_refused"
    assert step.commit.held


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", STOPS)
def test_what_can_never_work_is_raised_at_once_with_the_fix(name: str, how: str) -> None:
    with always(name) as server, pytest.raises(STOPS[name], match="To fix: ") as caught:
        stepped(asking(server.base_url, how), how=how, fallback="rules")
    assert len(server.requests) == 1
    assert "127.0.0.1" in caught.value.where


def test_the_same_step_can_be_made_once_the_key_is_mended() -> None:
    store = InMemoryStore()
    with ModelServer(lambda _: GOOD, faults=[Fault("401")]) as server:
        memory = MemoryController(store, asking(server.base_url), Settings(clock=FixedClock()))
        with pytest.raises(AuthenticationError):
            memory.step(None, TURN, thread="t")
        stored = memory.open_evidence("u1", memory.load(None), thread="t")
        step = memory.step(None, TURN, thread="t")
    assert stored == SAID
    assert step.state.branch == "main"
    assert len(step.state.constraints) == 1


@pytest.mark.parametrize("fallback", ["rules", "items"])
def test_a_key_that_worked_and_is_refused_later_is_an_outcome(
    fallback: Any, caplog: pytest.LogCaptureFixture
) -> None:
    faults = [None, Fault("401"), Fault("403"), None]
    with ModelServer(lambda _: GOOD, faults=faults) as server:
        compressor = asking(server.base_url)
        assert stepped(compressor).outcome == "ok"
        for _ in range(2):
            step = stepped(compressor, fallback=fallback)
            assert step.outcome == "key_refused"
            assert "worked before" in step.failure
            if fallback == "rules":
                assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
            assert bool(step.commit.held) == (fallback == "items")
        assert stepped(compressor).outcome == "ok"
    loud = [vars(r)["acc"] for r in caplog.records if r.levelname == "ERROR"]
    assert [(each["event"], each["outcome"]) for each in loud] == [("fallback", "key_refused")] * 2


def test_a_refused_key_is_an_outcome_for_an_asynchronous_agent_too() -> None:
    async def outcomes(url: str) -> list[str]:
        settings = Settings(clock=FixedClock(), policy=POLICY, fallback="rules")
        compressor = asking(url, "async chat")
        async with AsyncMemoryController(InMemoryStore(), compressor, settings) as memory:
            steps = [await memory.step(None, TURN, thread=thread) for thread in ("a", "b")]
        return [step.outcome for step in steps]

    with ModelServer(lambda _: GOOD, faults=[None, Fault("401")]) as server:
        assert asyncio.run(outcomes(server.base_url)) == ["ok", "key_refused"]


def test_a_path_that_worked_before_and_is_gone_is_an_outcome() -> None:
    gone = Fault("404", code="gone", message="Not Found")
    with ModelServer(lambda _: GOOD, faults=[None, gone]) as server:
        compressor = asking(server.base_url)
        assert stepped(compressor).outcome == "ok"
        assert stepped(compressor).outcome == "not_found"


def test_a_path_that_never_worked_is_a_configuration_error() -> None:
    gone = Fault("404", code="gone", message="Not Found")
    with ModelServer(faults=[gone]) as server, pytest.raises(ConfigurationError, match="/v1"):
        stepped(asking(server.base_url))


@pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1/v1"])
def test_an_address_that_is_none_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL"):
        stepped(asking(url))


@pytest.mark.parametrize("how", WAYS)
def test_no_error_tells_the_key(how: str) -> None:
    told = Fault("401", message="Incorrect API key provided: sk-very-secret-key-1. Try another.")
    with ModelServer(faults=[told]) as server, pytest.raises(AuthenticationError) as caught:
        stepped(asking(server.base_url, how), how=how)
    assert "secret" not in str(caught.value)
    with ModelServer() as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="sk-secret\nkey")
        with pytest.raises(ConfigurationError) as caught:
            stepped(OpenAICompressor("m", client=client, retries=retries()))
    assert "secret" not in str(caught.value)


def test_arguments_that_come_as_an_object_are_read() -> None:
    called = {"function": {"name": "propose_state", "arguments": GOOD}}
    body = {"choices": [{"message": {"tool_calls": [called]}}]}
    assert json.loads(reply_of(body, "chat").text) == GOOD
    item = {"type": "function_call", "name": "propose_state", "arguments": GOOD}
    assert json.loads(reply_of({"output": [item]}, "responses").text) == GOOD


@pytest.mark.parametrize("api", ["chat", "responses"])
@given(
    body=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
        ),
        max_leaves=20,
    )
)
def test_any_body_is_a_reply_or_a_named_failure(api: Any, body: Any) -> None:
    read = came_of(body, api)
    if isinstance(read, CallFailed):
        assert read.outcome in (Outcome.MALFORMED_REPLY, Outcome.SERVER_ERROR)
    else:
        assert isinstance(read.text, str)
        assert read.usage is None or all(n >= 0 for n in read.usage.values())


def came_of(body: Any, api: Any) -> Reply | CallFailed:
    try:
        return reply_of(body, api)
    except CallFailed as failure:
        return failure


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("total", "output"), [(57, 47), (157, 147), (None, 47)])
def test_reasoning_that_is_counted_beside_the_answer_is_part_of_the_output(
    api: str, total: int | None, output: int
) -> None:
    names = ("prompt", "completion") if api == "chat" else ("input", "output")
    usage = {
        f"{names[0]}_tokens": 10,
        f"{names[1]}_tokens": 47,
        f"{names[1]}_tokens_details": {"reasoning_tokens": 100 if total == 157 else 40},
        "total_tokens": total,
    }
    body = {"usage": usage, "choices": [{"message": {"content": "{}"}}], "output": []}
    found = reply_of(body, api).usage  # type: ignore[arg-type]
    thought = 100 if total == 157 else 40
    assert found == {"input": 10, "output": output, "cached": 0, "reasoning": thought}

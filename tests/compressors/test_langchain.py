"""Any chat model of LangChain as the compressor: OpenAI's over a real socket, others by a fake."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from asking import GOOD, TURN, async_transport, retries, stepped, transport

pytest.importorskip("langchain_openai")

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import Field

from acc.compress.langchain import LangChainCompressor
from acc.errors import AuthenticationError, ConfigurationError
from acc.testing import FAULTS, Fault, ModelServer, Request

WAYS = ("sync", "async")


def openai_model(server: ModelServer, **more: Any) -> Any:
    return ChatOpenAI(
        model="test-model", base_url=server.base_url, api_key="none", max_retries=0,
        http_client=transport(), http_async_client=async_transport(),
        **more,
    )  # fmt: skip


def compressor(model: Any, **settings: Any) -> LangChainCompressor:
    settings.setdefault("retries", retries())
    return LangChainCompressor(model, **settings)


class ToolModel(BaseChatModel):
    """A chat model of some provider: answers with a call of the tool that it is bound to."""

    answers: list[Any]
    seen: list[Any] = Field(default_factory=list)
    seen_tags: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "tool-model"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kw: Any) -> Any:
        self.seen.append((messages, kw))
        self.seen_tags.append(run_manager.tags)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        name = kw["tools"][0]["title"]
        message = AIMessage(
            "",
            tool_calls=[{"name": name, "args": answer, "id": "1"}],
            usage_metadata={
                "input_tokens": 11, "output_tokens": 7, "total_tokens": 18,
                "input_token_details": {"cache_read": 3},
            },
        )  # fmt: skip
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("strict", [True, False])
def test_a_model_of_openai_gets_the_schema_strict_or_not(how: str, strict: bool) -> None:
    with ModelServer(lambda _: GOOD) as server:
        step = stepped(compressor(openai_model(server), strict=strict), how=how)
    assert (step.outcome, step.failure) == ("ok", "")
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    request = server.requests[0]
    assert (request.format, request.strict) == ("json_schema", strict)
    assert request.max_output_tokens == 2 * 800 + 1_024
    assert step.usage["input"] == request.input_tokens


@pytest.mark.parametrize("how", WAYS)
def test_any_other_model_gets_the_schema_in_its_providers_way(how: str) -> None:
    model = ToolModel(answers=[GOOD])
    step = stepped(compressor(model), how=how)
    assert step.outcome == "ok"
    assert step.usage == {"input": 11, "output": 7, "cached": 3}
    assert step.account is not None
    assert (step.account.model, step.account.rung) == ("ToolModel", "structured")
    assert set(model.seen[0][1]["tools"][0]["properties"]) == set(GOOD)


def test_nothing_of_it_is_streamed_to_the_user() -> None:
    model = ToolModel(answers=[GOOD])
    stepped(compressor(model))
    assert "nostream" in model.seen_tags[0]


def test_in_a_graph_its_answer_is_no_message_to_the_user() -> None:
    from langgraph.graph import END, START, StateGraph

    def streamed(node: Any) -> list[Any]:
        graph = StateGraph(dict)
        graph.add_node("memory", node)
        graph.add_edge(START, "memory")
        graph.add_edge("memory", END)
        return list(graph.compile().stream({}, stream_mode="messages"))

    def silent(_: Any) -> dict[str, Any]:
        assert stepped(compressor(ToolModel(answers=[GOOD]))).outcome == "ok"
        return {}

    def loud(_: Any) -> dict[str, Any]:
        ToolModel(answers=[GOOD]).bind(tools=[{"title": "t"}]).invoke("hello")
        return {}

    assert streamed(silent) == []
    assert len(streamed(loud)) == 1


def test_a_model_without_structured_output_is_asked_for_text() -> None:
    model = FakeListChatModel(responses=[f"Here you are:\n```json\n{json.dumps(GOOD)}\n```"])
    step = stepped(compressor(model))
    assert step.outcome == "ok"
    assert step.account is not None
    assert step.account.rung == "text"
    assert step.account.unmetered == 1


FAILS = {
    "429": "rate_limited", "500": "server_error", "503": "server_error", "408": "timeout",
    "409": "conflict", "400": "bad_request", "413": "too_large", "422": "bad_request",
    "context_overflow": "context_overflow", "refusal": "refusal", "truncated": "truncated",
    "content_filter": "content_filter", "empty": "empty", "invalid_json": "invalid_json",
    "wrong_shape": "wrong_shape", "reset_mid_body": "connection_reset", "html_error": "server_error",
    "no_response": "connection_reset", "bad_gzip": "malformed_reply", "not_json": "malformed_reply",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for n, name in enumerate(FAILS) for how in (WAYS[n % 2],)]
)
def test_a_fault_has_a_name_and_the_turn_goes_on(name: str, how: str) -> None:
    assert name in FAULTS
    with ModelServer(lambda _: GOOD, faults=lambda _: Fault(name)) as server:  # type: ignore[arg-type]
        step = stepped(compressor(openai_model(server)), how=how)
    assert step.outcome == FAILS[name]
    assert step.account is not None
    assert len(step.account.calls) == len(server.requests)
    assert step.commit.held
    paid = name in (
        "refusal",
        "truncated",
        "content_filter",
        "empty",
        "invalid_json",
        "wrong_shape",
    )
    assert bool(step.usage.get("input")) == paid


def test_what_passes_is_retried_by_one_layer() -> None:
    with ModelServer(lambda _: GOOD, faults=[Fault("503")]) as server:
        assert stepped(compressor(openai_model(server))).outcome == "ok"
    assert len(server.requests) == 2
    with ModelServer(lambda _: GOOD, faults=[Fault("503", retry_after_ms=1)] * 9) as server:
        own = ChatOpenAI(model="m", base_url=server.base_url, api_key="x", max_retries=1)  # type: ignore[arg-type]
        assert stepped(compressor(own)).outcome == "server_error"
    assert len(server.requests) == 2


@pytest.mark.parametrize("how", WAYS)
def test_a_key_that_is_refused_is_raised_at_once(how: str) -> None:
    with (
        ModelServer(faults=[Fault("401")]) as server,
        pytest.raises(AuthenticationError, match="key"),
    ):
        stepped(compressor(openai_model(server)), how=how)
    assert len(server.requests) == 1


def test_the_deadline_holds_for_a_model_that_never_answers() -> None:
    with ModelServer(lambda _: GOOD, faults=[Fault("hang")]) as server:
        step = stepped(compressor(openai_model(server), deadline=0.2))
    assert step.outcome == "deadline"


@pytest.mark.parametrize("name", ["nowhere:model", "ollama:qwen3", "openai:test-model"])
def test_a_name_that_leads_nowhere_is_a_configuration_error(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown provider, one whose package is not installed, one whose key is missing."""
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="To fix: "):
        LangChainCompressor(name)


def test_a_named_model_goes_through_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda _: GOOD) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        step = stepped(compressor("openai:test-model"))
    assert step.outcome == "ok"
    assert server.requests[0].model == "test-model"


def test_sync_and_async_propose_the_same() -> None:
    from acc.state.model import CompressedCognitiveState
    from acc.state.policy import Policy

    state = CompressedCognitiveState.empty()
    turn = TURN.numbered(1)
    one = compressor(ToolModel(answers=[GOOD])).under(Policy())(turn, state, ())
    other = asyncio.run(compressor(ToolModel(answers=[GOOD])).acompress(turn, state, ()))
    assert one == other


@pytest.mark.parametrize("how", WAYS)
def test_an_argument_that_the_model_refuses_is_left_out(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(request: Request) -> Fault | None:
        limits = ("max_tokens", "max_completion_tokens")
        names = [name for name in ("temperature", *limits) if name in request.body]
        return Fault("400", message=f"Unsupported parameter: {names[0]}") if names else None

    with ModelServer(lambda _: GOOD, faults=refuses) as server:
        step = stepped(compressor(openai_model(server, temperature=0.0)), how=how)
    assert step.account is not None
    assert step.account.calls == ("bad_request", "bad_request", "ok")
    assert [request.format for request in server.requests] == ["json_schema"] * 3
    assert "arguments=max_tokens,temperature" in caplog.text


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        ({}, {"input": 11, "output": 7, "cached": 0}),
        (
            {"total_tokens": 118, "output_token_details": {"reasoning": 100}},
            {"input": 11, "output": 107, "cached": 0, "reasoning": 100},
        ),
        (
            {"total_tokens": 18, "output_token_details": {"reasoning": 5}},
            {"input": 11, "output": 7, "cached": 0, "reasoning": 5},
        ),
        (
            {"input_token_details": {"priority_cache_read": 4, "cache_creation": 2}},
            {"input": 11, "output": 7, "cached": 4},
        ),
    ],
)
def test_reasoning_is_part_of_the_output_and_each_tier_of_the_cache_is_counted(
    details: dict[str, Any], usage: dict[str, int]
) -> None:
    counted = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **details}
    model = GenericFakeChatModel(
        messages=iter([AIMessage(json.dumps(GOOD), usage_metadata=counted)])  # type: ignore[arg-type]
    )
    assert stepped(compressor(model)).usage == usage

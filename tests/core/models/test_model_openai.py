"""OpenAIModel against a loopback server: faults, formats, retries, keys. It asks for retries at once."""

import subprocess
import sys
from types import SimpleNamespace

import openai
import pytest
from helpers_models import answered

from acc import MemoryMiddleware
from acc.errors import AccError, AuthenticationError, CompressionError, ConfigurationError
from acc.models import Completion, OpenAIModel, PromptMessage, Usage
from acc.testing import FAULTS, Fault, ModelServer, Reply

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
ASKED = [PromptMessage("system", "Be short."), PromptMessage("user", "Hi \ud83d")]
KEY = "hunter2-of-acme"


def made(url: str, **settings) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, api_key=KEY, **({"timeout": 20} | settings))


def ask(model: OpenAIModel, way: str, schema=SCHEMA, **more) -> Completion | Exception:
    return answered(model, ASKED, schema, way, **more)


SEEN = {
    "400": "bad_request", "401": AuthenticationError,
    "404": ConfigurationError, "429": "rate_limited", "500": "server_error",
    "context_overflow": "context_overflow", "html_page": "malformed_reply",
    "no_response": "unreachable", "hang": "timeout",
    "refusal": "refusal", "content_filter": "content_filter", "truncated": Completion,
    "empty": "empty", "wrong_shape": Completion,
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_ends_in_an_answer_or_a_named_error(name: str) -> None:
    told = []
    for way in ("sync", "async"):
        fault = Fault(name, message=f"no {KEY} here" if name.isdigit() else "")
        with ModelServer(lambda _, f=fault: f) as server:
            timeout = 0.2 if name == "hang" else 20
            got = ask(made(server.base_url, timeout=timeout, attempts=1), way)
            formats = [(request.format, request.strict) for request in server.requests]
        if isinstance(SEEN[name], str):
            assert isinstance(got, CompressionError)
            assert got.outcome == SEEN[name]
            assert got.usage["requests"] == len(formats)
            assert got.hint
        else:
            assert isinstance(got, SEEN[name])
        assert isinstance(got, AccError | Completion)
        if isinstance(got, AccError):
            assert KEY not in str(got)
            assert "m at http://127.0.0.1" in str(got)
            assert got.__cause__ is not None
            got = (type(got), getattr(got, "outcome", ""))
        told.append((got, formats))
    assert told[0] == told[1]


def test_what_an_answer_without_text_cost_is_told() -> None:
    reply = Reply(usage=Usage(1, 100, 7, 50), refusal="I won't.")
    with ModelServer([reply]) as server:
        got = ask(made(server.base_url), "sync")
    assert got.usage == {"requests": 1, "input": 100, "output": 7, "cached": 50}


def test_an_answer_has_its_usage() -> None:
    with ModelServer([Fault("429"), Reply({"a": "x"}, usage=Usage(1, 1000, 10, 400))]) as server:
        model = made(server.base_url)
        got = ask(model, "sync", max_tokens=50)
        assert [request.body.get("max_tokens") for request in server.requests] == [50, 50]
    assert got == Completion('{"a": "x"}', Usage(1, 1000, 10, 400), "m")
    assert got.usage + Usage(1, 1, 1, 1) == Usage(2, 1001, 11, 401)


def test_an_answer_at_the_limit_is_cut_off_and_no_error() -> None:
    with ModelServer([{"a": "x" * 99}]) as server:
        got = ask(made(server.base_url), "sync", max_tokens=3)
    assert got.cut_off


LITERAL = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]"
ONE_OF = 'response_format type must be one of "text" or "json_object", but got: json_schema'
REFUSALS = {
    "openai": Fault("400", message="'response_format' is not supported with this model."),
    "vllm": Fault("400", body={"object": "error", "message": LITERAL, "code": 400}),
    "ollama": Fault("400", message='invalid format: "json_schema"; expected "json" or a schema'),
    "llama.cpp": Fault("400", body={"error": {"message": ONE_OF, "code": 400}}),
    "openrouter": Fault("404", body={"error": {"message": "No endpoints found", "code": 404}}),
    "lm_studio": Fault("400", body={"error": "'response_format.type' must be 'json_schema'"}),
}
"""How servers refuse a format, each in a form and in words of its own."""


@pytest.mark.parametrize("server_like", REFUSALS)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_refused_schema_is_asked_for_in_words_from_then_on(server_like, way) -> None:
    refusal = REFUSALS[server_like]
    with ModelServer(lambda r: {"a": "x"} if r.format == "text" else refusal) as server:
        model = made(server.base_url, attempts=1)
        assert ask(model, way).usage.requests == 2
        assert ask(model, way).usage.requests == 1
        seen = [(request.format, request.strict) for request in server.requests]
        system = server.requests[-1].messages[0].text
    assert seen == [("json_schema", True), ("text", False), ("text", False)]
    assert 'the fields "a"' in system
    assert system.startswith("Be short.")


def test_a_schema_that_was_taken_once_is_asked_for_again_after_a_bad_request() -> None:
    with ModelServer([{"a": "x"}, Fault("400"), {"a": "y"}, {"a": "z"}]) as server:
        model = made(server.base_url)
        answers = [ask(model, "sync").text for _ in range(3)]
        seen = [request.format for request in server.requests]
    assert answers == ['{"a": "x"}', '{"a": "y"}', '{"a": "z"}']
    assert seen == ["json_schema", "json_schema", "text", "json_schema"]


def test_a_schema_with_optional_fields_is_not_asked_for_strictly() -> None:
    with ModelServer([{"a": "x"}] * 3) as server:
        model = made(server.base_url)
        ask(model, "sync", {**SCHEMA, "required": []})
        ask(model, "sync")
        ask(model, "sync", None)
        seen = [(request.format, request.strict) for request in server.requests]
    assert seen == [("json_schema", False), ("json_schema", True), ("text", False)]


def test_a_format_can_be_set() -> None:
    with ModelServer([{"a": "x"}]) as server:
        ask(made(server.base_url, format="words"), "sync")
        assert server.requests[0].format == "text"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_fails_for_a_while_is_asked_again_as_often_as_was_set(way) -> None:
    with ModelServer(lambda _: Fault("500")) as server:
        assert ask(made(server.base_url, attempts=4), way).outcome == "server_error"
        assert len(server.requests) == 4


def test_an_account_without_money_is_told_so() -> None:
    refused = Fault("429", code="insufficient_quota")
    with ModelServer(lambda _: refused) as server:
        got = ask(made(server.base_url), "sync")
    assert got.outcome == "quota"
    assert "billing" in got.hint


def test_a_model_that_is_not_there_and_a_server_that_is_not_there() -> None:
    with ModelServer(lambda _: Fault("404")) as server:
        got = ask(made(server.base_url), "sync")
        assert type(got) is ConfigurationError
        assert f"m at {server.base_url}" in str(got)
    with ModelServer.refused() as url:
        assert ask(made(url, attempts=1), "sync").outcome == "unreachable"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://h/v1", "hunter2\n"),
        ("http://h/v1", "höchstgeheim-hunter2"),
        ("127.0.0.1/v1", KEY),
        ("https://u:hunter2@[your-host]/v1", KEY),
        ("http://[::1/v1", KEY),
        ("http:///v1", KEY),
    ],
)
def test_a_key_and_an_address_that_cannot_be_sent_are_refused_at_once(url, key) -> None:
    with pytest.raises(ConfigurationError, match=r"m at .*") as caught:
        OpenAIModel("m", base_url=url, api_key=key)
    assert "hunter2" not in str(caught.value)


def test_what_a_client_of_your_own_cannot_send_is_no_failure_of_the_model() -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="sk-höchst", max_retries=0)
    assert type(ask(OpenAIModel("m", client=client), "sync")) is ConfigurationError


def test_credentials_in_an_address_are_not_shown() -> None:
    with ModelServer.refused() as url:
        got = ask(made(url.replace("//", "//ann:hunter2@"), attempts=1), "sync")
    assert "hunter2" not in str(got)


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI"])
def test_clients_of_your_own_are_used_with_the_models_attempts(kind) -> None:
    with ModelServer([Fault("500"), {"a": "x"}] * 2) as server:
        client = getattr(openai, kind)(base_url=server.base_url, api_key=KEY, max_retries=0)
        model = OpenAIModel("m", client=client)
        assert ask(model, "async").text == '{"a": "x"}'
        got = ask(model, "sync")
        assert len(server.requests) == (4 if kind == "OpenAI" else 2)
    if kind == "OpenAI":
        assert got.text == '{"a": "x"}'
    else:
        assert isinstance(got, ConfigurationError)


def test_parts_of_a_message_that_hold_reasoning_are_no_answer() -> None:
    parts = [{"type": "thinking", "text": "a draft"}, {"type": "text", "text": "the answer"}]
    body = {"choices": [{"finish_reason": "stop", "message": {"content": parts}}]}
    completions = SimpleNamespace(create=lambda **_: body)
    client = SimpleNamespace(chat=SimpleNamespace(completions=completions))
    client.with_options = lambda **_: client
    assert ask(OpenAIModel("m", client=client), "sync").text == "the answer"


def test_settings_that_contradict_are_refused() -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY)
    for wrong in ({"client": client, "base_url": "http://x/v1"}, {"timeout": 0}, {"format": "xml"}):
        with pytest.raises(ConfigurationError):
            OpenAIModel("m", **wrong)


@pytest.mark.parametrize("given", ["m", "openai:m"])
def test_without_a_key_and_an_address_no_model_is_made(monkeypatch, given) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="no key for m") as caught:
        MemoryMiddleware(given)
    assert "OPENAI_API_KEY" in caught.value.hint
    assert "base_url" in caught.value.hint
    with pytest.raises(ConfigurationError, match="no key for m"):
        OpenAIModel("m")
    OpenAIModel("m", api_key="k")
    OpenAIModel("m", base_url="http://127.0.0.1:9/v1")
    OpenAIModel("m", client=openai.OpenAI(api_key="k"))


def test_an_address_of_the_environment_needs_no_key(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ModelServer([{"a": "x"}]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert ask(OpenAIModel("m"), "sync").text == '{"a": "x"}'


def test_importing_the_package_imports_no_sdk() -> None:
    code = (
        "import sys, acc.models\n"
        "print([n for n in ('openai', 'langchain', 'langchain_core', 'httpx2') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

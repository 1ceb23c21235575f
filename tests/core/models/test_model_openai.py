"""OpenAIModel against a loopback server: faults, formats, waits, keys. Nothing sleeps."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import openai
import pytest

from acc.errors import AccError, AuthenticationError, CompressionError, ConfigurationError
from acc.models import Completion, OpenAIModel, Price, PromptMessage, Usage
from acc.testing.chat_api import Usage as Billed
from acc.testing.model_faults import FAULTS, Capabilities, Fault
from acc.testing.model_server import ModelServer, Reply

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
ASKED = [PromptMessage("system", "Be short."), PromptMessage("user", "Hi \ud83d")]
KEY = "hunter2-of-acme"


class Waiting:
    """Takes the place of sleeping, and of the clock."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 3, 4, tzinfo=UTC) + timedelta(seconds=sum(self.waits))

    def seconds(self) -> float:
        return sum(self.waits)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def asleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def made(url: str, waiting: Waiting | None = None, **settings) -> OpenAIModel:
    waiting = waiting or Waiting()
    about = {"clock": waiting, "sleep": waiting.sleep, "asleep": waiting.asleep, "timeout": 20}
    return OpenAIModel("m", base_url=url, api_key=KEY, **(about | settings))


def ask(model: OpenAIModel, way: str, schema=SCHEMA, **more) -> Completion | Exception:
    try:
        if way == "async":
            return asyncio.run(model.acomplete(ASKED, schema, **more))
        return model.complete(ASKED, schema, **more)
    except Exception as error:
        return error


SEEN = {
    "400": "bad_request", "401": AuthenticationError, "403": AuthenticationError,
    "404": ConfigurationError, "408": "timeout", "409": "conflict", "413": "too_large",
    "422": "bad_request", "429": "rate_limited", "500": "server_error", "502": "server_error",
    "503": "server_error", "504": "timeout", "context_overflow": "context_overflow",
    "html_error": "server_error", "html_page": "malformed_reply", "not_json": "malformed_reply",
    "bad_gzip": "malformed_reply", "no_response": "unreachable", "hang": "timeout",
    "refusal": "refusal", "content_filter": "content_filter", "truncated": Completion,
    "empty": "empty", "no_output": "empty", "invalid_json": Completion, "wrong_shape": Completion,
    "in_prose": Completion, "fenced": Completion, "failed": "server_error",
    "missing_usage": Completion, "null_usage": Completion, "delay": Completion,
    "slow_drip": Completion, "reset_mid_body": "unreachable", "content_length_long": "unreachable",
    "content_length_short": "malformed_reply",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_ends_in_an_answer_or_a_named_error(name: str) -> None:
    told = []
    for way in ("sync", "async"):
        needs = {"seconds": 0.001, "chunk": 64} if name in ("delay", "slow_drip") else {}
        fault = Fault(name, message=f"no {KEY} here" if name.isdigit() else "", **needs)
        with ModelServer([{"a": "x"}], repeats=True, faults=lambda _, f=fault: f) as server:
            got = ask(made(server.base_url, timeout=0.2 if name == "hang" else 20), way)
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
    reply = Reply({"a": "x"}, usage=Billed(100, 7, 50), fault=Fault("refusal"))
    with ModelServer([reply]) as server:
        got = ask(made(server.base_url), "sync")
    assert got.usage == {"requests": 1, "input": 100, "output": 7, "cached": 50}


def test_an_answer_has_its_usage_and_its_price() -> None:
    with ModelServer([Fault("429"), Reply({"a": "x"}, usage=Billed(1000, 10, 400))]) as server:
        model = made(server.base_url, price=Price(2, 8, 1))
        got = ask(model, "sync", max_tokens=50)
        assert [request.body.get("max_tokens") for request in server.requests] == [50, 50]
    assert got == Completion('{"a": "x"}', Usage(2, 1000, 10, 400), "m")
    assert got.usage + Usage(1, 1, 1, 1) == Usage(3, 1001, 11, 401)
    assert model.price.of(got.usage) == pytest.approx((600 * 2 + 400 * 1 + 10 * 8) / 1e6)
    with pytest.raises(ConfigurationError):
        Price(1, -1)


def test_an_answer_at_the_limit_is_cut_off_and_no_error() -> None:
    with ModelServer([{"a": "x" * 99}]) as server:
        got = ask(made(server.base_url), "sync", max_tokens=3)
    assert got.cut_off


LADDER = [
    (("json_schema", "json_object"), [("json_schema", True)]),
    (("json_object",), [("json_schema", True), ("json_schema", False), ("json_object", False)]),
    ((), [("json_schema", True), ("json_schema", False), ("json_object", False), ("text", False)]),
]


LITERAL = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]"
ONE_OF = 'response_format type must be one of "text" or "json_object", but got: json_schema'
REFUSALS = {
    "openai": Capabilities().refusal,
    "vllm": Fault("400", body={"object": "error", "message": LITERAL, "code": 400}),
    "ollama": Fault("400", message='invalid format: "json_schema"; expected "json" or a schema'),
    "llama.cpp": Fault("400", body={"error": {"message": ONE_OF, "code": 400}}),
    "ik_llama.cpp": Fault("500", body={"error": {"message": ONE_OF, "code": 500}}),
    "lm_studio": Fault("400", body={"error": "'response_format.type' must be 'json_schema'"}),
}
"""How servers refuse a format, each in a form and in words of its own."""


@pytest.mark.parametrize("server_like", REFUSALS)
@pytest.mark.parametrize(("formats", "asked"), LADDER)
def test_the_format_goes_down_and_is_remembered(server_like, formats, asked) -> None:
    for way in ("sync", "async"):
        can = Capabilities(formats=formats, refusal=REFUSALS[server_like])
        with ModelServer([{"a": "x"}], repeats=True, capabilities=can) as server:
            model = made(server.base_url)
            got = ask(model, way)
            assert got.usage.requests == len(asked)
            assert ask(model, way).usage.requests == 1
            seen = [(request.format, request.strict) for request in server.requests]
            system = server.requests[-1].messages[0].text
        assert seen == [*asked, asked[-1]]
        assert ('the fields "a"' in system) == (asked[-1][0] in ("json_object", "text"))
        assert system.startswith("Be short.")


def test_a_format_that_worked_stays_at_a_bad_request_about_something_else() -> None:
    with ModelServer([{"a": "x"}, Fault("400"), {"a": "y"}]) as server:
        model = made(server.base_url)
        ask(model, "sync")
        assert ask(model, "sync").outcome == "bad_request"
        ask(model, "sync")
        assert [request.strict for request in server.requests] == [True] * 3


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
        ask(made(server.base_url, format="json_object"), "sync")
        assert server.requests[0].format == "json_object"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ({"retry-after": "7"}, [7.0]),
        ({"retry-after-ms": "1500"}, [1.5]),
        ({"retry-after": "Wed, 04 Mar 2026 00:00:09 GMT"}, [9.0]),
        ({"retry-after": "500"}, []),
        ({"retry-after": "inf"}, []),
    ],
)
def test_the_wait_that_the_endpoint_asks_for_is_kept(way, asked, waits) -> None:
    waiting = Waiting()
    with ModelServer([Fault("429", headers=asked), {"a": "x"}]) as server:
        got = ask(made(server.base_url, waiting), way)
    assert waiting.waits == waits
    assert isinstance(got, Completion) == bool(waits)


@pytest.mark.parametrize("asked", ["nan", "soon", "-5"])
def test_a_wait_that_is_none_is_not_kept(asked) -> None:
    waiting = Waiting()
    with ModelServer([Fault("503", headers={"retry-after": asked}), {"a": "x"}]) as server:
        assert isinstance(ask(made(server.base_url, waiting), "sync"), Completion)
    assert 0 <= waiting.waits[0] <= 8


def test_waits_grow_and_end_at_the_deadline() -> None:
    waiting = Waiting()
    with ModelServer(faults=lambda _: Fault("500")) as server:
        model = made(server.base_url, waiting, attempts=99, deadline=30)
        assert ask(model, "sync").outcome == "server_error"
    assert sum(waiting.waits) < 30
    assert 0.5 <= waiting.waits[0] <= 1 <= waiting.waits[1] <= 2 <= waiting.waits[2] <= 4
    assert max(waiting.waits) <= 8


def test_an_account_without_money_is_not_asked_again() -> None:
    with ModelServer([Fault("429", code="insufficient_quota")]) as server:
        got = ask(made(server.base_url), "sync")
        assert len(server.requests) == 1
    assert got.outcome == "quota"
    assert "billing" in got.hint


def test_a_model_that_is_not_there_and_a_server_that_is_not_there() -> None:
    with ModelServer([], capabilities=Capabilities(models=("other",))) as server:
        got = ask(made(server.base_url), "sync")
        assert type(got) is ConfigurationError
        assert f"m at {server.base_url}" in str(got)
    with ModelServer.refused() as url:
        assert ask(made(url), "sync").outcome == "unreachable"
    assert type(ask(made("127.0.0.1/v1"), "sync")) is ConfigurationError


@pytest.mark.parametrize("key", ["hunter2\n", "höchstgeheim-hunter2"])
def test_a_key_that_cannot_be_sent_is_not_shown(key) -> None:
    for way in ("sync", "async"):
        with ModelServer([]) as server:
            got = ask(OpenAIModel("m", base_url=server.base_url, api_key=key, attempts=1), way)
        assert type(got) is ConfigurationError
        assert "hunter2" not in str(got)


def test_credentials_in_an_address_are_not_shown() -> None:
    with ModelServer.refused() as url:
        got = ask(made(url.replace("//", "//ann:hunter2@")), "sync")
    assert "hunter2" not in str(got)


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI"])
def test_clients_of_your_own_are_used_without_their_retries(kind) -> None:
    with ModelServer([Fault("500"), {"a": "x"}] * 2) as server:
        client = getattr(openai, kind)(base_url=server.base_url, api_key=KEY)
        waiting = Waiting()
        model = OpenAIModel("m", client=client, sleep=waiting.sleep, asleep=waiting.asleep)
        assert ask(model, "async").usage.requests == 2
        assert len(waiting.waits) == 1
        got = ask(model, "sync")
    if kind == "OpenAI":
        assert got.usage.requests == 2
    else:
        assert isinstance(got, ConfigurationError)


def test_settings_that_contradict_are_refused() -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY)
    for wrong in ({"client": client, "base_url": "http://x/v1"}, {"timeout": 0}, {"format": "xml"}):
        with pytest.raises(ConfigurationError):
            OpenAIModel("m", **wrong)


def test_no_key_and_no_address_is_a_configuration_error(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    got = ask(OpenAIModel("m"), "sync")
    assert type(got) is ConfigurationError
    assert "OPENAI_API_KEY" in got.hint


def test_importing_the_package_imports_no_sdk() -> None:
    code = (
        "import sys, acc.models\n"
        "print([n for n in ('openai', 'langchain', 'langchain_core', 'httpx2') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

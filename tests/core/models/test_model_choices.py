"""LangChain chat models, the choice of a model, and records."""

import json
from threading import Thread

import openai
import pytest
from helpers_models import answered
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from acc.errors import AuthenticationError, CompressionError, ConfigurationError, InputError
from acc.models import (
    Completion,
    LangChainModel,
    OpenAIModel,
    PromptMessage,
    RecordedModel,
    RecordingModel,
    Usage,
    as_model,
)
from acc.testing import Fault, ModelServer
from acc.testing.chat_model import ScriptedChatModel

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
ASKED = [PromptMessage("user", "Hi")]


def takes_no_schema(request):
    return {"a": "x"} if request.format == "text" else Fault("400")


def ask(model, way="sync", schema=SCHEMA, messages=ASKED, **more):
    return answered(model, messages, schema, way, **more)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_langchain_model_is_asked_for_json_in_words(way) -> None:
    usage = {
        "input_tokens": 9, "output_tokens": 2, "total_tokens": 11,
        "input_token_details": {"cache_read": 4},
    }  # fmt: skip
    about = {"model_name": "claude-x", "finish_reason": "stop"}
    said = AIMessage('{"a": "x"}', usage_metadata=usage, response_metadata=about)
    chat = ScriptedChatModel(script=[said])
    model = LangChainModel(chat)
    assert ask(model, way) == Completion('{"a": "x"}', Usage(1, 9, 2, 4), "claude-x")
    assert chat.prompts[0][0].type == "system"
    assert 'the fields "a"' in chat.prompts[0][0].text


class StatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("it failed with key sk-abcdefgh123")
        self.status_code = status


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (StatusError(401), AuthenticationError),
        (StatusError(404), ConfigurationError),
        (StatusError(429), "rate_limited"),
        (StatusError(500), "server_error"),
        (StatusError(400), "bad_request"),
        (ModelRateLimitError("slow down"), "rate_limited"),
        (TimeoutError("late"), "timeout"),
        (ConnectionResetError("gone"), "unreachable"),
        (KeyError("odd"), "error"),
    ],
)
def test_errors_of_any_provider_are_named(way, error, seen) -> None:
    got = ask(LangChainModel(ScriptedChatModel(script=[error])), way)
    assert type(got.__cause__) is type(error)  # a thread may hand a copy on
    assert "sk-abcdefgh" not in str(got)
    assert got.outcome == seen if isinstance(seen, str) else type(got) is seen


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_openai_chat_model_gets_the_schema_and_goes_down(way) -> None:
    with ModelServer(takes_no_schema) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key="k", max_retries=0)
        model = LangChainModel(chat)
        assert ask(model, way).usage.requests == 2
        assert ask(model, "sync", max_tokens=1).cut_off
        assert [r.format for r in server.requests] == ["json_schema", "text", "text"]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("truncated", None), ("refusal", "refusal"), ("content_filter", "content_filter"),
     ("empty", "empty"), ("429", "rate_limited"), ("no_response", "unreachable")],
)  # fmt: skip
def test_an_openai_chat_model_fails_as_the_sdk_does(way, fault, outcome) -> None:
    with ModelServer(lambda _: Fault(fault)) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key="k", max_retries=0)
        got = ask(LangChainModel(chat), way)
    assert got.cut_off if outcome is None else got.outcome == outcome


def test_each_form_of_a_model(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    named = {
        "gpt-x": "gpt-x at https://api.openai.com/v1",
        "openai:gpt-x": "gpt-x at https://api.openai.com/v1",
        "llama3:8b@http://h:1/v1": "llama3:8b at http://h:1/v1",
        "openai:org/m@https://h/v1": "org/m at https://h/v1",
    }
    for given, where in named.items():
        model = as_model(given)
        assert isinstance(model, OpenAIModel)
        assert model.where == where
    client = openai.AsyncOpenAI(base_url="http://h:1/v1", api_key="k")
    assert as_model((client, "m")).where == "m at http://h:1/v1"
    assert as_model(model) is model
    assert as_model(FakeListChatModel(responses=["x"])).name == "FakeListChatModel"
    bound = FakeListChatModel(responses=["x"]).with_retry().with_config(tags=["t"])
    assert ask(as_model(bound), schema=None).text == "x"


@pytest.mark.parametrize(
    "given",
    ["", None, 5, "nobody:m", "llama3:8b", (None, "m"), openai.OpenAI(api_key="k"), ("m", "n")],
    ids=lambda given: (
        type(given).__name__ + str(given)[:9] if isinstance(given, str) else type(given).__name__
    ),
)
def test_what_is_no_model_is_refused_with_the_fix(given) -> None:
    with pytest.raises(ConfigurationError, match="openai:"):
        as_model(given)


class Scripted:
    """A `ChatModel` with a list of answers."""

    name = "scripted"

    def __init__(self, *answers) -> None:
        self.answers = list(answers)

    def complete(self, messages, schema, *, max_tokens=None):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def acomplete(self, messages, schema, *, max_tokens=None):
        return self.complete(messages, schema)


ANSWERS = (
    Completion('{"a": "ä"}', Usage(1, 2, 3, 1), "m"),
    CompressionError("it refused", hint="ask again", outcome="refusal", usage={"input": 2}),
    Completion("cut", Usage(2, 2, 3), "m", cut_off=True),
)


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_record_answers_as_the_model_did(tmp_path, way) -> None:
    model = RecordingModel(Scripted(*ANSWERS), tmp_path / "r.jsonl")
    asked = [[PromptMessage("user", str(n))] for n in range(3)]
    said = [ask(model, way, messages=each) for each in asked]
    assert said == list(ANSWERS)
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert len({line["messages"] for line in lines}) == 3
    replay = RecordedModel(tmp_path / "r.jsonl")
    assert replay.name == "m"
    first, failed, last = (ask(replay, way, messages=each) for each in asked)
    assert (first, last) == (ANSWERS[0], ANSWERS[2])
    assert (failed.what, failed.outcome, failed.usage) == ("it refused", "refusal", {"input": 2})
    assert isinstance(ask(replay, way), ConfigurationError)


def test_a_file_that_is_no_record_is_refused(tmp_path) -> None:
    (tmp_path / "r.jsonl").write_text('{"messages": 1}\n')
    for name in ("r.jsonl", "none.jsonl"):
        with pytest.raises(InputError):
            RecordedModel(tmp_path / name)


def test_threads_record_whole_lines_and_share_what_is_learned(tmp_path) -> None:
    with ModelServer(takes_no_schema) as server:
        inner = OpenAIModel("m", base_url=server.base_url, api_key="k")
        model = RecordingModel(inner, tmp_path / "r.jsonl")
        threads = [Thread(target=ask, args=(model,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ask(model).usage.requests == 1
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 9

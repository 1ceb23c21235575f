"""Endpoints that can do less: what they refuse, in whose words, and what they ignore."""

from __future__ import annotations

import json
from typing import Any, get_args

import openai
import pytest
from helpers_testing import PLAN, WAYS, How, ask, format_arguments, text_of

from acc.testing import Capabilities, ModelServer
from acc.testing.model_api import FORMATS, Format
from acc.testing.model_faults import Style

STYLES: tuple[Style, ...] = get_args(Style)
LADDER: tuple[Format, ...] = ("json_schema", "tool", "json_object")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("known", FORMATS)
def test_a_format_that_is_not_known_is_refused_and_the_others_are_not(
    how: How, known: Format
) -> None:
    with ModelServer([PLAN], capabilities=Capabilities(formats=(known,)), repeats=True) as server:
        for format_ in FORMATS:
            if format_ in (known, "text"):
                assert ask(how, server.base_url, **format_arguments(how, format_)).usage
                continue
            with pytest.raises(openai.BadRequestError, match="Error code: 400"):
                ask(how, server.base_url, **format_arguments(how, format_))


EXPECTED: dict[Style, tuple[type[openai.APIStatusError], str]] = {
    "openai": (openai.BadRequestError, "not supported with this model"),
    "vllm": (openai.BadRequestError, "literal_error|--enable-auto-tool-choice"),
    "ollama": (openai.BadRequestError, "invalid format|does not support tools"),
    "llama.cpp": (openai.BadRequestError, "response_format type must be|Unsupported param"),
    "ik_llama.cpp": (openai.InternalServerError, "response_format type must be|Unsupported param"),
    "lm_studio": (openai.BadRequestError, "must be 'json_schema'|does not support tools"),
}


@pytest.mark.parametrize("how", ["chat", "async responses"])
@pytest.mark.parametrize("style", STYLES)
def test_each_dialect_refuses_in_its_own_words(how: How, style: Style) -> None:
    kind, words = EXPECTED[style]
    with ModelServer(capabilities=Capabilities(formats=("text",), style=style)) as server:
        for format_ in LADDER:
            with pytest.raises(kind) as caught:
                ask(how, server.base_url, **format_arguments(how, format_))
            said = json.dumps(caught.value.body)
            assert any(word in said for word in words.split("|"))
            assert caught.value.code in (None, "400", "500")  # none says that it is the format


def test_every_dialect_differs() -> None:
    def body(style: Style) -> Any:
        with ModelServer(capabilities=Capabilities(formats=(), style=style)) as server:
            with pytest.raises(openai.APIStatusError) as caught:
                ask("chat", server.base_url, **format_arguments("chat", "json_schema"))
            return caught.value.status_code, caught.value.response.text

    assert len({body(style) for style in STYLES}) == len(STYLES)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("format_", LADDER)
def test_a_format_can_be_ignored_in_silence(how: How, format_: Format) -> None:
    can = Capabilities(formats=("text",), unsupported="ignore")
    with ModelServer(["I would ship it."], capabilities=can) as server:
        answer = ask(how, server.base_url, **format_arguments(how, format_))
        assert text_of(answer) == "I would ship it."
        assert server.requests[0].format == format_


@pytest.mark.parametrize("how", WAYS)
def test_an_api_can_be_missing(how: How) -> None:
    chat = how.endswith("chat")
    can = Capabilities(apis=("responses",) if chat else ("chat",))
    with ModelServer(["ok"], capabilities=can) as server:
        with pytest.raises(openai.NotFoundError) as caught:
            ask(how, server.base_url)
        assert caught.value.code is None
        assert text_of(ask("responses" if chat else "chat", server.base_url)) == "ok"


@pytest.mark.parametrize("how", WAYS)
def test_models_and_keys_can_be_unknown(how: How) -> None:
    can = Capabilities(models=("small", "large"), api_key="right")
    with ModelServer(["ok"], capabilities=can) as server:
        with pytest.raises(openai.AuthenticationError) as wrong:
            ask(how, server.base_url, model="small", key="wrong")
        assert wrong.value.code == "invalid_api_key"
        with pytest.raises(openai.NotFoundError) as unknown:
            ask(how, server.base_url, model="huge", key="right")
        assert unknown.value.code == "model_not_found"
        assert text_of(ask(how, server.base_url, model="small", key="right")) == "ok"


def test_known_models_are_listed_to_whoever_has_the_key() -> None:
    can = Capabilities(models=("a", "b"), api_key="right")
    with ModelServer(capabilities=can) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="right")
        assert [model.id for model in client.models.list()] == ["a", "b"]
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="wrong").models.list()
        client.close()


OVERFLOW: dict[Style, tuple[type[openai.APIStatusError], str | None, str]] = {
    "openai": (openai.BadRequestError, "context_length_exceeded", "maximum context length"),
    "vllm": (openai.BadRequestError, "400", "maximum context length"),
    "llama.cpp": (openai.BadRequestError, "400", '"n_ctx": 100'),
    "ik_llama.cpp": (openai.InternalServerError, "500", "exceed_context_size_error"),
    "lm_studio": (openai.BadRequestError, None, "greater than the context length"),
}


@pytest.mark.parametrize("style", OVERFLOW)
def test_each_dialect_says_that_a_prompt_is_too_long(style: Style) -> None:
    kind, code, words = OVERFLOW[style]
    with ModelServer(capabilities=Capabilities(context_tokens=100, style=style)) as server:
        with pytest.raises(kind) as caught:
            ask("chat", server.base_url, user="x" * 400)
        assert caught.value.code == code
        assert words in caught.value.response.text


def test_one_dialect_drops_what_is_too_long_and_says_nothing() -> None:
    can = Capabilities(context_tokens=100, style="ollama")
    with ModelServer(["ok"], capabilities=can) as server:
        assert text_of(ask("chat", server.base_url, user="x" * 400)) == "ok"


@pytest.mark.parametrize("how", WAYS)
def test_a_prompt_longer_than_the_context_overflows(how: How) -> None:
    with ModelServer(["ok"], capabilities=Capabilities(context_tokens=100)) as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(how, server.base_url, user="x" * 400)
        assert caught.value.code == "context_length_exceeded"
        assert text_of(ask(how, server.base_url, user="x" * 300)) == "ok"
        long, short = server.requests
        assert long.input_tokens > 100 >= short.input_tokens


def test_models_are_listed() -> None:
    with ModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        assert [model.id for model in client.models.list()] == ["test-model"]
        assert server.requests[0].api == "models"


def test_what_is_no_api_is_not_found_and_what_is_no_request_is_said() -> None:
    with ModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="m", input="x")
        for body in ({"messages": "no list"}, {"messages": [1]}, {"tool_choice": "required"}):
            with pytest.raises(openai.BadRequestError, match="could not parse") as caught:
                client.post("/chat/completions", body=body, cast_to=object)
            assert caught.value.code is None
        with pytest.raises(openai.BadRequestError, match="stream"):
            client.chat.completions.create(model="m", messages=[], stream=True)
        assert [request.api for request in server.requests] == [
            "other",
            "chat",
            "chat",
            "chat",
            "chat",
        ]

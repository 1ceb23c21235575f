"""Asking a model for words: what is read of its answer, and what is said where none comes."""

from __future__ import annotations

from typing import Any

import pytest
from live_runs import ONCE

from acc.compress.asking import TEXT_SCHEMA, asked, asked_text, endpoint_named, object_in, text_in
from acc.compress.endpoint import Ask, Message, Reply
from acc.errors import ConfigurationError, EvaluationError
from acc.testing import Capabilities, Fault, ModelServer

ASK = Ask((Message("system", "be brief"), Message("user", "hello")), TEXT_SCHEMA, 50)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('{"text": " hi there "}', "hi there"),
        ('Sure: ```json\n{"text": "hi"}\n```', "hi"),
        ("plain words", "plain words"),
        ('{"text": "cut \\"off\\" he', 'cut "off" he'),
        ('{"text": "line\\nnext \\u00e9 \\u00', "line\nnext é"),
        ('{"text": "ends with \\', "ends with"),
        ('{"words": "hi"}', '{"words": "hi"}'),
        ("", ""),
    ],
)
def test_the_words_of_an_answer(said: str, text: str) -> None:
    assert text_in(Reply(said, None)) == text


@pytest.mark.parametrize("rungs", [("json_schema",), ("json_object",), ("tool",), ("text",)])
def test_an_endpoint_is_asked_as_far_as_it_can_be_held(rungs: tuple[Any, ...]) -> None:
    with ModelServer([{"text": "hello"}], capabilities=Capabilities(formats=rungs)) as server:
        endpoint = endpoint_named(f"model-{rungs[0]}@{server.base_url}")
        assert asked_text(endpoint, "be brief", "hi", limit=50) == "hello"
        assert server.requests[-1].format == rungs[0]


def test_no_answer_is_an_error_that_names_the_model() -> None:
    with ModelServer([Fault("500")]) as server:
        endpoint = endpoint_named(f"openai:m@{server.base_url}")
        with pytest.raises(EvaluationError, match=r"does not answer: server_error.*\(m\)"):
            asked(endpoint, ASK, ONCE)


def test_a_wrong_key_is_a_configuration_error() -> None:
    with ModelServer([Fault("401")]) as server, pytest.raises(ConfigurationError):
        asked(endpoint_named(f"m@{server.base_url}"), ASK, ONCE)


def test_an_answer_without_an_object_is_an_error() -> None:
    for said in ("none", "[1]", '"text"'):
        with pytest.raises(EvaluationError, match="is not a JSON object"):
            object_in(Reply(said, None), TEXT_SCHEMA, "m")
    assert object_in(Reply('{"text": 1}', None), TEXT_SCHEMA, "m") == {"text": 1}

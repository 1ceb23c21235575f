"""Asking a model for words: what is read of its answer, and what is said where none comes."""

from __future__ import annotations

import pytest
from helpers_evaluation import Fault, Request, ScriptedModel

from acc.errors import EvaluationError
from acc.models.protocol import PromptMessage
from acc_eval.asking import TEXT_SCHEMA, asked, asked_text, object_in, text_in

ASK = (PromptMessage("system", "be brief"), PromptMessage("user", "hello"))


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
    assert text_in(said) == text


def test_a_model_is_asked_for_one_field() -> None:
    requests: list[Request] = []
    model = ScriptedModel("m", [{"text": "hello"}], requests)
    assert asked_text(model, "be brief", "hi", limit=50) == "hello"
    assert [m.content for m in requests[0].messages] == ["be brief", "hi"]
    assert requests[0].schema == TEXT_SCHEMA


def test_no_answer_is_an_error_that_names_the_model() -> None:
    model = ScriptedModel("m", [Fault()], [])
    with pytest.raises(EvaluationError, match=r"does not answer: server_error.*\(m\)"):
        asked(model, ASK, TEXT_SCHEMA, 50)


@pytest.mark.parametrize("outcome", ["refusal", "content_filter"])
def test_a_refusal_is_an_answer_without_words(outcome: str) -> None:
    assert asked(ScriptedModel("m", [Fault(outcome)], []), ASK, TEXT_SCHEMA, 50).text == ""


def test_an_answer_without_an_object_is_an_error() -> None:
    for said in ("none", "[1]", '"text"'):
        with pytest.raises(EvaluationError, match="is not a JSON object"):
            object_in(said, TEXT_SCHEMA, "m")
    assert object_in('{"text": 1}', TEXT_SCHEMA, "m") == {"text": 1}

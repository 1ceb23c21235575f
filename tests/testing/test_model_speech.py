"""Faults of what a model says, as the real SDK shows them: no error of create, and mostly one of parse."""

from __future__ import annotations

import json
from collections.abc import Callable

import openai
import pytest
from helpers_testing import (
    PLAN,
    WAYS,
    How,
    arguments_of,
    ask,
    bill_of,
    format_arguments,
    text_of,
)
from pydantic import ValidationError

from acc.testing import Fault, ModelServer
from acc.testing.model_faults import SPOKEN, FaultName

Seen = tuple[str, str]
"""Finish reason of chat completions, and status of responses."""

SPEAKS: dict[FaultName, tuple[Seen, Callable[[str], bool]]] = {
    "refusal": (("stop", "completed"), lambda text: not text),
    "content_filter": (("content_filter", "incomplete"), lambda text: not text),
    "truncated": (("length", "incomplete"), lambda text: json.dumps(PLAN)[:12] in text),
    "empty": (("stop", "completed"), lambda text: text == ""),
    "invalid_json": (("stop", "completed"), lambda text: text.endswith(",")),
    "wrong_shape": (("stop", "completed"), lambda text: "goal" not in json.loads(text)),
    "in_prose": (("stop", "completed"), lambda text: text.startswith("Sure!")),
    "fenced": (("stop", "completed"), lambda text: "```json\n{" in text),
    "missing_usage": (("stop", "completed"), lambda text: json.loads(text) == PLAN),
    "null_usage": (("stop", "completed"), lambda text: json.loads(text) == PLAN),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", SPEAKS)
def test_what_a_model_says_wrongly_is_no_error_of_create(how: How, name: FaultName) -> None:
    (finish, status), holds = SPEAKS[name]
    with ModelServer([PLAN], faults=[Fault(name)]) as server:
        answer = ask(how, server.base_url)
    assert holds(text_of(answer) or "")
    seen = answer.choices[0].finish_reason if "chat" in how else answer.status
    assert seen == (finish if "chat" in how else status)
    if name in ("missing_usage", "null_usage"):
        assert answer.usage is None
        assert ("usage" in answer.model_fields_set) == (name == "null_usage")
    else:
        assert bill_of(answer)[0] == server.requests[0].input_tokens > 0


@pytest.mark.parametrize("how", WAYS)
def test_a_refusal_is_in_its_own_field_and_billed(how: How) -> None:
    with ModelServer([PLAN], faults=[Fault("refusal")]) as server:
        answer = ask(how, server.base_url, parse=True)
    if "chat" in how:
        message = answer.choices[0].message
        assert (message.content, message.parsed) == (None, None)
        refusal = message.refusal
    else:
        (part,) = answer.output[0].content
        assert (part.type, answer.output_parsed) == ("refusal", None)
        refusal = part.refusal
    assert refusal.startswith("I'm sorry")
    assert bill_of(answer)[1] == 10


LOST = (ValidationError, ValidationError)
PARSE_RAISES: dict[FaultName, tuple[type[Exception] | None, type[Exception] | None]] = {
    "content_filter": (openai.ContentFilterFinishReasonError, ValidationError),
    "truncated": (openai.LengthFinishReasonError, ValidationError),
    "empty": (None, ValidationError),
    "no_output": (None, None),
    "invalid_json": LOST,
    "wrong_shape": LOST,
    "in_prose": LOST,
    "fenced": LOST,
    "failed": (TypeError, None),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", PARSE_RAISES)
def test_what_a_model_says_wrongly_is_no_plan_to_parse(how: How, name: FaultName) -> None:
    kind = PARSE_RAISES[name]["responses" in how]
    with ModelServer([PLAN], faults=[Fault(name)]) as server:
        if kind is not None:
            with pytest.raises(kind) as caught:
                ask(how, server.base_url, parse=True)
            assert type(caught.value) is kind
            return
        answer = ask(how, server.base_url, parse=True)
    if "responses" in how:
        assert answer.output_parsed is None
    else:
        assert not any(choice.message.parsed for choice in answer.choices)


@pytest.mark.parametrize("how", WAYS)
def test_no_output_is_none_at_all(how: How) -> None:
    with ModelServer([Fault("no_output")]) as server:
        answer = ask(how, server.base_url)
    assert (answer.choices if "chat" in how else answer.output) == []


@pytest.mark.parametrize("how", WAYS)
def test_an_error_may_come_with_status_200(how: How) -> None:
    with ModelServer([Fault("failed")]) as server:
        answer = ask(how, server.base_url)
    if "chat" in how:
        assert answer.choices is None
        assert answer.error["code"] == 502
    else:
        assert (answer.status, answer.error.code, answer.output) == ("failed", "server_error", [])


CALLED: dict[FaultName, Callable[[str], bool]] = {
    "truncated": lambda arguments: arguments == json.dumps(PLAN, ensure_ascii=False)[:23],
    "empty": lambda arguments: arguments == "",
    "invalid_json": lambda arguments: arguments.endswith(","),
    "wrong_shape": lambda arguments: "goal" not in json.loads(arguments),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", CALLED)
def test_the_arguments_of_a_call_go_wrong_too(how: How, name: FaultName) -> None:
    with ModelServer([PLAN], faults=[Fault(name)]) as server:
        answer = ask(how, server.base_url, **format_arguments(how, "tool"))
    called, arguments = arguments_of(answer)
    assert called == "plan"
    assert CALLED[name](arguments)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", ["refusal", "content_filter", "in_prose", "fenced", "no_output"])
def test_some_answers_come_instead_of_the_forced_call(how: How, name: FaultName) -> None:
    with ModelServer([PLAN], faults=[Fault(name)]) as server:
        answer = ask(how, server.base_url, **format_arguments(how, "tool"))
    if "chat" in how:
        assert not any(choice.message.tool_calls for choice in answer.choices)
    else:
        assert all(item.type == "message" for item in answer.output)


def test_every_spoken_fault_is_shown_above() -> None:
    assert {*SPEAKS, *PARSE_RAISES} == set(SPOKEN)

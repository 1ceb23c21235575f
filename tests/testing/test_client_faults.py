"""What goes wrong with a model never loses a turn: every fault of the scripted server, and every SDK's exceptions."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from acc.errors import AuthenticationError, CompressionError, ConfigurationError
from acc.models import OpenAIModel
from acc.models.asking import error_of, failure_of
from acc.models.protocol import Usage
from acc.state.policy import Cadence, Policy
from acc.step.update import update_state
from acc.testing import FAULTS, Fault, ModelServer, ScriptedCompressor
from acc.turn.turn import Turn

RULE = "Never restart nginx."
GOOD = {"rules": [{"quote": RULE, "ref": "u1"}]}
RAISED = {"401": AuthenticationError, "404": ConfigurationError}


def model_at(url: str, timeout: float = 20) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, api_key="none", attempts=1, timeout=timeout)


def stepped(model: Any, before: Any = None, said: str = RULE) -> Any:
    state, tail = (before.state, before.tail) if before else (None, ())
    return update_state(
        state,
        Turn.said(said),
        tail=tail,
        model=model,
        policy=Policy(cadence=Cadence(compress_over=0)),
    )


@pytest.mark.parametrize("name", FAULTS)
def test_after_each_fault_the_turn_is_in_the_state_or_still_in_the_tail(name: str) -> None:
    broken = [True]

    with ModelServer(lambda _: Fault(name) if broken[0] else GOOD) as server:
        model = model_at(server.base_url, 0.2 if name == "hang" else 20)
        if name in RAISED:
            with pytest.raises(RAISED[name]):
                stepped(model)
            return
        step = stepped(model)
        in_state = [rule.words.text for rule in step.state.constraints]
        in_tail = [m.text for m in step.tail if m.status == "unread"]
        assert RULE in (*in_state, *in_tail)
        assert bool(step.failure) == (RULE not in in_state)
        broken[0] = False
        model = model_at(server.base_url) if name == "hang" else model
        after = stepped(model, step, "Why is checkout slow?")
    assert [rule.words.text for rule in after.state.constraints] == [RULE]
    assert not after.failure
    assert after.usage.requests == 1


def test_an_answer_without_an_object_is_asked_for_again_on_the_same_format() -> None:
    with ModelServer(["no json at all", GOOD]) as server:
        step = stepped(model_at(server.base_url))
        formats = [request.format for request in server.requests]
    assert step.usage.requests == len(formats)
    assert set(formats) == {"json_schema"}
    rules = [rule.words.text for rule in step.state.constraints]
    assert rules == [RULE] or "unread" in {m.status for m in step.tail}


# --- what SDKs raise ----------------------------------------------------------------------


class ResponseError(Exception):
    """As Ollama's: a status, and no response."""

    def __init__(self, error: str, status_code: int) -> None:
        super().__init__(error)
        self.status_code = status_code


class ClientError(Exception):
    """As Google's: a code."""

    def __init__(self, message: str, **told: Any) -> None:
        super().__init__(message)
        self.__dict__.update(told)


def of_client(status: int) -> httpx2.HTTPStatusError:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    response = httpx2.Response(status, request=request)
    return httpx2.HTTPStatusError("refused", request=request, response=response)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ResponseError("llama-x does not support tools", 400), "bad_request"),
        (ResponseError("overloaded", 503), "server_error"),
        (ClientError("Resource exhausted", code=429), "rate_limited"),
        (of_client(429), "rate_limited"),
        (ClientError("Closed", code=1006), "error"),
        (ClientError("Odd", code="429", status_code=True, response=None), "error"),
        *((ClientError("?", code=status), "error") for status in (200, 399, 600, -1, 10**9)),
    ],
)
def test_a_status_is_found_wherever_an_sdk_keeps_it(error: Exception, outcome: str) -> None:
    assert failure_of(error)[0] == outcome
    assert isinstance(error_of(*failure_of(error), "m", Usage()), CompressionError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResponseError("unauthorized", 401), AuthenticationError),
        (ClientError("API key not valid", code=403), AuthenticationError),
        (ResponseError("model 'llama-x' not found", 404), ConfigurationError),
    ],
)
def test_what_can_never_work_is_an_error_with_the_fix(error: Exception, kind: type) -> None:
    found = error_of(*failure_of(error), "m at 127.0.0.1", Usage())
    assert isinstance(found, kind)
    assert found.hint


def test_an_error_that_wraps_an_sdks_is_read_through() -> None:
    wrapped = ValueError("the chat model failed")
    wrapped.__cause__ = of_client(503)
    assert failure_of(wrapped)[0] == "server_error"


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed", "output_parse_failed"])
def test_a_report_of_one_bad_answer_is_no_refusal_of_the_format(code: str) -> None:
    bad = Fault("400", code=code, message="Failed to validate JSON. Please adjust your prompt.")
    with ModelServer([bad, GOOD]) as server:
        model = model_at(server.base_url)
        step = stepped(model)
        assert step.failure.startswith("invalid_json")
        step = stepped(model, step, "Why?")
        assert {request.format for request in server.requests} == {"json_schema"}
    assert [rule.words.text for rule in step.state.constraints] == [RULE]


# --- the scripted compressor --------------------------------------------------------------


def test_a_scripted_compressor_proposes_its_lines_in_turn() -> None:
    script = [GOOD, TimeoutError("slow"), lambda reading: {"facts": [f"turn: {reading.number}"]}]
    compressor = ScriptedCompressor(script)
    step: Any = None
    failures = []
    for said in (RULE, "Why?", "And now?", "The end."):
        state, tail = (step.state, step.tail) if step else (None, ())
        step = update_state(state, Turn.said(said), tail=tail, model=compressor)
        failures.append(step.failure.partition(":")[0])
    assert failures == ["", "raised", "", "raised"], "the script has three lines"
    assert [rule.words.text for rule in step.state.constraints] == [RULE]
    assert [fact.text for fact in step.state.relational_map] == ["turn: 3"]
    assert [m.text for m in compressor.readings[2].messages if m.status == "unread"] == [
        "Why?", "And now?",
    ]  # fmt: skip

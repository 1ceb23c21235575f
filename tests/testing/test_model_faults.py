"""Every fault, as the real SDK shows it: both APIs, sync and async, create and parse."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx2
import openai
import pytest
from helpers_testing import (
    IMPATIENT,
    PLAN,
    WAYS,
    How,
    ask,
    text_of,
)

from acc.testing import FAULTS, Capabilities, Fault, ModelServer, Reply, Request
from acc.testing.model_faults import (
    INSTEAD,
    SENDING,
    SPOKEN,
    STATUSES,
    FaultName,
    StatusFault,
)

STATUS_ERRORS: dict[StatusFault, tuple[type[openai.APIStatusError], str | None]] = {
    "400": (openai.BadRequestError, "invalid_value"),
    "401": (openai.AuthenticationError, "invalid_api_key"),
    "403": (openai.PermissionDeniedError, "unsupported_country_region_territory"),
    "404": (openai.NotFoundError, "model_not_found"),
    "408": (openai.APIStatusError, None),
    "409": (openai.ConflictError, None),
    "413": (openai.APIStatusError, None),
    "422": (openai.UnprocessableEntityError, None),
    "429": (openai.RateLimitError, "rate_limit_exceeded"),
    "500": (openai.InternalServerError, None),
    "502": (openai.InternalServerError, None),
    "503": (openai.InternalServerError, None),
    "504": (openai.InternalServerError, None),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", STATUSES)
def test_a_status_is_the_sdk_s_error_of_that_status(how: How, name: StatusFault) -> None:
    kind, code = STATUS_ERRORS[name]
    with ModelServer(["ok"], faults=[Fault(name)]) as server:
        with pytest.raises(kind) as caught:
            ask(how, server.base_url)
        assert type(caught.value) is kind
        assert (caught.value.status_code, caught.value.code) == (int(name), code)
        assert caught.value.request_id == "req_1"
        assert server.unused == 1  # the model was never reached


def test_code_message_and_headers_are_as_told() -> None:
    fault = Fault(
        "429", code="insufficient_quota", message="Pay.", headers={"x-should-retry": "false"}
    )
    with ModelServer(["ok"], faults=[fault]) as server:
        with pytest.raises(openai.RateLimitError, match=r"Pay\.") as caught:
            ask("chat", server.base_url, retries=2)
        assert caught.value.code == "insufficient_quota"
        assert len(server.requests) == 1


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("parse", [False, True])
def test_an_overflow_has_the_code_that_clients_look_for(how: How, parse: bool) -> None:
    with ModelServer([Fault("context_overflow")]) as server:
        with pytest.raises(openai.BadRequestError, match="maximum context length") as caught:
            ask(how, server.base_url, parse=parse)
        assert caught.value.code == "context_length_exceeded"


CONNECTION = openai.APIConnectionError
NO_RESULT: dict[FaultName, tuple[type[Exception], type[Exception] | None]] = {
    "html_error": (openai.InternalServerError, None),
    "not_json": (json.JSONDecodeError, None),  # it is no OpenAIError
    "bad_gzip": (CONNECTION, httpx2.DecodingError),
    "no_response": (CONNECTION, httpx2.RemoteProtocolError),
    "hang": (openai.APITimeoutError, httpx2.ReadTimeout),
    "reset_mid_body": (CONNECTION, httpx2.ReadError),
    "content_length_long": (CONNECTION, httpx2.RemoteProtocolError),
    "content_length_short": (json.JSONDecodeError, None),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("parse", [False, True])
@pytest.mark.parametrize("name", NO_RESULT)
def test_a_broken_response_is_an_error(how: How, parse: bool, name: FaultName) -> None:
    kind, cause = NO_RESULT[name]
    with ModelServer([PLAN, PLAN], faults=[Fault(name)]) as server:
        with pytest.raises(kind) as caught:
            ask(how, server.base_url, parse=parse, timeout=IMPATIENT if name == "hang" else 10)
        assert type(caught.value) is kind
        assert isinstance(caught.value.__cause__, cause or type(None))
        assert json.loads(text_of(ask(how, server.base_url))) == PLAN  # it goes on
        assert server.unused == (1 if name in INSTEAD else 0)


@pytest.mark.parametrize("how", WAYS)
def test_a_page_in_place_of_the_api_is_a_text_to_the_sdk(how: How) -> None:
    with ModelServer(faults=[Fault("html_page")]) as server:
        answer = ask(how, server.base_url)
    assert isinstance(answer, str)
    assert "<html>" in answer


def test_a_gateway_s_page_is_in_the_error() -> None:
    with ModelServer(faults=[Fault("html_error")]) as server:
        with pytest.raises(openai.InternalServerError) as caught:
            ask("chat", server.base_url)
        assert "502 Bad Gateway" in caught.value.response.text


@pytest.mark.parametrize("how", WAYS)
def test_a_delay_is_a_time_out_to_who_does_not_wait(how: How) -> None:
    slow = [Fault("delay", seconds=0.03), Fault("delay", seconds=600)]
    with ModelServer(["ok", "late"], faults=slow) as server:
        started = time.monotonic()
        assert text_of(ask(how, server.base_url)) == "ok"
        assert time.monotonic() - started >= 0.03
        with pytest.raises(openai.APITimeoutError):
            ask(how, server.base_url, timeout=IMPATIENT)


@pytest.mark.parametrize("how", ["chat", "async chat"])
def test_a_slow_drip_outlasts_the_sdk_s_time_out(how: How) -> None:
    drip = Fault("slow_drip", seconds=0.03, chunk=40)
    with ModelServer([PLAN], faults=[drip]) as server:
        started = time.monotonic()
        assert json.loads(text_of(ask(how, server.base_url, timeout=0.25))) == PLAN
        assert time.monotonic() - started > 0.25  # each read is in time, all of them are not


RETRY_AFTER = [
    (Fault("429", retry_after=2), "retry-after", "2"),
    (Fault("503", retry_after=0.25), "retry-after", "0.25"),
    (Fault("429", retry_after_ms=1500), "retry-after-ms", "1500"),
    (Fault("429", retry_after=1e12), "retry-after", "1000000000000"),
    (Fault("429", retry_after="1e400"), "retry-after", "1e400"),
    (Fault("429", retry_after="soon"), "retry-after", "soon"),
    (
        Fault("503", retry_after=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        "retry-after",
        "Fri, 02 Jan 2026 03:04:05 GMT",
    ),
    (
        Fault("503", retry_after=datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))),
        "retry-after",
        "Fri, 02 Jan 2026 01:00:00 GMT",
    ),
]


@pytest.mark.parametrize(("fault", "header", "value"), RETRY_AFTER)
def test_retry_after_in_each_of_its_forms(fault: Fault, header: str, value: str) -> None:
    with ModelServer([fault]) as server:
        with pytest.raises(openai.APIStatusError) as caught:
            ask("chat", server.base_url)
        assert caught.value.response.headers[header] == value


@pytest.mark.parametrize("how", WAYS)
def test_the_sdk_s_own_retries_go_through_a_sequence(how: How) -> None:
    faults = [Fault("429", retry_after_ms=1), Fault("503", retry_after_ms=1)]
    with ModelServer([PLAN], faults=faults) as server:
        assert json.loads(text_of(ask(how, server.base_url, retries=2))) == PLAN
        assert len(server.requests) == 3


def test_a_wait_of_days_is_not_waited_for() -> None:
    with ModelServer([Fault("429", retry_after=1e6)]) as server:
        with pytest.raises(openai.RateLimitError):
            ask("chat", server.base_url, retries=5)
        assert len(server.requests) == 1


def test_faults_may_follow_a_rule_and_stand_in_for_answers() -> None:
    def rule(request: Request) -> Fault | None:
        return Fault("503") if request.model == "flaky" else None

    answers: list[Any] = [Reply(PLAN, fault=Fault("fenced")), Fault("409"), "ok"]
    with ModelServer(answers, faults=rule) as server:
        with pytest.raises(openai.InternalServerError):
            ask("chat", server.base_url, model="flaky")
        assert "```json" in text_of(ask("chat", server.base_url))
        with pytest.raises(openai.ConflictError):
            ask("chat", server.base_url)
        assert text_of(ask("responses", server.base_url)) == "ok"


def test_what_is_turned_away_is_sent_badly_too() -> None:
    can = Capabilities(models=("known",))
    faults = [Fault("reset_mid_body"), Fault("empty", headers={"x-shed": "1"})]
    with ModelServer(faults=faults, capabilities=can) as server:
        with pytest.raises(openai.APIConnectionError):
            ask("chat", server.base_url)
        with pytest.raises(openai.NotFoundError) as caught:
            ask("chat", server.base_url)
        assert caught.value.response.headers["x-shed"] == "1"


def test_the_fault_of_a_request_comes_before_that_of_its_reply() -> None:
    with ModelServer([Reply(PLAN, fault=Fault("empty"))], faults=[Fault("in_prose")]) as server:
        assert text_of(ask("chat", server.base_url)).startswith("Sure!")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "418"}, "unknown fault '418'; the faults are 400"),
        ({"name": "delay"}, "needs seconds"),
        ({"name": "slow_drip"}, "needs seconds"),
        ({"name": "slow_drip", "seconds": 1, "chunk": 0}, "must be 1 or more"),
    ],
)
def test_a_fault_that_makes_no_sense_is_not_made(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Fault(**arguments)


def test_every_other_fault_is_shown_above() -> None:
    shown = {*STATUS_ERRORS, *NO_RESULT, "context_overflow", "html_page", "delay", "slow_drip"}
    assert shown == {*INSTEAD, *SENDING}
    assert len({*INSTEAD, *SPOKEN, *SENDING}) == len(FAULTS)

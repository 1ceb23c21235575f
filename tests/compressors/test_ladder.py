"""The capability ladder: servers that know less than OpenAI's are still held to the schema."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from asking import GOOD, asking, client_of, stepped

from acc.cli.doctor_endpoint import probe
from acc.compress.openai import OpenAIEndpoint
from acc.compress.openai_calls import RUNGS, OutputMode
from acc.errors import AuthenticationError
from acc.state.proposal import Outcome
from acc.testing import Capabilities, Fault, ModelServer, Request

STYLES = ("openai", "vllm", "ollama", "llama.cpp", "ik_llama.cpp", "lm_studio")
WAYS = ("sync chat", "sync responses", "async chat", "async responses")


def knowing(*formats: str, **more: Any) -> ModelServer:
    can = Capabilities(formats=formats, **more)  # type: ignore[arg-type]
    return ModelServer(lambda _: GOOD, capabilities=can)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("rung", RUNGS)
def test_the_first_rung_that_a_server_knows_is_found_and_remembered(
    rung: OutputMode, style: str
) -> None:
    with knowing(rung, style=style) as server:
        steps = [stepped(asking(server.base_url)) for _ in range(2)]
    asked = [request.format for request in server.requests]
    assert asked == [*RUNGS[: RUNGS.index(rung) + 1], rung]
    for step in steps:
        assert step.outcome == "ok"
        assert step.account is not None
        assert step.account.rung == rung
        assert len(step.state.constraints) == 1


@pytest.mark.parametrize("how", WAYS)
def test_the_ladder_is_climbed_down_in_every_way_of_asking(how: str) -> None:
    with knowing("text") as server:
        step = stepped(asking(server.base_url, how), how=how)
    assert [request.format for request in server.requests] == [*RUNGS]
    assert step.outcome == "ok"


def test_where_the_server_lacks_the_schema_it_stands_in_the_stable_part() -> None:
    with knowing("text") as server:
        stepped(asking(server.base_url))
    schema = server.requests[0].schema
    first = server.requests[-1].messages[0]
    assert first.role == "system"
    assert json.loads(first.text.rpartition("\n")[2]) == schema


@pytest.mark.parametrize("formats", [(), ("json_object",)])
def test_a_server_that_ignores_the_format_in_silence_works(formats: tuple[str, ...]) -> None:
    with knowing(*formats, unsupported="ignore") as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "ok"
    assert len(server.requests) == 1


def test_a_reply_that_does_not_fit_is_no_sign_of_a_missing_format() -> None:
    with ModelServer(["no json at all", GOOD]) as server:
        step = stepped(asking(server.base_url))
    assert [request.format for request in server.requests] == ["json_schema"] * 2
    assert step.outcome == "repaired"


def test_what_an_endpoint_has_proven_is_not_given_up_for_an_unclear_refusal() -> None:
    with ModelServer(lambda _: GOOD, faults=[None, Fault("400"), None]) as server:
        outcomes = [stepped(asking(server.base_url)).outcome for _ in range(3)]
    assert outcomes == ["ok", "bad_request", "ok"]
    assert [request.format for request in server.requests] == ["json_schema"] * 3


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("max_completion_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model."),
        ("max_tokens", "Unknown field: max_completion_tokens"),
    ],
)  # fmt: skip
def test_the_bound_of_the_answer_goes_by_the_name_that_the_server_takes(
    wanted: str, message: str
) -> None:
    def refuses(request: Request) -> Fault | None:
        return None if wanted in request.body else Fault("400", message=message)

    with ModelServer(lambda _: GOOD, faults=refuses) as server:
        OpenAIEndpoint("test-model", client=client(server)).known.limits = tuple(
            sorted(("max_tokens", "max_completion_tokens"), key=wanted.__eq__)
        )
        steps = [stepped(asking(server.base_url)) for _ in range(2)]
    assert [step.outcome for step in steps] == ["ok", "ok"]
    assert [wanted in request.body for request in server.requests] == [False, True, True]
    assert {request.format for request in server.requests} == {"json_schema"}


TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."


def refusing(message: str, *names: str, answer: Any = GOOD) -> ModelServer:
    """A server that refuses requests with any of these arguments."""

    def refuses(request: Request) -> Fault | None:
        is_refused = not request.body.keys().isdisjoint(names)
        return Fault("400", message=message) if is_refused else None

    return ModelServer(lambda _: answer, faults=refuses)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("message", "name", "sent"),
    [
        (TEMPERATURE, "temperature", {"temperature": 0, "top_p": 0.5}),
        ("`top_p` is not supported with this model.", "top_p", {"temperature": 0, "top_p": 0.5}),
    ],
)
def test_an_argument_of_sampling_that_the_model_refuses_is_left_out_and_told(
    message: str, name: str, sent: dict[str, Any], how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with refusing(message, name) as server:
        steps = [stepped(asking(server.base_url, how, request=sent), how=how) for _ in range(2)]
    assert [step.outcome for step in steps] == ["ok", "ok"]
    asked = [
        {key: request.body[key] for key in sent if key in request.body}
        for request in server.requests
    ]
    kept = {key: value for key, value in sent.items() if key != name}
    assert asked == [sent, kept, kept]
    assert {request.format for request in server.requests} == {"json_schema"}
    assert [record.name for record in caplog.records] == ["acc.compress.openai_calls"]
    assert f"arguments={name}" in caplog.text
    assert steps[0].account is not None
    assert steps[0].account.calls == ("bad_request", "ok")


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 2624. This model supports at most 1024 completion tokens.",
        "The maximum tokens you requested exceeds the model limit of 1024.",
        "Unrecognized request arguments: max_tokens, max_completion_tokens, max_output_tokens",
    ],
)
def test_a_model_that_refuses_any_bound_of_the_answer_is_asked_without(
    message: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with refusing(message, "max_tokens", "max_completion_tokens", "max_output_tokens") as server:
        steps = [stepped(asking(server.base_url, how), how=how) for _ in range(2)]
    assert [step.outcome for step in steps] == ["ok", "ok"]
    refusals = 1 if how.endswith("responses") else 2  # chat has two names for it
    assert len(server.requests) == refusals + 2
    assert {request.format for request in server.requests} == {"json_schema"}
    assert "requests go without" in caplog.text


def test_a_refusal_of_the_format_that_lists_what_is_supported_costs_no_argument() -> None:
    message = "Unknown argument response_format. Supported: messages, temperature, max_tokens."
    with refusing(message, "response_format") as server:
        step = stepped(asking(server.base_url, request={"temperature": 0}))
    assert step.outcome == "ok"
    assert [request.format for request in server.requests] == ["json_schema", "tool"]
    assert all("temperature" in request.body for request in server.requests)


def test_an_argument_that_an_endpoint_refuses_is_known_after_the_probe() -> None:
    with refusing("Unsupported parameter: max_tokens", "max_tokens", answer=BONJOUR) as server:
        endpoint = OpenAIEndpoint("test-model", client=client(server))
        found = probe(endpoint)
        probe(endpoint)
    assert found.rung is OutputMode.JSON_SCHEMA
    assert ["max_tokens" in request.body for request in server.requests] == [True, False, False]


def test_rungs_are_remembered_by_model_and_address() -> None:
    with knowing("tool") as one, knowing("json_schema") as other:
        for server in (one, other, one):
            stepped(asking(server.base_url))
    assert [request.format for request in one.requests] == ["json_schema", "tool", "tool"]
    assert [request.format for request in other.requests] == ["json_schema"]


# --- the probe ----------------------------------------------------------------------------


def client(server: ModelServer) -> openai.OpenAI:
    return client_of(server.base_url)


BONJOUR = {"greeting": "Bonjour", "letters": 7}


@pytest.mark.parametrize("rung", RUNGS)
def test_the_probe_tells_the_rung_in_words(rung: OutputMode) -> None:
    can = Capabilities(formats=(rung,))  # type: ignore[arg-type]
    with ModelServer(lambda _: BONJOUR, capabilities=can) as server:
        endpoint = OpenAIEndpoint("test-model", client=client(server))
        found = probe(endpoint)
    assert found.rung == rung
    assert [tried.rung for tried in found.tried] == [*RUNGS[: RUNGS.index(rung) + 1]]
    assert "test-model at http://127.0.0.1" in found.in_words
    assert endpoint.known.rung == rung
    assert found.usage["input"] > 0


def test_the_probe_sees_through_a_server_that_ignores_the_format() -> None:
    def told(request: Request) -> Any:
        in_prompt = "letters" in request.messages[0].text
        return BONJOUR if in_prompt else "Bonjour! It has seven letters."

    can = Capabilities(formats=("json_object",), unsupported="ignore")
    with ModelServer(told, capabilities=can) as server:
        found = probe(OpenAIEndpoint("test-model", client=client(server)))
    assert found.rung is OutputMode.JSON_OBJECT
    assert [t.outcome for t in found.tried] == [
        Outcome.WRONG_SHAPE,
        Outcome.WRONG_SHAPE,
        Outcome.OK,
    ]


def test_the_probe_tells_why_nothing_came() -> None:
    with ModelServer(lambda _: "I only chat.") as server:
        found = probe(OpenAIEndpoint("test-model", client=client(server)))
    assert found.rung is None
    assert "accepted and ignored" in found.in_words
    with ModelServer(faults=[Fault("503")]) as server:
        assert "server_error" in probe(OpenAIEndpoint("m", client=client(server))).in_words
    with ModelServer(faults=[Fault("401")]) as server, pytest.raises(AuthenticationError):
        probe(OpenAIEndpoint("m", client=client(server)))

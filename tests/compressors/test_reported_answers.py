"""An endpoint that reports one bad answer of the model as an error has refused no request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import GOOD, asking, client_of, retries, stepped

from acc.cli.doctor_endpoint import probe
from acc.compress.endpoint import CallFailed
from acc.compress.failures import Refused, failure_of, translated
from acc.compress.openai import OpenAIEndpoint
from acc.compress.openai_calls import OutputMode
from acc.state.proposal import Outcome
from acc.testing import Fault, ModelServer

ADJUST = "Please adjust your prompt. See 'failed_generation' for more details."
REPORTS: list[tuple[int, str, str]] = [
    (400, "json_validate_failed", f"Failed to generate JSON. {ADJUST}"),
    (400, "json_validate_failed", f"Failed to validate JSON. {ADJUST}"),
    (400, "tool_use_failed", f"Failed to call a function. {ADJUST}"),
    (400, "tool_use_failed", "tool call validation failed: parameters for tool propose_state did not match schema"),
    (400, "", "Tool choice is required, but model did not call a tool"),
    (400, "output_parse_failed", "Parsing failed. The model generated output that could not be parsed."),
    (400, "", "Generated JSON does not match the expected schema."),
    (400, "", "Model generated invalid JSON syntax and the output could not be parsed."),
    (400, "", 'GroqException - {"error": {"code": "json_validate_failed"}}'),
    (424, "", "Model produced invalid sequence as part of ToolUse."),
    (500, "", "The model produced invalid content. Consider modifying your prompt."),
    (500, "", "error parsing tool call: raw='{\"retire\": []}]', err=invalid character ']'"),
    (500, "", "Failed to parse input at pos 184: <tool_call>{context length}"),
    (500, "", "Failed to parse tool call arguments as JSON: parse error at line 1, column 131"),
    (400, "", "The model produced output that does not match the expected format"),
    (400, "400", 'unexpected tokens remaining in message header: Some("to=functions.x")'),
    (500, "", "HarmonyError('Unexpected token 12606 while expecting start token 200006')"),
    (400, "tool_use_failed", "tool call validation failed: the model 'gpt-x' was not found in request.tools"),
]  # fmt: skip
"""What endpoints say of a bad answer: status, code, message; from reports of their users."""

REFUSALS: list[tuple[int, str]] = [
    (400, "This model does not support response format `json_schema`."),
    (400, "This model's response_format is invalid: json_schema"),
    (400, "Invalid schema for response_format 'propose_state': 'type' is not permitted."),
    (400, "Failed to deserialize the JSON body into the target type: response_format.type"),
    (400, "Failed to parse the request body as JSON: tools: unknown variant"),
    (400, "Failed to validate JSON schema: unsupported keyword additionalProperties"),
    (400, "Failed to generate JSON schema grammar"),
    (400, "failed to parse grammar"),
    (500, "Failed to parse tools: missing function name"),
    (400, "Unsupported param: tools"),
    (400, "tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
    (500, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
    (422, "json_schema: Extra inputs are not permitted"),
]


def failure(status: int, code: str, message: str, generation: str = "") -> CallFailed:
    found = failure_of(Refused(status, code, message, {}, "m at 127.0.0.1", generation))
    assert isinstance(found, CallFailed)
    return found


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_of_a_bad_answer_is_one(report: tuple[int, str, str]) -> None:
    found = failure(*report)
    assert (found.outcome, found.retry) == (Outcome.INVALID_JSON, True)


@pytest.mark.parametrize(("status", "message"), REFUSALS)
def test_a_refusal_of_the_format_still_is_one(status: int, message: str) -> None:
    assert failure(status, "", message).outcome is Outcome.BAD_REQUEST


@pytest.mark.parametrize(
    "message",
    [
        "max completion tokens reached before generating a valid document",
        "Could not finish the message because max_tokens or model output limit was reached.",
    ],
)
def test_an_answer_that_its_bound_cut_off_is_truncated(message: str) -> None:
    assert failure(400, "json_validate_failed", message).outcome is Outcome.TRUNCATED
    with ModelServer(lambda _: GOOD, faults=[Fault("400", message=message)]) as server:
        step = stepped(asking(server.base_url))
    bounds = [request.body["max_tokens"] for request in server.requests]
    assert step.outcome == "repaired"
    assert bounds[1] == 2 * bounds[0]
    assert {request.format for request in server.requests} == {"json_schema"}


@pytest.mark.parametrize("how", ["sync chat", "async responses"])
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("report", REPORTS[:3] + REPORTS[11:13])
def test_the_same_request_is_made_again_on_the_same_rung(
    report: tuple[int, str, str], before: int, how: str
) -> None:
    status, code, message = report
    bad = Fault(str(status), code=code, message=message)  # type: ignore[arg-type]
    with ModelServer(lambda _: GOOD, faults=[*[None] * before, bad, bad]) as server:
        steps = [stepped(asking(server.base_url, how), how=how) for _ in range(before + 2)]
    assert [step.outcome for step in steps] == ["ok"] * len(steps)
    assert {request.format for request in server.requests} == {"json_schema"}
    assert steps[before].account is not None
    assert steps[before].account.calls == ("invalid_json", "invalid_json", "ok")
    assert steps[before].account.unmetered == 2, "the answers were paid, and nobody says how much"


def test_one_that_never_answers_well_keeps_its_rung() -> None:
    bad = Fault("400", code="json_validate_failed", message=REPORTS[0][2])
    with ModelServer(lambda _: GOOD, faults=[bad] * 6) as server:
        steps = [stepped(asking(server.base_url)) for _ in range(2)]
    assert [step.outcome for step in steps] == ["invalid_json", "ok"]
    assert steps[0].commit.held
    assert {request.format for request in server.requests} == {"json_schema"}
    assert "invalid_json" in server.requests[3].messages[-1].text, "the model is told, in the end"


@pytest.mark.parametrize("wrote", [json.dumps(GOOD), f"<function=propose_state>{json.dumps(GOOD)}</function>",
    json.dumps({"tool_calls": [{"function": {"name": "propose_state"}, "parameters": GOOD}]})])  # fmt: skip
def test_what_the_model_wrote_is_read_all_the_same(wrote: str) -> None:
    bad = Fault("400", code="tool_use_failed", message=REPORTS[2][2], generation=wrote)
    with ModelServer([], faults=[bad]) as server:
        step = stepped(asking(server.base_url))
    assert (step.outcome, len(server.requests)) == ("ok", 1)
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]


def test_what_cannot_be_read_is_shown_to_the_model() -> None:
    bad = Fault("400", code="json_validate_failed", message=REPORTS[0][2], generation='{"ret')
    with ModelServer(lambda _: GOOD, faults=[bad]) as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "repaired"
    assert [m.text for m in server.requests[1].messages][-2] == '{"ret'
    assert {request.format for request in server.requests} == {"json_schema"}


def test_a_later_failure_is_not_told_as_the_refusal_before_it() -> None:
    refusal = Fault("400", message="json_schema is not supported")
    with ModelServer([], faults=[refusal, *[Fault("429")] * 3]) as server:
        assert stepped(asking(server.base_url)).outcome == "rate_limited"


class BadRequestError(Exception):
    """As that of Groq's SDK, which LangChain passes on."""

    status_code = 400

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__("Error code: 400")
        self.body = {"error": error}


def test_any_sdk_that_tells_of_it_is_read() -> None:
    told = {"message": REPORTS[0][2], "code": "json_validate_failed", "failed_generation": "{"}
    found = translated(BadRequestError(told), "m")
    assert isinstance(found, CallFailed)
    assert (found.outcome, found.said, found.retry) == (Outcome.INVALID_JSON, "{", False)


def test_a_chat_model_that_repeats_calls_itself_is_asked_for_a_repair() -> None:
    chat = pytest.importorskip("langchain_openai").ChatOpenAI
    from acc.compress.langchain import LangChainCompressor

    bad = Fault("400", code="json_validate_failed", message=REPORTS[0][2])
    with ModelServer(lambda _: GOOD, faults=[bad]) as server:
        model = chat(model="m", base_url=server.base_url, api_key="x", max_retries=1)
        step = stepped(LangChainCompressor(model, retries=retries()))
    assert step.outcome == "repaired"
    assert {request.format for request in server.requests} == {"json_schema"}


def test_the_probe_asks_again() -> None:
    bad = Fault("400", code="json_validate_failed", message=REPORTS[0][2])
    with ModelServer(lambda _: {"greeting": "Bonjour", "letters": 7}, faults=[bad]) as server:
        found = probe(OpenAIEndpoint("test-model", client=client_of(server.base_url)))
    assert found.rung is OutputMode.JSON_SCHEMA

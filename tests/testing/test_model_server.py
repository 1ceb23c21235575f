"""The loopback model server, asked by the real SDK: answers, records, bills, and its end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import openai
import pytest
from helpers_testing import (
    PLAN,
    PLAN_SCHEMA,
    WAYS,
    How,
    Plan,
    arguments_of,
    ask,
    bill_of,
    format_arguments,
    text_of,
)

from acc.testing import FixedClock, Message, ModelServer, Reply, Request, Usage


@pytest.mark.parametrize("how", WAYS)
def test_an_answer_comes_as_the_sdk_reads_it(how: How) -> None:
    with ModelServer([PLAN, "plain"]) as server:
        answer = ask(how, server.base_url)
        assert json.loads(text_of(answer)) == PLAN
        assert answer.model == "test-model"
        assert answer._request_id == "req_1"
        assert text_of(ask(how, server.base_url)) == "plain"
        assert server.unused == 0


@pytest.mark.parametrize("how", WAYS)
def test_parse_gives_the_object(how: How) -> None:
    with ModelServer([PLAN]) as server:
        answer = ask(how, server.base_url, parse=True)
    parsed = answer.output_parsed if "responses" in how else answer.choices[0].message.parsed
    assert parsed == Plan(**PLAN)
    (request,) = server.requests
    assert request.format == "json_schema"
    assert request.strict


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("format_", ["json_schema", "json_object", "text"])
def test_every_format_is_read_and_answered(how: How, format_: str) -> None:
    with ModelServer([PLAN]) as server:
        answer = ask(how, server.base_url, **format_arguments(how, format_))
    assert json.loads(text_of(answer)) == PLAN
    (request,) = server.requests
    assert request.format == format_
    assert request.schema == (PLAN_SCHEMA if format_ == "json_schema" else None)
    assert request.schema_name == ("plan" if format_ == "json_schema" else "")


@pytest.mark.parametrize("how", WAYS)
def test_a_forced_tool_is_answered_with_a_call(how: How) -> None:
    with ModelServer([PLAN]) as server:
        answer = ask(how, server.base_url, **format_arguments(how, "tool"))
    name, arguments = arguments_of(answer)
    assert (name, json.loads(arguments)) == ("plan", PLAN)
    assert not text_of(answer)
    (request,) = server.requests
    assert (request.format, request.schema, request.strict) == ("tool", PLAN_SCHEMA, True)


@pytest.mark.parametrize(("choice", "finish"), [("named", "stop"), ("required", "tool_calls")])
def test_a_call_ends_as_it_was_forced(choice: str, finish: str) -> None:
    arguments = format_arguments("chat", "tool")
    if choice == "required":
        arguments["tool_choice"] = choice
    with ModelServer([PLAN]) as server:
        answer = ask("chat", server.base_url, **arguments)
    assert answer.choices[0].finish_reason == finish
    assert arguments_of(answer)[0] == "plan"


@pytest.mark.parametrize("how", ["chat", "responses"])
@pytest.mark.parametrize("format_", ["json_schema", "tool", "text"])
def test_a_schema_is_billed_once_and_stands_first(how: How, format_: str) -> None:
    with ModelServer([PLAN]) as server:
        ask(how, server.base_url, **format_arguments(how, format_))
        (request,) = server.requests
    schema = json.dumps(PLAN_SCHEMA)
    assert request.prompt.count(schema) == (0 if format_ == "text" else 1)
    assert schema not in request.prompt.partition("system: Plan.")[2]


@pytest.mark.parametrize("how", ["chat", "responses"])
def test_a_tool_that_is_only_offered_is_not_called(how: How) -> None:
    with ModelServer(["no need"]) as server:
        answer = ask(
            how, server.base_url, **format_arguments(how, "tool") | {"tool_choice": "auto"}
        )
    assert text_of(answer) == "no need"
    assert server.requests[0].format == "text"


@pytest.mark.parametrize("how", WAYS)
def test_requests_are_recorded_the_same_for_both_apis(how: How) -> None:
    clock = FixedClock(step=timedelta(seconds=1))
    with ModelServer(["one", "two"], clock=clock) as server:
        ask(how, server.base_url, user="née", extra_headers={"X-Trace": "7"})
        ask(how, server.base_url, model="other")
        first, second = server.requests
    assert (first.number, second.number) == (1, 2)
    assert first.at < second.at
    assert first.api == how.rpartition(" ")[2]
    assert (first.model, second.model) == ("test-model", "other")
    assert first.messages == (Message("system", "Plan."), Message("user", "née"))
    assert first.headers["x-trace"] == "7"
    assert first.headers["authorization"] == "Bearer none"
    assert json.loads(first.raw) == first.body


@pytest.mark.parametrize("how", WAYS)
def test_a_rule_answers_from_what_was_asked(how: How) -> None:
    def echo(request: Request) -> Reply:
        return Reply({"heard": request.messages[-1].text, "before": len(server.requests)})

    with ModelServer(echo) as server:
        for before, text in enumerate(["a", "b"], 1):
            answer = json.loads(text_of(ask(how, server.base_url, user=text)))
            assert answer == {"heard": text, "before": before}


@pytest.mark.parametrize("how", WAYS)
def test_an_answer_is_cut_at_the_bound_of_the_client(how: How) -> None:
    bound = {"max_tokens" if "chat" in how else "max_output_tokens": 5}
    with ModelServer(["é" * 30, "short"]) as server:
        cut, whole = (ask(how, server.base_url, **bound) for _ in range(2))
    assert (text_of(cut), text_of(whole)) == ("é" * 10, "short")
    assert bill_of(cut)[1] == 5
    if "chat" in how:
        assert [one.choices[0].finish_reason for one in (cut, whole)] == ["length", "stop"]
    else:
        assert [one.status for one in (cut, whole)] == ["incomplete", "completed"]
        assert cut.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("how", WAYS)
def test_usage_is_counted_or_as_the_reply_says(how: How) -> None:
    with ModelServer(["12345678", Reply("x", usage=Usage(900, 40, 256))]) as server:
        counted = bill_of(ask(how, server.base_url, user="hello"))
        stated = bill_of(ask(how, server.base_url))
        prompt = server.requests[0].prompt
    assert counted == (-(-len(prompt.encode()) // 4), 2, 0)
    assert "hello" in prompt
    assert stated == (900, 40, 256)


@pytest.mark.parametrize("how", ["chat", "responses"])
def test_a_stable_prompt_is_billed_as_cached_and_an_unstable_one_is_not(how: How) -> None:
    def cached(text: str, model: str = "test-model") -> int:
        return bill_of(ask(how, server.base_url, user=text, model=model))[2]

    stable = "rule " * 400  # 2,000 bytes: 3 blocks of 128 tokens, and some
    with ModelServer(["ok"], repeats=True) as server:
        assert cached(f"{stable} turn 1") == 0
        assert cached(f"{stable} turn 2") == 384
        assert cached(f"turn 3 {stable}") == 0
        assert cached(f"{stable} turn 4", model="other") == 0


def _no_answer(_: Request) -> Any:
    return 7


def _broken(_: Request) -> Any:
    raise KeyError("broken rule")


def _failing(_: Request) -> Any:
    pytest.fail("this should not have been asked")


@pytest.mark.parametrize(
    ("answers", "defect"),
    [
        ((), AssertionError),
        (_no_answer, TypeError),
        (_broken, KeyError),
        (_failing, pytest.fail.Exception),
        ([{"x": {1}}], TypeError),
    ],
)
def test_a_defect_of_the_test_itself_cannot_go_unseen(
    answers: Any, defect: type[BaseException]
) -> None:
    def use() -> None:
        with ModelServer(answers) as server:
            with pytest.raises(openai.BadRequestError) as caught:
                ask("chat", server.base_url, retries=2)
            assert caught.value.code == "defect"
            assert len(server.requests) == 1

    with pytest.raises(defect):
        use()


def test_the_error_of_the_block_itself_is_not_hidden_by_a_defect() -> None:
    with pytest.raises(openai.BadRequestError), ModelServer() as server:
        ask("chat", server.base_url)


def test_an_empty_script_cannot_be_repeated() -> None:
    with pytest.raises(ValueError, match="empty script"):
        ModelServer(repeats=True)


def test_many_clients_are_answered_at_once() -> None:
    together = threading.Barrier(8)

    def answer(request: Request) -> str:
        together.wait(10)  # breaks unless all eight are being answered
        return request.messages[-1].text

    with ModelServer(answer) as server, ThreadPoolExecutor(8) as pool:
        texts = [f"text {number}" for number in range(8)]
        heard = pool.map(lambda text: text_of(ask("chat", server.base_url, user=text)), texts)
        assert list(heard) == texts
        assert [request.number for request in server.requests] == list(range(1, 9))


@pytest.mark.slow
def test_the_fakes_load_no_vendor() -> None:
    code = "import sys, acc.testing; print({'openai', 'httpx2', 'chromadb'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

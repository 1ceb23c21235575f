"""The loopback model server, asked by the real SDK: answers, records, bills, faults, and its end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2
import openai
import pytest

from acc.models import Usage
from acc.testing import Fault, Message, ModelServer, Reply, Request
from acc.testing.chat_api import read_request

PLAN = {"goal": "ship é", "steps": ["build", "test"]}
SCHEMA = {"type": "object", "properties": {"goal": {"type": "string"}}}
FORMATS: dict[str, dict[str, Any]] = {
    "json_schema": {
        "type": "json_schema",
        "json_schema": {"name": "plan", "strict": True, "schema": SCHEMA},
    },
    "json_object": {"type": "json_object"},
    "text": {"type": "text"},
}
IMPATIENT = httpx2.Timeout(10, read=0.05)
"""Waits for a server that is busy, not for an answer."""


def ask(server: ModelServer, user: str = "hi", *, timeout: Any = 10.0, **body: Any) -> Any:
    """Have the SDK ask once."""
    client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=timeout)
    messages = [{"role": "developer", "content": "Plan."}, {"role": "user", "content": user}]
    with client:
        return client.chat.completions.create(
            **{"model": "test-model", "messages": messages, **body}
        )


def text_of(answer: Any) -> str | None:
    text: str | None = answer.choices[0].message.content
    return text


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_comes_as_the_sdk_reads_it_and_the_request_is_kept(format_: str) -> None:
    with ModelServer([PLAN]) as server:
        answer = ask(server, "née", response_format=FORMATS[format_], max_tokens=50)
        (request,) = server.requests
    assert json.loads(text_of(answer) or "") == PLAN
    assert (answer.model, answer._request_id) == ("test-model", "req_1")
    assert (request.format, request.limit, request.number) == (format_, 50, 1)
    assert request.schema == (SCHEMA if format_ == "json_schema" else None)
    assert request.strict == (format_ == "json_schema")
    assert request.messages == (Message("system", "Plan."), Message("user", "née"))
    assert request.headers["authorization"] == "Bearer none"
    assert request.prompt.count(json.dumps(SCHEMA)) == (1 if request.schema else 0)


def test_a_rule_answers_from_what_was_asked_and_a_list_in_turn() -> None:
    with ModelServer(lambda request: {"heard": request.messages[-1].text}) as server:
        assert json.loads(text_of(ask(server, "a")) or "") == {"heard": "a"}
    with ModelServer(["one", Fault("500"), "two"]) as server:
        assert text_of(ask(server)) == "one"
        with pytest.raises(openai.InternalServerError):
            ask(server)
        assert text_of(ask(server)) == "two"


def test_an_answer_is_cut_at_the_limit_and_billed_as_counted_or_as_stated() -> None:
    stated = Reply("x", usage=Usage(1, 900, 40, 256))
    with ModelServer(["é" * 30, stated]) as server:
        cut, other = ask(server, max_tokens=5), ask(server)
        tokens = -(-len(server.requests[0].prompt.encode()) // 4)
    assert (text_of(cut), cut.choices[0].finish_reason) == ("é" * 10, "length")
    assert (cut.usage.prompt_tokens, cut.usage.completion_tokens) == (tokens, 5)
    assert other.usage.prompt_tokens_details.cached_tokens == 256
    assert (other.usage.prompt_tokens, other.usage.completion_tokens) == (900, 40)


def test_parts_of_a_message_are_read_as_one_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    asked = read_request(json.dumps({"messages": [{"role": "user", "content": parts}]}).encode())
    assert asked.messages == (Message("user", "a\nb"),)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{", b"\xff", b'"text"', b'{"messages": 1}', b'{"messages": ["hi"]}',
     b'{"messages": [], "response_format": {"type": "json_schema"}}'],
)  # fmt: skip
def test_a_body_that_cannot_be_read_says_so(raw: bytes) -> None:
    assert read_request(raw).malformed


@pytest.mark.parametrize(
    ("body", "code"), [({"stream": True}, "unsupported_value"), ({"messages": [1]}, None)]
)
def test_what_the_server_cannot_answer_is_refused(body: dict[str, Any], code: str | None) -> None:
    with ModelServer(["ok"]) as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, **body)
        assert caught.value.code == code
        assert server.defects == [], "and no answer of the script was used"


def test_other_paths_are_not_found() -> None:
    with (
        ModelServer() as server,
        openai.OpenAI(base_url=server.base_url, api_key="k") as client,
        pytest.raises(openai.NotFoundError),
    ):
        client.embeddings.create(model="a", input="x")


# --- faults: what a client makes of each is in tests/core/models -----------------------------


def test_code_message_body_and_headers_are_as_told() -> None:
    faults = [
        Fault("429", code="insufficient_quota", message="Pay.", headers={"retry-after": "2"}),
        Fault("500", body={"detail": "odd"}),
    ]
    with ModelServer(faults) as server:
        with pytest.raises(openai.RateLimitError, match=r"Pay\.") as caught:
            ask(server)
        assert caught.value.code == "insufficient_quota"
        assert caught.value.response.headers["retry-after"] == "2"
        with pytest.raises(openai.InternalServerError) as other:
            ask(server)
        assert other.value.body == {"detail": "odd"}


def test_an_unknown_fault_is_not_made() -> None:
    with pytest.raises(ValueError, match="unknown fault '418'; the faults are 400"):
        Fault("418")


# --- defects of the test itself -------------------------------------------------------------


def _broken(_: Request) -> Any:
    raise KeyError("broken rule")


def _failing(_: Request) -> Any:
    pytest.fail("this should not have been asked")


@pytest.mark.parametrize(
    ("answers", "defect"),
    [
        ((), AssertionError),
        (lambda _: 7, TypeError),
        (_broken, KeyError),
        (_failing, pytest.fail.Exception),
        ([{"x": {1}}], TypeError),
    ],
)
def test_a_defect_of_the_test_itself_cannot_go_unseen(
    answers: Any, defect: type[BaseException]
) -> None:
    server = ModelServer(answers)
    with pytest.raises(openai.BadRequestError) as caught:
        ask(server)
    assert caught.value.code == "defect"
    with pytest.raises(defect):
        server.__exit__(None, None)
    with pytest.raises(openai.BadRequestError), ModelServer() as hidden:
        ask(hidden)


# --- its end --------------------------------------------------------------------------------


def test_many_clients_are_answered_at_once() -> None:
    together = threading.Barrier(8)

    def answer(request: Request) -> str:
        together.wait(10)  # breaks unless all eight are being answered
        return request.messages[-1].text

    with ModelServer(answer) as server, ThreadPoolExecutor(8) as pool:
        texts = [f"text {number}" for number in range(8)]
        assert list(pool.map(lambda text: text_of(ask(server, text)), texts)) == texts
        assert [request.number for request in server.requests] == list(range(1, 9))


@pytest.mark.parametrize(
    "fault",
    [Fault("hang"), None],
    ids=lambda fault: fault.name if fault else "idle",
)
def test_closing_breaks_off_what_hangs_and_leaves_nothing_behind(fault: Fault | None) -> None:
    before = set(threading.enumerate())
    server = ModelServer([fault or "ok"])
    port = int(server.base_url.split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        body = b'{"model": "m", "messages": []}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        if fault is None:
            assert client.recv(8) == b"HTTP/1.1"
        server.close()
        server.close()
        assert set(threading.enumerate()) <= before
        client.settimeout(5)
        with suppress(ConnectionResetError):
            while client.recv(4096):
                pass  # what had been sent; then the end, and no time-out
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


@pytest.mark.slow
def test_the_fakes_load_no_vendor() -> None:
    code = "import sys, acc.testing; print({'openai', 'httpx2', 'chromadb'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

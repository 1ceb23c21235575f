"""A model server on 127.0.0.1 for OpenAI's chat completions, with faults on demand.

with ModelServer([Fault("429"), {"goal": "ship"}]) as server:
    client = openai.OpenAI(base_url=server.base_url, api_key="none")
    ...
    assert [request.format for request in server.requests] == ["json_schema"] * 2
"""

from __future__ import annotations

import json
import math
import socket
import socketserver
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

from acc.testing.chat_api import (
    Completion,
    Request,
    Response,
    Usage,
    error_response,
    json_response,
    read_request,
)
from acc.testing.model_faults import Capabilities, Fault


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        content: A text, or a JSON value to send as text.
        usage: Tokens to bill; None for UTF-8 bytes / 4 of prompt and answer.
        fault: A fault of the answer; None for none.
    """

    content: Any = field(default_factory=dict)
    usage: Usage | None = None
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False)


Answer: TypeAlias = Reply | Fault | str | Mapping[str, Any]
"""The result of a request: a reply, its content alone, or a fault with an empty object as content."""

Answers: TypeAlias = Sequence[Answer] | Callable[[Request], Answer]
Faults: TypeAlias = Sequence[Fault | None] | Callable[[Request], Fault | None]


class ModelServer:
    """Answers POST /v1/chat/completions (it does not stream) and GET /v1/models.

    The server listens on a free port of 127.0.0.1 from its creation until it is closed. A thread
    serves each connection. An answer is truncated at the client's limit of output tokens.

    Attributes:
        base_url: The address for clients: ``http://127.0.0.1:PORT/v1``.
        defects: Errors of the test itself: an exhausted script, or a rule that raised. Such a
            request gets a 400, and leaving the context raises the first defect.
    """

    def __init__(
        self,
        answers: Answers = (),
        *,
        faults: Faults = (),
        capabilities: Capabilities | None = None,
        repeats: bool = False,
    ) -> None:
        """Start the server.

        Args:
            answers: A list with one entry per request that reaches the model, or a function of the
                `Request`, which runs in the thread of each connection.
            faults: A list with one entry per request, None for no fault, or a function of the
                `Request`. Without an entry there is no fault. A fault that replaces an answer
                leaves the answer to the next request. Any other fault replaces that of the `Reply`.
            capabilities: The endpoint's capabilities; everything by default.
            repeats: Repeat the last answer of a list.
        """
        self._answers = answers if callable(answers) else tuple(answers)
        self._faults = faults if callable(faults) else tuple(faults)
        self._can = capabilities or Capabilities()
        self._repeats = repeats
        self._answered, self._faulted, self._lock = count(), count(), Lock()
        self._requests: list[Request] = []
        self.defects: list[BaseException] = []
        self._listener = _Listener(self._respond)
        self.base_url = f"http://{HOST}:{self._listener.port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @staticmethod
    @contextmanager
    def refused() -> Iterator[str]:
        """A base URL with a reserved port that refuses connections."""
        with socket.socket() as held:
            held.bind((HOST, 0))
            yield f"http://{HOST}:{held.getsockname()[1]}/v1"

    def close(self) -> None:
        """Stop the server and abort open requests. Further calls have no effect."""
        self._listener.close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, _: object, error: BaseException | None, *rest: object) -> None:
        self.close()
        if error is None and self.defects:
            raise self.defects[0]

    def _respond(self, path: str, headers: dict[str, str], raw: bytes) -> Response:
        with self._lock:
            request = read_request(raw, path=path, headers=headers, number=len(self._requests) + 1)
            self._requests.append(request)
        try:
            response = self._response(request)
        # raised by the test's own rule, for instance by pytest.fail()
        except BaseException as defect:
            self.defects.append(defect)
            response = error_response(400, f"{type(defect).__name__}: {defect}", "defect")
        named = {"x-request-id": f"req_{request.number}", **response.headers}
        return replace(response, headers=named)

    def _response(self, request: Request) -> Response:
        if request.path == "/v1/models":
            models = self._can.models or ("test-model",)
            listed = [{"id": m, "object": "model", "created": 0, "owned_by": "acc"} for m in models]
            return self._can.refused(request) or json_response(200, {"data": listed})
        fault = self._fault(request)
        if fault is not None and fault.replaces_answer:
            return fault.response()
        if refused := self._can.refused(request):
            return fault.sent(refused) if fault else refused
        reply = self._reply(request)
        fault = fault or reply.fault
        if fault is not None and fault.replaces_answer:
            return fault.response()
        answer = Completion(reply.text, usage=reply.usage).cut(request.limit)
        answer = fault.spoken(answer) if fault else answer
        response = json_response(200, answer.body(request))
        return fault.sent(response) if fault else response

    def _fault(self, request: Request) -> Fault | None:
        if callable(self._faults):
            return self._faults(request)
        place = next(self._faulted)
        return self._faults[place] if place < len(self._faults) else None

    def _reply(self, request: Request) -> Reply:
        if callable(self._answers):
            return _as_reply(self._answers(request))
        place = next(self._answered)
        if place >= len(self._answers) and not (self._repeats and self._answers):
            raise AssertionError(
                f"the script has {len(self._answers)} answers, and this is call {place + 1} "
                f"of the model, in request {request.number}"
            )
        return _as_reply(self._answers[min(place, len(self._answers) - 1)])


def _as_reply(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Fault):
        return Reply(fault=answer)
    if isinstance(answer, str | Mapping):
        return Reply(answer)
    raise TypeError(f"{type(answer).__name__} is not an answer; wrap JSON values in Reply(...)")


HOST = "127.0.0.1"

_Respond: TypeAlias = Callable[[str, dict[str, str], bytes], Response]
"""A function of path, headers with lower-case names, and body. Many threads call it."""


class _Listener(socketserver.ThreadingTCPServer):
    """Listens on a free port until closed. A thread serves each connection."""

    request_queue_size = 128

    def __init__(self, respond: _Respond) -> None:
        self.respond = respond
        self.closing = Event()
        self._open: set[socket.socket] = set()
        super().__init__((HOST, 0), _Handler)
        self.port = int(self.server_address[1])
        self._accepting = Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Abort every connection. Returns when no thread and no socket is left."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.shutdown()
        self._accepting.join()
        for connection in list(self._open):
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()  # waits for the threads

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the client hung up, or the server closes."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # each chunk of a drip must arrive on its own
    server: _Listener

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(self.path.partition("?")[0], headers, raw)
        goes_on = _send(self.connection, response, self.server.closing)
        self.close_connection |= not goes_on
        if response.end == "reset":
            # a later shutdown by the listener would end the connection cleanly
            self.connection.close()

    do_GET = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server records the requests."""


_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with timeout 0: closing sends RST instead of FIN."""


def _send(connection: socket.socket, response: Response, closing: Event) -> bool:
    """Send ``response``; False if the connection is no longer usable.

    A wait ends when ``closing`` is set and the connection is shut down, or when the client hangs
    up. Raises OSError if the client has disconnected.
    """
    if response.delay and _is_left(connection, response.delay, closing):
        return False
    if response.bytes_sent == -1:
        return False
    if not response.chunk:
        connection.sendall(response.head + response.body[: response.bytes_sent])
        if response.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return response.end == "keep"
    connection.sendall(response.head)
    for start in range(0, len(response.body), response.chunk):
        connection.sendall(response.body[start : start + response.chunk])
        if _is_left(connection, response.every, closing):
            return False
    return True


def _is_left(connection: socket.socket, seconds: float, closing: Event) -> bool:
    """Wait for ``seconds``. Returns True at once if the client hangs up or the server closes."""
    if closing.is_set():
        return True
    connection.settimeout(None if math.isinf(seconds) else seconds)
    try:
        received = connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return closing.is_set()
    finally:
        connection.settimeout(None)
    if not received:
        return True
    # the client has sent its next request
    return closing.wait(None if math.isinf(seconds) else seconds)

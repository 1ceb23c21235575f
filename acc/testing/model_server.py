"""A model server on 127.0.0.1 for OpenAI's chat completions, with faults on demand.

with ModelServer([Fault("429"), {"goal": "ship"}]) as server:
    client = openai.OpenAI(base_url=server.base_url, api_key="none")
    ...
    assert [request.format for request in server.requests] == ["json_schema"] * 2
"""

from __future__ import annotations

import socket
import socketserver
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Lock, Thread
from typing import Any, TypeAlias

from acc.testing.chat_api import (
    Fault,
    Reply,
    Request,
    Response,
    error_response,
    json_response,
    read_request,
)

HOST = "127.0.0.1"

Answer: TypeAlias = Reply | Fault | str | Mapping[str, Any]
"""The result of a request: a reply, its content alone, or a fault."""

Answers: TypeAlias = Sequence[Answer] | Callable[[Request], Answer]


class ModelServer:
    """Answers POST /v1/chat/completions (it does not stream).

    The server listens on a free port of 127.0.0.1 from its creation until it is closed. A thread
    serves each connection. An answer is truncated at the client's limit of output tokens.

    Args:
        answers: A list with one entry per request that a model can read, or a function of the
            `Request`, which runs in the thread of each connection.

    Attributes:
        base_url: The address for clients: ``http://127.0.0.1:PORT/v1``.
        defects: Errors of the test itself: an exhausted script, or a function that raised. Such a
            request gets a 400, and leaving the context raises the first defect.
    """

    def __init__(self, answers: Answers = ()) -> None:
        self._answers = answers if callable(answers) else tuple(answers)
        self._answered, self._lock = count(), Lock()
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
        # raised by the test's own function, for instance by pytest.fail()
        except BaseException as defect:
            self.defects.append(defect)
            response = error_response(400, f"{type(defect).__name__}: {defect}", "defect")
        named = {"x-request-id": f"req_{request.number}", **response.headers}
        return replace(response, headers=named)

    def _response(self, request: Request) -> Response:
        if request.path != "/v1/chat/completions":
            return json_response(404, {"detail": "Not Found"})
        if request.malformed:
            return error_response(400, f"We could not parse the body: {request.malformed}.")
        if request.body.get("stream"):
            return error_response(400, "This server does not stream.", "unsupported_value")
        answer = self._answer(request)
        if isinstance(answer, str | Mapping):
            answer = Reply(answer)
        if not isinstance(answer, Reply | Fault):
            kind = type(answer).__name__
            raise TypeError(f"{kind} is not an answer; wrap JSON values in Reply(...)")
        return answer.response(request)

    def _answer(self, request: Request) -> Answer:
        if callable(self._answers):
            return self._answers(request)
        place = next(self._answered)
        if place >= len(self._answers):
            raise AssertionError(
                f"the script has {len(self._answers)} answers, and this is call {place + 1} "
                f"of the model, in request {request.number}"
            )
        return self._answers[place]


_Respond: TypeAlias = Callable[[str, dict[str, str], bytes], Response]
"""A function of path, headers with lower-case names, and body. Many threads call it."""


class _Listener(socketserver.ThreadingTCPServer):
    """Listens on a free port until closed. A thread serves each connection."""

    request_queue_size = 128

    def __init__(self, respond: _Respond) -> None:
        self.respond = respond
        self._is_closed = False
        self._open: set[socket.socket] = set()
        super().__init__((HOST, 0), _Handler)
        self.port = int(self.server_address[1])
        self._accepting = Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Abort every connection. Returns when no thread and no socket is left."""
        if self._is_closed:
            return
        self._is_closed = True
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
    disable_nagle_algorithm = (
        True  # else a body waits until the client has acknowledged the headers
    )
    server: _Listener

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(self.path.partition("?")[0], headers, raw)
        self.close_connection |= response.sending != "whole"
        if response.sending == "never":
            self.rfile.read(1)  # returns when the client hangs up or the server closes
        elif response.sending != "closed":
            self._send(response)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server records the requests."""

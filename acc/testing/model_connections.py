"""An HTTP response, and how its bytes reach the client or fail to."""

from __future__ import annotations

import json
import math
import socket
import socketserver
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Event, Lock, Thread
from typing import Any, Literal, TypeAlias

from acc.testing.model_faults import Fault, FaultName

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with timeout 0: closing sends RST instead of FIN."""


@dataclass(frozen=True)
class Response:
    """An HTTP response, and how to send it.

    Attributes:
        status: HTTP status.
        body: HTTP body.
        headers: Additional headers; they replace the default ones.
        claimed: Bytes that content-length claims in excess of the body.
        delay: Seconds before the first byte; infinite for never.
        chunk: Bytes of the body to send at a time; 0 for all at once.
        every: Seconds between two chunks.
        bytes_sent: Bytes of the body to send; None for all, -1 for no body and no headers.
        end: What to do with the connection after the response.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int = 0
    delay: float = 0.0
    chunk: int = 0
    every: float = 0.0
    bytes_sent: int | None = None
    end: Literal["keep", "close", "reset"] = "keep"

    @property
    def head(self) -> bytes:
        """Status line and headers."""
        lines = {"content-type": "application/json"} | dict(self.headers)
        lines["content-length"] = str(len(self.body) + self.claimed)
        if self.end != "keep":
            lines["connection"] = "close"
        first = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"
        text = "\r\n".join([first, *(f"{name}: {value}" for name, value in lines.items())])
        return f"{text}\r\n\r\n".encode("latin-1")


def json_response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A response with ``body`` as JSON."""
    return Response(status, json.dumps(body).encode(), headers or {})


def sent_badly(response: Response, fault: Fault | None) -> Response:
    """Apply the fault's headers and its way of sending to ``response``."""
    if fault is None:
        return response
    response = replace(response, headers={**response.headers, **fault.response_headers})
    if fault.name == "delay":
        return replace(response, delay=fault.seconds)
    if fault.name == "hang":
        return replace(response, delay=math.inf)
    if fault.name == "slow_drip":
        return replace(response, chunk=fault.chunk, every=fault.seconds)
    if fault.name == "no_response":
        return replace(response, bytes_sent=-1, end="close")
    if fault.name == "reset_mid_body":
        return replace(response, bytes_sent=len(response.body) // 2, end="reset")
    if fault.name == "content_length_long":
        return replace(response, claimed=100, end="close")
    if fault.name == "content_length_short":
        return replace(response, claimed=-(len(response.body) // 2), end="close")
    return response


def send(connection: socket.socket, response: Response, closing: Event) -> bool:
    """Send ``response``; False if the connection is no longer usable.

    A wait ends when ``closing`` is set and the connection is shut down, or when the client hangs
    up.

    Raises:
        OSError: The client has disconnected.
    """
    if response.delay and _is_left(connection, response.delay, closing):
        return False
    if response.bytes_sent == -1:
        return False
    body = response.body[: response.bytes_sent]
    if response.chunk:
        return _drip(connection, response, closing)
    connection.sendall(response.head + body)
    if response.end == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return response.end == "keep"


def _drip(connection: socket.socket, response: Response, closing: Event) -> bool:
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
        heard = connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return closing.is_set()
    finally:
        connection.settimeout(None)
    if not heard:
        return True
    # the client has sent its next request
    return closing.wait(None if math.isinf(seconds) else seconds)


def fault_response(fault: Fault) -> Response:
    """The response that ``fault`` sends instead of an answer."""
    if fault.name == "html_error":
        response = _page(502, "502 Bad Gateway")
    elif fault.name == "html_page":
        response = _page(200, "Welcome")
    elif fault.name == "not_json":
        response = Response(200, b"upstream connect error or disconnect before headers")
    elif fault.name == "bad_gzip":
        response = Response(200, b"\x1f\x8b\x08 no gzip", {"content-encoding": "gzip"})
    elif fault.name in ("no_response", "hang"):
        response = Response(200, b"")
    else:
        status, code, message = _STATUS[fault.name]
        more = {"failed_generation": fault.generation} if fault.generation else {}
        response = error_response(status, fault.message or message, fault.code or code, **more)
    return sent_badly(response, fault)


def _page(status: int, title: str) -> Response:
    page = f"<!doctype html><html><head><title>{title}</title></head><body></body></html>"
    return Response(status, page.encode(), {"content-type": "text/html; charset=utf-8"})


def error_response(status: int, message: str, code: str, **more: str) -> Response:
    """An error in OpenAI's form with additional fields ``more``. An empty ``code`` becomes null."""
    type_ = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    error = {"message": message, "type": type_, "param": None, "code": code or None, **more}
    return json_response(status, {"error": error})


_TYPES = {401: "authentication_error", 429: "requests"}

_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in "
)

_STATUS: Mapping[FaultName, tuple[int, str, str]] = {
    "400": (400, "invalid_value", "Invalid value in the request."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "unsupported_country_region_territory", "Country or region not supported."),
    "404": (404, "model_not_found", "The model does not exist or you do not have access to it."),
    "408": (408, "", "The request timed out."),
    "409": (409, "", "The request conflicts with another one."),
    "413": (413, "", "The request is too large."),
    "422": (422, "", "The request cannot be processed."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "", "The server had an error while processing your request."),
    "502": (502, "", "Bad gateway."),
    "503": (503, "", "The engine is currently overloaded, please try again later."),
    "504": (504, "", "Gateway time-out."),
    "context_overflow": (400, "context_length_exceeded", f"{_OVERFLOW}9001 tokens."),
}


HOST = "127.0.0.1"

Respond: TypeAlias = Callable[[str, str, dict[str, str], bytes], Response]
"""A function of method, path, headers with lower-case names, and body. Many threads call it."""


class Connections:
    """Listens on a free port until closed. A thread serves each connection."""

    def __init__(self, respond: Respond) -> None:
        self._listener = _Listener(respond)
        self._accepting = Thread(target=self._accept, name="model server", daemon=True)
        self._accepting.start()

    @property
    def port(self) -> int:
        """The port."""
        return int(self._listener.server_address[1])

    def close(self) -> None:
        """Abort every connection. Returns when no thread and no socket is left."""
        self._listener.closing.set()
        if self._accepting.is_alive():
            with socket.create_connection((HOST, self.port)):  # wakes the accepting thread
                self._accepting.join()
        self._listener.server_close()
        self._listener.break_off()

    def _accept(self) -> None:
        while not self._listener.closing.is_set():
            self._listener.handle_request()


class _Listener(socketserver.TCPServer):
    request_queue_size = 128

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.closing = Event()
        self._lock = Lock()
        self._served: dict[socket.socket, Thread] = {}
        super().__init__((HOST, 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        serving = Thread(target=self._serve, args=(request, client_address), daemon=True)
        with self._lock:
            self._served = {one: by for one, by in self._served.items() if by.is_alive()}
            self._served[request] = serving
            serving.start()

    def break_off(self) -> None:
        """Shut down every connection and wait for the threads that serve them."""
        with self._lock:
            served, self._served = self._served, {}
        for connection, thread in served.items():
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            with suppress(OSError):  # the client hung up, or the server closes
                self.finish_request(request, client_address)
        finally:
            self.shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # each chunk of a drip must arrive on its own
    server: _Listener

    def do_POST(self) -> None:
        self._exchange()

    def do_GET(self) -> None:
        self._exchange()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server records the requests."""

    def _exchange(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(self.command, self.path, headers, raw)
        goes_on = send(self.connection, response, self.server.closing)
        self.close_connection |= not goes_on
        if response.end == "reset":
            # a later shutdown by the listener would end the connection cleanly
            self.connection.close()

"""A response, and how its bytes reach the client or fail to."""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from threading import Event
from typing import Any, Literal

from acc.testing.model_faults import Fault

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time to linger: closing sends RST instead of FIN."""


@dataclass(frozen=True)
class Response:
    """An HTTP response, and the manner in which it is sent.

    Attributes:
        status: Its status.
        body: Its body.
        headers: Headers besides content-length; they replace the usual ones.
        claimed: How much longer than the body content-length says it is.
        delay: Seconds before the first byte; infinite for never.
        chunk: Bytes of the body that are sent at a time; 0 for all at once.
        every: Seconds between two chunks.
        bytes_sent: Bytes of the body after which sending stops; None for all, -1 for not even
            the headers.
        end: What becomes of the connection.
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
    """``body`` written as JSON."""
    return Response(status, json.dumps(body).encode(), headers or {})


def sent_badly(response: Response, fault: Fault | None) -> Response:
    """``response`` sent with the fault's headers, and in its manner if it has one."""
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
    """Send ``response``; False if the connection cannot be used any more.

    Waits end when ``closing`` is set and the connection shut down, or the client hangs up.

    Raises:
        OSError: The client is gone.
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
    """Wait; True at once when the client hangs up or the server closes."""
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
    return closing.wait(None if math.isinf(seconds) else seconds)  # the next request lies there

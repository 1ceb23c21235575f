"""The sockets and threads of a small HTTP server that can be closed at any moment."""

from __future__ import annotations

import socket
import socketserver
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

from acc.testing.model_sending import Response, send

HOST = "127.0.0.1"

Respond: TypeAlias = Callable[[str, str, dict[str, str], bytes], Response]
"""Method, path, headers with names in lower case, and body; called from many threads."""


class Connections:
    """Listens on a free port and has each connection served by a thread, until it is closed."""

    def __init__(self, respond: Respond) -> None:
        self._listener = _Listener(respond)
        self._accepting = Thread(target=self._accept, name="model server", daemon=True)
        self._accepting.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.server_address[1])

    def close(self) -> None:
        """Break off every connection; return when no thread and no socket is left."""
        self._listener.closing.set()
        if self._accepting.is_alive():
            with socket.create_connection((HOST, self.port)):  # wakes it
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
            with suppress(OSError):  # already gone
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
    disable_nagle_algorithm = True  # a drip is to arrive chunk by chunk
    server: _Listener

    def do_POST(self) -> None:
        self._exchange()

    def do_GET(self) -> None:
        self._exchange()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the requests are recorded."""

    def _exchange(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(self.command, self.path, headers, raw)
        goes_on = send(self.connection, response, self.server.closing)
        self.close_connection |= not goes_on
        if response.end == "reset":
            self.connection.close()  # before the listener shuts it down, which would end it well

"""Serves a memory over stdio or over streamable HTTP, until the client or a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from ipaddress import ip_address
from types import FrameType
from typing import Any, NamedTuple

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from acc.errors import ConfigurationError
from acc.folders import file_errors
from acc.text.lines import raw

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names by which a client on the same machine reaches the server."""

LEAST_TOKEN = 16
"""Minimum characters of a token: a shorter one is guessed."""


class Address(NamedTuple):
    """Where an HTTP server listens, and by which further names clients reach it.

    Attributes:
        host: Name or address to listen on.
        port: The port; 0 for any free one.
        names: Names in the ``Host`` header that are accepted beside ``host``, such as those of a proxy.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def security(self) -> TransportSecuritySettings:
        """The ``Host`` and ``Origin`` headers that are accepted: a page in a browser must not reach the server."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        hosts = [*LOOPBACK, own, *self.names]
        accepted = [each for host in hosts for each in (host, f"{host}:*")]
        origins = [f"{scheme}://{host}" for host in accepted for scheme in ("http", "https")]
        return TransportSecuritySettings(allowed_hosts=accepted, allowed_origins=origins)

    def check(self, token: str) -> None:
        """Raise a `ConfigurationError` if others could reach the server without a token, or by no name.

        So does a token that is easily guessed, or that no header carries.
        """
        is_sound = len(token) >= LEAST_TOKEN and all("!" <= each <= "~" for each in token)
        if token and not is_sound:
            raise ConfigurationError(
                f"the token is shorter than {LEAST_TOKEN} characters, or no header can carry it",
                where="ACC_MCP_TOKEN",
                hint="take the output of openssl rand -hex 32",
            )
        if self.is_loopback:
            return
        if not token:
            raise ConfigurationError(
                "other machines could use the memory without a token",
                where=f"--host {self.host}",
                hint="set a secret token in ACC_MCP_TOKEN, or listen on 127.0.0.1",
            )
        if self.host in ("0.0.0.0", "::") and not self.names:
            raise ConfigurationError(
                "the server would refuse every name by which others reach it",
                where=f"--host {self.host}",
                hint="name the host that clients use with --allow-host NAME",
            )


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one client over stdin and stdout until it closes stdin, or a signal comes.

    Nothing else is written to stdout. When stdin is closed, calls that have begun finish first. A signal ends the
    process at once, as nothing else ends a thread that waits for input: the next start takes up what was said.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda given, _: os._exit(128 + given))
    # The SDK takes over the file descriptor, which it looks for behind the real stream.
    with redirect_stdout(raw(sys.stdout)):
        asyncio.run(server.run_stdio_async())


def listening(address: Address) -> socket.socket:
    """Return a socket that listens on the address.

    Raises:
        ConfigurationError: The address cannot be used.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    where = f"{address.host}:{address.port}"
    hint = "choose another --port, or 0 for a free one, and a --host of this machine"
    with file_errors(ConfigurationError, "cannot listen", where=where, hint=hint):
        return socket.create_server((address.host, address.port), family=family)


def serve_http(
    server: MCPServer[Any], address: Address, at: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve clients over streamable HTTP at ``/mcp`` on the socket ``at`` until a signal ends the process."""
    import uvicorn

    app = server.streamable_http_app(host=address.host, transport_security=address.security)
    # Without a configuration of its own, uvicorn logs to the process's handlers, on stderr.
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=3, lifespan="on"
    )
    before = signal.signal(signal.SIGTERM, _exit)  # the memory is closed, too
    ready()
    try:
        asyncio.run(uvicorn.Server(config).serve(sockets=[at]))
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)

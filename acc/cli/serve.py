"""``acc inspect`` and ``mcp``: options of the two servers, which have packages of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from socket import create_server, socket
from typing import Annotated, Any, Literal

import typer

from acc.cli import terminal
from acc.cli.opening import SCHEMA, new_policy, opened, reading, schema_of
from acc.cli.terminal import model_named, option
from acc.errors import ConfigurationError, extra
from acc.folders import file_errors
from acc.inspector.commits import StateReader
from acc.inspector.threads import Threads
from acc.schema import schema_named
from acc.turn.observations import Channel

SpeaksFor = Literal["user", "agent", "tool", "document"]


def inspect(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    port: Annotated[int, option("N", "The port; 0 takes any free one.", min=0, max=65535)] = 8766,
) -> None:  # fmt: skip
    """Serve a local page over the threads of a memory.

    It follows a running agent: it reads the journal alone. Only this machine reaches it.
    """
    with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
        import_module("uvicorn")
        from acc.inspector.server import application

    with reading(memory) as journal, bound(port, "--port") as at, suppress(KeyboardInterrupt):
        print(url_of(at), flush=True)
        print("Every account of this machine can read the page. Ctrl-C ends it.", flush=True)
        pause = partial(asyncio.sleep, 1.0)
        serve(application(Threads(journal, StateReader(schema_of)), pause), at)


def mcp(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: Annotated[str, option("NAME", "Serve this thread only. [default: the client names it]")] = "",
    scope: terminal.ScopeOption = None,
    speaks_for: Annotated[SpeaksFor, typer.Option(help="Whose words the client stores. Only those of the user make "
        "rules: choose user if nothing but the user's own words reaches the tool remember.")] = "agent",
    http: Annotated[int | None, option("PORT", "Serve streamable HTTP at /mcp on this port of the loopback; 0 takes "
        "any free one. [default: stdio]", min=0, max=65535)] = None,
    model: terminal.ModelOption = "",
) -> None:  # fmt: skip
    """Serve a memory over the Model Context Protocol.

    Its tools are remember, recall and read_state. docs/mcp.md has the set-up of clients. ACC_SCHEMA names a schema of
    one's own.
    """
    # Warnings go to stderr: stdout belongs to the protocol.
    form = "%(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    with extra("mcp", "the server's packages are not installed: {error}", where="acc mcp"):
        from acc.mcp_server import Serving
        from acc.mcp_server.server import memory_server, serve_stdio
    serving = Serving(Channel(speaks_for), thread=thread, **(scope or {}))
    asked = model_named(model)
    own = os.environ.get(SCHEMA, "").partition(",")[0]
    policy = new_policy(schema_named(own) if own else None, asked)
    settings = {"policy": policy, "model": asked, "create": True}
    if http is None:
        with opened(memory, **settings) as controller:
            serve_stdio(memory_server(controller, serving))
        return
    with bound(http, "--http") as at, opened(memory, **settings) as controller:
        print(f"acc: serving {memory} at {url_of(at)}mcp", file=sys.stderr, flush=True)
        # By default the SDK refuses what names another host than this machine's loopback.
        serve(memory_server(controller, serving).streamable_http_app(), at)


def bound(port: int, where: str) -> socket:
    """Return a listening socket on the loopback; a ``port`` of 0 is any free one."""
    hint = "name another port; 0 takes any free one"
    with file_errors(ConfigurationError, f"port {port} cannot be used", where=where, hint=hint):
        return create_server(("127.0.0.1", port), backlog=128)


def url_of(at: socket) -> str:
    """Return the address of a bound socket, for a browser."""
    return f"http://127.0.0.1:{at.getsockname()[1]}/"


def serve(app: Any, at: socket) -> None:
    """Serve an ASGI application on a socket until a signal; open streams, which never end, are cut then."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[at])

"""``acc inspect`` and ``mcp``: options of the two servers, which have packages of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal

import typer

from acc.cli import terminal
from acc.cli.opening import SCHEMA, new_policy, opened, reading, schema_of
from acc.cli.terminal import model_named, option
from acc.errors import ConfigurationError, extra
from acc.inspector.commits import StateReader
from acc.inspector.threads import Threads
from acc.schema import schema_named
from acc.turn.observations import Channel

SpeaksFor = Literal["user", "agent", "tool", "document"]

TOKEN = "ACC_MCP_TOKEN"
"""Environment variable with the token that HTTP clients must send."""


def inspect(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    port: Annotated[int, option("N", "The port; 0 takes any free one.", min=0, max=65535)] = 8766,
) -> None:  # fmt: skip
    """Serve a local page over the threads of a memory.

    It follows a running agent: it reads the journal alone. Only this machine reaches it.
    """
    with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
        from acc.inspector.server import application, bound, server

    with reading(memory) as journal:
        pause = partial(asyncio.sleep, 1.0)
        app = application(Threads(journal, StateReader(schema_of)), pause)
        with bound(port) as socket, suppress(KeyboardInterrupt):
            print(f"http://127.0.0.1:{socket.getsockname()[1]}/", flush=True)
            print("Every account of this machine can read the page. Ctrl-C ends it.", flush=True)
            server(app).run(sockets=[socket])


def mcp(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: Annotated[str, option("NAME", "Serve this thread only. [default: the client names it]")] = "",
    scope: terminal.ScopeOption = None,
    speaks_for: Annotated[SpeaksFor, typer.Option(help="Whose words the client stores. Only those of the user make "
        "rules: choose user if nothing but the user's own words reaches the tool remember.")] = "agent",
    http: Annotated[str, option("HOST:PORT", f"Serve streamable HTTP at /mcp there, such as 127.0.0.1:8765. Beyond "
        f"this machine it needs a token in {TOKEN}. [default: stdio]")] = "",
    allow_host: Annotated[list[str] | None, option("NAME", "With --http: accept this Host header, as of a proxy. "
        "Repeatable.")] = None,
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
        from acc.mcp_server.server import (
            Address,
            listening,
            memory_server,
            serve_http,
            serve_stdio,
        )
    serving = Serving(Channel(speaks_for), thread=thread, **(scope or {}))
    asked = model_named(model)
    own = os.environ.get(SCHEMA, "").partition(",")[0]
    policy = new_policy(schema_named(own) if own else None, asked)
    settings = {"policy": policy, "model": asked, "create": True}
    if not (http or allow_host):
        with opened(memory, **settings) as controller:
            serve_stdio(memory_server(controller, serving))
        return
    address, token = Address(*_place(http), tuple(allow_host or ())), os.environ.get(TOKEN, "")
    address.check(token)
    with listening(address) as at, opened(memory, **settings) as controller:
        name = f"[{address.host}]" if ":" in address.host else address.host
        url = f"http://{name}:{at.getsockname()[1]}"
        ready = f"acc: serving {memory} at {url}/mcp, {'with' if token else 'without'} a token"
        server = memory_server(controller, serving, token=token, url=url)
        serve_http(server, address, at, lambda: print(ready, file=sys.stderr, flush=True))


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        hint = "give 127.0.0.1:8765; port 0 is any free one"
        raise ConfigurationError(f"{text!r} is not HOST:PORT", where="--http", hint=hint)
    return host.removeprefix("[").removesuffix("]"), int(port)

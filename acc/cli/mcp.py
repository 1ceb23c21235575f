"""``acc mcp``: serves a memory to clients of the Model Context Protocol."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import ExitStack
from typing import Annotated, Literal

import typer

from acc.cli import options
from acc.cli.logged import thread_named
from acc.cli.opening import compressor_named, opened, policy_of
from acc.controller import MODEL_TOKENS
from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import UNNAMED
from acc.turn.observations import Channel

SpeaksFor = Literal["user", "agent", "tool", "document"]

TOKEN = "ACC_MCP_TOKEN"
"""Environment variable with the token that HTTP clients must send."""


def mcp(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Serve this thread only. [default: the client names the thread]"
        ),
    ] = "",
    speaks_for: Annotated[
        SpeaksFor,
        typer.Option(
            help="Whose words the client stores. Only those of the user make rules: choose user if "
            "nothing but the user's own words reaches the tool remember."
        ),
    ] = "agent",
    user: options.UserOption = UNNAMED,
    agent: options.AgentOption = UNNAMED,
    tenant: options.TenantOption = UNNAMED,
    allow_forget: Annotated[
        bool, typer.Option("--allow-forget", help="Also offer the tool forget, which erases.")
    ] = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Serve streamable HTTP at /mcp. [default: stdio]"),
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help=f"With --http: listen here. Beyond this machine it needs a token in {TOKEN}.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=65535, help="With --http: the port; 0 for a free one."
        ),
    ] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --http: accept this name in the Host header, such as that of a proxy. Repeatable.",
        ),
    ] = None,
    server: options.ServerOption = None,
    max_tokens: options.MaxTokensOption = None,
    style: options.StyleOption = None,
    schema: options.SchemaOption = None,
    model: options.ModelOption = "",
    mode: options.ModeOption = None,
    price: options.PriceOption = None,
) -> None:
    """Serve a memory to agents over the Model Context Protocol.

    Its tools are remember, recall and read_state. See docs/mcp.md for the set-up of common clients.
    """
    # Warnings go to stderr: stdout belongs to the protocol.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    from acc.mcp_server import Serving, memory_server
    from acc.mcp_server.transports import Address, listening, serve_http, serve_stdio

    token = os.environ.get(TOKEN, "") if http else ""
    serving = Serving(Channel(speaks_for), user, agent, tenant, thread, allow_forget)
    address = Address(host, port, tuple(allow_host or ()))
    if not http and (allow_host or host != "127.0.0.1" or port != 8765):
        raise ConfigurationError(
            "a host or port without HTTP", where="acc mcp", hint="give --http, or leave them out"
        )
    compressor = compressor_named(model, mode, price)
    with ExitStack() as stack:
        at = None
        if http:
            address.check(token)
            at = stack.enter_context(listening(address))
        logged = thread_named(memory, serving.whose(thread)) if thread else None
        if model and logged is None and max_tokens is None:
            max_tokens = max(MODEL_TOKENS, (schema or CompressedCognitiveState).max_tokens)
        policy = policy_of(
            logged.last if logged else None, schema=schema, max_tokens=max_tokens, style=style
        )
        controller = stack.enter_context(
            opened(memory, policy, server=server, compressor=compressor)
        )
        for finished in controller.resumed:
            print(f"acc: {finished}", file=sys.stderr)
        if at is None:
            serve_stdio(memory_server(controller, serving))
            return
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{at.getsockname()[1]}"
        ready = f"acc: serving {memory} at {url}/mcp, {'with' if token else 'without'} a token"
        serve_http(
            memory_server(controller, serving, token=token, url=url), address, at,
            lambda: print(ready, file=sys.stderr, flush=True),
        )  # fmt: skip

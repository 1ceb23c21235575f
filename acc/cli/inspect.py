"""``acc inspect``: options of the page over live threads, which has a package of its own."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from acc.cli import options
from acc.cli.opening import Memory, Place, conversations, last_policy, opened, reading, thread_named
from acc.cli.options import flag, option
from acc.cli.policies import Schema, digest_key, schema_of
from acc.errors import ConfigurationError, extra
from acc.folders import opened_for_text
from acc.inspector.operating import OperatorActs
from acc.inspector.page import exported_page
from acc.inspector.states import Reader
from acc.inspector.threads import Threads, name_of
from acc.journal import Journal
from acc.state.policy import Policy


def inspect(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    port: Annotated[int, option("N", "The port; 0 takes any free one.", min=0, max=65535)] = 8766,
    operator: Annotated[bool, flag("--operator", "Offer retire, hold and erase to who has the token that is "
        "printed.")] = False,
    thread: options.ThreadOption = None,
    export: Annotated[Path | None, option("FILE", "Write the page of --thread to this file, and end.")] = None,
) -> None:  # fmt: skip
    """Serve a local page over the threads of a memory.

    It follows a running agent: it reads the journal alone. Only this machine reaches it.
    """
    with reading(memory) as journal:
        if export is not None:
            _export(journal, thread_named(journal, thread), export)
        else:
            _inspect(journal, memory, port, operator=operator)


def _export(journal: Journal, place: Place, out: Path) -> None:
    threads = Threads(journal, Reader(_schema))
    page = exported_page(threads, name_of(place.thread), place.label, place.branch)
    with opened_for_text(out) as file:
        file.write(page)
    print(f"{out} shows {place.label}")


def _inspect(journal: Journal, memory: Memory, port: int, *, operator: bool) -> None:
    with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
        from acc.inspector.server import Inspector, application, bound, new_token, server

    first = next(conversations(journal), None)
    policy = last_policy(journal, first) if first else Policy(digest_key=digest_key())
    acts = OperatorActs(partial(opened, memory, policy=policy)) if operator else None
    token, pause = new_token() if operator else "", partial(asyncio.sleep, 1.0)
    app = application(Inspector(Threads(journal, Reader(_schema)), pause, acts, token))
    with bound(port) as socket, suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{socket.getsockname()[1]}/", flush=True)
        if operator:
            print(f"operator's token: {token}", flush=True)
        print("Every account of this machine can read the page. Ctrl-C ends it.", flush=True)
        server(app).run(sockets=[socket])


def _schema(name: str) -> Schema | None:
    try:
        return schema_of(name)
    except ConfigurationError:
        return None

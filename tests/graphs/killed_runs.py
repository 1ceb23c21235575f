"""Processes of a test's own, made quickly by one that has loaded everything."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["runs"])


def _told(work: Callable[..., Any], given: tuple[Any, ...], out: Connection) -> None:
    out.send(work(*given))


def ran(work: Callable[..., Any], *given: Any, seconds: float = 60) -> tuple[int, Any]:
    """Exit code of a process that does ``work``, and what it returned, if it lived to."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_told, args=(work, given, theirs))
    process.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(seconds) else None
    except EOFError:
        found = None
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode or 0, found

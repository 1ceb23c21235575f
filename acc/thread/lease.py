"""How long a claim in a shared store counts as a running writer's.

The claim names its writer. A writer renews its claim while its step runs. The claim of a writer on this host
ends with the writer's process; any other claim ends `LEASE` after it was last renewed.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path

LEASE = timedelta(seconds=20)
"""Age up to which a claim that its writer renews counts as a running writer's. The clocks of two hosts may
differ by `LEASE` less `BEAT`."""

LONG_LEASE = timedelta(minutes=2)
"""The same for a claim that nobody renews: of an earlier release, or in a store that cannot replace records."""

BEAT = 5.0
"""Seconds between two renewals."""


def holder() -> str:
    """Return the name of this process: host, process id, and the time it started at."""
    return f"{_host()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(name: str) -> bool:
    """Return whether ``name`` is a process of this host that has ended. False if that is not known."""
    host, process, started = name.split(":") if name.count(":") == 2 else ("", "", "")
    if not started or host != _host():
        return False
    return _started(int(process)) != started


@contextmanager
def kept_alive(renew: Callable[[], bool]) -> Iterator[None]:
    """Call ``renew`` every `BEAT` seconds, on a thread of its own, while it returns true."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT) and renew():
            pass

    try:
        threading.Thread(target=beat, daemon=True, name="acc-lease").start()
        yield
    finally:
        over.set()


@cache
def _host() -> str:
    """Return a digest that processes share which see each other's ids: on one host, in one container."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        known.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\x00".join(known).encode()).hexdigest()[:16]


def _started(process: int) -> str:
    """Return when a process started, which tells it from a later one with its id.

    Empty for a process that has ended, and on a system without ``/proc``.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]

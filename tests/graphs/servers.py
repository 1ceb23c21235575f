"""Real servers of the tests' own, on the loopback, ended by their process ids."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tenacity

from acc.stores.chroma.store import ChromaArtifactStore

_PROGRAMS = ("initdb", "postgres")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], *, cwd: Path, log: Path, env: Mapping[str, str] | None = None,
    user: str | None = None, ends_by: int = signal.SIGTERM,
) -> Iterator[int]:  # fmt: skip
    """A process while the block runs; its id."""
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=cwd, env=env, user=user, stdout=out, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        yield server.pid
    finally:
        server.send_signal(ends_by)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(20)


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """The address of a Chroma server on ``folder``."""
    port = free_port()
    program = str(Path(sys.executable).with_name("chroma"))
    command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with running(command, cwd=folder, log=folder / "chroma.log"):
        ready = tenacity.wait_fixed(0.1)
        ChromaArtifactStore.server("127.0.0.1", port, attempts=200, wait=ready).close()
        yield f"http://127.0.0.1:{port}"


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a database in a PostgreSQL that is made for the block, and goes with it."""
    psycopg: Any = pytest.importorskip("psycopg", reason="psycopg is not installed")
    pytest.importorskip("langgraph.checkpoint.postgres", reason="no Postgres checkpointer")
    initdb, postgres = _programs()
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        password = secrets.token_hex(16)
        (folder / "password").write_text(password)
        if user is not None:
            shutil.chown(folder, user)
            shutil.chown(folder / "password", user)
        data, port = folder / "data", free_port()
        made = [initdb, "-D", str(data), "-U", "acc", "-E", "UTF8", "--no-sync"]
        made += ["-A", "scram-sha-256", "--pwfile", str(folder / "password")]
        subprocess.run(made, user=user, cwd=folder, check=True, capture_output=True)
        command = [postgres, "-D", str(data), "-h", "127.0.0.1", "-p", str(port)]
        command += ["-c", f"unix_socket_directories={folder}", "-c", "fsync=off"]
        fast = signal.SIGINT  # PostgreSQL's word for: end the connections, then yourself
        with running(command, cwd=folder, log=folder / "log", user=user, ends_by=fast):
            address = f"postgresql://acc:{password}@127.0.0.1:{port}/postgres"
            for attempt in tenacity.Retrying(
                stop=tenacity.stop_after_delay(30), wait=tenacity.wait_fixed(0.1),
                retry=tenacity.retry_if_exception_type(psycopg.OperationalError), reraise=True,
            ):  # fmt: skip
                with attempt:
                    psycopg.connect(address).close()
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> list[str]:
    beside = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # where Debian puts them
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, beside[::-1])])
    found = [shutil.which(name, path=path) for name in _PROGRAMS]
    if None in found:
        pytest.skip(f"no PostgreSQL on this machine: {' and '.join(_PROGRAMS)} are not on the path")
    return [str(Path(str(program)).resolve()) for program in found]


def _unprivileged() -> str | None:
    """PostgreSQL refuses to run as root: another user then; None where the present one will do."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")

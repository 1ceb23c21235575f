"""Real servers of the tests' own, on the loopback, ended by their process ids."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from services import PostgreSQL, program, unprivileged
from services import chroma as chroma_service
from services import free_port as free_port


@contextmanager
def running(
    command: Sequence[str], *, cwd: Path, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[int]:
    """A process while the block runs; its id."""
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=cwd, env=env, stdout=out, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        yield server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(20)


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """The address of a Chroma server on ``folder``."""
    server = chroma_service(folder)
    try:
        server.start()
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


def needs_postgresql() -> None:
    """Skip the test where no PostgreSQL can run."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    pytest.importorskip("langgraph.checkpoint.postgres", reason="no Postgres checkpointer")
    try:
        program("initdb")
        unprivileged()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a database in a PostgreSQL that is made for the block, and goes with it."""
    needs_postgresql()
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        Path(folder).chmod(0o755)
        server = PostgreSQL(Path(folder) / "postgresql")
        try:
            server.start()
            yield server.address.replace("//acc@", f"//acc:{server.password}@")
        finally:
            server.stop()

"""Real servers of the tests' own, on the loopback, ended by their process ids."""

from __future__ import annotations

import re
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
from sqlalchemy import Engine, create_engine, text


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
def postgresql_server() -> Iterator[PostgreSQL]:
    """A PostgreSQL that is made for the block, and goes with it."""
    needs_postgresql()
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        Path(folder).chmod(0o755)
        server = PostgreSQL(Path(folder) / "postgresql")
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a database in such a server, with its password."""
    with postgresql_server() as server:
        yield url_of(server)


def url_of(server: PostgreSQL) -> str:
    """Return the address of a server's database with its password."""
    return server.address.replace("//acc@", f"//acc:{server.password}@")


def engine_of(url: str) -> Engine:
    """Return an engine of the caller's own for an address."""
    return create_engine(url.replace("postgresql:", "postgresql+psycopg:"))


def schema_for(url: str, test: str) -> str:
    """Return the address of a new schema, which a test has for itself."""
    name = re.sub(r"\W", "_", test).lower()[:60]
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{url}?options=-csearch_path%3D{name}"


def begin(*workers: subprocess.Popen[str]) -> None:
    """Let workers begin, all at once, when each has said that it is ready."""
    for each in workers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in workers:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()

"""Chroma's server, PostgreSQL and workers as processes of this machine.

Each listens on a free port of the loopback, can be killed and started again on the same port and the same data, and
is ended by its process id.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

START_SECONDS = 90


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """A process that listens on ``port``; `start` returns once it answers."""

    def __init__(
        self, name: str, command: list[str], port: int, log: Path, answers: Callable[[], object],
        *, env: Mapping[str, str] | None = None, user: str | None = None,
        ends_by: int = signal.SIGTERM,
    ) -> None:  # fmt: skip
        self.name = name
        self.port = port
        self.log = log
        self.command = command
        self._answers = answers
        self._env = {**os.environ, **(env or {})}
        self._user = user
        self._ends_by = ends_by
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until it answers.

        Raises:
            TimeoutError: It does not answer.
        """
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                # PostgreSQL refuses to start until the children of a killed one have gone.
                with self.log.open("ab") as out:
                    self._process = subprocess.Popen(
                        self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                        env=self._env, user=self._user, cwd=self.log.parent,
                    )  # fmt: skip
            with suppress(Exception):
                self._answers()
                return
            time.sleep(0.1)
        self.stop()
        raise TimeoutError(f"{self.name}: {self.log.read_text(errors='replace')[-2_000:]}")

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Tell the process to end, and wait for it."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(self._ends_by)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()


def chroma(folder: Path) -> Service:
    """Return a Chroma server on ``folder``."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    folder.mkdir(exist_ok=True)
    log = folder.with_name(f"{folder.name}.log")
    return Service("chroma", command, port, log, answering(port, "/api/v2/heartbeat"))


def answering(port: int, path: str) -> Callable[[], object]:
    """Return a call that fails until ``path`` is answered with 200."""

    def ask() -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            answer.read()

    return ask


class PostgreSQL(Service):
    """A PostgreSQL with data of its own, made by ``initdb``."""

    def __init__(self, folder: Path) -> None:
        """Make the data in ``folder``, which a user other than root must be able to enter."""
        self.user = unprivileged()
        self.password = secrets.token_hex(16)
        folder.mkdir()
        (folder / "password").write_text(self.password)
        if self.user is not None:
            shutil.chown(folder, self.user)
            shutil.chown(folder / "password", self.user)
        made = [
            program("initdb"),
            "-D",
            str(folder / "data"),
            "-U",
            "acc",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        made += ["-A", "scram-sha-256", "--pwfile", str(folder / "password")]
        subprocess.run(made, user=self.user, cwd=folder, check=True, capture_output=True)
        port = free_port()
        command = [program("postgres"), "-D", str(folder / "data"), "-h", "127.0.0.1"]
        command += ["-p", str(port), "-c", f"unix_socket_directories={folder}"]
        super().__init__(
            "postgresql", command, port, folder / "log", self._connect, user=self.user,
            ends_by=signal.SIGINT,  # the word for: end the connections, then yourself
        )  # fmt: skip

    @property
    def address(self) -> str:
        """The address without the password, which clients read from PGPASSWORD."""
        return f"postgresql://acc@127.0.0.1:{self.port}/postgres"

    def _connect(self) -> None:
        import psycopg

        psycopg.connect(self.address, password=self.password, connect_timeout=5).close()


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL.

    Raises:
        FileNotFoundError: It is not installed.
    """
    # Debian's own folders first: what it puts on the path is a wrapper, and not there for all programs.
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(
        name, path=os.pathsep.join([*map(str, debian), os.environ.get("PATH", "")])
    )
    if found is None:
        raise FileNotFoundError(f"no PostgreSQL on this machine: {name} is not on the path")
    return found


def unprivileged() -> str | None:
    """Return a user for PostgreSQL, which does not run as root; None where the present one will do.

    Raises:
        FileNotFoundError: There is none.
    """
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    raise FileNotFoundError(
        "PostgreSQL does not run as root, and there is no user postgres or nobody"
    )


class Deployment:
    """What `deploy/compose.yaml` starts: a Chroma server, a PostgreSQL, and workers that share its journal."""

    def __init__(self, folder: Path, workers: int) -> None:
        """Name the services in ``folder``."""
        folder.chmod(0o755)  # PostgreSQL's user goes through it
        self.chroma = chroma(folder / "chroma")
        self.postgresql = PostgreSQL(folder / "postgresql")
        self.env = {
            "ACC_MEMORY": self.postgresql.address,
            "ACC_CHROMA": f"http://127.0.0.1:{self.chroma.port}",
            "ACC_CHECKPOINTS": self.postgresql.address,
            "PGPASSWORD": self.postgresql.password,
        }
        self.workers = [self._worker(n, folder / f"worker-{n}.log") for n in range(workers)]

    def _worker(self, number: int, log: Path) -> Service:
        port = free_port()
        command = [sys.executable, "-m", "acc_graphs.worker", "--port", str(port)]
        ready = answering(port, "/ready")
        return Service(f"worker {number}", command, port, log, ready, env=self.env)

    def prepare(self) -> None:
        """Make the tables of the checkpoints, as the service ``prepare`` of the compose file does."""
        command = [sys.executable, "-m", "acc_graphs.worker", "prepare"]
        subprocess.run(command, env={**os.environ, **self.env}, check=True)

    @contextmanager
    def running(
        self, restore: Callable[[Deployment], object] | None = None
    ) -> Iterator[Deployment]:
        """Run all services for the block; ``restore`` fills the PostgreSQL in place of `prepare`."""
        with ExitStack() as ends:
            for service in (self.chroma, self.postgresql):
                ends.callback(service.stop)
                service.start()
            (restore or Deployment.prepare)(self)
            for worker in self.workers:
                ends.callback(worker.stop)
                worker.start()
            yield self

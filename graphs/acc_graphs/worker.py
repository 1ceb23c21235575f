"""A worker that serves turns of the ReAct graph over HTTP: ``python -m acc_graphs.worker``.

Any number of workers share the memory's folder, a Chroma server and a PostgreSQL; `deployment` names the settings.

    POST /TENANT/USER/THREAD  {"id": "...", "text": "..."}  one turn: its answer
    GET  /live                                              the process runs
    GET  /ready                                             memory and checkpoints answer

The caller sends a message again, with its id and to any worker, until it is answered; it is taken
in once. It waits for the answer before it sends the next message of a thread. The worker authenticates
nobody: the service in front of it does, and names tenant and user.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import closing
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from langchain_core.messages import HumanMessage

from acc.controller.queues import Queues
from acc.errors import AccError, InputError, StoreUnavailableError, problem
from acc.integrations.identity import Identity
from acc.journal.names import MAIN
from acc.logs import cause
from acc_graphs import triage
from acc_graphs.deployment import TurnLocks, deployed, prepare, served_model
from acc_graphs.react import Graph, build

_LOG = logging.getLogger(__name__)

MOST_BYTES = 1_000_000
"""Limit of a request's body."""

_JSON = {"Content-Type": "application/json"}


class Turns:
    """Runs turns on a graph; safe for use by several threads."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = parts
        self._locks = TurnLocks(parts["checkpointer"])
        self.queues = Queues(wait=0)
        self._graph: Graph = build(
            served_model(triage.decide), triage.Clinic().tools(), **parts, role=triage.ROLE,
            channels=triage.CHANNELS, identity=Identity(tenant="tenant", user="user"),
        )  # fmt: skip

    def close(self) -> None:
        """End the connection that holds the locks of conversations."""
        self._locks.close()

    def ready(self) -> None:
        """Raise what the memory or the checkpointer raises, if one of them does not answer."""
        self._parts["memory"].journal.head("ready")
        self._graph.get_state({"configurable": {"thread_id": "ready"}})

    def turn(self, place: str, message: str, said: str) -> dict[str, Any]:
        """Run a turn, or what a killed worker left of it; a turn that has ended is not run again.

        Args:
            place: ``TENANT/USER/THREAD``, quoted as in a URL. All of it names the conversation, so
                that no two tenants or users share checkpoints.
            message: The message's id.
            said: Its text.

        Returns:
            The answer, and the turn, branch and hash of the state.

        Raises:
            ConflictError: A turn of this thread is running, in this worker or another.
        """
        with self.queues.place(place), self._locks.held(place):
            return self._run(place, message, said)

    def _run(self, place: str, message: str, said: str) -> dict[str, Any]:
        tenant, user, _ = place.split("/")
        names = {"thread_id": place, "tenant": tenant, "user": user}
        config: Any = {"configurable": names}
        left = self._graph.get_state(config)
        out = left.values
        known = any(m.id == message for m in out.get("messages", ()))
        if not known or left.tasks:
            given = None if known else {"messages": [HumanMessage(said, id=message)]}
            out = self._graph.invoke(given, config, durability="sync")
        ccs = out["ccs"]
        state = {"turn": ccs["turn"], "branch": ccs.get("branch", MAIN), "hash": ccs["hash"]}
        return {"answer": out["messages"][-1].text, **state}


class Handler(BaseHTTPRequestHandler):
    """Answers requests with JSON."""

    timeout = 60
    turns: ClassVar[Turns]

    def do_GET(self) -> None:
        """Answer a probe."""
        if self.path == "/live":
            self._send(HTTPStatus.OK, {})
        elif self.path == "/ready":
            try:
                self.turns.ready()
            except Exception as error:  # tables that are not made yet, too
                _LOG.warning("not ready: %s: %s", type(error).__name__, str(error).split("\n")[0])
                self._send(HTTPStatus.SERVICE_UNAVAILABLE, {"error": type(error).__name__})
            else:
                self._send(HTTPStatus.OK, {})
        else:
            self._send(HTTPStatus.NOT_FOUND, {})

    def do_POST(self) -> None:
        """Answer a turn."""
        try:
            answer = self._turn()
        except Exception as error:
            status, headers, body = answer_to(error)
            _logged(self.path, status, error)
            self._send(status, body, headers)
        else:
            self._send(HTTPStatus.OK, answer)

    def _turn(self) -> dict[str, Any]:
        place = self.path.strip("/")
        if len([part for part in place.split("/") if part]) != 3:
            raise InputError("no thread", where=self.path, hint="POST /TENANT/USER/THREAD")
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= MOST_BYTES:
            raise InputError(f"a body of {size} bytes", hint=f"send 1 to {MOST_BYTES}")
        body = self.rfile.read(size)
        try:
            found = json.loads(body)
            message, said = found["id"], found["text"]
        except (ValueError, LookupError, TypeError):
            message = said = None
        if not (message and said and isinstance(message, str) and isinstance(said, str)):
            raise InputError("no message", where="body", hint='{"id": "...", "text": "..."}')
        return self.turns.turn(place, message, said)

    def _send(
        self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] = _JSON
    ) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Log a request at the level debug."""
        _LOG.debug(format, *args)


def answer_to(error: Exception) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body of the answer to ``error``; of one that is not ACC's, its name alone."""
    # Every driver of a database has an OperationalError (PEP 249): the server is away.
    if "OperationalError" in [c.__name__ for c in type(error).__mro__]:
        return problem(StoreUnavailableError("the database is away"))
    status, headers, body = problem(error)
    return status, headers, {**body, "message": str(error)} if isinstance(error, AccError) else body


def _logged(path: str, status: int, error: Exception) -> None:
    """Log the type of ``error``: the message of an error of ACC may quote the user."""
    unknown = status == HTTPStatus.INTERNAL_SERVER_ERROR
    level = logging.ERROR if unknown else logging.WARNING
    _LOG.log(level, "%s: %s", path, cause(error), exc_info=unknown)


class Server(ThreadingHTTPServer):
    """Serves each request on a thread of its own."""

    daemon_threads = False  # a worker that is told to end answers what it has begun
    request_queue_size = 128


def serve(host: str, port: int) -> None:
    """Serve turns until the process gets SIGTERM or SIGINT; turns that have begun end first."""
    settings = os.environ.get("ACC_MEMORY", "memory"), os.environ["ACC_CHECKPOINTS"]
    chroma = os.environ.get("ACC_CHROMA", "")
    with (
        deployed(*settings, chroma=chroma) as parts,
        closing(Turns(parts)) as Handler.turns,
        Server((host, port), Handler) as server,
    ):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        _LOG.warning("serving turns at %s:%d", host, server.server_port)
        server.serve_forever()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m acc_graphs.worker")
    parser.add_argument("command", nargs="?", choices=("serve", "prepare"), default="serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if "ACC_CHECKPOINTS" not in os.environ:
        parser.error("set ACC_CHECKPOINTS: postgresql://..., or a file")
    try:
        if given.command == "prepare":  # once, before the workers start
            prepare(os.environ["ACC_CHECKPOINTS"])
        else:
            serve(given.host, given.port)
    except AccError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

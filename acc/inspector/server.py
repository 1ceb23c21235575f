"""The inspector's server: the page, its data, changes as they come, and the operator's acts."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from acc.errors import AccError, ConfigurationError, InputError, StoreLockedError, extra
from acc.inspector.acts import Acts, Desk
from acc.inspector.detail import Details, Reader, missing
from acc.inspector.logs import Logs
from acc.inspector.page import live_page
from acc.stores.protocol import Thread

with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response, StreamingResponse
    from starlette.routing import Route

    from acc.inspector.guard import TOKEN, Guard, is_token

HOST = "127.0.0.1"
MOST_FAULTS = 20
"""Maximum number of faults of a log that are told one by one."""

MOST_BODY = 64 * 1024
"""Maximum size of an act in bytes."""

Answer = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Inspector:
    """What the page needs.

    Attributes:
        logs: The audit logs.
        reader: Loads the states.
        pause: Waits until the logs are looked at again.
        acts: The operator's acts; None for a page that only reads.
        token: What a request for an act must bring.
    """

    logs: Logs
    reader: Reader
    pause: Callable[[], Awaitable[None]]
    acts: Acts | None = None
    token: str = ""


def new_token() -> str:
    """Return a random token for the operator."""
    return secrets.token_urlsafe(24)


def application(inspector: Inspector) -> Starlette:
    """Return the ASGI application."""
    page, policy = live_page(operator=inspector.acts is not None)

    async def front(_: Request) -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    data = _Data(inspector)
    routes = [
        Route("/", front),
        Route("/api/threads", _reads(lambda _: {"threads": inspector.logs.threads()})),
        Route("/api/thread", _reads(data.thread)),
        Route("/api/turn", _reads(data.turn)),
        Route("/api/source", _reads(data.source)),
        Route("/api/changes", data.changes),
    ]
    if inspector.acts is not None:
        desk = Desk(inspector.acts)
        acts = {
            "/api/plan": lambda asked: desk.plan(data.owner(asked), asked),
            "/api/confirm": lambda asked: desk.confirm(str(asked.get("plan"))),
        }
        routes += [Route(p, _acts(inspector, act), methods=["POST"]) for p, act in acts.items()]
    return Starlette(routes=routes, middleware=[Middleware(Guard)])


class _Data:
    """Answers questions for data; each method is a request's."""

    def __init__(self, inspector: Inspector) -> None:
        self._logs, self._reader = inspector.logs, inspector.reader
        self._pause = inspector.pause

    def thread(self, request: Request) -> dict[str, Any]:
        """The list of turns from the position ``after`` on, if ``last`` is the digest of the one before."""
        index = self._logs.index(request.query_params.get("log", ""))
        after, last = _number(request, "after"), request.query_params.get("last")
        if [entry["digest"] for entry in index.entries[:after][-1:]] != [last]:
            after = 0
        more = len(index.faults) - MOST_FAULTS
        faults = [*index.faults[:MOST_FAULTS], *([f"and {more:,} more"] if more > 0 else [])]
        return {"after": after, "entries": index.entries[after:], "faults": faults}

    def turn(self, request: Request) -> dict[str, Any]:
        """The details of the turn at ``position``."""
        name = request.query_params.get("log", "")
        index = self._logs.index(name)
        position = _number(request, "position")
        if position >= len(index.entries):
            raise InputError("the log has no such record", where=name, hint="open the thread again")
        record = self._logs.record(name, index.entries[position]["digest"])
        return Details(index, self._reader).of(record, position)

    def source(self, request: Request) -> dict[str, Any]:
        """The text behind ``ref``, as the past of the record at ``position`` knows it."""
        name, ref = request.query_params.get("log", ""), request.query_params.get("ref", "")
        index = self._logs.index(name)
        position = min(_number(request, "position"), len(index.entries) - 1)
        place = index.place_of(ref, position) if position >= 0 else None
        if place is None:
            redacted = any(entry["redacted"] for entry in index.entries)
            return missing(ref, redacted=redacted)
        record = self._logs.record(name, index.entries[place.position]["digest"])
        return Details(index, self._reader).source(record, ref)

    def owner(self, asked: dict[str, Any]) -> Thread:
        """The thread of the log that an act names."""
        name = str(asked.get("log", ""))
        index = self._logs.index(name)
        if not index.entries:
            raise InputError("the audit log has no record", where=name)
        return Thread(**self._logs.record(name, index.last)["thread"])

    async def changes(self, _: Request) -> Response:
        """A stream of events: the logs that changed, whenever any did."""
        events = changes_of(self._logs, self._pause)
        return StreamingResponse(events, media_type="text/event-stream")


async def changes_of(logs: Logs, pause: Callable[[], Awaitable[None]]) -> AsyncIterator[str]:
    """Yield a server-sent event with the names of the logs that changed, whenever any did.

    The first event names none: it says that the stream is open. Between two looks at the ends of the
    logs it awaits ``pause``. While the logs cannot be read, an event says why.
    """
    known: dict[str, Any] | None = None
    failed = ""
    while True:
        try:
            ends = await run_in_threadpool(logs.ends)
            before = ends if known is None else known
            changed = [name for name in {**before, **ends} if before.get(name) != ends.get(name)]
            if known is None or changed or failed:
                yield _event("change", {"logs": changed})
            known, failed = ends, ""
        except AccError as error:
            if failed != (failed := str(error)):
                yield _event("fault", {"error": failed})
        yield ": \n\n"  # finds out whether the page is still there
        await pause()


def _event(name: str, value: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n"


def _reads(answer: Callable[[Request], Any]) -> Answer:
    """Return an endpoint that answers with what ``answer`` returns, or with its error."""

    async def endpoint(request: Request) -> Response:
        return await _answered(lambda: answer(request))

    return endpoint


def _acts(inspector: Inspector, act: Callable[[dict[str, Any]], Any]) -> Answer:
    """Return an endpoint for acts of the operator, who brings the token in a header."""

    async def endpoint(request: Request) -> Response:
        if not is_token(request.headers.get(TOKEN, ""), inspector.token):
            return _json(
                {"error": "the token is wrong", "hint": "copy it from the terminal of acc inspect"},
                401,
            )
        body = b""
        async for chunk in request.stream():
            if len(body := body + chunk) > MOST_BODY:
                return _json({"error": "the request is too long"}, 413)
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return _json({"error": "the request is not a JSON object"}, 400)
        return await _answered(lambda: act(asked))

    return endpoint


async def _answered(answer: Callable[[], Any]) -> Response:
    try:
        return _json(await run_in_threadpool(answer))
    except AccError as error:
        hint = error.hint
        if isinstance(error, StoreLockedError):
            hint = "the agent's process holds the store: stop it, or act from within it; reading goes on"
        status = 409 if isinstance(error, StoreLockedError) else 400
        return _json({"error": error.what, "where": error.where, "hint": hint}, status)


def _json(value: Any, status: int = 200) -> Response:
    # ASCII alone: a lone surrogate has no UTF-8.
    return Response(json.dumps(value), status, media_type="application/json")


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError(f"{name} is not a number", where="the request")
    return int(text)


def bound(port: int) -> socket.socket:
    """Return a listening socket on the loopback; a ``port`` of 0 is any free one.

    Raises:
        ConfigurationError: The port is in use.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((HOST, port))
        opened.listen(128)
    except OSError as error:
        opened.close()
        raise ConfigurationError(
            f"port {port} cannot be used: {error.strerror or error}",
            where="--port",
            hint="name another port; 0 takes any free one",
        ) from error
    return opened


def server(app: Starlette) -> uvicorn.Server:
    """Return the server; `uvicorn.Server.run` with a socket serves until a signal."""
    # An open stream of changes never ends by itself.
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="critical", access_log=False, server_header=False,
            lifespan="off", timeout_graceful_shutdown=1,
        )
    )  # fmt: skip

"""The inspector's server: who may ask, the page, its data, changes as they come, and the operator's acts."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acc.errors import AccError, ConfigurationError, InputError, extra
from acc.folders import file_errors
from acc.inspector.acts import OperatorActs
from acc.inspector.page import page_and_policy
from acc.inspector.threads import Details, Threads, key_of
from acc.journal.names import MAIN

with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
OWN = (HOST, "localhost", "[::1]")
"""Names of this machine: requests for other names are refused."""

TOKEN = "x-acc-token"
"""The header with the token that an operator's act needs."""

MOST_BODY = 64 * 1024
"""Maximum size of an act in bytes."""

_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every answer that does not set them itself."""

Answer = Callable[[Request], Awaitable[Response]]
Pause = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Inspector:
    """What the page needs.

    Attributes:
        threads: The threads.
        pause: Waits until the journal is looked at again.
        acts: The operator's acts; None for a page that only reads.
        token: What a request for an act must bring.
    """

    threads: Threads
    pause: Pause
    acts: OperatorActs | None = None
    token: str = ""


def new_token() -> str:
    """Return a random token for the operator."""
    return secrets.token_urlsafe(24)


def refusal(headers: Mapping[str, str], path: str) -> str:
    """Return why a request is refused; empty if it may be answered.

    A page of another host must not read the memory, not even under a name that leads to this machine
    (DNS rebinding): the names of the loopback are the only ones that are answered. A link may lead to
    the front page, which holds no data.
    """
    host = headers.get("host", "").lower()
    ports = [host.removeprefix(name) for name in OWN if host.startswith(name)]
    if not any(not port or (port[0] == ":" and _is_number(port[1:], 5)) for port in ports):
        return "the Host header does not name this machine's loopback"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return "the Origin header names another page"
    if path != "/" and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return "another site made this request"
    return ""


def is_token(given: str, token: str) -> bool:
    """Compare in a time that does not depend on the place of the first difference."""
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


class Guard:
    """An ASGI middleware that refuses foreign requests and adds the headers of `_HEADERS`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        why = refusal(asked, scope["path"])
        if any(len(asked.getlist(name)) > 1 for name in ("host", "origin")):
            why = "a header is given twice"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer: ASGIApp = self._app
        if why:
            answer = _json({"error": why, "hint": "open the address that acc inspect printed"}, 403)
        await answer(scope, receive, guarded)


def application(inspector: Inspector) -> Starlette:
    """Return the ASGI application."""
    page, policy = page_and_policy(operator=inspector.acts is not None)

    async def front(_: Request) -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    async def changes(_: Request) -> Response:
        events = changes_of(inspector.threads, inspector.pause)
        return StreamingResponse(events, media_type="text/event-stream")

    routes = [Route("/", front), Route("/api/changes", changes)]
    routes += [Route(f"/api/{p}", _reads(a)) for p, a in _answers(inspector.threads).items()]
    if inspector.acts is not None:
        operator = inspector.acts
        acts: dict[str, Callable[[dict[str, Any]], Any]] = {
            "/api/plan": lambda asked: operator.plan(key_of(str(asked.get("log", ""))), asked),
            "/api/confirm": lambda asked: operator.confirm(str(asked.get("plan"))),
        }
        token = inspector.token
        routes += [Route(p, _acts(token, act), methods=["POST"]) for p, act in acts.items()]
    return Starlette(routes=routes, middleware=[Middleware(Guard)])


def _answers(threads: Threads) -> dict[str, Callable[[Request], Any]]:
    """Return what is answered to each question for data."""

    def branch(asked: Request) -> tuple[str, str]:
        given = asked.query_params
        return given.get("log", ""), given.get("branch") or MAIN

    def details(asked: Request) -> Details:
        return Details(threads, threads.index(*branch(asked)))

    def commits(asked: Request) -> dict[str, Any]:
        """The commits from the position ``after`` on, if ``mark`` names what the page knows."""
        index, after = threads.index(*branch(asked)), _number(asked, "after")
        mark = index.mark_at(after - 1)
        after = after if mark and mark == asked.query_params.get("mark") else 0
        branches, newest = threads.branches(branch(asked)[0]), index.mark_at(len(index.entries) - 1)
        return {
            "after": after, "mark": newest, "entries": index.entries[after:], "branches": branches,
        }  # fmt: skip

    def text(asked: Request, name: str) -> str:
        return asked.query_params.get(name, "")[:400]

    return {
        "threads": lambda _: {"threads": threads.rows()},
        "thread": commits,
        "turn": lambda asked: details(asked).of(_number(asked, "version")),
        "source": lambda asked: details(asked).source(text(asked, "ref")),
        "diff": lambda asked: {
            "changes": details(asked).between(_number(asked, "one"), _number(asked, "other"))
        },
        "search": lambda asked: {"found": threads.search(*branch(asked), text(asked, "words"))},
    }


async def changes_of(threads: Threads, pause: Pause) -> AsyncIterator[str]:
    """Yield a server-sent event with the names of the threads that changed, whenever any did.

    The first event names none: it says that the stream is open. Between two looks at the journal it awaits ``pause``.
    While it cannot be read, an event says why.
    """
    known: dict[str, Any] | None = None
    failed = ""
    while True:
        try:
            ends: dict[str, Any] = await run_in_threadpool(threads.ends)
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


def _acts(token: str, act: Callable[[dict[str, Any]], Any]) -> Answer:
    """Return an endpoint for acts of the operator, who brings the token in a header."""

    async def endpoint(request: Request) -> Response:
        if not is_token(request.headers.get(TOKEN, ""), token):
            hint = "copy it from the terminal of acc inspect"
            return _json({"error": "the token is wrong", "hint": hint}, 401)
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
        return _json(
            {"error": error.what, "where": error.where, "hint": error.hint}, error.http_status
        )


def _json(value: Any, status: int = 200) -> Response:
    # ASCII alone: a lone surrogate has no UTF-8.
    return Response(json.dumps(value), status, media_type="application/json")


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not _is_number(text, 9):
        raise InputError(f"{name} is not a number", where="the request")
    return int(text)


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= most


def bound(port: int) -> socket.socket:
    """Return a listening socket on the loopback; a ``port`` of 0 is any free one.

    Raises:
        ConfigurationError: The port is in use.
    """
    hint = "name another port; 0 takes any free one"
    with file_errors(ConfigurationError, f"port {port} cannot be used", where="--port", hint=hint):
        return socket.create_server((HOST, port), backlog=128)


def server(app: Starlette) -> uvicorn.Server:
    """Return the server; `uvicorn.Server.run` with a socket serves until a signal."""
    # An open stream of changes never ends by itself.
    return uvicorn.Server(
        uvicorn.Config(
            app, log_level="critical", access_log=False, server_header=False,
            lifespan="off", timeout_graceful_shutdown=1,
        )
    )  # fmt: skip

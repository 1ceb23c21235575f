"""The inspector's server: who may ask, the page, its data, and changes as they come."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib.resources import files
from string import Template
from typing import Any

from acc.errors import AccError, InputError, extra
from acc.inspector.threads import Branch, Threads
from acc.journal.names import MAIN

with extra("inspect", "the inspector's packages are not installed", where="acc inspect"):
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN = ("127.0.0.1", "localhost")
"""Names of this machine: requests for other names are refused."""

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

Pause = Callable[[], Awaitable[None]]


class Locked:
    """An ASGI middleware that adds the headers of `_HEADERS`, and refuses the request of a page of another host.

    A name that leads to this machine (DNS rebinding) is refused by Starlette; what a browser sends without an Origin
    shows no other page anything, by these headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def locked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        asked = Headers(scope=scope)
        origin = asked.get("origin")
        is_own = origin is None or origin.lower() == f"http://{asked.get('host', '')}".lower()
        answer = self._app if is_own else PlainTextResponse("Another page asks", 403)
        await answer(scope, receive, locked)


def application(threads: Threads, pause: Pause) -> Starlette:
    """Return the ASGI application; ``pause`` waits until the journal is looked at again."""
    page, policy = page_and_policy()

    def front(_: Request) -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    def changes(_: Request) -> Response:
        return StreamingResponse(changes_of(threads, pause), media_type="text/event-stream")

    def answered(answer: Callable[[Request], Any], asked: Request) -> Response:
        return _json(answer(asked))

    def failed(_: Request, error: Any) -> Response:
        told = {"error": error.what, "where": error.where, "hint": error.hint}
        return _json(told, error.http_status)

    # The framework answers each on a worker thread.
    routes = [Route("/", front), Route("/api/changes", changes)]
    for name, answer in _answers(threads).items():
        routes.append(Route(f"/api/{name}", partial(answered, answer)))
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(Locked),
            Middleware(TrustedHostMiddleware, allowed_hosts=OWN, www_redirect=False),
        ],
        exception_handlers={AccError: failed},
    )


SCRIPTS = ("text.js", "data.js", "chart.js", "state.js", "turn.js", "app.js")
"""The scripts in the order in which they run, as one."""


def page_and_policy() -> tuple[str, str]:
    """Return the page, and its content security policy for the header.

    It loads nothing but its data. The policy names style and script by their hashes: no text of a conversation can run.
    """
    style, script = _resource("style.css"), "".join(map(_resource, SCRIPTS))
    policy = "; ".join(
        [
            "default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'",
            "base-uri 'none'", "form-action 'none'", "connect-src 'self'",
        ]
    )  # fmt: skip
    frame = Template(_resource("page.html"))
    page = frame.substitute(policy=policy, style=style, script=script)
    return page, f"{policy}; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _resource(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _answers(threads: Threads) -> dict[str, Callable[[Request], Any]]:

    def branch(asked: Request) -> Branch:
        given = asked.query_params
        return threads.branch(given.get("log", ""), given.get("branch") or MAIN)

    def commits(asked: Request) -> dict[str, Any]:
        return branch(asked).listed(_number(asked, "after"), asked.query_params.get("mark", ""))

    return {
        "threads": lambda _: {"threads": threads.rows()},
        "thread": commits,
        "turn": lambda asked: branch(asked).of(_number(asked, "version")),
        "source": lambda asked: branch(asked).source(asked.query_params.get("ref", "")[:400]),
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


def _json(value: Any, status: int = 200) -> Response:
    # ASCII alone: a lone surrogate has no UTF-8.
    return Response(json.dumps(value), status, media_type="application/json")


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InputError(f"{name} is not a number", where="the request")
    return int(text)

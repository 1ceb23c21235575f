"""What stands before every answer of the inspector: who may ask, and what the browser may do with it."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "x-acc-token"
"""The header with the token that an operator's act needs."""

_OWN = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.ASCII | re.IGNORECASE)

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


def refusal(headers: Mapping[str, str], path: str) -> str:
    """Return why a request is refused; empty if it may be answered.

    A page of another host must not read the memory, not even under a name that leads to this machine
    (DNS rebinding): the names of the loopback are the only ones that are answered. A link may lead to
    the front page, which holds no data.
    """
    host = headers.get("host", "")
    if not _OWN.fullmatch(host):
        return "the Host header does not name this machine's loopback"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}".lower():
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
            body = json.dumps({"error": why, "hint": "open the address that acc inspect printed"})
            answer = Response(body, 403, media_type="application/json")
        await answer(scope, receive, guarded)

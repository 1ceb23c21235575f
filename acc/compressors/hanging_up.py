"""A client of ours hangs up on a server that drips.

The SDK's time-out starts anew with each byte. A caller is let go by `acc.compressors.deadline`;
this ends the connection too, so that no thread is left with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2


def impatient_client() -> Any:
    """The SDK's default HTTP client, whose responses have to be read within the read time-out in all."""
    import openai

    return openai.DefaultHttpx2Client(event_hooks={"response": [_bound]})


def _bound(response: httpx2.Response) -> None:
    seconds = response.request.extensions.get("timeout", {}).get("read")
    if seconds is not None and isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, response.request, seconds)


class _Bounded(httpx2.SyncByteStream):
    def __init__(
        self, stream: httpx2.SyncByteStream, request: httpx2.Request, seconds: float
    ) -> None:
        self._stream = stream
        self._request = request
        self._until = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the body came too slowly", request=self._request)
            yield chunk

    def close(self) -> None:
        self._stream.close()

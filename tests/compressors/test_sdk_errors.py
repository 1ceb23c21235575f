"""What an SDK raises means the same whichever SDK it is; none of them is imported to read it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from acc.compress.endpoint import CallFailed
from acc.compress.failures import status_of, translated
from acc.errors import AuthenticationError, ConfigurationError


class ResponseError(Exception):
    """As Ollama's: a status, and no response."""

    def __init__(self, error: str, status_code: int) -> None:
        super().__init__(error)
        self.status_code = status_code


class ClientError(Exception):
    """As Google's (a code), or as AWS's (a mapping as response)."""

    def __init__(self, message: str, **told: Any) -> None:
        super().__init__(message)
        self.__dict__.update(told)


def aws(status: int, **headers: str) -> dict[str, Any]:
    return {"ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}}


def of_client(status: int) -> httpx2.HTTPStatusError:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    response = httpx2.Response(status, headers={"Retry-After": "3"}, request=request)
    return httpx2.HTTPStatusError("refused", request=request, response=response)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ResponseError("llama-x does not support tools", 400), "bad_request"),
        (ResponseError("overloaded", 503), "server_error"),
        (ClientError("Resource exhausted", code=429), "rate_limited"),
        (ClientError("The input token count exceeds the maximum", code=400), "context_overflow"),
        (ClientError("Throttled", response=aws(429)), "rate_limited"),
        (of_client(429), "rate_limited"),
        (ClientError("Closed", code=1006), "error"),
        (ClientError("Odd", code="429", status_code=True, response=None), "error"),
        (ClientError("Odd", response={"ResponseMetadata": "none"}), "error"),
    ],
)
def test_a_status_is_found_wherever_an_sdk_keeps_it(error: Exception, outcome: str) -> None:
    found = translated(error, "m at 127.0.0.1")
    assert isinstance(found, CallFailed)
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResponseError("unauthorized", 401), AuthenticationError),
        (ClientError("API key not valid", code=403), AuthenticationError),
        (ClientError("No access", response=aws(403)), AuthenticationError),
        (ResponseError("model 'llama-x' not found", 404), ConfigurationError),
    ],
)
def test_what_can_never_work_is_an_error_with_the_fix(error: Exception, kind: type) -> None:
    assert isinstance(translated(error, "m at 127.0.0.1"), kind)


def test_an_error_that_wraps_an_sdks_is_read_through() -> None:
    wrapped = ValueError("the chat model failed")
    wrapped.__cause__ = of_client(503)
    found = translated(wrapped, "m")
    assert isinstance(found, CallFailed)
    assert (found.outcome, found.status, found.headers["retry-after"]) == ("server_error", 503, "3")
    assert found.retry


def test_what_a_server_asks_to_wait_is_found_with_aws_too() -> None:
    found = translated(ClientError("Throttled", response=aws(429, **{"Retry-After": "7"})), "m")
    assert isinstance(found, CallFailed)
    assert found.headers == {"retry-after": "7"}


@pytest.mark.parametrize("status", [200, 399, 600, -1, 10**9])
def test_no_other_number_is_a_status(status: int) -> None:
    assert status_of(ClientError("?", code=status)) == 0

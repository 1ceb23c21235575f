"""What a service does with each error stands on its class."""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterator
from http import HTTPStatus
from importlib import import_module

import pytest

import acc
from acc.errors import (
    AccError,
    CompressionError,
    ConfigurationError,
    ConflictError,
    InputError,
    PinnedOverflow,
    StateError,
    StoreError,
    StoreMismatchError,
    StoreUnavailableError,
    problem,
)
from acc.integrations.langgraph import worth_retrying


def _below(kind: type[AccError]) -> Iterator[type[AccError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _below(each)


def _all() -> list[type[AccError]]:
    for module in pkgutil.walk_packages(acc.__path__, "acc."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return list(dict.fromkeys(_below(AccError)))


def test_every_error_says_what_a_service_does_with_it() -> None:
    kinds = _all()
    assert "BoardOverflow" in {kind.__name__ for kind in kinds}
    for kind in kinds:
        assert 400 <= HTTPStatus(kind.http_status) < 600
        assert not kind.retryable or kind.http_status in (409, 429, 503)
        assert re.fullmatch(r"([A-Z][^.]+\. ?){1,2}", kind.user_action), "one or two sentences"
        names = rf"\b(acc|{kind.__name__}|state|journal|store|commit|compress\w*)\b"
        assert not re.search(names, kind.user_action, re.I)


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        (InputError, 400, False), (PinnedOverflow, 422, False), (ConflictError, 409, True),
        (CompressionError, 503, True), (StoreError, 503, False), (StoreUnavailableError, 503, True),
        (StoreMismatchError, 500, False), (StateError, 500, False), (ConfigurationError, 500, False),
    ],
)  # fmt: skip
def test_the_answer_of_a_service(kind: type[AccError], status: int, retryable: bool) -> None:
    error = kind("never page Ann", where="/srv/memory", hint="run acc verify")
    found, headers, body = problem(error)
    assert (found, body["status"], body["retryable"]) == (status, status, retryable)
    assert ("Retry-After" in headers) is retryable
    assert headers["Content-Type"] == "application/problem+json"
    assert body["detail"] == kind.user_action
    assert not re.search("Ann|srv|verify", json.dumps([headers, body])), "nothing internal"
    assert worth_retrying(error) is retryable


def test_an_error_of_another_library_says_its_name_alone() -> None:
    status, headers, body = problem(KeyError("secret"))
    assert (status, body["error"], body["retryable"]) == (500, "KeyError", False)
    assert "secret" not in json.dumps([headers, body])
    assert not worth_retrying(KeyError("x"))

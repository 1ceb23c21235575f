"""Addresses of checkpointers' databases as they may be kept: without a password."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_SECRET = re.compile(r"([?&])(?:ssl)?password=[^&#]*&?", re.IGNORECASE)


def lasting_url(url: str) -> str:
    """``url`` as it means the same wherever the process runs, and tells no secret.

    A relative path is made absolute, a password is left out.
    """
    kind, _, path = url.partition(":")
    return f"sqlite:{Path(path).absolute()}" if kind == "sqlite" else without_password(url)


def without_password(url: str) -> str:
    """``url`` without the passwords in it.

    Where it is no URL as it should be, rather too much is left out than too little.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url if scheme.startswith("sqlite:") else re.sub(r":.*", ":...", url)
    head, question, query = rest.partition("?")
    if "@" in head:
        head = _without(head)
    elif "@" in rest and ":" in rest.partition("@")[0]:
        head, question, query = _without(rest).partition("?")
    asked = _SECRET.sub(r"\1", f"{question}{query}").rstrip("?&")
    return f"{scheme}://{head}{asked}"


def _without(head: str) -> str:
    who, at, where = head.rpartition("@")
    return f"{who.partition(':')[0]}{at}{where}"


def by_lasting(urls: Iterable[str]) -> dict[str, str]:
    """Each of ``urls``, whole, by the address under which it is kept."""
    return {lasting_url(url): url for url in urls}

"""The operator's acts over HTTP: retire, hold and erase. Each shows its plan first and is then confirmed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from acc.errors import InputError
from acc.journal import ThreadKey
from acc.journal.names import MAIN

MOST_PLANS = 8
"""Number of plans that wait for a confirmation; the oldest is dropped."""


class Plan(NamedTuple):
    """An act before it is confirmed.

    Attributes:
        lines: What it will do.
        act: Does it, and returns lines that say what was done.
    """

    lines: Sequence[str]
    act: Callable[[], Sequence[str]]


class Acts(Protocol):
    """The operator's acts on a memory. Making a plan changes nothing.

    A method and its plan raise an `AccError` if the act cannot be done.
    """

    def retire(self, thread: ThreadKey, branch: str, ids: Sequence[str], reason: str) -> Plan:
        """Plan the end of items of a branch's newest state."""

    def hold(self, thread: ThreadKey, ref: str, reason: str, *, release: bool) -> Plan:
        """Plan a hold on the evidence ``ref``, or on the thread if it is empty; or its release."""

    def erase(self, thread: ThreadKey, branch: str, what: str, ref: str) -> Plan:
        """Plan an erasure of ``what``: the evidence ``ref`` of a branch, the thread or its user."""


class Desk:
    """Takes acts as JSON values, and keeps their plans until they are confirmed."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._waiting: dict[str, Plan] = {}

    def plan(self, thread: ThreadKey, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Make a plan.

        Raises:
            InputError: The act is malformed.
            AccError: It cannot be done.
        """
        made = self._made(thread, asked)
        name = secrets.token_urlsafe(16)
        self._waiting[name] = made
        while len(self._waiting) > MOST_PLANS:
            del self._waiting[next(iter(self._waiting))]
        return {"plan": name, "lines": list(made.lines)}

    def confirm(self, name: str) -> dict[str, Any]:
        """Do what a plan says. It can be confirmed once.

        Raises:
            InputError: No such plan waits.
            AccError: It cannot be done.
        """
        if (made := self._waiting.pop(name, None)) is None:
            raise InputError("no such plan waits", hint="make the plan again, and confirm that one")
        return {"lines": list(made.act())}

    def _made(self, thread: ThreadKey, asked: Mapping[str, Any]) -> Plan:
        reason, ref = _text(asked, "reason"), _text(asked, "ref")
        branch = _text(asked, "branch") or MAIN
        match _text(asked, "act"):
            case "retire":
                ids = asked.get("ids")
                if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
                    raise InputError("ids is not a list of texts", where="retire")
                return self._acts.retire(thread, branch, ids, reason)
            case "hold" | "release" as act:
                return self._acts.hold(thread, ref, reason, release=act == "release")
            case "erase":
                return self._acts.erase(thread, branch, _text(asked, "what"), ref)
        raise InputError("no such act", hint="act is retire, hold, release or erase")


def _text(asked: Mapping[str, Any], name: str) -> str:
    if not isinstance(value := asked.get(name, ""), str):
        raise InputError(f"{name} is not a text", where="the request")
    return value

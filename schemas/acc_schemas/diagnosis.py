"""How an incident is narrowed down: the checks that were made, and the causes in question."""

from __future__ import annotations

from typing import Literal

from acc.items import Item, Line, OptionalLine


class Check(Item):
    """A check that was made, so that nobody makes it again; a later run replaces an earlier one."""

    key = ("check",)
    head = "check"
    check: Line
    result: Literal["normal", "abnormal", "inconclusive"]
    finding: OptionalLine = ""


class Cause(Item):
    """A cause in question, and how it stands; what was ruled out stays, so that it stays ruled out."""

    key = ("cause",)
    head = "cause"
    cause: Line
    standing: Literal["suspected", "supported", "confirmed", "ruled_out"]
    because: OptionalLine = ""

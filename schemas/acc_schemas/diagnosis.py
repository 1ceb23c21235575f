"""How an incident is narrowed down: the checks that were made, and the causes in question."""

from __future__ import annotations

from typing import Literal

from acc.state.items import Name, Record, Text
from acc.state.slots import Slot


class Check(Record):
    """A check that was made, so that nobody makes it again; a later run replaces an earlier one."""

    key = ("check",)
    check: Name
    result: Literal["normal", "abnormal", "inconclusive"]
    finding: Text = ""


class Cause(Record):
    """A cause in question, and how it stands; what was ruled out stays, so that it stays ruled out."""

    key = ("cause",)
    cause: Name
    standing: Literal["suspected", "supported", "confirmed", "ruled_out"]
    because: Text = ""


CHECKS = Slot(
    "checks", "l", "Checks made", places=10, share=0.3,
    guidance="diagnostics that were run, with what they showed",
)  # fmt: skip
CAUSES = Slot(
    "causes", "w", "Causes", places=6, share=0.3,
    guidance="causes in question, never as more than is shown; keep what was ruled out",
)  # fmt: skip

"""How an incident is narrowed down: the checks that were made, and the causes in question."""

from __future__ import annotations

from typing import Literal

from acc import Item
from acc.state import Example, Line, OptionalLine


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


CHECK_CUES = ("checked", "ran a check", "measured", "looked at")
"""Words of a check."""

CHECK_EXAMPLES = (
    Example(
        "Checked DNS on node-7: normal, 2 ms",
        check="DNS on node-7",
        result="normal",
        finding="2 ms",
    ),
    Example(
        "Checked DNS on node-7: fine, 2 ms", check="DNS on node-7", result="normal", finding="2 ms"
    ),
    Example(
        "Checked DNS on node-7: abnormal, 2 s",
        check="DNS on node-7",
        result="abnormal",
        finding="2 s",
    ),
    Example(
        "Checked DNS on node-7: inconclusive, 2 ms",
        check="DNS on node-7",
        result="inconclusive",
        finding="2 ms",
    ),
    Example(
        "Checked DNS on node-7: 2 ms", check="DNS on node-7", result="inconclusive", finding="2 ms"
    ),
)
"""Checks with a result that is said; where none is, they conclude nothing."""

CAUSE_CUES = ("root cause", "suspect", "ruled out", "caused by")
"""Words of a cause."""

CAUSE_EXAMPLES = (
    Example(
        "DNS is ruled out: resolution takes 2 ms",
        cause="DNS",
        standing="ruled_out",
        because="resolution takes 2 ms",
    ),
    Example(
        "We ruled out DNS, resolution takes 2 ms",
        cause="DNS",
        standing="ruled_out",
        because="resolution takes 2 ms",
    ),
    Example(
        "We suspect a shared session across threads",
        cause="a shared session across threads",
        standing="suspected",
    ),
    Example(
        "The suspected cause is a shared session", cause="a shared session", standing="suspected"
    ),
    Example(
        "DNS is the suspected cause, it changed on Monday",
        cause="DNS",
        standing="suspected",
        because="it changed on Monday",
    ),
    Example("The root cause is a shared session", cause="a shared session", standing="confirmed"),
    Example("The cause is a shared session", cause="a shared session", standing="confirmed"),
    Example(
        "DNS is the root cause, it changed on Monday",
        cause="DNS",
        standing="confirmed",
        because="it changed on Monday",
    ),
)
"""How causes are suspected, ruled out and confirmed."""

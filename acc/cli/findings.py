"""What a check-up found: one line each, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from acc.cli.screen import told_json
from acc.errors import AccError
from acc.inert import inert_line

Level = Literal["ok", "note", "bad"]


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        level: ``ok``; ``note`` for what works, but could be better; ``bad`` for what does not work.
        what: What was found, in words.
        mend: What to do about it.
    """

    level: Level
    what: str
    mend: str = ""


def told(findings: Sequence[Finding], *, as_json: bool, **more: Any) -> None:
    """Tell ``findings``; in JSON as ``checks``, beside ``more``.

    Raises:
        AccError: One of them is bad.
    """
    if as_json:
        told_json({"checks": [finding._asdict() for finding in findings], **more})
    else:
        for level, what, mend in findings:
            line = f"{level:<5} {inert_line(what)}"
            print(line + (f"\n      to mend: {inert_line(mend)}" if mend else ""), flush=True)
    bad = [finding for finding in findings if finding.level == "bad"]
    if bad:
        raise AccError(
            f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}", mend=bad[0].mend
        )


def finding_of(error: AccError) -> Finding:
    """An error as a finding."""
    return Finding("bad", error.what + (f" ({error.where})" if error.where else ""), error.mend)

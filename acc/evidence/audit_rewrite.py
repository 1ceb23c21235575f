"""Rewriting a thread's audit log: what was erased taken out, and the tombstone commit at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from acc.audit import FORMAT, AuditLog
from acc.audit_record import digest_of
from acc.evidence.erasure_plan import Leaving, Rewritten
from acc.evidence.redaction import (
    Erased,
    Record,
    erased_state,
    items_resting_alone,
    redacted,
)
from acc.folders import opened_private
from acc.state import canonical_json

_HALF = ".erasing"


def foreseen(log: AuditLog, erased: Erased) -> Rewritten | None:
    """What `rewrite` would do to ``log``; None where the log has nothing of what was erased.

    Raises:
        AuditError: It cannot be read.
    """
    future = _Future(log, erased)
    for _ in future.records("", ""):
        pass
    return future.told()


def rewrite(log: AuditLog, erased: Erased, erasure: str, at: str) -> Rewritten | None:
    """Take what was erased out of ``log``, and commit the state without it.

    The file is written anew beside the old one and takes its place at once; a kill leaves one
    or the other. Done once: a log that ends with this very erasure is left as it is.

    Args:
        log: The log.
        erased: What was erased.
        erasure: The erasure's identity.
        at: The time.

    Returns:
        What was done; None where the log has nothing of it.

    Raises:
        OSError: It cannot be written, or somebody else keeps it locked.
        AuditError: It cannot be read.
    """
    half = log.path.with_name(log.path.name + _HALF)
    with log.lock:
        half.unlink(missing_ok=True)
        if ((log.last() or {}).get("erasure") or {}).get("id") == erasure:
            return _done_before(log, erasure)
        if foreseen(log, erased) is None:
            return None
        future = _Future(log, erased)
        previous = ""
        with opened_private(half) as file:
            for record in future.records(erasure, at):
                line, previous = _chained(record, previous)
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, log.path)
    return future.told()


class _Future:
    """A log without what was erased: its records, and the tombstone commits that follow them."""

    def __init__(self, log: AuditLog, erased: Erased) -> None:
        self._log = log
        self._erased = erased
        self._is_concerned = False
        self._counted = self._redacted = 0
        self._leaving: list[Leaving] = []
        self._last: Mapping[str, Any] = {}

    def records(self, erasure: str, at: str) -> Iterator[Record]:
        """What the log will hold, in order."""
        items = items_resting_alone(self._log.records(), self._erased)
        newest: dict[str, Record] = {}
        for record in self._log.records():
            after = redacted(record, self._erased, items)
            self._counted += 1
            self._is_concerned |= after is not None
            self._redacted += after is not None and not record.get("redacted")
            # What the tombstone commit is made from: the state as it was, not as it is told now.
            newest.pop(record["state"]["branch"], None)
            newest[record["state"]["branch"]] = {**(after or record), "state": record["state"]}
            yield after or record
        for at_end, record in enumerate(newest.values(), 1 - len(newest)):
            state, gone = erased_state(record["state"], self._erased)
            if gone or not at_end:
                self._leaving += gone
                changed = 0 if at_end else self._redacted
                self._last = _tombstone(record, state, gone, erasure, at, changed)
                yield self._last

    def told(self) -> Rewritten | None:
        """What comes of it, once all records were asked for."""
        if not self._is_concerned:
            return None
        leaving = tuple(dict.fromkeys(self._leaving))
        name, head = self._last["thread"]["thread"], self._last["state"]["hash"]
        return Rewritten(self._log.path, name, self._redacted, self._counted, leaving, head)


def _done_before(log: AuditLog, erasure: str) -> Rewritten:
    records = list(log.records())
    ours = [r for r in records if (r.get("erasure") or {}).get("id") == erasure]
    leaving = [Leaving(gone["id"], gone["slot"]) for record in ours for gone in record["diff"]]
    last = ours[-1]
    return Rewritten(
        log.path, last["thread"]["thread"], last["erasure"]["redacted"], len(records) - len(ours),
        tuple(dict.fromkeys(leaving)), last["state"]["hash"],
    )  # fmt: skip


def _tombstone(
    record: Mapping[str, Any],
    state: Record,
    gone: list[Leaving],
    erasure: str,
    at: str,
    changed: int,
) -> Record:
    kept = {name: record[name] for name in ("thread", "policy", "tokens") if name in record}
    return {
        **kept,
        "format": FORMAT,
        "at": at,
        "prior": state["parent"],
        "turn": {
            "observations": [], "number": state["turn"], "reply": None, "heard": [], "pending": [],
        },
        "evidence": [], "proposal": None, "verdicts": [], "notes": [], "set_aside": [],
        "state": state,
        "diff": [
            {"change": "removed", "id": item.id, "slot": item.slot, "said": ""} for item in gone
        ],
        "erasure": {"id": erasure, "items": [item.id for item in gone], "redacted": changed},
    }  # fmt: skip


def _chained(record: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    body = {**record, "previous": previous}
    digest = digest_of(body)
    line = canonical_json({**body, "digest": digest}) + "\n"
    return line.encode("utf-8", "surrogatepass"), digest

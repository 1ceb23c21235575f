"""Rewriting a thread's audit log: what was erased taken out, and the tombstone commit at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.audit import FORMAT, AuditLog
from acc.audit_record import digest_of
from acc.evidence.redaction import (
    Erased,
    Record,
    erased_state,
    items_resting_alone,
    redacted,
)
from acc.state import canonical_json

_HALF = ".erasing"


@dataclass(frozen=True)
class Rewritten:
    """What became of a log.

    Attributes:
        path: The log.
        thread: Its thread's name.
        records: Records that were redacted.
        items: Ids of the items that left the newest state.
        head: Hash of the state that is the newest now.
    """

    path: Path
    thread: str
    records: int
    items: tuple[str, ...]
    head: str


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
        last = log.last()
        if last is None:
            return None
        if last.get("erasure", {}).get("id") == erasure:
            return _told(log.path, last)
        items = items_resting_alone(log.records(), erased)
        if not _concerned(log, erased, items):
            return None
        with half.open("wb") as file:
            for line in _lines(log, erased, items, erasure, at):
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, log.path)
    done = AuditLog(log.path).last()
    return _told(log.path, done or {})


def _told(path: Path, last: Mapping[str, Any]) -> Rewritten:
    said = last["erasure"]
    name = last["thread"]["thread"]
    return Rewritten(path, name, said["redacted"], tuple(said["items"]), last["state"]["hash"])


def _concerned(log: AuditLog, erased: Erased, items: frozenset[str]) -> bool:
    return any(redacted(record, erased, items) is not None for record in log.records())


def _lines(
    log: AuditLog, erased: Erased, items: frozenset[str], erasure: str, at: str
) -> Iterator[bytes]:
    previous, changed = "", 0
    newest: dict[str, Record] = {}
    for record in log.records():
        after = redacted(record, erased, items)
        changed += after is not None and not record.get("redacted")
        # What the tombstone commit is made from: the state as it was, not as it is told now.
        newest.pop(record["state"]["branch"], None)
        newest[record["state"]["branch"]] = {**(after or record), "state": record["state"]}
        line, previous = _chained(after or record, previous)
        yield line
    for record in newest.values():
        state, gone = erased_state(record["state"], erased)
        is_last = record is list(newest.values())[-1]
        if gone or is_last:
            body = _tombstone(record, state, gone, erasure, at, changed if is_last else 0)
            line, previous = _chained(body, previous)
            yield line


def _tombstone(
    record: Mapping[str, Any], state: Record, gone: list[str], erasure: str, at: str, changed: int
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
        "diff": [{"change": "removed", "id": item, "slot": "", "said": ""} for item in gone],
        "erasure": {"id": erasure, "items": gone, "redacted": changed},
    }  # fmt: skip


def _chained(record: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    body = {**record, "previous": previous}
    digest = digest_of(body)
    line = canonical_json({**body, "digest": digest}) + "\n"
    return line.encode("utf-8", "surrogatepass"), digest

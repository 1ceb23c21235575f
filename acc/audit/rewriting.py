"""Rewrite an audit log without erased evidence, and commit its states without that evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from acc.audit.log import FORMAT, AuditLog
from acc.audit.record import digested
from acc.audit.redaction import Erased, Leaving, Record, erased_state, items_resting_alone, redacted


@dataclass(frozen=True)
class Rewritten:
    """The effect on an audit log that is rewritten.

    Attributes:
        log: The name of the log.
        where: Its place.
        thread: Its thread's name.
        records: Number of redacted records.
        of: Number of records in the log, without the added tombstone commits.
        leaving: Items that leave the newest states of its branches, each once.
        head: Hash of the newest state afterwards.
    """

    log: str
    where: str
    thread: str
    records: int
    of: int
    leaving: tuple[Leaving, ...]
    head: str

    @property
    def items(self) -> tuple[str, ...]:
        """Ids of the items that leave."""
        return tuple(dict.fromkeys(item.id for item in self.leaving))


def preview(log: AuditLog, erased: Erased) -> Rewritten | None:
    """Return the result of `rewrite` without writing; None if the log has no erased evidence."""
    rewriting = _Rewriting(log, erased)
    for _ in rewriting.records("", ""):
        pass
    return rewriting.result()


def rewrite(log: AuditLog, erased: Erased, erasure: str, at: str) -> Rewritten | None:
    """Rewrite ``log`` without erased evidence, and commit the state without it.

    The new lines replace the old ones atomically; a kill leaves one or the other. Idempotent: a log
    that ends with this erasure stays unchanged. None if the log has no erased evidence.
    """
    result: Callable[[], Rewritten | None] = _Rewriting(log, erased).result

    def change() -> Iterator[bytes] | None:
        nonlocal result
        if ((log.last() or {}).get("erasure") or {}).get("id") == erasure:
            result = partial(_earlier_result, log, erasure)
            return None
        if preview(log, erased) is None:
            return None
        rewriting = _Rewriting(log, erased)
        result = rewriting.result
        return _chained(rewriting.records(erasure, at))

    log.store.rewrite(log.name, change)
    return result()


def _chained(records: Iterator[Record]) -> Iterator[bytes]:
    """Yield the lines of records, each chained to the one before."""
    previous = ""
    for record in records:
        line, previous = digested({**record, "previous": previous})
        yield line.encode("utf-8", "surrogatepass")


class _Rewriting:
    """The records of a log without erased evidence, then tombstone commits; and their count."""

    def __init__(self, log: AuditLog, erased: Erased) -> None:
        self._log = log
        self._erased = erased
        self._is_concerned = False
        self._counted = self._redacted = 0
        self._leaving: list[Leaving] = []
        self._last: Mapping[str, Any] = {}

    def records(self, erasure: str, at: str) -> Iterator[Record]:
        """Yield the records of the rewritten log, in order."""
        items = items_resting_alone(self._log.records(), self._erased)
        newest: dict[str, Record] = {}
        for record in self._log.records():
            after = redacted(record, self._erased, items)
            self._counted += 1
            self._is_concerned |= after is not None
            self._redacted += after is not None and not record.get("redacted")
            # The tombstone commit needs the original state, not the redacted one.
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

    def result(self) -> Rewritten | None:
        """Return the result, after all records were read; None without erased evidence."""
        if not self._is_concerned:
            return None
        leaving = tuple(dict.fromkeys(self._leaving))
        name, head = self._last["thread"]["thread"], self._last["state"]["hash"]
        return Rewritten(
            self._log.name, self._log.where, name, self._redacted, self._counted, leaving, head
        )


def _earlier_result(log: AuditLog, erasure: str) -> Rewritten:
    """Return the result of a rewrite that was complete before a kill."""
    records = list(log.records())
    ours = [r for r in records if (r.get("erasure") or {}).get("id") == erasure]
    leaving = [Leaving(gone["id"], gone["slot"]) for record in ours for gone in record["diff"]]
    last = ours[-1]
    return Rewritten(
        log.name, log.where, last["thread"]["thread"], last["erasure"]["redacted"], len(records) - len(ours),
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

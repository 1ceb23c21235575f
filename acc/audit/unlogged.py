"""Turns that the store has and an audit log lacks: the log was cut, emptied or restored from a backup.

Going on from such a log would leave out what was acknowledged. A step that was killed before its commit
also leaves a stored turn without a record, but only one at the end of a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acc.audit.log import AuditLog
from acc.errors import AuditError
from acc.state.model import ROOT, CompressedCognitiveState
from acc.thread.branch import Branch
from acc.thread.log import ThreadLog

_RECENT = 8
"""Number of newest records whose branches and forks `refuse_stale_end` looks at."""


def unlogged(audit: AuditLog, branches: Iterable[Branch]) -> dict[str, int]:
    """Return the newest stored turn of each branch of which the log lacks a committed turn."""
    return {
        branch.name: branch.newest
        for branch in branches
        if (turn := branch.committed()) and not audit.has_turn(branch.name, turn, branch.newest)
    }


def refuse_unlogged(audit: AuditLog, log: ThreadLog, branch: Branch) -> None:
    """Raise an `AuditError` if the log lacks committed turns of ``branch``, unless an operator knows."""
    if not (found := unlogged(audit, [branch])):
        return
    log.journal.refresh()
    if not any(found.items() <= places.items() for places in log.journal.adopted.values()):
        raise _behind(audit, found)


def refuse_stale_end(audit: AuditLog, log: ThreadLog, empty: CompressedCognitiveState) -> None:
    """Raise an `AuditError` if the store has committed turns after the end of the log.

    It reads the branches of the newest records, and the forks from their states. After an operator has
    adopted a state, the log is behind until a step from that state is committed.
    """
    end = audit.end()
    if end is not None and end == audit.checked_end:
        return  # this process is the only writer, and looked before
    recent = [entry["state"] for entry in audit.newest(_RECENT)]
    ends = {(str(s["branch"]), str(s["hash"])) for s in recent} or {(ROOT, empty.hash)}
    # Without a record even the first turns were lost.
    names = {branch for branch, _ in ends}
    found = unlogged(audit, log.branches_after(ends, names))
    if not found:
        audit.checked_end = None if log.store.shared else end
        return
    log.journal.refresh()
    known = [
        places
        for state_hash, places in log.journal.adopted.items()
        if found.items() <= places.items() and audit.record_of(state_hash)
    ]
    if not known:
        raise _behind(audit, found)


def end_of(last: Mapping[str, Any] | None) -> str:
    """Say where a log ends, by its newest record."""
    if last is None:
        return "has no record"
    return f"ends at turn {last['state']['turn']} of branch {last['state']['branch']}"


def _behind(audit: AuditLog, found: dict[str, int]) -> AuditError:
    stored = ", ".join(f"turn {turn} of branch {branch}" for branch, turn in sorted(found.items()))
    return AuditError(
        f"the store has {stored}, but the audit log {end_of(audit.last())}: acknowledged turns are missing "
        "in the log",
        where=audit.where,
        hint="restore the newest log; or commit the stored turns again: memory.recover(thread); or go "
        "on from a state that you choose: state = memory.adopt(state, thread=thread)",
    )

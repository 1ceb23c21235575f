"""Compares the audit logs with the store: what one of them has and the other lacks.

One listing of the store's ids tells the places and the claimed turns of every branch. A log is read only
at its end, unless the two differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.audit.log import AuditLog
from acc.audit.namespaces import existing_log, known_spaces
from acc.audit.unlogged import end_of
from acc.errors import StoreError
from acc.stores.protocol import Thread, managed
from acc.thread.log import ThreadLog

if TYPE_CHECKING:
    from acc.memory import Memory

_PLACE = re.compile(r"([0-9a-f]{24})\.(\w+):([te]?)(\d+)")


class Mismatch(NamedTuple):
    """A difference between a thread's audit log and its branch in the store.

    Attributes:
        thread: The thread.
        branch: The branch.
        what: The difference, in words.
        is_known: Whether an operator adopted a state although of it.
    """

    thread: Thread
    branch: str
    what: str
    is_known: bool


@dataclass
class _Held:
    """Places and claimed turns of one branch."""

    places: set[int] = field(default_factory=set)
    turns: set[int] = field(default_factory=set)


_Branches = Mapping[str, _Held]


def compare_logs(memory: Memory, tenant: str) -> Iterator[Mismatch]:
    """Yield the differences between the audit logs of a tenant's threads and its records."""
    store, place = managed(memory.artifacts), memory.settings.audit
    held: dict[str, dict[str, _Held]] = defaultdict(lambda: defaultdict(_Held))
    for found in filter(None, map(_PLACE.fullmatch, store.ids(tenant))):
        key, branch, is_turn, number = found.groups()
        of = held[key][branch]
        (of.turns if is_turn else of.places).add(int(number))
    for threads in known_spaces(store, place, tenant).values():
        for thread in threads:
            log = ThreadLog(store, thread, memory._now)
            yield from _of_thread(log, existing_log(place, thread), held[thread.key])


def _of_thread(log: ThreadLog, audit: AuditLog | None, held: _Branches) -> Iterator[Mismatch]:
    last = audit.last() if audit else None
    found = [*_unlogged(audit, last, held), *_incomplete(log, last, held)]
    if found:
        log.journal.refresh()
    adopted = log.journal.adopted
    for name, turn, what in found:
        is_known = any(turn <= places.get(name, 0) for places in adopted.values())
        # A state was adopted although the store lacked its past: no turn of the store was left behind.
        is_known = is_known or (not turn and bool(adopted))
        yield Mismatch(log.thread, name, what, is_known)


def _unlogged(
    audit: AuditLog | None, last: Mapping[str, Any] | None, held: _Branches
) -> Iterator[tuple[str, int, str]]:
    """Yield each branch with committed turns that the log lacks, its newest turn, and the words for it."""
    end = (last["state"]["branch"], last["state"]["turn"]) if last else ()
    for name, of in held.items():
        newest = max(of.turns, default=0)
        # The newest turn may have been begun only. The turn before it was committed.
        committed = max(of.turns - {newest}, default=0)
        if not committed or end in ((name, committed), (name, newest)):
            continue
        if not (audit and audit.has_turn(name, committed, newest)):
            what = f"the store has turn {newest} of branch {name}, but the audit log {end_of(last)}"
            yield name, newest, what


def _incomplete(
    log: ThreadLog, last: Mapping[str, Any] | None, held: _Branches
) -> Iterator[tuple[str, int, str]]:
    """Yield each branch of which the store lost records, 0, and the words for it."""
    for name, of in held.items():
        if gaps := set(range(1, max(of.places, default=0))) - of.places:
            place = f"{log.thread.key}.{name}:{min(gaps)}"
            yield name, 0, f"the store has lost records of branch {name}, such as {place}"
    if last is not None and (lost := _lost(log, last["state"], held)):
        yield str(last["state"]["branch"]), 0, f"the audit log {end_of(last)}, but {lost}"


def _lost(log: ThreadLog, state: Mapping[str, Any], held: _Branches) -> str:
    """Say what the store lacks of the newest audited state; empty if nothing."""
    branch, turn = str(state["branch"]), int(state["turn"])
    if turn == 0 or (branch in held and turn in held[branch].turns):
        return ""
    try:  # an erasure deletes claims, and leaves the places
        newest = log.branch(branch).newest
    except StoreError:
        return "the store has no such branch"
    return f"the store ends at turn {newest}" if newest < turn else ""

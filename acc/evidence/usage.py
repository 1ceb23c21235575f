"""How evidence was used, from the journal: a recall writes nothing, the commits' verdicts say what was admitted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from acc.controller.documents import is_home, may_read
from acc.evidence.policies import Usage
from acc.evidence.target import branches_of
from acc.journal import Journal, StoredMessage, ThreadKey
from acc.turn.observations import is_ingested


class Tick(NamedTuple):
    """A turn that was committed: the paper's execution."""

    at: str
    thread: ThreadKey
    branch: str
    version: int
    turn: int
    admitted: frozenset[str]


def ticks_of(journal: Journal, threads: Iterable[ThreadKey]) -> list[Tick]:
    """Return the turns of threads in the order of their commits."""
    found = [
        Tick(each.at, key, branch, each.version, each.turn, admitted_in(each.record))
        for key in threads
        for branch in branches_of(journal, key)
        for each in journal.commits(key, branch)
        if each.span[1]
    ]
    return sorted(found, key=lambda tick: (tick.at, str(tick.thread), tick.version))


def admitted_in(record: object) -> frozenset[str]:
    """Return the refs of what a turn admitted."""
    verdicts = record.get("verdicts", ()) if isinstance(record, dict) else ()
    return frozenset(ref for ref, _, reason in verdicts if reason == "admitted")


class Ledger:
    """The use of messages of a thread, or of documents by all threads that may read them.

    Args:
        journal: The journal.
        readers: The threads whose turns count.
    """

    def __init__(self, journal: Journal, readers: Sequence[ThreadKey]) -> None:
        self.ticks = ticks_of(journal, readers)
        self._stamps = [tick.at for tick in self.ticks]
        self._retrieved: dict[str, list[int]] = {}
        self._utilities: dict[str, list[float]] = {}
        self._taken = {(k.branch, k.version): n for n, k in enumerate(self.ticks)}
        for number, tick in enumerate(self.ticks, 1):
            for ref in tick.admitted:
                self._retrieved.setdefault(ref, []).append(number)
        for key in readers:
            self._rate(journal, key)

    @property
    def t(self) -> int:
        """The time: how many turns there were."""
        return len(self.ticks)

    def _rate(self, journal: Journal, key: ThreadKey) -> None:
        admitted = {(k.branch, k.turn): k.admitted for k in self.ticks if k.thread == key}
        for said in journal.feedback(key):
            refs = {said.ref} if said.ref else admitted.get((said.branch, said.turn), ())
            for ref in refs:
                self._utilities.setdefault(ref, []).append(said.utility)

    def usage(
        self, key: str, refs: Sequence[str], first: StoredMessage, order: int, now: datetime
    ) -> Usage:
        """Return the use of a record: of a message, or of a document by all its parts."""
        times = sorted({time for ref in refs for time in self._retrieved.get(ref, ())})
        rated = [worth for ref in refs for worth in self._utilities.get(ref, ())]
        added = self._taken.get((first.branch, first.version))
        if added is None or is_ingested(first.message.ref):
            added = bisect_right(self._stamps, first.message.at)
        return Usage(key, added, times, rated, order, age_of(first.message.at, now))


def age_of(at: str, now: datetime) -> timedelta:
    """Return how long ago an ISO 8601 time was; 0 if it cannot be read."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return timedelta()
    return now - then if then.tzinfo is not None else timedelta()


def readers_of(journal: Journal, key: ThreadKey) -> tuple[ThreadKey, ...]:
    """Return the threads that may read a thread's messages: itself, or those of a home's documents."""
    if not is_home(key):
        return (key,)
    return tuple(each for each in journal.threads(tenant=key.tenant) if may_read(each, key))


def refs_in(value: Any) -> Iterator[str]:
    """Yield the refs that stand in a part of a state."""
    if isinstance(value, Mapping):
        if isinstance(ref := value.get("ref"), str):
            yield ref
        yield from value.get("sources", ())
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for each in value:
        yield from refs_in(each)

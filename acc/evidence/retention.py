"""Retention: what a policy deletes of messages and documents, what is protected from it, and threads that expire.

A prune forgets texts; it does not erase: a tombstone says which message it was, states and records stay, and a commit
that read it is not recomputed any more. What a current state cites, what its tail holds, what waits for the next turn
and what a hold protects stays, whatever a policy says. A recall writes nothing: the commits' verdicts say what was
admitted, and a committed turn is the paper's execution.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Literal, get_args

from acc.clock import moment
from acc.errors import ConfigurationError
from acc.evidence.base import Base, Group, branches_of, groups_of, refs_in
from acc.evidence.policies import Deletion, RecordUse
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.names import Key, is_home, may_read
from acc.turn.observations import is_ingested

Kind = Literal["messages", "documents"]

_COMPUTED = ("episodic_trace", "retrieved_artifacts")
"""Slots that say what was compressed and admitted, and rest on nothing."""


@dataclass(frozen=True)
class Doom:
    """Evidence that goes, or that a policy dooms and that stays; ``why`` says by what. Without a ref the thread."""

    thread: ThreadKey
    branch: str
    ref: str
    why: str


@dataclass(frozen=True)
class Pruned:
    """What was deleted: messages or parts of documents, and threads."""

    messages: int = 0
    threads: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrunePlan:
    """How much evidence a policy judged, what goes, and what it dooms and that is protected."""

    judged: int
    doomed: tuple[Doom, ...]
    kept: tuple[Doom, ...]
    act: Callable[[Sequence[Doom]], Pruned] = field(repr=False, compare=False)

    def apply(self) -> Pruned:
        """Delete what goes, without what was cited or held since."""
        return self.act(self.doomed)


class Retention(Base):
    """Deletes by policies, and what nobody goes on with."""

    def plan_prune(
        self,
        policy: Deletion,
        *,
        kind: Kind = "documents",
        thread: Key | None = None,
        **scope: str | None,
    ) -> PrunePlan:
        """Return what a policy deletes of documents or messages, and what is protected. Nothing is deleted.

        Args:
            policy: The policy (`acc.evidence.policies`).
            kind: ``documents`` or ``messages``.
            thread: A thread; None for all of the scope.
            scope: Names of tenant, user and agent, as in `threads`.

        Raises:
            ConfigurationError: There is no such kind.
        """
        if kind not in get_args(Kind):
            what = f"{kind} is no kind of evidence"
            raise ConfigurationError(what, where="prune", hint="use messages or documents")
        doomed, kept, judged = list[Doom](), list[Doom](), 0
        shield, now = Shield(self.journal), self._clock.now()
        is_fit = is_home if kind == "documents" else (lambda key: not is_home(key))
        for key in filter(is_fit, self.threads(thread, **scope)):
            groups = groups_of(self.journal, key)
            judged += len(groups)
            for name, why in policy(*usages(self.journal, key, groups, now)).items():
                group = groups[int(name)]
                protection = shield.over(group)
                place = kept if protection else doomed
                place.append(Doom(key, group.branch, group.ref, protection or why))
        return PrunePlan(judged, tuple(doomed), tuple(kept), self._pruned)

    def _pruned(self, doomed: Sequence[Doom]) -> Pruned:
        shield, count = Shield(self.journal), 0
        wanted = {(doom.thread, doom.branch, doom.ref) for doom in doomed}
        for key in dict.fromkeys(doom.thread for doom in doomed):
            groups = groups_of(self.journal, key)
            judged = [each for each in groups if (key, each.branch, each.ref) in wanted]
            going = [each for each in judged if not shield.over(each)]
            rows = [(group.branch, each.seq) for group in going for each in group.rows]
            count += len(rows)
            self.journal.prune(key, rows)
        return Pruned(count, 0, tuple(self.memory.index.clean()))

    def prune(self, policy: Deletion, **how: Any) -> Pruned:
        """Delete what a policy deletes; arguments are those of `plan_prune`."""
        return self.plan_prune(policy, **how).apply()

    def plan_expiry(self, older_than: timedelta, **scope: str | None) -> PrunePlan:
        """Return the threads of a scope that nobody committed to for so long. Nothing is deleted, and no document."""
        held = {hold.thread: hold.reason for hold in self.journal.held()}
        keys = [key for key in self.threads(**scope) if not is_home(key)]
        last, now = {key: last_of(self.journal, key) for key in keys}, self._clock.now()
        old = {key: at for key, at in last.items() if at and age_of(at, now) > older_than}
        dooms = [
            Doom(key, "", "", f"held: {held[key]}" if key in held else f"last commit {at}")
            for key, at in old.items()
        ]
        kept = tuple(doom for doom in dooms if doom.thread in held)
        doomed = tuple(doom for doom in dooms if doom.thread not in held)
        return PrunePlan(len(keys), doomed, kept, partial(self._expired, old))

    def _expired(self, last: Mapping[ThreadKey, str], doomed: Sequence[Doom]) -> Pruned:
        """Delete the threads that nobody committed to since."""
        keys = (doom.thread for doom in doomed)
        still = (key for key in keys if last_of(self.journal, key) == last[key])
        gone = [self.journal.delete_thread(key) for key in still]
        return Pruned(sum(gone), len(gone), tuple(self.memory.index.clean()))

    def expire(self, older_than: timedelta, **scope: str | None) -> Pruned:
        """Delete the threads of a scope that nobody committed to for so long, but for those that are held."""
        return self.plan_expiry(older_than, **scope).apply()


class Shield:
    """What protects evidence from a policy, as the journal says now."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._held = journal, journal.held()
        self._citations = cache(self._read_citations)

    def over(self, group: Group) -> str:
        """Return what protects a piece of evidence; empty if nothing does."""
        names = {"", group.ref, *group.refs}
        for hold in self._held:
            if hold.thread == group.thread and hold.ref in names:
                return f"held: {hold.reason}"
        if any(not each.version for each in group.rows):
            return "the next turn reads it"
        cited = (self._citations(reader) for reader in readers_of(self._journal, group.thread))
        return next((each[ref] for each in cited for ref in group.refs if ref in each), "")

    def _read_citations(self, key: ThreadKey) -> dict[str, str]:
        """Return where each ref stands in the newest states of a thread."""
        found: dict[str, str] = {}
        for last in newest_of(self._journal, key):
            for name, value in (last.state or {}).items():
                where = "the next turn reads it" if name == "unread" else f"cited in {key}"
                if name not in _COMPUTED:
                    found |= dict.fromkeys(refs_in(value), where)
        return found


def usages(
    journal: Journal, key: ThreadKey, groups: Sequence[Group], now: datetime
) -> tuple[list[RecordUse], int]:
    """Return the use of each piece of a thread's evidence, by its place among them, and the number of executions.

    Documents are used by all threads that may read them.
    """
    readers = readers_of(journal, key)
    found = (
        (commit.at, str(reader), commit.version, branch, commit)
        for reader in readers
        for branch in branches_of(journal, reader)
        for commit in journal.commits(reader, branch)
        if commit.span[1]
    )
    turns = sorted(found, key=lambda each: each[:3])
    taken = {(branch, commit.version): n for n, (*_, branch, commit) in enumerate(turns)}
    retrieved, utilities = defaultdict[str, list[int]](list), defaultdict[str, list[float]](list)
    admitted: dict[tuple[str, str, int], frozenset[str]] = {}
    for number, (_, reader, _, branch, commit) in enumerate(turns, 1):
        refs = admitted[reader, branch, commit.turn] = admitted_in(commit.record)
        for ref in refs:
            retrieved[ref].append(number)
    for each in readers:
        for said in journal.feedback(each):
            for ref in admitted.get((str(each), said.branch, said.turn), ()):
                utilities[ref].append(said.utility)

    def usage(place: int, group: Group) -> RecordUse:
        first = group.rows[0]
        added = taken.get((first.branch, first.version))
        if added is None or is_ingested(first.message.ref):
            added = bisect_right(turns, first.message.at, key=lambda turn: turn[0])
        times = sorted({time for ref in group.refs for time in retrieved[ref]})
        rated = [utility for ref in group.refs for utility in utilities[ref]]
        age = age_of(first.message.at, now)
        return RecordUse(str(place), added, times, rated, place, age)

    return [usage(*each) for each in enumerate(groups)], len(turns)


def admitted_in(record: object) -> frozenset[str]:
    """Return the refs of what a turn admitted."""
    verdicts = record.get("verdicts", ()) if isinstance(record, dict) else ()
    return frozenset(ref for ref, _, reason in verdicts if reason == "admitted")


def age_of(at: str, now: datetime) -> timedelta:
    """Return how long ago an ISO 8601 time was; 0 if it cannot be read."""
    then = moment(at)
    return now - then if then is not None else timedelta()


def readers_of(journal: Journal, key: ThreadKey) -> tuple[ThreadKey, ...]:
    """Return the threads that may read a thread's messages: itself, or those of a home's documents."""
    if not is_home(key):
        return (key,)
    return tuple(each for each in journal.threads(tenant=key.tenant) if may_read(each, key))


def last_of(journal: Journal, key: ThreadKey) -> str:
    """Return when a thread was committed to last; empty if it never was."""
    return max((each.at for each in newest_of(journal, key)), default="")


def newest_of(journal: Journal, key: ThreadKey) -> Iterator[StoredCommit]:
    """Yield the last commit of each branch of a thread."""
    for head in journal.branches(key):
        yield from journal.commits(key, head.branch, max(0, head.version - 1))

"""Retention: what a policy deletes of messages and documents, what is protected from it, and threads that expire.

A prune forgets texts; it does not erase: a tombstone says which message it was, states and records stay, and a commit
that read it is not recomputed any more. What a current state cites, what its tail holds, what waits for the next turn
and what a hold protects stays, whatever a policy says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from acc.controller.documents import is_home
from acc.controller.settings import Parts
from acc.errors import ConfigurationError
from acc.evidence.base import Base
from acc.evidence.documents import whole_of
from acc.evidence.policies import Combined, Deletion, Usage
from acc.evidence.target import rows_of
from acc.evidence.usage import Ledger, age_of, readers_of, refs_in
from acc.journal import Hold, Journal, StoredCommit, StoredMessage, ThreadKey
from acc.journal.opened import Key

Kind = Literal["messages", "documents"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_COMPUTED = ("episodic_trace", "retrieved_artifacts")
"""Slots that say what was compressed and admitted, and rest on nothing."""


@dataclass(frozen=True)
class Doom:
    """Evidence that goes, or that a policy dooms and that stays; ``why`` says by what."""

    thread: ThreadKey
    ref: str
    kind: Kind
    why: str


@dataclass(frozen=True)
class Pruned:
    """What was deleted: messages or parts of documents, and threads."""

    messages: int = 0
    threads: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrunePlan:
    """What a policy deletes.

    Attributes:
        judged: How much evidence it judged.
        doomed: What goes.
        kept: What it dooms, and what protects it.
        times: The time in turns, by thread.
        readings: Of a combined policy, how much its union and its intersection doom.
    """

    judged: int
    doomed: tuple[Doom, ...]
    kept: tuple[Doom, ...]
    times: Mapping[str, int]
    readings: Mapping[str, int]
    work: Pruning = field(repr=False, compare=False)

    def apply(self) -> Pruned:
        """Delete what goes, without what was cited or held since."""
        return self.work.pruned(self.doomed)


@dataclass
class Group:
    """A piece of evidence on a branch: a message, or a document with all its parts."""

    thread: ThreadKey
    branch: str
    ref: str
    rows: list[StoredMessage] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its key for policies."""
        return f"{self.thread}\x00{self.branch}\x00{self.ref}"

    @property
    def refs(self) -> list[str]:
        """The refs of its rows."""
        return [each.message.ref for each in self.rows]


def kind_of(key: ThreadKey) -> Kind:
    """Return the kind of evidence that a thread holds."""
    return "documents" if is_home(key) else "messages"


class Pruning:
    """Applies a policy to the evidence of threads.

    Args:
        parts: The memory's.
        threads: The threads.
        kinds: What is judged.
        now: The time.
    """

    def __init__(
        self, parts: Parts[Any], threads: Iterable[ThreadKey], kinds: Sequence[Kind], now: datetime
    ) -> None:
        if unknown := set(kinds) - set(KINDS):
            raise ConfigurationError(
                f"{', '.join(sorted(unknown))} is no kind of evidence",
                where="prune",
                hint=f"use {', '.join(KINDS)}",
            )
        self._parts, self._journal, self._now = parts, parts.journal, now
        self._threads = [key for key in threads if kind_of(key) in kinds]
        self._cited: dict[ThreadKey, dict[str, str]] = {}

    def plan(self, policy: Deletion) -> PrunePlan:
        """Return what a policy deletes."""
        doomed, kept, times, judged = list[Doom](), list[Doom](), dict[str, int](), 0
        readings: dict[str, int] = {}
        held = self._journal.held()
        for key in self._threads:
            ledger = Ledger(self._journal, readers_of(self._journal, key))
            groups = {group.name: group for group in self._groups(key)}
            usages = [
                ledger.usage(group.name, group.refs, group.rows[0], order, self._now)
                for order, group in enumerate(groups.values())
            ]
            judged, times[str(key)] = judged + len(usages), ledger.t
            for name, why in policy(usages, ledger.t).items():
                shield = self._shield(groups[name], held)
                place = kept if shield else doomed
                place.append(Doom(key, groups[name].ref, kind_of(key), shield or why))
            for rule, count in _readings(policy, usages, ledger.t):
                readings[rule] = readings.get(rule, 0) + count
        return PrunePlan(judged, tuple(doomed), tuple(kept), times, readings, self)

    def pruned(self, doomed: Sequence[Doom]) -> Pruned:
        """Delete what is doomed and still not protected."""
        self._cited.clear()
        held, count = self._journal.held(), 0
        wanted = {(doom.thread, doom.ref) for doom in doomed}
        for key in dict.fromkeys(doom.thread for doom in doomed):
            going = [g for g in self._groups(key)
                     if (key, g.ref) in wanted and not self._shield(g, held)]  # fmt: skip
            rows = [(group.branch, each.seq) for group in going for each in group.rows]
            count += len(rows)
            self._journal.prune(key, rows, "pruned")
        return Pruned(count, 0, tuple(self._parts.index.clean()))

    def _groups(self, key: ThreadKey) -> Iterator[Group]:
        found: dict[tuple[str, str], Group] = {}
        for branch, each in rows_of(self._journal, key):
            ref = whole_of(each.message.ref) if is_home(key) else each.message.ref
            found.setdefault((branch, ref), Group(key, branch, ref)).rows.append(each)
        yield from found.values()

    def _shield(self, group: Group, held: Sequence[Hold]) -> str:
        names = {"", group.ref, *group.refs}
        for hold in held:
            if hold.thread == group.thread and hold.ref in names:
                return f"held: {hold.reason}"
        if any(not each.version for each in group.rows):
            return "the next turn reads it"
        cited = (self._citations(reader) for reader in readers_of(self._journal, group.thread))
        by = (each[ref] for each in cited for ref in group.refs if ref in each)
        return next(by, "")

    def _citations(self, key: ThreadKey) -> dict[str, str]:
        if key not in self._cited:
            found: dict[str, str] = {}
            for last in newest_of(self._journal, key):
                for name, value in (last.state or {}).items():
                    if name in _COMPUTED:
                        continue
                    where = "the next turn reads it" if name == "unread" else f"cited in {key}"
                    found |= dict.fromkeys(refs_in(value), where)
            self._cited[key] = found
        return self._cited[key]


def _readings(policy: Deletion, usages: Sequence[Usage], t: int) -> Iterator[tuple[str, int]]:
    if isinstance(policy, Combined):
        for rule in ("union", "intersection"):
            yield rule, len(Combined(policy.period, policy.history, rule)(usages, t))


@dataclass(frozen=True)
class Idle:
    """A thread and when it was committed to last."""

    thread: ThreadKey
    last: str


@dataclass(frozen=True)
class ExpiryPlan:
    """The threads that expire, and the holds that keep others."""

    threads: tuple[Idle, ...]
    held: tuple[Hold, ...]
    parts: Parts[Any] = field(repr=False, compare=False)

    def apply(self) -> Pruned:
        """Delete the threads that nobody committed to since."""
        gone = [
            self.parts.journal.delete_thread(each.thread, "expired")
            for each in self.threads
            if last_of(self.parts.journal, each.thread) == each.last
        ]
        return Pruned(sum(gone), len(gone), tuple(self.parts.index.clean()))


class Retention(Base):
    """Deletes by policies, and what nobody goes on with."""

    def plan_prune(
        self,
        policy: Deletion,
        *,
        kinds: Sequence[Kind] = ("documents",),
        thread: Key | None = None,
        **scope: str | None,
    ) -> PrunePlan:
        """Return what a policy deletes of documents or messages, and what is protected. Nothing is deleted.

        Args:
            policy: The policy (`acc.evidence.policies`).
            kinds: ``documents``, ``messages``.
            thread: A thread; None for all of the scope.
            scope: Names of tenant, user and agent, as in `threads`.
        """
        pruning = Pruning(self.parts, self.threads(thread, **scope), kinds, self._clock.now())
        return pruning.plan(policy)

    def prune(self, policy: Deletion, **how: Any) -> Pruned:
        """Delete what a policy deletes; arguments are those of `plan_prune`."""
        return self.plan_prune(policy, **how).apply()

    def plan_expiry(self, older_than: timedelta, **scope: str | None) -> ExpiryPlan:
        """Return the threads of a scope that nobody committed to for so long. Nothing is deleted, and no document."""
        held = {hold.thread: hold for hold in self.journal.held()}
        idle, kept, now = list[Idle](), list[Hold](), self._clock.now()
        for key in self.threads(**scope):
            last = "" if is_home(key) else last_of(self.journal, key)
            if last and age_of(last, now) > older_than:
                if key in held:
                    kept.append(held[key])
                else:
                    idle.append(Idle(key, last))
        return ExpiryPlan(tuple(idle), tuple(kept), self.parts)

    def expire(self, older_than: timedelta, **scope: str | None) -> Pruned:
        """Delete the threads of a scope that nobody committed to for so long, but for those that are held."""
        return self.plan_expiry(older_than, **scope).apply()


def last_of(journal: Journal, key: ThreadKey) -> str:
    """Return when a thread was committed to last; empty if it never was."""
    return max((each.at for each in newest_of(journal, key)), default="")


def newest_of(journal: Journal, key: ThreadKey) -> Iterator[StoredCommit]:
    """Yield the last commit of each branch of a thread."""
    for head in journal.branches(key):
        yield from journal.commits(key, head.branch, max(0, head.version - 1))

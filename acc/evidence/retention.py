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
from acc.controller.parts import Parts
from acc.errors import ConfigurationError
from acc.evidence.policies import Combined, Deletion, Usage
from acc.evidence.target import rows_of
from acc.evidence.usage import Ledger, age_of, readers_of, refs_in
from acc.journal import Hold, StoredMessage, ThreadKey

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
    readings: Mapping[str, int] = field(default_factory=dict)
    work: Pruning | None = field(default=None, repr=False, compare=False)

    def apply(self) -> Pruned:
        """Delete what goes, without what was cited or held since."""
        return self.work.pruned(self.doomed) if self.work is not None else Pruned()


class Group:
    """A piece of evidence: a message, or a document with all its parts."""

    def __init__(self, key: ThreadKey, kind: Kind, ref: str) -> None:
        self.thread, self.kind, self.ref = key, kind, ref
        self.rows: list[tuple[str, StoredMessage]] = []

    @property
    def name(self) -> str:
        """Its key for policies."""
        return f"{self.thread}\x00{self.rows[0][0]}\x00{self.ref}"

    @property
    def refs(self) -> list[str]:
        """The refs of its rows."""
        return [each.message.ref for _, each in self.rows]


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
        self._threads = [k for k in threads if ("documents" if is_home(k) else "messages") in kinds]
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
                ledger.usage(group.name, group.refs, group.rows[0][1], order, self._now)
                for order, group in enumerate(groups.values())
            ]
            judged, times[str(key)] = judged + len(usages), ledger.t
            for name, why in policy(usages, ledger.t).items():
                shield = self._shield(groups[name], held)
                place = kept if shield else doomed
                place.append(Doom(key, groups[name].ref, groups[name].kind, shield or why))
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
            rows = [(branch, each.seq) for group in going for branch, each in group.rows]
            count += len(rows)
            self._journal.prune(key, rows, "pruned")
        return Pruned(count, 0, tuple(self._parts.index.clean()))

    def _groups(self, key: ThreadKey) -> Iterator[Group]:
        found: dict[tuple[str, str], Group] = {}
        kind: Kind = "documents" if is_home(key) else "messages"
        for branch, each in rows_of(self._journal, key):
            ref = each.message.ref
            name = ref.rpartition(".")[0] if is_home(key) else ref
            group = found.setdefault((branch, name), Group(key, kind, name))
            group.rows.append((branch, each))
        yield from found.values()

    def _shield(self, group: Group, held: Sequence[Hold]) -> str:
        names = {"", group.ref, *group.refs}
        for hold in held:
            if hold.thread == group.thread and hold.ref in names:
                return f"held: {hold.reason}"
        if any(not each.version for _, each in group.rows):
            return "the next turn reads it"
        cited = (self._citations(reader) for reader in readers_of(self._journal, group.thread))
        by = (each[ref] for each in cited for ref in group.refs if ref in each)
        return next(by, "")

    def _citations(self, key: ThreadKey) -> dict[str, str]:
        if key not in self._cited:
            found: dict[str, str] = {}
            for head in self._journal.branches(key):
                last = self._journal.commits(key, head.branch, max(0, head.version - 1))
                body = next((each.state or {} for each in last), {})
                for name, value in body.items():
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
            if last_of(self.parts, each.thread) == each.last
        ]
        return Pruned(sum(gone), len(gone), tuple(self.parts.index.clean()))


def plan_expiry(
    parts: Parts[Any], threads: Iterable[ThreadKey], older_than: timedelta, now: datetime
) -> ExpiryPlan:
    """Return the threads without a commit for so long. Documents do not expire so."""
    held = {hold.thread: hold for hold in parts.journal.held()}
    idle, kept = list[Idle](), list[Hold]()
    for key in threads:
        last = "" if is_home(key) else last_of(parts, key)
        if last and age_of(last, now) > older_than:
            if key in held:
                kept.append(held[key])
            else:
                idle.append(Idle(key, last))
    return ExpiryPlan(tuple(idle), tuple(kept), parts)


def last_of(parts: Parts[Any], key: ThreadKey) -> str:
    """Return when a thread was committed to last; empty if it never was."""
    heads = parts.journal.branches(key)
    found = (each.at for head in heads
             for each in parts.journal.commits(key, head.branch, max(0, head.version - 1)))  # fmt: skip
    return max(found, default="")

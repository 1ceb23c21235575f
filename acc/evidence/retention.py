"""Retention: plan what a policy deletes from a namespace, protect the rest, and prune.

Raw turns are always stored, and deleted only if a deployer names their kind. Protected from
deletion: evidence that a current state cites, that a hold covers, or that the next turn reads, and
records that say a rule was lifted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from acc.audit.log import AuditLog
from acc.audit.medium import AuditPlace
from acc.audit.namespaces import (
    Spaces,
    existing_log,
    known_spaces,
    newest_states,
    other_readers,
    threads_of,
)
from acc.errors import ConfigurationError
from acc.evidence.addition import Judgement
from acc.evidence.deletion import Both, Deletion, Doomed, Either
from acc.evidence.marks import marks_of
from acc.evidence.unfinished import Prunes
from acc.evidence.usage import Ledger, Usage, evidence_key, execution_ledger, holds, turn_ledger
from acc.stores.protocol import Artifact, ArtifactStore, Thread, managed
from acc.stores.shelf import Shelf, ShelfName
from acc.stores.tombstones import marks_retirement
from acc.turn.observations import is_ingested

if TYPE_CHECKING:
    from acc.memory import Memory

PrunedKind = Literal["observation", "set_aside", "document", "experience", "quarantine"]
KINDS: tuple[PrunedKind, ...] = get_args(PrunedKind)
DEFAULT_KINDS: tuple[PrunedKind, ...] = ("document", "experience")
"""Kinds that a prune judges by default: without raw turns and set-aside items."""

_SHELF: dict[str, ShelfName] = {
    "document": "documents",
    "experience": "experiences",
    "quarantine": "quarantine",
}


@dataclass(frozen=True)
class Doom:
    """Evidence that would be deleted, or is protected.

    ``why`` is the policy's reason, or the reason of the protection. ``thread`` is the thread's
    name, empty for a namespace's own evidence.
    """

    ref: str
    kind: str
    thread: str
    why: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The plan of a prune.

    Attributes:
        space: The namespace.
        t: The time by kind: number of commits or executions. For documents, the commits of all who
            may see them.
        looked_at: Number of pieces of evidence that the policy judged.
        doomed: Evidence to delete.
        protected: Evidence that the policy would delete, but that is protected.
        readings: For a combined policy, the number of deletions of its union and intersection.
        states: The given current states of threads without an audit log.
    """

    space: Thread
    t: dict[str, int]
    looked_at: int
    doomed: tuple[Doom, ...]
    protected: tuple[Doom, ...]
    readings: dict[str, int]
    states: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def ids(self) -> list[str]:
        """Ids of the records to delete."""
        return [id_ for doom in self.doomed for id_ in doom.ids]


class Retention:
    """Plans and executes prunes in a memory, one namespace at a time."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._store = managed(memory.artifacts)
        self._audit = memory.settings.audit

    def resume(self, space: Thread, since: str = "") -> bool:
        """Complete a prune that a killed process began in the namespace.

        Return whether a prune has completed: here, or the marked one of the time ``since`` before
        the kill.
        """
        with self._memory._lock:
            prunes = self._prunes(space)
            done = bool(prunes.resume())
            if done:
                self._memory._forget()
            return done or (bool(since) and prunes.was_completed(since))

    def plan(
        self,
        space: Thread,
        policy: Deletion,
        kinds: Sequence[PrunedKind] = DEFAULT_KINDS,
        *,
        states: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> Plan:
        """Plan the deletions of ``policy``, with reasons. Deletes nothing.

        Pending writes of the next turn are written first, and are judged.

        Args:
            space: The namespace.
            policy: The policy.
            kinds: The kinds that it judges. Raw turns (``observation``) must be named explicitly.
            states: The current states of threads without an audit log, by thread name, as canonical
                JSON. Nothing is deleted from a thread without a known current state.

        Raises:
            ConfigurationError: There is no such kind.
        """
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise ConfigurationError(
                f"{unknown[0]!r} is not a kind of evidence",
                where="kinds",
                hint=f"use {', '.join(KINDS)}",
            )
        with self._memory._lock:
            self._memory._forget()
            return _Planning(self._store, self._audit, space, states or {}).plan(policy, kinds)

    def prune(self, plan: Plan) -> int:
        """Execute ``plan`` atomically: a kill before it begins leaves everything.

        Evidence that was cited or held since the plan was made stays.

        Returns:
            The number of deleted records.
        """
        if not plan.ids:
            return 0
        with self._memory._lock:
            self._memory._forget()  # write pending records before replacing any
            ids = _Planning(self._store, self._audit, plan.space, plan.states).unshielded(plan.ids)
            self._prunes(plan.space).prune(ids)
            self._memory._forget()
            return len(ids)

    def _prunes(self, space: Thread) -> Prunes:
        usage = Shelf(self._store, space, "usage")
        return Prunes(usage, self._memory._now, marks_of(self._memory))


class _Planning:
    """The current content of a namespace, for a policy to judge."""

    def __init__(
        self,
        store: ArtifactStore,
        audit: AuditPlace | None,
        space: Thread,
        states: Mapping[str, Sequence[Mapping[str, Any]]],
    ) -> None:
        self._store = managed(store)
        self._audit = audit
        self._space = space
        self._threads = {t.key: t for t in threads_of(store, audit, space)}
        self._given = states
        self._states = {
            key: states.get(t.thread) or newest_states(self._audit, t)
            for key, t in self._threads.items()
        }
        self._usage = Shelf(store, space, "usage").records()
        self._holds = holds(self._usage)
        self._cited = dict(self._all_cited())

    def plan(self, policy: Deletion, kinds: Sequence[PrunedKind]) -> Plan:
        """Plan the deletions of ``policy``, and separate the protected evidence."""
        doomed: list[Doom] = []
        protected: list[Doom] = []
        times: dict[str, int] = {}
        readings: dict[str, int] = {}
        looked_at = 0
        for ledger, group in self._groups(kinds):
            usages = self._usages(ledger, group)
            looked_at += len(usages)
            for kind in {usage.kind for usage in usages}:
                times[kind] = ledger.t
            for key, why in policy(usages, ledger.t).items():
                shield = self._shield(group[key])
                place = protected if shield else doomed
                place.append(self._doom(group[key], shield or why))
            for name, found in _readings(policy, usages, ledger.t).items():
                readings[name] = readings.get(name, 0) + len(found)
        return Plan(
            self._space, times, looked_at, tuple(doomed), tuple(protected), readings, self._given
        )

    def unshielded(self, ids: Sequence[str]) -> list[str]:
        """Return those of ``ids`` that still exist and are not protected."""
        there = (a for a in self._store.get(self._space.tenant, ids) if a.kind != "tombstone")
        groups = _grouped(there).values()
        return [part.id for parts in groups if not self._shield(parts) for part in parts]

    def _groups(
        self, kinds: Sequence[PrunedKind]
    ) -> Iterator[tuple[Ledger, dict[str, list[Artifact]]]]:
        """Yield evidence by key, in groups that share a ledger and its time."""
        raw = [kind for kind in kinds if kind not in _SHELF]
        turns = _grouped(a for key in self._threads if raw for a in self._of_thread(key, raw))
        if turns:
            yield turn_ledger(self._logs(self._threads.values()), [self._usage]), turns
        documents = _grouped(self._on_shelf("documents")) if "document" in kinds else {}
        if documents:
            yield self._document_ledger(), documents
        for kind in ("experience", "quarantine"):
            if kind in kinds:
                yield execution_ledger(self._usage), _grouped(self._on_shelf(_SHELF[kind]))

    def _document_ledger(self) -> Ledger:
        """Return the documents' ledger; its time counts the commits of all who may see them."""
        threads = [thread for threads in self._other_readers.values() for thread in threads]
        shelves = [Shelf(self._store, space, "usage").records() for space in self._other_readers]
        return turn_ledger(self._logs([*self._threads.values(), *threads]), [self._usage, *shelves])

    def _logs(self, threads: Iterable[Thread]) -> list[AuditLog]:
        return [log for thread in threads if (log := existing_log(self._audit, thread))]

    @cached_property
    def _other_readers(self) -> Spaces:
        known = known_spaces(self._store, self._audit, self._space.tenant)
        return other_readers(known, self._space)

    def _of_thread(self, key: str, kinds: Sequence[str]) -> Iterator[Artifact]:
        ids = self._store.ids(self._space.tenant, thread=key)
        found = self._store.get(self._space.tenant, ids)
        return (artifact for artifact in found if artifact.kind in kinds)

    def _on_shelf(self, name: ShelfName) -> list[Artifact]:
        return Shelf(self._store, self._space, name).records()

    def _usages(self, ledger: Ledger, group: Mapping[str, Sequence[Artifact]]) -> list[Usage]:
        ordered = sorted(group.values(), key=lambda parts: (parts[0].at, parts[0].id))
        return [
            ledger.usage(
                parts[0], added=ledger.time_of(parts[0].at), prior=_prior(parts[0]), order=order
            )
            for order, parts in enumerate(ordered)
        ]

    def _shield(self, parts: Sequence[Artifact]) -> str:
        first = parts[0]
        if (held := self._holds.on(evidence_key(first))) is not None:
            return f"held: {held}"
        if (by := self._cited_by(first)) is not None:
            return f"cited by {by}"
        if first.thread not in self._threads:
            return ""
        if any(map(marks_retirement, parts)):
            return "says that a rule was lifted"
        states = self._states[first.thread]
        if not states:
            return "the thread's current state is not known"
        if first.turn >= min(int(state["turn"]) for state in states) - 1:
            return "the next turn reads it"
        return ""

    def _all_cited(self) -> Iterator[tuple[str, str]]:
        owners = [self._space.key, *self._threads]
        for key, states in self._states.items():
            for state in states:
                for ref, by in cited_in(state).items():
                    near, slash, far = ref.partition("/")
                    of = [o for o in owners if o.startswith(near)] if slash else [key]
                    for owner in (*of, self._space.key):
                        yield f"{owner}:{far if slash else ref}", f"{by} of {self._name(key)}"

    def _cited_by(self, artifact: Artifact) -> str | None:
        """Return the item and thread of a current state that cites it."""
        key = evidence_key(artifact)
        by = self._cited.get(key)
        is_shared = artifact.branch == "documents"
        return self._cited_elsewhere.get(key) if by is None and is_shared else by

    @cached_property
    def _cited_elsewhere(self) -> dict[str, str]:
        """Citations of the documents by current states of other users and agents, by key.

        A ref does not distinguish two visible copies of a document: both count as cited.
        """
        return {
            f"{self._space.key}:{ref}": f"{by} of {t.thread} (user {t.user!r}, agent {t.agent!r})"
            for threads in self._other_readers.values()
            for t in threads
            for state in newest_states(self._audit, t)
            for ref, by in cited_in(state).items()
            if is_ingested(ref)
        }

    def _doom(self, parts: Sequence[Artifact], why: str) -> Doom:
        first = parts[0]
        ids = tuple(part.id for part in parts)
        return Doom(first.ref, first.kind, self._name(first.thread), why, ids)

    def _name(self, key: str) -> str:
        return self._threads[key].thread if key in self._threads else ""


def _readings(policy: Deletion, usages: Sequence[Usage], t: int) -> dict[str, Doomed]:
    if not isinstance(policy, Either | Both):
        return {}
    pair = (policy.one, policy.other)
    return {"union": Either(*pair)(usages, t), "intersection": Both(*pair)(usages, t)}


def _grouped(artifacts: Iterable[Artifact]) -> dict[str, list[Artifact]]:
    found: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        found.setdefault(evidence_key(artifact), []).append(artifact)
    return found


def _prior(artifact: Artifact) -> float | None:
    if artifact.kind not in ("document", "experience"):
        return None
    return Judgement.model_validate_json(artifact.reason).utility


def cited_in(state: Mapping[str, Any]) -> dict[str, str]:
    """Return each ref that a state's items cite or that is pending, with the id of the item."""
    found: dict[str, str] = {}
    for value in state.values():
        for item in value if isinstance(value, list) else ():
            if not isinstance(item, Mapping):
                continue
            refs = [*item.get("sources", ()), item.get("artifact", ""), item.get("ref", "")]
            for ref in filter(None, refs):
                found.setdefault(str(ref), str(item.get("id") or "pending"))
    return found

"""Retention: plan what a policy deletes from a namespace, protect the rest, and prune.

Raw turns are always stored, and deleted only if a deployer names their kind. Protected from
deletion: evidence that a current state cites, that a hold covers, or that the next turn reads, and
records that say a rule was lifted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from acc.errors import ConfigurationError
from acc.evidence.deletion import Deletion
from acc.evidence.intents import Standing
from acc.evidence.retention_plan import DEFAULT_KINDS, KINDS, Plan, Planning, PrunedKind
from acc.stores.protocol import ArtifactStore, Thread
from acc.stores.shelf import Shelf, managed


class Retention:
    """Plans and prunes, one namespace at a time.

    Args:
        store: A store with the methods of `acc.stores.protocol.ManagedStore`.
        folder: The folder of the audit logs; None if none are kept.
        now: Returns the time in the format of records.
        lock: Held while records are replaced; a memory's `Memory.lock`.
        forget: Called after records were replaced, to drop cached threads.
        notes: The folder for notes of unfinished work; None if nothing outlives the process.

    Raises:
        StoreError: The store cannot delete.
    """

    def __init__(
        self,
        store: ArtifactStore,
        folder: Path | None,
        now: Callable[[], str],
        *,
        lock: AbstractContextManager[Any] | None = None,
        forget: Callable[[], None] = lambda: None,
        notes: Path | None = None,
    ) -> None:
        self._store = managed(store)
        self._folder = folder
        self._now = now
        self._lock = lock or nullcontext()
        self._forget = forget
        self._notes = notes

    def resume(self, space: Thread, since: str = "") -> bool:
        """Complete a prune that a killed process began in the namespace.

        Args:
            space: The namespace.
            since: Time of the noted prune, if any.

        Returns:
            Whether a prune has completed: here, or the noted one before the kill.
        """
        with self._lock:
            standing = self._standing(space)
            done = bool(standing.resume())
            if done:
                self._forget()
            return done or (bool(since) and standing.has_happened(since))

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
            StoreError: The store cannot be read.
            AuditError: An audit log cannot be read.
        """
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise ConfigurationError(
                f"no kind {unknown[0]!r}", where="kinds", hint=f"use {', '.join(KINDS)}"
            )
        with self._lock:
            self._forget()
            return Planning(self._store, self._folder, space, states or {}).plan(policy, kinds)

    def prune(self, plan: Plan) -> int:
        """Execute ``plan`` atomically: a kill before it begins leaves everything.

        Evidence that was cited or held since the plan was made stays.

        Returns:
            The number of deleted records.

        Raises:
            StoreError: The prune failed; `resume` completes it if it was begun.
            AuditError: An audit log cannot be read.
        """
        if not plan.ids:
            return 0
        with self._lock:
            self._forget()  # write pending records before replacing any
            ids = Planning(self._store, self._folder, plan.space, plan.states).unshielded(plan.ids)
            self._standing(plan.space).prune(ids)
            self._forget()
            return len(ids)

    def _standing(self, space: Thread) -> Standing:
        return Standing(Shelf(self._store, space, "usage"), self._now, self._notes)

"""Retention: what a policy would delete of a namespace, what protects the rest, and doing it.

Raw turns are stored always, and only go where a deployer names their kind. Nothing goes that a
current state cites, that a hold protects, that the next turn still reads, or that says a rule
was lifted.
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
        store: One that offers `acc.stores.protocol.ManagedStore`.
        folder: The folder of the audit logs; None if none are kept.
        now: Tells the time as records have it.
        lock: Held while records are replaced; a memory's `Memory.lock`.
        forget: Called when records were replaced: what was read of threads is read anew.
        notes: The folder in which what is begun is noted; None if nothing outlives the process.

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
        """Do the rest of what a killed process had begun in the namespace.

        Args:
            space: The namespace.
            since: When a prune was noted there, if one was.

        Returns:
            Whether one has happened: it was ended here, or the noted one before the kill.
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
        """What ``policy`` would delete now, and why. Deletes nothing.

        What waits to be written with the next turn is written first, so that it is judged.

        Args:
            space: The namespace.
            policy: The policy.
            kinds: What it judges. Raw turns (``observation``) have to be named.
            states: The current states of threads that have no audit log, by the thread's name, as
                canonical JSON. Of a thread whose current state is not known, nothing is deleted.

        Raises:
            ConfigurationError: No such kind.
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
        """Do what ``plan`` says, all of it or, if the process is killed before it begins, nothing.

        What came to be cited or held since the plan was made, stays.

        Returns:
            The number of records that went.

        Raises:
            StoreError: It cannot be done now; what was begun, `resume` ends.
            AuditError: An audit log cannot be read.
        """
        if not plan.ids:
            return 0
        with self._lock:
            self._forget()  # what waits is written before anything is replaced
            ids = Planning(self._store, self._folder, plan.space, plan.states).unshielded(plan.ids)
            self._standing(plan.space).prune(ids)
            self._forget()
            return len(ids)

    def _standing(self, space: Thread) -> Standing:
        return Standing(Shelf(self._store, space, "usage"), self._now, self._notes)

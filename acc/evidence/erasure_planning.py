"""Plan an erasure: its records, evidence that rests only on them, and repeated words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from acc.audit.redaction import Traces
from acc.errors import InputError
from acc.evidence.audits import Audits, Spaces, foreseen, known_spaces
from acc.evidence.erasure_plan import Dropped, Effects, ErasurePlan, Target, owner_of
from acc.evidence.erasure_reach import (
    Reach,
    Taken,
    closed,
    has_words,
    kept_elsewhere,
    logs_to_rewrite,
    names_in,
    words_of,
)
from acc.evidence.retention_plan import holds
from acc.evidence.usage import evidence_key, is_named
from acc.stores.protocol import Artifact, ArtifactStore, Thread, is_nested_run
from acc.stores.shelf import Shelf, is_grave, managed, namespace


def plan_erasure(
    store: ArtifactStore,
    audit: Path | None,
    target: Target,
    *,
    echoes: bool = True,
    despite_holds: bool = False,
) -> ErasurePlan:
    """Plan the erasure of ``target`` with all its effects. Changes nothing.

    For an open memory use `acc.evidence.erasure.Erasure.plan`, which includes pending writes.

    Args:
        store: A store with the methods of `acc.stores.protocol.ManagedStore`.
        audit: The folder of the audit logs; None if none are kept.
        target: The evidence to erase.
        echoes: With an artifact, erase evidence of the user that repeats a run of its words; with a
            document, also words of others' agents and tools about it
            (`acc.evidence.erasure_reach`).
        despite_holds: Also erase held evidence.

    Raises:
        InputError: There is no such target, or a hold protects it.
        StoreError: The store cannot be read.
        AuditError: A log to rewrite is damaged, and the erasure could not complete.
    """
    planning = _Planning(store, audit, target)
    is_one = target.kind == "artifact"
    plan = planning.artifact(echoes=echoes) if is_one else planning.whole()
    if not despite_holds:
        planning.refuse_held(plan)
    effects = planning.effects(plan)
    heard = {log.thread for log in effects.rewritten}
    return replace(
        plan,
        effects=effects,
        conversations=tuple(sorted({*plan.conversations, *heard})),
        with_echoes=echoes,
        despite_holds=despite_holds,
    )


class _Planning:
    """Plans the erasure of ``target`` from a store and the audit logs in a folder."""

    def __init__(self, store: ArtifactStore, audit: Path | None, target: Target) -> None:
        self._store = managed(store)
        self._audit = audit
        self._target = target
        self._space = namespace(target.whose, target.agent, target.tenant)

    def whole(self) -> ErasurePlan:
        """Plan the erasure of a thread, or of a user."""
        threads = self._threads()
        spaces = self._spaces(threads)
        keys = [t.key for t in threads]
        if self._target.kind == "user":
            keys += [space.key for space in spaces]
        ids = [i for key in keys for i in self._store.ids(self._target.tenant, thread=key)]
        entries = self._entries(spaces, {t.key for t in threads})
        logs = [t for t in threads if self._has_log(t)]
        if not ids and not logs:
            raise self._nothing()
        words = [a for a in self._store.get(self._target.tenant, ids) if has_words(a)]
        plan = ErasurePlan(
            target=self._target, delete=tuple(ids),
            bury=tuple(a.id for a in entries if a.id not in ids), claims=(),
            threads=tuple(self._others(spaces, threads)), logs=tuple(logs),
            texts=tuple(a.text for a in words), conversations=_names(threads),
            owners=tuple(owner_of(a, self._space) for a in words),
        )  # fmt: skip
        return _with_others(plan, self._elsewhere(words, spaces, echoes=False))

    def artifact(self, *, echoes: bool) -> ErasurePlan:
        """Plan the erasure of one piece of evidence, and of what was derived from it."""
        threads = self._known.get(self._space, [])
        evidence = [a for owner in (self._space, *threads) for a in words_of(self._store, owner)]
        own = self._space.model_copy(update={"thread": self._target.thread or ""})
        asked = frozenset(evidence_key(a) for a in evidence if self._is_meant(a, own))
        if not asked:
            raise self._nothing()
        kept = kept_elsewhere(self._store, self._space)

        def traces_of(keys: frozenset[str]) -> Traces:
            return Traces(a.text for a in evidence if echoes and evidence_key(a) in keys)

        gone = closed(asked, evidence, threads, kept, traces_of)
        records = [a for a in evidence if evidence_key(a) in gone and not is_grave(a)]
        if not records:
            raise self._nothing()
        elsewhere = self._elsewhere(records, [self._space], echoes=echoes)
        everything = [*records, *(a for taken in elsewhere for a in taken.records)]
        turns = {(a.thread, a.branch, a.turn) for a in everything if a.kind == "observation"}
        claims = [f"{thread}.{branch}:t{turn}" for thread, branch, turn in sorted(turns)]
        plan = ErasurePlan(
            target=self._target, delete=(), bury=tuple(a.id for a in records),
            claims=(*claims, *self._refusals(turns)),
            threads=tuple((t, names_in(t, gone, kept)) for t in threads),
            logs=(), texts=tuple(a.text for a in records),
            echoes=tuple(sorted(k.partition(":")[2] for k in gone - asked)),
            conversations=_names(t for t in threads if t.key in {a.thread for a in records}),
            owners=tuple(owner_of(a, self._space) for a in records),
        )  # fmt: skip
        return _with_others(plan, elsewhere)

    def _elsewhere(
        self, going: Sequence[Artifact], own: Sequence[Thread], *, echoes: bool
    ) -> list[Taken]:
        """Return the effects on other namespaces that may see the documents among ``going``."""
        others = {space: threads for space, threads in self._known.items() if space not in own}
        return list(Reach(self._store, going, echoes=echoes).into(others))

    def _refusals(self, turns: set[tuple[str, str, int]]) -> Iterator[str]:
        """Yield ids of refusal notes for the words of ``turns``: each contains a digest of them."""
        for thread in sorted({thread for thread, _, _ in turns}):
            ids = self._store.ids(self._target.tenant, kind="refusal", thread=thread)
            notes = self._store.get(self._target.tenant, ids)
            gone = {a.identity for a in notes if (a.thread, a.name, a.turn) in turns}
            yield from (a.id for a in notes if a.identity in gone)

    def refuse_held(self, plan: ErasurePlan) -> None:
        """Raise if a hold protects a record of ``plan``."""
        ids = (*plan.delete, *plan.bury)
        keys = {evidence_key(a) for a in self._store.get(self._target.tenant, ids)}
        owners = {key.partition(":")[0] for key in keys}
        for space in dict.fromkeys([*self._spaces(self._threads()), *self._owning(owners)]):
            found = holds(Shelf(self._store, space, "usage").records())
            held = [(key, why) for key in sorted(keys) if (why := found.on(key)) is not None]
            if held:
                raise InputError(
                    f"a hold protects it: {held[0][1]}",
                    where=", ".join(key.partition(":")[2] or "the thread" for key, _ in held[:5]),
                    hint="release the hold, or erase despite it",
                )

    def _owning(self, owners: set[str]) -> Iterator[Thread]:
        """Yield the namespaces that own the keys ``owners``, directly or through their threads."""
        for space, threads in self._known.items():
            if not owners.isdisjoint({space.key, *(t.key for t in threads)}):
                yield space

    def effects(self, plan: ErasurePlan) -> Effects:
        """Compute the effects of ``plan``.

        Raises:
            AuditError: A log to rewrite cannot be read.
        """
        records = self._store.get(self._target.tenant, (*plan.delete, *plan.bury))
        logs = logs_to_rewrite(self._store, self._audit, plan)
        return Effects(
            kinds=tuple(sorted(Counter(a.kind for a in records).items())),
            digests=len(self._store.get(self._target.tenant, plan.claims)),
            dropped=tuple(map(self._dropped, plan.logs)),
            rewritten=tuple(
                found for log, erased in logs if (found := foreseen(log, erased)) is not None
            ),
        )

    def _dropped(self, thread: Thread) -> Dropped:
        log = Audits(self._store, self._audit, self._space).log(thread)
        # Count lines, not records: a damaged log is deleted too.
        lines = log.path.read_bytes().splitlines() if log is not None else []
        return Dropped(log.path.name if log is not None else "", thread.thread, len(lines))

    @cached_property
    def _known(self) -> Spaces:
        return known_spaces(self._store, self._audit, self._target.tenant)

    def _threads(self) -> list[Thread]:
        """Return the target's threads: one with the agent runs inside it, or all of the user."""
        theirs = [t for space in self._known if self._is_theirs(space) for t in self._known[space]]
        if self._target.kind == "user":
            return theirs
        own = self._space.model_copy(update={"thread": self._target.thread or ""})
        if self._target.kind == "artifact" or self._target.agent != "default":
            return [own]
        return [own, *(t for t in theirs if t.thread == own.thread and is_nested_run(t.agent))]

    def _spaces(self, threads: Iterable[Thread]) -> list[Thread]:
        if self._target.kind != "user":
            agents = {self._target.agent, *(t.agent for t in threads)}
            return [namespace(self._target.whose, a, self._target.tenant) for a in sorted(agents)]
        # A namespace with only documents or experiences has no thread; the directory lists it.
        known = [space.agent for space in self._known if self._is_theirs(space)]
        agents = {self._target.agent, "default", *known, *(t.agent for t in threads)}
        return [namespace(self._target.whose, a, self._target.tenant) for a in sorted(agents)]

    def _is_theirs(self, thread: Thread) -> bool:
        return (thread.tenant, thread.user) == (self._target.tenant, self._target.whose)

    def _entries(self, spaces: Sequence[Thread], keys: set[str]) -> list[Artifact]:
        shelves = (Shelf(self._store, space, "threads") for space in spaces)
        return [a for shelf in shelves for a in shelf.records() if a.identity in keys]

    def _others(
        self, spaces: Sequence[Thread], threads: Sequence[Thread]
    ) -> Iterator[tuple[Thread, frozenset[str]]]:
        """Yield the user's other threads, which may have read the erased ones."""
        gone = {t.key for t in threads}
        for space in spaces if self._target.kind == "thread" else ():
            for other in Audits(self._store, self._audit, space).threads():
                if other.key not in gone:
                    yield other, self._refs_of(gone)

    def _refs_of(self, keys: set[str]) -> frozenset[str]:
        ids = [i for key in keys for i in self._store.ids(self._target.tenant, thread=key)]
        found = self._store.get(self._target.tenant, ids)
        return frozenset(f"{a.thread[:8]}/{a.ref}" for a in found if a.ref)

    def _is_meant(self, artifact: Artifact, own: Thread) -> bool:
        ref = self._target.artifact or ""
        if artifact.id == ref:
            return True
        if self._target.thread:
            return artifact.thread == own.key and artifact.ref == ref
        return artifact.thread == self._space.key and is_named(artifact, ref)

    def _has_log(self, thread: Thread) -> bool:
        return Audits(self._store, self._audit, self._space).log(thread) is not None

    def _nothing(self) -> InputError:
        target = self._target
        others = sorted({
            f"--user {t.user} --agent {t.agent}" for threads in self._known.values() for t in threads
            if target.thread == t.thread and (t.user, t.agent) != (target.whose, target.agent)
        })  # fmt: skip
        return InputError(
            f"nothing of the {target.kind} {target.name!r}",
            where=f"tenant {target.tenant!r}, user {target.whose!r}, agent {target.agent!r}",
            hint=f"a thread of that name is there with {' or '.join(others[:3])}"
            if others
            else "look for it with acc search, and name its thread with --thread",
        )


def _names(threads: Iterable[Thread]) -> tuple[str, ...]:
    return tuple(sorted({thread.thread for thread in threads}))


def _with_others(plan: ErasurePlan, elsewhere: Sequence[Taken]) -> ErasurePlan:
    """Add the effects on other namespaces to ``plan``."""
    records = [(a, taken.space) for taken in elsewhere for a in taken.records]
    threads = [pair for taken in elsewhere for pair in taken.threads]
    said = {a.thread for a, _ in records}
    names = _names(t for t, _ in threads if t.key in said)
    return replace(
        plan,
        bury=(*plan.bury, *(a.id for a, _ in records)),
        threads=(*plan.threads, *threads),
        texts=(*plan.texts, *(a.text for a, _ in records)),
        owners=(*plan.owners, *(owner_of(a, space) for a, space in records)),
        echoes=(*plan.echoes, *sorted({f"{a.thread[:8]}/{a.ref}" for a, _ in records})),
        conversations=tuple(sorted({*plan.conversations, *names})),
    )

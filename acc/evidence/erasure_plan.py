"""Plan an erasure: its target, its records and those derived from them, and all its effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

from acc.audit.medium import AuditPlace
from acc.audit.namespaces import Spaces, existing_log, known_spaces, threads_of
from acc.audit.redaction import Traces
from acc.audit.rewriting import Rewritten, preview
from acc.errors import InputError
from acc.evidence.erasure_reach import (
    Affected,
    Reach,
    board_copies,
    has_words,
    is_document,
    kept_elsewhere,
    logs_to_rewrite,
    read_by_roles,
    refs_in,
    with_derived,
    worded_records,
)
from acc.evidence.usage import evidence_key, holds, is_named
from acc.stores.directory import document_spaces, namespace, namespace_of
from acc.stores.protocol import Artifact, ArtifactStore, Thread, is_nested_run, managed
from acc.stores.shelf import Shelf
from acc.stores.tombstones import is_erased


@dataclass(frozen=True)
class Target:
    """The target of an erasure: a user, a thread, or one piece of evidence.

    Attributes:
        user: The user; alone, all evidence of the user with every agent.
        thread: One thread of the user (``default`` if not given) and agent. Without an agent it
            includes the runs of agents inside its graph.
        artifact: A ref on that thread; without a thread, the ref of a document, a part or an
            experience.
        agent: The agent, for a thread or an artifact.
        tenant: The tenant.

    Raises:
        InputError: No name is given, or a name is empty. An omitted name would erase more.
    """

    user: str | None = None
    thread: str | None = None
    artifact: str | None = None
    agent: str = "default"
    tenant: str = "default"

    def __post_init__(self) -> None:
        if empty := [f.name for f in fields(self) if getattr(self, f.name) == ""]:
            raise InputError(
                f"the name of the {' and the '.join(empty)} is empty",
                where="the target of an erasure",
                hint="give the name; without it, more would be erased",
            )
        if (self.user, self.thread, self.artifact) == (None, None, None):
            raise InputError(
                "no user, thread or artifact is named",
                where="the target of an erasure",
                hint="name a user, a thread or an artifact",
            )

    @property
    def whose(self) -> str:
        """The user."""
        return self.user or "default"

    @property
    def name(self) -> str:
        """The narrowest given name."""
        return self.artifact or self.thread or self.whose

    @property
    def kind(self) -> str:
        """``artifact``, ``thread`` or ``user``."""
        return "artifact" if self.artifact else "thread" if self.thread else "user"


class Dropped(NamedTuple):
    """An audit log that is deleted: its file name, its thread's name, the number of its records."""

    log: str
    thread: str
    records: int


@dataclass(frozen=True)
class Effects:
    """The effects of an erasure, announced by its plan and repeated by its receipt.

    Attributes:
        kinds: Number of deleted records by kind (``observation``, ``set_aside``, ``document``,
            ``experience``, ``usage`` and so on), including those that leave a tombstone.
        digests: Number of turn claims and refusal notes that stay, without the digest of the words.
        dropped: Audit logs that are deleted.
        rewritten: Audit logs that are rewritten.
    """

    kinds: tuple[tuple[str, int], ...] = ()
    digests: int = 0
    dropped: tuple[Dropped, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the threads with a deleted or changed log."""
        names = [log.thread for log in self.dropped] + [log.thread for log in self.rewritten]
        return tuple(sorted(set(names)))

    def without_words(self) -> Effects:
        """Return the effects without the words of items, because no stored data may have them."""
        logs = (
            replace(log, leaving=tuple(item._replace(words="") for item in log.leaving))
            for log in self.rewritten
        )
        return replace(self, rewritten=tuple(logs))


@dataclass(frozen=True)
class ErasurePlan:
    """The plan of an erasure. It contains the words to erase: do not store it.

    Attributes:
        target: The target.
        delete: Ids of records to delete.
        bury: Ids of records to replace by a tombstone, which keeps a thread readable.
        claims: Ids of turn claims and refusal notes with digests of erased words.
        threads: Threads with states and logs that may mention the evidence, with the refs that
            they use; for a document also those of other users and agents that may see it.
        logs: Threads with audit logs to delete.
        texts: The words of all erased evidence.
        owners: Owner of each text (`owner_of`); empty in a plan stored by an earlier version.
        echoes: Refs of evidence outside the target that rests only on it, or repeats the words.
            Those of other users and agents start with the beginning of their thread's key.
        conversations: Names of the threads that contain it, as a checkpointer knows them.
        effects: The effects of the plan.
        with_echoes: Whether evidence that repeats the words was asked for. Only the plan of an artifact
            includes such evidence; that of a user or a thread never does.
        despite_holds: Whether the plan includes held evidence.
    """

    target: Target
    delete: tuple[str, ...]
    bury: tuple[str, ...]
    claims: tuple[str, ...]
    threads: tuple[tuple[Thread, frozenset[str]], ...]
    logs: tuple[Thread, ...]
    texts: tuple[str, ...]
    echoes: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    effects: Effects = Effects()
    with_echoes: bool = True
    despite_holds: bool = False
    owners: tuple[str, ...] = ()

    def texts_readable_by(self, thread: Thread) -> tuple[str, ...]:
        """Return the texts that a thread may have read: its namespace's, and visible documents."""
        if not self.owners:
            return self.texts
        space = namespace_of(thread)
        near = {space.key, *(_shelf_of(each.key) for each in document_spaces(space))}
        texts = zip(self.texts, self.owners, strict=True)
        return tuple(text for text, owner in texts if owner in near)

    @property
    def records(self) -> int:
        """Number of records to erase."""
        return len(self.delete) + len(self.bury)

    def takes_the_same(self, other: ErasurePlan) -> bool:
        """Return whether both plans have the same target and records."""
        return (self.target, self.delete, self.bury) == (other.target, other.delete, other.bury)


def plan_erasure(
    store: ArtifactStore,
    audit: AuditPlace | None,
    target: Target,
    *,
    echoes: bool = True,
    despite_holds: bool = False,
) -> ErasurePlan:
    """Plan the erasure of ``target`` with all its effects. Changes nothing; see `Erasure.plan`."""
    planning = _Planning(store, audit, target)
    is_one = target.kind == "artifact"
    plan = planning.artifact(echoes=echoes) if is_one else planning.thread_or_user()
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

    def __init__(self, store: ArtifactStore, audit: AuditPlace | None, target: Target) -> None:
        self._store = managed(store)
        self._audit = audit
        self._target = target
        self._space = namespace(target.whose, target.agent, target.tenant)

    def thread_or_user(self) -> ErasurePlan:
        """Plan the erasure of a thread, or of a user."""
        threads = self._threads()
        spaces = self._spaces(threads)
        keys = [t.key for t in threads]
        if self._target.kind == "user":
            keys += [space.key for space in spaces]
        ids = [i for key in keys for i in self._store.ids(self._target.tenant, thread=key)]
        entries = self._entries(spaces, {t.key for t in threads})
        logs = [t for t in threads if existing_log(self._audit, t)]
        if not ids and not logs:
            raise self._nothing()
        records = self._store.get(self._target.tenant, ids)
        words = [a for a in records if has_words(a)]
        elsewhere = self._elsewhere(words, spaces, echoes=False)
        plan = ErasurePlan(
            target=self._target, delete=tuple(ids),
            bury=tuple(a.id for a in entries if a.id not in ids),
            claims=self._digests([a for other in elsewhere for a in other.records]),
            threads=tuple(self._others(spaces, threads, records)), logs=tuple(logs),
            texts=tuple(a.text for a in words), conversations=_names(threads),
            owners=tuple(owner_of(a, self._space) for a in words),
        )  # fmt: skip
        return _with_others(plan, elsewhere)

    def artifact(self, *, echoes: bool) -> ErasurePlan:
        """Plan the erasure of one piece of evidence, and of what was derived from it."""
        threads = self._known.get(self._space, [])
        evidence = [
            a for owner in (self._space, *threads) for a in worded_records(self._store, owner)
        ]
        own = self._space.model_copy(update={"thread": self._target.thread or ""})
        asked = frozenset(evidence_key(a) for a in evidence if self._is_meant(a, own))
        if not asked:
            raise self._nothing()
        kept = kept_elsewhere(self._store, self._space)

        def traces_of(keys: frozenset[str]) -> Traces:
            return Traces(a.text for a in evidence if echoes and evidence_key(a) in keys)

        gone = with_derived(asked, evidence, threads, kept, traces_of)
        records = [a for a in evidence if evidence_key(a) in gone and not is_erased(a)]
        if not records:
            raise self._nothing()
        elsewhere = self._elsewhere(records, [self._space], echoes=echoes)
        everything = [*records, *(a for other in elsewhere for a in other.records)]
        plan = ErasurePlan(
            target=self._target, delete=(), bury=tuple(a.id for a in records),
            claims=self._digests(everything),
            threads=tuple((t, refs_in(t, gone, kept)) for t in threads),
            logs=(), texts=tuple(a.text for a in records),
            echoes=tuple(sorted(k.partition(":")[2] for k in gone - asked)),
            conversations=_names(t for t in threads if t.key in {a.thread for a in records}),
            owners=tuple(owner_of(a, self._space) for a in records),
        )  # fmt: skip
        return _with_others(plan, elsewhere)

    def _elsewhere(
        self, going: Sequence[Artifact], own: Sequence[Thread], *, echoes: bool
    ) -> list[Affected]:
        """Return the effects on other namespaces that may see the documents among ``going``."""
        others = {space: threads for space, threads in self._known.items() if space not in own}
        copies = board_copies(self._store, self._known, going, own)
        roles = read_by_roles(self._store, self._known, going, own)
        return [*Reach(self._store, going, echoes=echoes).into(others), *copies, *roles]

    def _digests(self, records: Sequence[Artifact]) -> tuple[str, ...]:
        """Return the ids of claims and refusal notes with digests of the words of ``records``."""
        turns = {(a.thread, a.branch, a.turn) for a in records if a.kind == "observation"}
        claims = (f"{thread}.{branch}:t{turn}" for thread, branch, turn in sorted(turns))
        return (*claims, *self._refusals(turns))

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
        owning = [
            space
            for space, threads in self._known.items()
            if not owners.isdisjoint({space.key, *(t.key for t in threads)})
        ]
        for space in dict.fromkeys([*self._spaces(self._threads()), *owning]):
            found = holds(Shelf(self._store, space, "usage").records())
            held = [(key, why) for key in sorted(keys) if (why := found.on(key)) is not None]
            if held:
                raise InputError(
                    f"a hold protects this evidence: {held[0][1]}",
                    where=", ".join(key.partition(":")[2] or "the thread" for key, _ in held[:5]),
                    hint="release the hold, or erase despite the hold",
                )

    def effects(self, plan: ErasurePlan) -> Effects:
        """Compute the effects of ``plan``."""
        records = self._store.get(self._target.tenant, (*plan.delete, *plan.bury))
        logs = logs_to_rewrite(self._store, self._audit, plan)
        return Effects(
            kinds=tuple(sorted(Counter(a.kind for a in records).items())),
            digests=len(self._store.get(self._target.tenant, plan.claims)),
            dropped=tuple(map(self._dropped, plan.logs)),
            rewritten=tuple(
                found for log, erased in logs if (found := preview(log, erased)) is not None
            ),
        )

    def _dropped(self, thread: Thread) -> Dropped:
        log = existing_log(self._audit, thread)
        # Count lines, not records: a damaged log is deleted too.
        lines = sum(1 for _ in log.lines()) if log is not None else 0
        return Dropped(log.name if log is not None else "", thread.thread, lines)

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
        agents = {self._target.agent, *(t.agent for t in threads)}
        if self._target.kind == "user":
            # A namespace with only documents or experiences has no thread; the directory lists it.
            agents |= {"default", *(s.agent for s in self._known if self._is_theirs(s))}
        return [namespace(self._target.whose, a, self._target.tenant) for a in sorted(agents)]

    def _is_theirs(self, thread: Thread) -> bool:
        return (thread.tenant, thread.user) == (self._target.tenant, self._target.whose)

    def _entries(self, spaces: Sequence[Thread], keys: set[str]) -> list[Artifact]:
        shelves = (Shelf(self._store, space, "threads") for space in spaces)
        return [a for shelf in shelves for a in shelf.records() if a.identity in keys]

    def _others(
        self, spaces: Sequence[Thread], threads: Sequence[Thread], records: Sequence[Artifact]
    ) -> Iterator[tuple[Thread, frozenset[str]]]:
        """Yield the user's other threads, which may have read the erased ones."""
        refs = frozenset(f"{a.thread[:8]}/{a.ref}" for a in records if a.ref)
        for space in spaces if self._target.kind == "thread" else ():
            for other in threads_of(self._store, self._audit, space):
                if other not in threads:
                    yield other, refs

    def _is_meant(self, artifact: Artifact, own: Thread) -> bool:
        ref = self._target.artifact or ""
        if artifact.id == ref:
            return True
        if self._target.thread:
            return artifact.thread == own.key and artifact.ref == ref
        return artifact.thread == self._space.key and is_named(artifact, ref)

    def _nothing(self) -> InputError:
        target = self._target
        others = sorted({
            f"--user {t.user} --agent {t.agent}" for threads in self._known.values() for t in threads
            if target.thread == t.thread and (t.user, t.agent) != (target.whose, target.agent)
        })  # fmt: skip
        return InputError(
            f"the memory has no evidence of the {target.kind} {target.name!r}",
            where=f"tenant {target.tenant!r}, user {target.whose!r}, agent {target.agent!r}",
            hint=f"a thread of that name exists with {' or '.join(others[:3])}"
            if others
            else "find it with acc search --all-users, and give the ref as printed there",
        )


def _names(threads: Iterable[Thread]) -> tuple[str, ...]:
    return tuple(sorted({thread.thread for thread in threads}))


def _with_others(plan: ErasurePlan, elsewhere: Sequence[Affected]) -> ErasurePlan:
    """Add the effects on other namespaces to ``plan``."""
    records = [(a, other.space) for other in elsewhere for a in other.records]
    threads = dict(plan.threads)
    for thread, refs in (pair for other in elsewhere for pair in other.threads):
        threads[thread] = threads.get(thread, frozenset()) | refs
    said = {a.thread for a, _ in records}
    names = _names(t for t in threads if t.key in said)
    return replace(
        plan,
        bury=(*plan.bury, *(a.id for a, _ in records)),
        threads=tuple(threads.items()),
        texts=(*plan.texts, *(a.text for a, _ in records)),
        owners=(*plan.owners, *(owner_of(a, space) for a, space in records)),
        echoes=(*plan.echoes, *sorted({f"{a.thread[:8]}/{a.ref}" for a, _ in records})),
        conversations=tuple(sorted({*plan.conversations, *names})),
    )


def owner_of(artifact: Artifact, space: Thread) -> str:
    """Return a text's owner for `ErasurePlan.owners`: its namespace ``space``, or a document's."""
    return _shelf_of(artifact.thread) if is_document(artifact) else space.key


def _shelf_of(space: str) -> str:
    return f"{space}.documents"

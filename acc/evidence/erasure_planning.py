"""Finding what an erasure takes: the records, what was made of them alone, what repeats their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from acc.audit import AuditLog
from acc.errors import InputError
from acc.evidence.audit_rewrite import foreseen
from acc.evidence.audits import Audits, logged
from acc.evidence.directory import spaces_in, threads_in
from acc.evidence.erasure_plan import Dropped, Effects, ErasurePlan, Target
from acc.evidence.holds import holds
from acc.evidence.redaction import Erased
from acc.evidence.shelf import Shelf, namespace, namespace_of
from acc.evidence.tombstones import is_grave, managed
from acc.evidence.traces import Traces
from acc.evidence.usage import evidence_key, is_named
from acc.store import Artifact, ArtifactStore, Thread

_WORDS = ("observation", "set_aside", "document", "experience")


def plan_erasure(
    store: ArtifactStore,
    audit: Path | None,
    target: Target,
    *,
    echoes: bool = True,
    despite_holds: bool = False,
) -> ErasurePlan:
    """What erasing ``target`` takes, and all that it comes to. Changes nothing.

    Of an open memory, `acc.evidence.erasure.Erasure.plan` makes it: that sees what waits to be written.

    Args:
        store: One that offers `acc.store.ManagedStore`.
        audit: The folder of the audit logs; None if none are kept.
        target: What is to be erased.
        echoes: Take with an artifact what repeats a run of its words in the user's evidence.
        despite_holds: Erase what is held, too.

    Raises:
        InputError: There is nothing of that name, or a hold protects it.
        StoreError: The store cannot be read.
        AuditError: A log that would be rewritten is damaged: what was begun could not be ended.
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


def logs_to_rewrite(
    store: ArtifactStore, audit: Path | None, plan: ErasurePlan
) -> Iterator[tuple[AuditLog, Erased]]:
    """The logs that may speak of what ``plan`` takes, and what of it is to be taken out of each.

    The answer is the same before the records are gone and afterwards.
    """
    going = {*plan.delete, *plan.bury, *plan.claims}
    for thread, refs in plan.threads:
        space = namespace_of(thread)
        log = Audits(store, audit, space).log(thread)
        if log is not None:
            stays = texts_of(store, [thread, space], going)
            yield log, Erased(refs, Traces(plan.texts).without(stays))


def texts_of(
    store: ArtifactStore, owners: Iterable[Thread], without: Iterable[str] = ()
) -> Iterator[str]:
    """Texts of the owners' records, but for these ids; of an owner without a user, of the tenant's."""
    left_out = set(without)
    for owner in owners:
        ids = managed(store).ids(owner.tenant, thread=owner.key if owner.user else "")
        for artifact in store.get(owner.tenant, [id_ for id_ in ids if id_ not in left_out]):
            yield artifact.text


class _Planning:
    """What erasing ``target`` takes of a store, and of the audit logs in a folder."""

    def __init__(self, store: ArtifactStore, audit: Path | None, target: Target) -> None:
        self._store = managed(store)
        self._audit = audit
        self._target = target
        self._space = namespace(target.whose, target.agent, target.tenant)

    def whole(self) -> ErasurePlan:
        """A thread, or all of a user."""
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
        return ErasurePlan(
            target=self._target, delete=tuple(ids),
            bury=tuple(a.id for a in entries if a.id not in ids), claims=(),
            threads=tuple(self._others(spaces, threads)), logs=tuple(logs),
            texts=tuple(a.text for a in self._words(ids)),
            conversations=_names(threads),
        )  # fmt: skip

    def artifact(self, *, echoes: bool) -> ErasurePlan:
        """One piece of evidence, and what was made of it."""
        evidence = list(self._evidence())
        own = self._space.model_copy(update={"thread": self._target.thread or ""})
        gone = {evidence_key(a) for a in evidence if self._is_meant(a, own)}
        if not gone:
            raise self._nothing()
        asked = set(gone)
        self._close(gone, evidence, echoes=echoes)
        records = [a for a in evidence if evidence_key(a) in gone and not is_grave(a)]
        if not records:
            raise self._nothing()
        turns = {(a.thread, a.branch, a.turn) for a in records if a.kind == "observation"}
        claims = [f"{thread}.{branch}:t{turn}" for thread, branch, turn in sorted(turns)]
        threads = Audits(self._store, self._audit, self._space).threads()
        said_in = {a.thread for a in records}
        return ErasurePlan(
            target=self._target, delete=(), bury=tuple(a.id for a in records),
            claims=(*claims, *self._refusals(turns)),
            threads=tuple((t, _seen_from(t, self._space, gone)) for t in threads),
            logs=(), texts=tuple(a.text for a in records),
            echoes=tuple(sorted(k.partition(":")[2] for k in gone - asked)),
            conversations=_names(t for t in threads if t.key in said_in),
        )  # fmt: skip

    def _refusals(self, turns: set[tuple[str, str, int]]) -> Iterator[str]:
        """The notes that the words of ``turns`` were refused: each holds a digest of them."""
        for thread in sorted({thread for thread, _, _ in turns}):
            ids = self._store.ids(self._target.tenant, kind="refusal", thread=thread)
            notes = self._store.get(self._target.tenant, ids)
            gone = {a.identity for a in notes if (a.thread, a.name, a.turn) in turns}
            yield from (a.id for a in notes if a.identity in gone)

    def refuse_held(self, plan: ErasurePlan) -> None:
        """Raise where a hold protects something of ``plan``."""
        ids = (*plan.delete, *plan.bury)
        keys = {evidence_key(a) for a in self._store.get(self._target.tenant, ids)}
        for space in self._spaces(self._threads()):
            found = holds(Shelf(self._store, space, "usage").records())
            held = [(key, why) for key in sorted(keys) if (why := found.on(key)) is not None]
            if held:
                raise InputError(
                    f"a hold protects it: {held[0][1]}",
                    where=", ".join(key.partition(":")[2] or "the thread" for key, _ in held[:5]),
                    mend="release the hold, or erase despite it",
                )

    def effects(self, plan: ErasurePlan) -> Effects:
        """What ``plan`` comes to.

        Raises:
            AuditError: A log cannot be read that would be rewritten.
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
        # Lines, not records: a damaged log goes, too.
        lines = log.path.read_bytes().splitlines() if log is not None else []
        return Dropped(log.path.name if log is not None else "", thread.thread, len(lines))

    def _threads(self) -> list[Thread]:
        """The threads that are meant: one, or all of the user."""
        known = [*threads_in(self._directory()), *logged(self._audit)]
        if self._target.kind == "user":
            found = [t for t in known if self._is_theirs(t)]
        else:
            found = [self._space.model_copy(update={"thread": self._target.thread or ""})]
        return list({t.key: t for t in found}.values())

    def _spaces(self, threads: Iterable[Thread]) -> list[Thread]:
        if self._target.kind != "user":
            return [self._space]
        # Those with documents or experiences alone have no thread: the directory knows them.
        known = [t.agent for t in spaces_in(self._directory()) if self._is_theirs(t)]
        agents = {self._target.agent, "default", *known, *(t.agent for t in threads)}
        return [namespace(self._target.whose, a, self._target.tenant) for a in sorted(agents)]

    def _directory(self) -> list[Artifact]:
        tenant = self._target.tenant
        return self._store.get(tenant, self._store.ids(tenant, kind="thread"))

    def _is_theirs(self, thread: Thread) -> bool:
        return (thread.tenant, thread.user) == (self._target.tenant, self._target.whose)

    def _entries(self, spaces: Sequence[Thread], keys: set[str]) -> list[Artifact]:
        shelves = (Shelf(self._store, space, "threads") for space in spaces)
        return [a for shelf in shelves for a in shelf.records() if a.identity in keys]

    def _others(
        self, spaces: Sequence[Thread], threads: Sequence[Thread]
    ) -> Iterator[tuple[Thread, frozenset[str]]]:
        """The user's other threads, which may have read the erased ones."""
        gone = {t.key for t in threads}
        for space in spaces if self._target.kind == "thread" else ():
            for other in Audits(self._store, self._audit, space).threads():
                if other.key not in gone:
                    yield other, self._refs_of(gone)

    def _refs_of(self, keys: set[str]) -> frozenset[str]:
        ids = [i for key in keys for i in self._store.ids(self._target.tenant, thread=key)]
        found = self._store.get(self._target.tenant, ids)
        return frozenset(f"{a.thread[:8]}/{a.ref}" for a in found if a.ref)

    def _evidence(self) -> Iterator[Artifact]:
        threads = Audits(self._store, self._audit, self._space).threads()
        keys = [self._space.key, *(t.key for t in threads)]
        for key in keys:
            ids = self._store.ids(self._target.tenant, thread=key)
            yield from self._words(ids)

    def _words(self, ids: Sequence[str]) -> list[Artifact]:
        found = self._store.get(self._target.tenant, ids)
        return [a for a in found if a.kind in _WORDS]

    def _is_meant(self, artifact: Artifact, own: Thread) -> bool:
        ref = self._target.artifact or ""
        if artifact.id == ref:
            return True
        if self._target.thread:
            return artifact.thread == own.key and artifact.ref == ref
        return artifact.thread == self._space.key and is_named(artifact, ref)

    def _close(self, gone: set[str], evidence: Sequence[Artifact], *, echoes: bool) -> None:
        """Add what rests on ``gone`` alone, and what repeats it, until nothing does."""
        while True:
            traces = Traces(a.text for a in evidence if evidence_key(a) in gone)
            more = {
                evidence_key(a)
                for a in evidence
                if evidence_key(a) not in gone
                and (_rests_alone(a, gone) or (echoes and traces.stand_in(a.text)))
            }
            if not more:
                return
            gone |= more

    def _has_log(self, thread: Thread) -> bool:
        return Audits(self._store, self._audit, self._space).log(thread) is not None

    def _nothing(self) -> InputError:
        target = self._target
        known = [*threads_in(self._directory()), *logged(self._audit)]
        others = sorted({
            f"--user {t.user} --agent {t.agent}" for t in known
            if target.thread == t.thread and t.tenant == target.tenant
            and (t.user, t.agent) != (target.whose, target.agent)
        })  # fmt: skip
        return InputError(
            f"nothing of the {target.kind} {target.name!r}",
            where=f"tenant {target.tenant!r}, user {target.whose!r}, agent {target.agent!r}",
            mend=f"a thread of that name is there with {' or '.join(others[:3])}"
            if others
            else "look for it with acc search, and name its thread with --thread",
        )


def _names(threads: Iterable[Thread]) -> tuple[str, ...]:
    return tuple(sorted({thread.thread for thread in threads}))


def _rests_alone(artifact: Artifact, gone: set[str]) -> bool:
    if artifact.kind != "set_aside" or not artifact.sources:
        return False
    return all(f"{artifact.thread}:{ref}" in gone for ref in artifact.sources)


def _seen_from(thread: Thread, space: Thread, gone: Iterable[str]) -> frozenset[str]:
    """The refs under which a thread's states name what is gone."""
    found = set()
    for key in gone:
        owner, _, ref = key.partition(":")
        found.add(ref if owner in (thread.key, space.key) else f"{owner[:8]}/{ref}")
    return frozenset(found)

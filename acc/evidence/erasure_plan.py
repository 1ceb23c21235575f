"""What an erasure takes: the records, what was made of them alone, and what repeats their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from acc.errors import InputError
from acc.evidence.audits import Audits, logged
from acc.evidence.directory import threads_in
from acc.evidence.holds import holds
from acc.evidence.shelf import Shelf, namespace
from acc.evidence.tombstones import managed
from acc.evidence.traces import Traces
from acc.evidence.usage import evidence_key
from acc.store import Artifact, ArtifactStore, Thread

_WORDS = ("observation", "set_aside", "document", "experience")


@dataclass(frozen=True)
class Target:
    """What is to be erased: a user, a thread, or one piece of evidence.

    Attributes:
        user: The user; alone, everything of theirs, whatever the agent.
        thread: One thread of the user and agent.
        artifact: A ref on that thread; without one a document's, a part's or an experience's ref.
        agent: The agent, for a thread or an artifact.
        tenant: The tenant.
    """

    user: str = "default"
    thread: str = ""
    artifact: str = ""
    agent: str = "default"
    tenant: str = "default"

    @property
    def kind(self) -> str:
        """``artifact``, ``thread`` or ``user``."""
        return "artifact" if self.artifact else "thread" if self.thread else "user"


@dataclass(frozen=True)
class ErasurePlan:
    """What would be done. It holds the words that are to go: keep it nowhere.

    Attributes:
        target: What was asked for.
        delete: Ids of records that go whole.
        bury: Ids of records in whose place a tombstone stays, so that a thread stays readable.
        claims: Ids of claims whose digests were made from what goes.
        threads: The namespace's threads whose states and logs may speak of it, and under which refs.
        logs: Threads whose audit logs go whole.
        texts: The words of all that goes.
        echoes: Refs of evidence that was not asked for and repeats the words.
    """

    target: Target
    delete: tuple[str, ...]
    bury: tuple[str, ...]
    claims: tuple[str, ...]
    threads: tuple[tuple[Thread, frozenset[str]], ...]
    logs: tuple[Thread, ...]
    texts: tuple[str, ...]
    echoes: tuple[str, ...] = ()


def plan_erasure(
    store: ArtifactStore,
    audit: Path | None,
    target: Target,
    *,
    echoes: bool = True,
    despite_holds: bool = False,
) -> ErasurePlan:
    """What erasing ``target`` takes. Changes nothing.

    Args:
        store: One that offers `acc.store.ManagedStore`.
        audit: The folder of the audit logs; None if none are kept.
        target: What is to be erased.
        echoes: Take with an artifact what repeats a run of its words in the user's evidence.
        despite_holds: Erase what is held, too.

    Raises:
        InputError: There is nothing of that name, or a hold protects it.
        StoreError: The store cannot be read.
    """
    planning = _Planning(store, audit, target)
    is_one = target.kind == "artifact"
    plan = planning.artifact(echoes=echoes) if is_one else planning.whole()
    if not despite_holds:
        planning.refuse_held(plan)
    return plan


class _Planning:
    def __init__(self, store: ArtifactStore, audit: Path | None, target: Target) -> None:
        self._store = managed(store)
        self._audit = audit
        self._target = target
        self._space = namespace(target.user, target.agent, target.tenant)

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
        )  # fmt: skip

    def artifact(self, *, echoes: bool) -> ErasurePlan:
        """One piece of evidence, and what was made of it."""
        evidence = list(self._evidence())
        own = self._space.model_copy(update={"thread": self._target.thread})
        gone = {evidence_key(a) for a in evidence if self._is_meant(a, own)}
        if not gone:
            raise self._nothing()
        asked = set(gone)
        self._close(gone, evidence, echoes=echoes)
        records = [a for a in evidence if evidence_key(a) in gone]
        turns = {(a.thread, a.branch, a.turn) for a in records if a.kind == "observation"}
        claims = [f"{thread}.{branch}:t{turn}" for thread, branch, turn in sorted(turns)]
        threads = Audits(self._store, self._audit, self._space).threads()
        return ErasurePlan(
            target=self._target, delete=(), bury=tuple(a.id for a in records),
            claims=tuple(claims),
            threads=tuple((t, _seen_from(t, self._space, gone)) for t in threads),
            logs=(), texts=tuple(a.text for a in records),
            echoes=tuple(sorted(k.partition(":")[2] for k in gone - asked)),
        )  # fmt: skip

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

    def _threads(self) -> list[Thread]:
        """The threads that are meant: one, or all of the user."""
        tenant = self._target.tenant
        entries = self._store.get(tenant, self._store.ids(tenant, kind="thread"))
        known = [*threads_in(entries), *logged(self._audit)]
        if self._target.kind == "user":
            found = [t for t in known if (t.tenant, t.user) == (tenant, self._target.user)]
        else:
            found = [self._space.model_copy(update={"thread": self._target.thread})]
        return list({t.key: t for t in found}.values())

    def _spaces(self, threads: Iterable[Thread]) -> list[Thread]:
        agents = {self._target.agent, "default", *(t.agent for t in threads)}
        if self._target.kind != "user":
            agents = {self._target.agent}
        return [namespace(self._target.user, a, self._target.tenant) for a in sorted(agents)]

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
        ref = self._target.artifact
        if artifact.id == ref:
            return True
        if self._target.thread:
            return artifact.thread == own.key and artifact.ref == ref
        is_own = artifact.thread == self._space.key
        return is_own and (artifact.ref == ref or artifact.ref.startswith(f"{ref}."))

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
        return InputError(
            f"nothing of the {target.kind} {target.artifact or target.thread or target.user!r}",
            where=f"tenant {target.tenant!r}, user {target.user!r}, agent {target.agent!r}",
            mend="look for it with acc search, and name its thread with --thread",
        )


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

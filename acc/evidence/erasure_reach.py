"""Determine what an erasure includes besides its target.

An erasure includes evidence that rests only on the erased evidence. For a document it extends to
other users and agents that may see it: to items that rested only on the document, and to words of
the agent or a tool that repeat it. Words that these users said or pasted themselves, and documents
that they ingested, belong to them and stay, whatever they repeat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from acc.audit.log import AuditLog
from acc.audit.medium import AuditPlace
from acc.audit.namespaces import existing_log
from acc.audit.redaction import Erased, Traces
from acc.evidence.usage import evidence_key
from acc.stores.copies import BOARD, copied_from
from acc.stores.directory import document_spaces, namespace_of
from acc.stores.protocol import Artifact, ArtifactStore, ManagedStore, Thread, managed
from acc.stores.shelf import Shelf
from acc.stores.tombstones import is_erased
from acc.turn.observations import Channel, is_ingested

if TYPE_CHECKING:
    from acc.evidence.erasure_plan import ErasurePlan

_READ = 1_000
"""Records that are in memory at a time."""

_WORDS = ("observation", "set_aside", "document", "experience")


class Affected(NamedTuple):
    """What the erasure of a document includes in another namespace.

    ``threads`` come with the refs that their states may use for erased evidence.
    """

    space: Thread
    records: list[Artifact]
    threads: list[tuple[Thread, frozenset[str]]]


class Reach:
    """Finds what an erasure of the documents among ``going`` includes in other namespaces.

    With ``echoes``, that includes evidence that repeats a run of a document's words.
    """

    def __init__(self, store: ManagedStore, going: Sequence[Artifact], *, echoes: bool) -> None:
        self._store = store
        self._documents = [a for a in going if is_document(a)]
        self._ids = {a.id for a in self._documents}
        self._echoes = echoes
        self._staying = cache(self._staying_of)
        self._traces: dict[tuple[str, ...], Traces] = {}

    def into(self, known: Mapping[Thread, Sequence[Thread]]) -> Iterator[Affected]:
        """Yield what is included of each ``known`` namespace that may see one of the documents."""
        for space, threads in known.items():
            near = {each.key for each in document_spaces(space)}
            seen = [a for a in self._documents if a.thread in near]
            if seen:
                yield self._of(space, threads, seen)

    def _of(self, space: Thread, threads: Sequence[Thread], seen: Sequence[Artifact]) -> Affected:
        evidence = [a for owner in (space, *threads) for a in worded_records(self._store, owner)]
        derived = [a for a in evidence if not _is_theirs(a)]
        stays = [a for each in document_spaces(space) for a in self._staying(each)]
        kept = frozenset(a.ref for a in stays)
        traces = Traces(())
        if self._echoes and any(map(self._traces_of(seen).occur_in, (a.text for a in derived))):
            theirs = [a.text for a in evidence if _is_theirs(a)]
            traces = self._traces_of(seen).without([*theirs, *(a.text for a in stays)])
        asked = frozenset(map(evidence_key, seen))
        gone = with_derived(asked, derived, threads, kept, lambda _: traces)
        records = [a for a in derived if evidence_key(a) in gone and not is_erased(a)]
        return Affected(space, records, [(t, refs_in(t, gone, kept)) for t in threads])

    def _staying_of(self, space: Thread) -> list[Artifact]:
        return [a for a in _documents(self._store, space) if a.id not in self._ids]

    def _traces_of(self, seen: Sequence[Artifact]) -> Traces:
        key = tuple(a.id for a in seen)
        if key not in self._traces:
            self._traces[key] = Traces(a.text for a in seen)
        return self._traces[key]


def board_copies(
    store: ManagedStore,
    known: Mapping[Thread, Sequence[Thread]],
    going: Sequence[Artifact],
    own: Sequence[Thread],
) -> Iterator[Affected]:
    """Yield what an erasure includes on shared boards: copies of the evidence, and what rests on them alone.

    Every agent of the tenant may have read the board and cite the copies. Boards in the namespaces ``own`` are
    part of the target.
    """
    gone = frozenset(map(evidence_key, going))
    readers = [thread for threads in known.values() for thread in threads]
    for board in readers if gone else ():
        if board.agent != BOARD or namespace_of(board) in own:
            continue
        evidence = worded_records(store, board)
        copies = frozenset(evidence_key(a) for a in evidence if copied_from(a.message) in gone)
        keys = with_derived(copies, evidence, [board], frozenset(), lambda _: Traces(()))
        if records := [a for a in evidence if evidence_key(a) in keys and not is_erased(a)]:
            refs = [(thread, refs_in(thread, keys, frozenset())) for thread in readers]
            yield Affected(namespace_of(board), records, refs)


def read_by_roles(
    store: ManagedStore,
    known: Mapping[Thread, Sequence[Thread]],
    going: Sequence[Artifact],
    own: Sequence[Thread],
) -> Iterator[Affected]:
    """Yield what an erasure includes in the conversation's other roles (`acc.roles`), which may have read the evidence.

    That is what rests on it alone. Roles in the namespaces ``own`` are part of the target.
    """
    gone = frozenset(map(evidence_key, going))
    readers = [thread for threads in known.values() for thread in threads]
    owners = {a.thread for a in going}
    talks = {(t.user, t.thread) for t in readers if t.key in owners}
    for thread in readers:
        if (thread.user, thread.thread) not in talks or thread.agent == BOARD:
            continue
        if thread.key in owners or namespace_of(thread) in own:
            continue
        evidence = worded_records(store, thread)
        keys = with_derived(gone, evidence, [thread], frozenset(), lambda _: Traces(()))
        records = [a for a in evidence if evidence_key(a) in keys and not is_erased(a)]
        refs = refs_in(thread, keys, frozenset())
        yield Affected(namespace_of(thread), records, [(thread, refs)])


def logs_to_rewrite(
    store: ArtifactStore, audit: AuditPlace | None, plan: ErasurePlan
) -> Iterator[tuple[AuditLog, Erased]]:
    """Yield the logs that may mention the plan's evidence, with the content to remove from each.

    The result is the same before and after the records are erased.
    """
    going = {*plan.delete, *plan.bury, *plan.claims}
    traces: dict[tuple[str, ...], Traces] = {}
    for thread, refs in plan.threads:
        log = existing_log(audit, thread)
        texts = plan.texts_readable_by(thread)
        if texts not in traces:  # most threads share these texts
            traces[texts] = Traces(texts)
        if log is not None and _may_mention(log, refs, traces[texts]):
            stays = texts_of(store, [thread, *document_spaces(thread)], going)
            yield log, Erased(refs, traces[texts].without(stays))


def _may_mention(log: AuditLog, refs: Iterable[str], traces: Traces) -> bool:
    """Return whether the log's bytes contain a trace or an earlier erasure.

    Other logs are not parsed: a damaged one must not stop the erasure.
    """
    data = b"".join(log.lines())
    words = ['"erasure":', *map(json.dumps, refs)]
    return any(word.encode() in data for word in words) or bool(traces.in_bytes(data))


def texts_of(
    store: ArtifactStore, owners: Iterable[Thread], without: Iterable[str] = ()
) -> Iterator[str]:
    """Yield texts of the owners' records except ``without``; without a user, of the tenant's."""
    left_out = set(without)
    for owner in owners:
        ids = managed(store).ids(owner.tenant, thread=owner.key if owner.user else "")
        kept = [id_ for id_ in ids if id_ not in left_out]
        for start in range(0, len(kept), _READ):
            for artifact in store.get(owner.tenant, kept[start : start + _READ]):
                yield artifact.text


def with_derived(
    gone: frozenset[str],
    evidence: Sequence[Artifact],
    threads: Sequence[Thread],
    kept: frozenset[str],
    traces_of: Callable[[frozenset[str]], Traces],
) -> frozenset[str]:
    """Return the keys ``gone`` and those of all evidence that rests only on them, or repeats them.

    ``kept`` are refs that also name a remaining document. ``traces_of`` returns the traces of the
    words behind such keys.
    """
    while True:
        named = {thread.key: refs_in(thread, gone, kept) for thread in threads}
        traces = traces_of(gone)
        more = {
            evidence_key(a)
            for a in evidence
            if evidence_key(a) not in gone and (_rests_alone(a, named) or traces.occur_in(a.text))
        }
        if not more:
            return gone
        gone |= more


def refs_in(thread: Thread, gone: Iterable[str], kept: frozenset[str]) -> frozenset[str]:
    """Return the refs that a thread's states use for the evidence with the keys ``gone``.

    The refs ``kept`` are left out: they also name a remaining copy that the thread may see.
    """
    space = namespace_of(thread)
    shelves = {each.key for each in document_spaces(space)}
    found = set()
    for key in gone:
        owner, _, ref = key.partition(":")
        if owner in (thread.key, space.key) or (owner in shelves and is_ingested(ref)):
            found.add(ref)
        else:
            found.add(f"{owner[:8]}/{ref}")
    return frozenset(found - kept)


def kept_elsewhere(store: ManagedStore, space: Thread) -> frozenset[str]:
    """Return the refs of documents that a namespace may see in other namespaces."""
    spaces = [each for each in document_spaces(space) if each != space]
    return frozenset(a.ref for each in spaces for a in _documents(store, each))


def worded_records(store: ManagedStore, owner: Thread) -> list[Artifact]:
    """Return the records of a thread, or of a namespace's shelves, that contain words."""
    found = store.get(owner.tenant, store.ids(owner.tenant, thread=owner.key))
    return [a for a in found if has_words(a)]


def is_document(artifact: Artifact) -> bool:
    """Return whether the record is part of a recalled document, which other namespaces may see."""
    return artifact.kind == "document" and artifact.branch == "documents"


def has_words(artifact: Artifact) -> bool:
    """Return whether the record contains someone's words, not only notes about them."""
    return artifact.kind in _WORDS


def _documents(store: ManagedStore, space: Thread) -> list[Artifact]:
    return Shelf(store, space, "documents").records()


def _is_theirs(artifact: Artifact) -> bool:
    """Return whether it is a document, or came from the user or the operator."""
    if artifact.kind != "observation":
        return artifact.kind == "document"
    return artifact.channel not in (Channel.AGENT, Channel.TOOL) and not artifact.call_id


def _rests_alone(artifact: Artifact, named: Mapping[str, frozenset[str]]) -> bool:
    if artifact.kind != "set_aside" or not artifact.sources:
        return False
    return named.get(artifact.thread, frozenset()).issuperset(artifact.sources)

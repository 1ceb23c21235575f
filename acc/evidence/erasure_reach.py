"""Determine what an erasure includes besides its target.

An erasure includes evidence that rests only on the erased evidence. For a document it extends to
other users and agents that may see it: to items that rested only on the document, and to words of
the agent or a tool that repeat it. Words that these users said or pasted themselves, and documents
that they ingested, belong to them and stay, whatever they repeat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from acc.audit.log import AuditLog
from acc.audit.redaction import Erased, Traces
from acc.evidence.audits import Audits
from acc.evidence.erasure_plan import ErasurePlan, is_document
from acc.evidence.usage import evidence_key
from acc.stores.protocol import Artifact, ArtifactStore, ManagedStore, Thread
from acc.stores.shelf import Shelf, document_spaces, is_grave, managed, namespace_of
from acc.turn.observations import Channel, is_ingested

_WORDS = ("observation", "set_aside", "document", "experience")


class Taken(NamedTuple):
    """The effects of a document's erasure on another namespace.

    Attributes:
        space: The namespace.
        records: Its records to erase.
        threads: Its threads, with the refs that their states may use for erased evidence.
    """

    space: Thread
    records: list[Artifact]
    threads: list[tuple[Thread, frozenset[str]]]


class Reach:
    """Finds the effects on other namespaces of erasing the documents among ``going``.

    Args:
        store: The store of the evidence.
        going: All records to erase of the documents' own namespace.
        echoes: Include evidence that repeats a run of a document's words.
    """

    def __init__(self, store: ManagedStore, going: Sequence[Artifact], *, echoes: bool) -> None:
        self._store = store
        self._documents = [a for a in going if is_document(a)]
        self._ids = {a.id for a in self._documents}
        self._echoes = echoes
        self._stays: dict[Thread, list[Artifact]] = {}
        self._traces: dict[tuple[str, ...], Traces] = {}

    def into(self, known: Mapping[Thread, Sequence[Thread]]) -> Iterator[Taken]:
        """Yield the effects on each of these namespaces that may see one of the documents.

        Raises:
            StoreError: The store cannot be read.
        """
        for space, threads in known.items():
            near = {each.key for each in document_spaces(space)}
            seen = [a for a in self._documents if a.thread in near]
            if seen:
                yield self._of(space, threads, seen)

    def _of(self, space: Thread, threads: Sequence[Thread], seen: Sequence[Artifact]) -> Taken:
        evidence = [a for owner in (space, *threads) for a in words_of(self._store, owner)]
        derived = [a for a in evidence if not _is_theirs(a)]
        stays = [a for each in document_spaces(space) for a in self._staying(each)]
        kept = frozenset(a.ref for a in stays)
        traces = Traces(())
        if self._echoes and any(map(self._looked_for(seen).stand_in, (a.text for a in derived))):
            theirs = [a.text for a in evidence if _is_theirs(a)]
            traces = self._looked_for(seen).without([*theirs, *(a.text for a in stays)])
        asked = frozenset(map(evidence_key, seen))
        gone = closed(asked, derived, threads, kept, lambda _: traces)
        records = [a for a in derived if evidence_key(a) in gone and not is_grave(a)]
        return Taken(space, records, [(t, names_in(t, gone, kept)) for t in threads])

    def _staying(self, space: Thread) -> list[Artifact]:
        if space not in self._stays:
            self._stays[space] = [
                a for a in _documents(self._store, space) if a.id not in self._ids
            ]
        return self._stays[space]

    def _looked_for(self, seen: Sequence[Artifact]) -> Traces:
        key = tuple(a.id for a in seen)
        if key not in self._traces:
            self._traces[key] = Traces(a.text for a in seen)
        return self._traces[key]


def logs_to_rewrite(
    store: ArtifactStore, audit: Path | None, plan: ErasurePlan
) -> Iterator[tuple[AuditLog, Erased]]:
    """Yield the logs that may mention the plan's evidence, with the content to remove from each.

    The result is the same before and after the records are erased.
    """
    going = {*plan.delete, *plan.bury, *plan.claims}
    looked_for: dict[tuple[str, ...], Traces] = {}
    for thread, refs in plan.threads:
        log = Audits(store, audit, namespace_of(thread)).log(thread)
        heard = plan.heard_by(thread)
        if heard not in looked_for:  # most threads share these texts
            looked_for[heard] = Traces(heard)
        if log is not None and _may_speak(log, refs, looked_for[heard]):
            stays = texts_of(store, [thread, *document_spaces(thread)], going)
            yield log, Erased(refs, looked_for[heard].without(stays))


def _may_speak(log: AuditLog, refs: Iterable[str], traces: Traces) -> bool:
    """Return whether the log's bytes contain a trace or an earlier erasure.

    Other logs are not parsed: a damaged one must not stop the erasure.
    """
    try:
        data = log.path.read_bytes()
    except OSError:
        return True  # reading its records will raise an error with the cause
    marks = ['"erasure":', *map(json.dumps, refs)]
    return any(mark.encode() in data for mark in marks) or bool(traces.in_bytes(data))


def texts_of(
    store: ArtifactStore, owners: Iterable[Thread], without: Iterable[str] = ()
) -> Iterator[str]:
    """Yield texts of the owners' records except ``without``; without a user, of the tenant's."""
    left_out = set(without)
    for owner in owners:
        ids = managed(store).ids(owner.tenant, thread=owner.key if owner.user else "")
        for artifact in store.get(owner.tenant, [id_ for id_ in ids if id_ not in left_out]):
            yield artifact.text


def closed(
    gone: frozenset[str],
    evidence: Sequence[Artifact],
    threads: Sequence[Thread],
    kept: frozenset[str],
    traces_of: Callable[[frozenset[str]], Traces],
) -> frozenset[str]:
    """Return ``gone`` and the keys of all evidence that rests only on them, or repeats them.

    Args:
        gone: Keys of evidence (`acc.evidence.usage.evidence_key`).
        evidence: The evidence to examine.
        threads: The threads that own it.
        kept: Refs that also name a remaining document.
        traces_of: Returns the traces of repeated words for such keys.
    """
    while True:
        named = {thread.key: names_in(thread, gone, kept) for thread in threads}
        traces = traces_of(gone)
        more = {
            evidence_key(a)
            for a in evidence
            if evidence_key(a) not in gone and (_rests_alone(a, named) or traces.stand_in(a.text))
        }
        if not more:
            return gone
        gone |= more


def names_in(thread: Thread, gone: Iterable[str], kept: frozenset[str]) -> frozenset[str]:
    """Return the refs that a thread's states use for erased evidence, except still valid ones.

    Args:
        thread: The thread.
        gone: Keys of evidence.
        kept: Refs that also name a remaining document: another copy that the thread may see.
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
    """Return the refs of documents that a namespace may see in other namespaces.

    Raises:
        StoreError: The store cannot be read.
    """
    spaces = [each for each in document_spaces(space) if each != space]
    return frozenset(a.ref for each in spaces for a in _documents(store, each))


def words_of(store: ManagedStore, owner: Thread) -> list[Artifact]:
    """Return the records of a thread, or of a namespace's shelves, that contain words."""
    found = store.get(owner.tenant, store.ids(owner.tenant, thread=owner.key))
    return [a for a in found if has_words(a)]


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

"""The target, plan, effects and receipt of an erasure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

from acc.audit.redaction import Leaving, Trace
from acc.errors import InputError, StoreError
from acc.stores.protocol import Artifact, Thread
from acc.stores.shelf import document_spaces, namespace_of


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
                f"an empty name: {', '.join(empty)}",
                where="what is to be erased",
                hint="name it, or leave it out: then more is meant",
            )
        if (self.user, self.thread, self.artifact) == (None, None, None):
            raise InputError(
                "nothing to erase",
                where="what is to be erased",
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


@dataclass(frozen=True)
class Rewritten:
    """The effect on an audit log that is rewritten.

    Attributes:
        path: The log.
        thread: Its thread's name.
        records: Number of redacted records.
        of: Number of records in the log, without the added tombstone commits.
        leaving: Items that leave the newest states of its branches, each once.
        head: Hash of the newest state afterwards.
    """

    path: Path
    thread: str
    records: int
    of: int
    leaving: tuple[Leaving, ...]
    head: str

    @property
    def items(self) -> tuple[str, ...]:
        """Ids of the items that leave."""
        return tuple(dict.fromkeys(item.id for item in self.leaving))


class Dropped(NamedTuple):
    """An audit log that is deleted.

    Attributes:
        log: Its file name.
        thread: Its thread's name.
        records: Number of its records.
    """

    log: str
    thread: str
    records: int


@dataclass(frozen=True)
class Effects:
    """The effects of an erasure, announced by its plan and repeated by its receipt.

    Attributes:
        kinds: Number of deleted records by kind (``observation``, ``set_aside``, ``document``,
            ``experience``, ``usage`` and so on), including those that leave a tombstone.
        digests: Number of turn claims that stay, without the digest of the words.
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
        claims: Ids of claims with digests of erased words.
        threads: Threads with states and logs that may mention the evidence, with the refs that
            they use; for a document also those of other users and agents that may see it.
        logs: Threads with audit logs to delete.
        texts: The words of all erased evidence.
        owners: Owner of each text (`owner_of`); empty in a plan stored by an earlier version.
        echoes: Refs of evidence outside the target that rests only on it, or repeats the words.
            Those of other users and agents start with the beginning of their thread's key.
        conversations: Names of the threads that contain it, as a checkpointer knows them.
        effects: The effects of the plan.
        with_echoes: Whether the plan includes evidence that repeats the words.
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

    def heard_by(self, thread: Thread) -> tuple[str, ...]:
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


def is_document(artifact: Artifact) -> bool:
    """Return whether the record is part of a recalled document, which other namespaces may see."""
    return artifact.kind == "document" and artifact.branch == "documents"


def owner_of(artifact: Artifact, space: Thread) -> str:
    """Return a text's owner for `ErasurePlan.owners`: its namespace ``space``, or a document's."""
    return _shelf_of(artifact.thread) if is_document(artifact) else space.key


def _shelf_of(space: str) -> str:
    return f"{space}.documents"


@dataclass(frozen=True)
class Receipt:
    """The result of an erasure. It contains no erased content.

    Attributes:
        id: Its id, also in tombstone commits.
        records: Number of records deleted, or replaced by a tombstone.
        effects: The effects of the plan, without the words.
        files: Number of searched files.
        traces: Traces still found; empty after a complete erasure.
        foreign: Whether the store's files are a server's, and were not searched.
        checkpoints: Number of deleted checkpoint rows.
        left: Error for each database that still has checkpoints. Each opening of the memory retries
            the deletion.
    """

    id: str
    records: int
    effects: Effects
    files: int
    traces: tuple[Trace, ...]
    foreign: bool
    checkpoints: int = 0
    left: tuple[str, ...] = ()

    @property
    def rewritten(self) -> tuple[Rewritten, ...]:
        """The rewritten audit logs."""
        return self.effects.rewritten

    @property
    def logs(self) -> int:
        """Number of deleted audit logs."""
        return len(self.effects.dropped)

    @property
    def proved(self) -> bool:
        """Whether every file that could hold a trace was searched, and none found."""
        return not self.traces and not self.foreign and not self.left


def refuse_unproved(receipt: Receipt) -> None:
    """Raise if erased content is still stored.

    Raises:
        StoreError: With the location, for removal by hand.
    """
    if receipt.traces:
        places = {f"{trace.path} at byte {trace.offset}" for trace in receipt.traces}
        raise StoreError(
            "what was erased still stands in a file",
            where="; ".join(sorted(places)[:5]),
            hint="remove that file if it is a copy or a backup, and run the same erasure again",
        )
    if receipt.left:
        raise StoreError(
            f"checkpoints still hold what was erased: {'; '.join(receipt.left)}",
            where=f"erasure {receipt.id}",
            hint="it is tried again whenever the memory is opened, and by acc erase --checkpointer URL",
        )

"""What is to be erased, what that takes, and what was done: a plan and a receipt tell it in the same terms."""

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
    """What is to be erased: a user, a thread, or one piece of evidence.

    Attributes:
        user: The user; alone, everything of theirs, whatever the agent.
        thread: One thread of the user, who is ``default`` if none is named, and agent; where no
            agent is named, with the runs of the agents that a graph ran inside it.
        artifact: A ref on that thread; without one a document's, a part's or an experience's ref.
        agent: The agent, for a thread or an artifact.
        tenant: The tenant.

    Raises:
        InputError: Nothing is named, or a name is empty: left out it would mean more.
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
        """The narrowest name that was given."""
        return self.artifact or self.thread or self.whose

    @property
    def kind(self) -> str:
        """``artifact``, ``thread`` or ``user``."""
        return "artifact" if self.artifact else "thread" if self.thread else "user"


@dataclass(frozen=True)
class Rewritten:
    """What becomes of an audit log that is rewritten.

    Attributes:
        path: The log.
        thread: Its thread's name.
        records: Records that are redacted.
        of: Records that the log has, without the tombstone commits that are added.
        leaving: Items that leave the newest states of its branches, each once.
        head: Hash of the state that is the newest afterwards.
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
    """An audit log that goes whole.

    Attributes:
        log: The name of its file.
        thread: Its thread's name.
        records: Records that it has.
    """

    log: str
    thread: str
    records: int


@dataclass(frozen=True)
class Effects:
    """What an erasure does: announced by its plan, and told again by its receipt.

    Attributes:
        kinds: Records that go, by kind: ``observation``, ``set_aside``, ``document``, ``experience``,
            ``usage`` and so on; those that leave a tombstone included.
        digests: Claims of turns that stay, without the digest of what was said.
        dropped: Audit logs that go whole.
        rewritten: Audit logs that are rewritten.
    """

    kinds: tuple[tuple[str, int], ...] = ()
    digests: int = 0
    dropped: tuple[Dropped, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the threads whose logs go or change."""
        names = [log.thread for log in self.dropped] + [log.thread for log in self.rewritten]
        return tuple(sorted(set(names)))

    def without_words(self) -> Effects:
        """The same, but for the words of items: nothing that is kept may say them."""
        logs = (
            replace(log, leaving=tuple(item._replace(words="") for item in log.leaving))
            for log in self.rewritten
        )
        return replace(self, rewritten=tuple(logs))


@dataclass(frozen=True)
class ErasurePlan:
    """What would be done. It holds the words that are to go: keep it nowhere.

    Attributes:
        target: What was asked for.
        delete: Ids of records that go whole.
        bury: Ids of records in whose place a tombstone stays, so that a thread stays readable.
        claims: Ids of claims whose digests were made from what goes.
        threads: The threads whose states and logs may speak of it, and under which refs; of other
            users and agents, too, where a document goes that they may see.
        logs: Threads whose audit logs go whole.
        texts: The words of all that goes.
        owners: Whose each of the texts is (`owner_of`); empty in a plan that an earlier version noted.
        echoes: Refs of evidence that was not asked for: what rests on it alone, or repeats the words.
            Those of other users and agents have the beginning of their thread's key before them.
        conversations: Names of the threads that said or heard it: what a checkpointer knows them by.
        effects: What all that comes to.
        with_echoes: Whether evidence that repeats the words was looked for.
        despite_holds: Whether what is held goes, too.
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
        """Those of the texts that a thread may have read: its namespace's, and documents that it may see."""
        if not self.owners:
            return self.texts
        space = namespace_of(thread)
        near = {space.key, *(_shelf_of(each.key) for each in document_spaces(space))}
        texts = zip(self.texts, self.owners, strict=True)
        return tuple(text for text, owner in texts if owner in near)

    @property
    def records(self) -> int:
        """Records that go."""
        return len(self.delete) + len(self.bury)

    def takes_the_same(self, other: ErasurePlan) -> bool:
        """Whether both were made for the same, and take the same records."""
        return (self.target, self.delete, self.bury) == (other.target, other.delete, other.bury)


def is_document(artifact: Artifact) -> bool:
    """Whether it is a part of a document that is recalled, by others than its namespace too."""
    return artifact.kind == "document" and artifact.branch == "documents"


def owner_of(artifact: Artifact, space: Thread) -> str:
    """Whose text it is, as `ErasurePlan.owners` has it: of its namespace ``space``, or a document's."""
    return _shelf_of(artifact.thread) if is_document(artifact) else space.key


def _shelf_of(space: str) -> str:
    return f"{space}.documents"


@dataclass(frozen=True)
class Receipt:
    """What an erasure did. It says nothing of what was erased.

    Attributes:
        id: Its identity; tombstone commits have it.
        records: Records deleted, or buried under a tombstone.
        effects: The same as the plan announced, without the words.
        files: Files that were searched.
        traces: What was still found. None is what should be.
        foreign: Whether the store's files are a server's, which nobody searched.
        checkpoints: Rows of checkpoints that went.
        left: Why checkpoints are still there, a reason for each database. That is tried again whenever
            the memory is opened.
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
        """What became of audit logs."""
        return self.effects.rewritten

    @property
    def logs(self) -> int:
        """Audit logs that went whole."""
        return len(self.effects.dropped)

    @property
    def proved(self) -> bool:
        """Whether every file that could hold something of it was searched, and nothing found."""
        return not self.traces and not self.foreign and not self.left


def refuse_unproved(receipt: Receipt) -> None:
    """Raise where something of what was erased is still there.

    Raises:
        StoreError: Where, so that it can be removed by hand.
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

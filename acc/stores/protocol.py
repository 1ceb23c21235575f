"""M, the external artifact store: evidence with its provenance.

A store is two methods: insert what is absent, and read by id. Ids are computable
(thread, branch, sequence number), so a thread is read exactly and at a cost that does not
grow with the store; `acc.thread.log` does the reading. Tenants are kept apart by the store itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from acc.state.items import TrustWord
from acc.turn.observations import Channel

RECORD_BYTES = 16_000
"""UTF-8 bytes of text in one record at the most; longer texts are stored in parts."""


Kind = Literal[
    "observation", "set_aside", "branch", "claim", "successor", "tombstone",
    "document", "experience", "thread", "usage", "act", "refusal",
]  # fmt: skip
"""What a record is; see `Artifact.kind`."""


UNNAMED = "default"
"""Stands for a tenant, user or agent that nobody has named."""


class Thread(BaseModel):
    """Whose evidence it is. Nothing crosses from one identity to another.

    Attributes:
        tenant: The customer; each has a collection of its own.
        user: The person or service the agent works for.
        agent: The agent, where several serve one user.
        thread: The conversation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread: str
    user: str = UNNAMED
    agent: str = UNNAMED
    tenant: str = UNNAMED

    @property
    def has_user(self) -> bool:
        """Whether a user is known. Where none is, threads may be different people's, and share nothing."""
        return self.user.strip() not in ("", UNNAMED)

    @property
    def key(self) -> str:
        """24 hexadecimal digits over all four names: the prefix of the thread's ids."""
        return _key(self.tenant, self.user, self.agent, self.thread)

    @property
    def owner_key(self) -> str:
        """What binds a state to it: the key of its namespace (no thread named), a dot, its own key."""
        return f"{_key(self.tenant, self.user, self.agent, '')}.{self.key}"


def nested_run(agent: str, run: str) -> str:
    """The agent's name in the thread of one run inside another agent's conversation."""
    return f"{agent}#{run}"


def is_nested_run(agent: str) -> bool:
    """Whether ``agent`` is a name that `nested_run` made."""
    return "#" in agent


@lru_cache(maxsize=1024)
def _key(*names: str) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:24]


class Artifact(BaseModel):
    """A record of the store. Written once, never changed.

    Attributes:
        id: `artifact_id` of thread key, branch and ``seq``.
        thread: `Thread.key`.
        branch: Branch of the thread.
        seq: Place on the branch, from 1 without a gap; 0 for records that are no evidence.
        turn: Turn it belongs to.
        kind: ``observation``; ``set_aside`` for an item that left the state; ``branch`` for
            a branch's origin; ``claim`` of a turn for its observations, or that it was refused; ``successor`` for the
            state that a shared store's turn led to; ``tombstone`` in the place of what was
            deleted; ``act`` and ``refusal`` in a thread's journal (`acc.thread.journal`). On the shelves of a
            namespace (`acc.stores.shelf`): ``document``, ``experience``, ``thread``, ``usage``.
        ref: What citations call it, such as ``t7.1``; the parts of one text share it.
        part: Index of this part of the text, from 0, of ``parts``.
        channel: Where it came from; decides its trust.
        trust: Trust of a set-aside item, or of a tool's or document's words that the agent
            repeated in the turn; None where the channel decides.
        name: Tool's or document's name, or the slot of a set-aside item.
        call_id: Tool-call id.
        message: Id of the chat message that an observation came from, if known.
        text: The words, at most `RECORD_BYTES` of UTF-8.
        identity: Hash by which a retry is recognised.
        sources: Refs that a set-aside item rested on.
        reason: Why an item was set aside or deleted; what the evaluator said of a document or
            an experience (`acc.evidence.addition.Judgement`).
        at: When it was written: ISO 8601, UTC.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    thread: str
    branch: str
    seq: int
    turn: int
    kind: Kind = "observation"
    ref: str = ""
    part: int = 0
    parts: int = 1
    channel: Channel = Channel.OPERATOR
    trust: TrustWord | None = None
    name: str = ""
    call_id: str = ""
    message: str = ""
    text: str = ""
    identity: str = ""
    sources: tuple[str, ...] = ()
    reason: str = ""
    at: str = ""


def artifact_id(thread: str, branch: str, seq: int) -> str:
    """The id of place ``seq`` on a branch: computable, so that reads never search."""
    return f"{thread}.{branch}:{seq}"


@runtime_checkable
class ArtifactStore(Protocol):
    """What a backend provides. `acc.testing.check_store` proves one.

    Attributes:
        shared: Whether another process may write to it. False promises exclusivity.
    """

    @property
    def shared(self) -> bool:
        """Whether another process may write to the same data."""
        ...

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Insert those whose id is absent; what is there stays as it is.

        On return the records survive a kill of the process. Safe to repeat.

        Raises:
            StoreError: The records cannot be written; says why and how to fix it.
        """
        ...

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """The records of these ids that exist, in the order asked; any number of ids.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Safe to repeat; using it afterwards is a `StoreError`."""
        ...


@runtime_checkable
class ManagedStore(ArtifactStore, Protocol):
    """A store whose records can be listed, replaced and deleted: what retention and erasure need.

    A backend may offer it; `acc.testing.check_store` proves it where it is offered. No turn
    needs it, and nothing on a turn's path lists.
    """

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """The ids of all records, or of those of this kind or thread, sorted.

        May take time linear in the tenant's records.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, over what stands under their ids; of the old nothing is read back.

        A kill leaves each record as it was, or as it is to be. Safe to repeat.

        Raises:
            StoreError: The records cannot be written.
        """
        ...

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Take the records of these ids out, with their vectors. Absent ones are passed over.

        Deleting is not erasing: bytes may stay in the files until `compact`.

        Raises:
            StoreError: The records cannot be deleted.
        """
        ...

    def vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The lexical vectors of these ids (float32, `acc.stores.embedding`); absent ones left out.

        A record whose vector was lost is left out too.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def compact(self) -> bool:
        """Rewrite the files, so that nothing deleted or replaced is left in them.

        A kill leaves every record as it is. Safe to repeat.

        Returns:
            False where the files are not this store's to rewrite: a server's.

        Raises:
            StoreError: They cannot be rewritten.
        """
        ...


@runtime_checkable
class DenseStore(ManagedStore, Protocol):
    """A store that keeps dense vectors beside its records, so that an embedder is asked once for each.

    They follow from the texts and may be lost. They never outlive a text: `replace` and `delete` drop
    those of their records first, and `compact` leaves nothing of them in its files.
    """

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors (float32, all of one length) of these ids, over what is kept for them.

        Args:
            tenant: The tenant.
            embedder: Name of what made them, which stands for their length too.
            vectors: By record id.

        Raises:
            StoreError: They cannot be written.
        """
        ...

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors that are kept for these ids and the embedder; absent and lost ones left out.

        Raises:
            StoreError: They cannot be read.
        """
        ...


def split_text(text: str, limit: int = RECORD_BYTES) -> list[str]:
    """Cut ``text`` into parts of at most ``limit`` UTF-8 bytes, at line ends where there are any.

    Joined, the parts are the text. An empty text is one empty part.
    """
    if len(text) * 4 <= limit or len(text.encode("utf-8", "surrogatepass")) <= limit:
        return [text]
    parts = []
    rest = memoryview(text.encode("utf-8", "surrogatepass"))
    while rest:
        end = _cut(rest, limit)
        parts.append(bytes(rest[:end]).decode("utf-8", "surrogatepass"))
        rest = rest[end:]
    return parts


def _cut(data: memoryview, limit: int) -> int:
    if len(data) <= limit:
        return len(data)
    newline = bytes(data[:limit]).rfind(b"\n") + 1
    if newline > limit // 2:
        return newline
    end = limit
    while data[end] & 0xC0 == 0x80:  # never inside a character
        end -= 1
    return end


class Looked(NamedTuple):
    """What a look at an index found so far, since the one before.

    Attributes:
        seen: Records looked at, of all.
        of: All.
        lost: Keys of records whose vector is not there, or cannot be read.
        unreachable: Keys of records whose vector is there, and which the index does not answer a
            query with that very vector, though it answers others that are farther from it. Where
            all answers are equal to it, that is a tie.
    """

    seen: int
    of: int
    lost: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()


@runtime_checkable
class IndexedStore(Protocol):
    """What a store offers whose vector indexes can be looked at and mended.

    A key is a record's id, or its hash where the backend has no room for the id.
    """

    def indexes(self, tenant: str) -> list[str]:
        """The tenant's indexes: "" for its records' own, then the embedders' of dense vectors.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def look(self, tenant: str, index: str) -> Iterator[Looked]:
        """Look at every vector of an index, some hundred at a time; of no more is held in memory.

        Raises:
            StoreError: The store cannot be read.
        """
        ...

    def relink(self, tenant: str, index: str, keys: Sequence[str]) -> None:
        """Write these vectors anew. Of a lost dense one the place goes: it is made when it is wanted.

        A kill leaves each record as it is. Safe to repeat.

        Raises:
            StoreError: They cannot be written.
        """
        ...

    def widen(self, tenant: str, index: str, links: int) -> bool:
        """Make an index anew as a graph with ``links`` links for each vector, where writing vectors anew is not enough.

        Takes some milliseconds for each record. A kill leaves each record as it is.

        Returns:
            False where the files are not this store's to rewrite: a server's.

        Raises:
            StoreError: It cannot be written.
        """
        ...

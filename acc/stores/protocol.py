"""M, the external artifact store: evidence with its provenance.

The basic protocol has two operations: insert absent records, and read by id. Ids are computable
(thread, branch, sequence number). A read of a thread is therefore exact, and its cost does not grow
with the store; `acc.thread.log` does the reading. The store itself separates tenants.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from acc.errors import StoreError
from acc.state.items import TrustWord
from acc.turn.observations import Channel

# The limits are equal for every backend, so records can move between backends. They stay within the
# hosted Chroma's quotas: documents of 16,384 bytes, 32 metadata values of 4,096 bytes.
RECORD_BYTES = 16_000
"""Limit, in UTF-8 bytes, of a record's text; longer texts are stored in parts."""

LABEL_BYTES = 48_000
"""Limit, in UTF-8 bytes, of all texts of a record except ``text``, including the tenant."""


Kind = Literal[
    "observation", "set_aside", "branch", "claim", "successor", "tombstone",
    "document", "experience", "thread", "usage", "act", "refusal",
]  # fmt: skip
"""The kind of a record; see `Artifact.kind`."""


UNNAMED = "default"
"""The tenant, user or agent that nobody has named."""


class Thread(BaseModel):
    """The owner of evidence. Nothing crosses from one identity to another.

    Attributes:
        tenant: The customer; each has its own collection.
        user: The person or service that the agent works for.
        agent: The agent, if several serve one user.
        thread: The conversation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread: str
    user: str = UNNAMED
    agent: str = UNNAMED
    tenant: str = UNNAMED

    @property
    def has_user(self) -> bool:
        """Whether the user is known. If not, threads may be different people's and share nothing."""
        return self.user.strip() not in ("", UNNAMED)

    @property
    def key(self) -> str:
        """24 hexadecimal digits over all four names: the prefix of the thread's ids."""
        return _key(self.tenant, self.user, self.agent, self.thread)

    @property
    def owner_key(self) -> str:
        """The owner that a state is bound to: its namespace's key, a dot, its own key."""
        return f"{_key(self.tenant, self.user, self.agent, '')}.{self.key}"


def nested_run(agent: str, run: str) -> str:
    """Return the agent's name for the thread of one run inside another agent's conversation."""
    return f"{agent}#{run}"


def is_nested_run(agent: str) -> bool:
    """Return whether `nested_run` made the name ``agent``."""
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
        seq: Place on the branch, from 1 without a gap; 0 for records that are not evidence.
        turn: Turn of the record.
        kind: ``observation``; ``set_aside`` for an item that left the state; ``branch`` for the
            origin of a branch; ``claim`` for a turn's claim of its observations, or for its
            refusal; ``successor`` for the state after a turn in a shared store; ``tombstone`` for
            a deleted record; ``act`` and ``refusal`` in a thread's journal
            (`acc.thread.journal`). On the shelves of a namespace (`acc.stores.shelf`):
            ``document``, ``experience``, ``thread``, ``usage``.
        ref: Name in citations, such as ``t7.1``; the parts of one text share it.
        part: Index of this part of the text, from 0.
        parts: Number of parts of the text.
        channel: Channel that it came from; it decides the trust.
        trust: Trust of a set-aside item, or of a tool's or document's words that the agent
            repeated in the turn; None if the channel decides.
        name: Tool's or document's name, or the slot of a set-aside item.
        call_id: Tool-call id.
        message: Id of the chat message of an observation, if known.
        text: The words, at most `RECORD_BYTES` of UTF-8.
        identity: Hash that recognizes a retry.
        sources: Refs of the sources of a set-aside item.
        reason: Why an item was set aside or deleted; the evaluator's judgement of a document or
            an experience (`acc.evidence.addition.Judgement`).
        at: Time of writing: ISO 8601, UTC.
        said_at: When it was said, if that is not the time of writing; `acc.turn.turn.UNDATED` if nobody knows.
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
    said_at: str = ""

    @property
    def when(self) -> str:
        """When its words were said; empty if unknown. Observations are written when they are said."""
        return self.said_at or (self.at if self.kind == "observation" else "")


def artifact_id(thread: str, branch: str, seq: int) -> str:
    """Return the id of place ``seq`` on a branch. Reads compute it and never search."""
    return f"{thread}.{branch}:{seq}"


def split_text(text: str, limit: int = RECORD_BYTES) -> list[str]:
    """Cut ``text`` into parts of at most ``limit`` UTF-8 bytes, at line ends if possible."""
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


_INTEGER = 1 << 63


def labels(tenant: str, artifact: Artifact) -> dict[str, str]:
    """Return all texts of a record except ``text``, by name; any sources as a JSON array."""
    sources = artifact.sources
    return {
        "tenant": tenant,
        "id": artifact.id,
        "thread_id": artifact.thread,
        "branch": artifact.branch,
        "ref": artifact.ref,
        "name": artifact.name,
        "call_id": artifact.call_id,
        "message": artifact.message,
        "identity": artifact.identity,
        "sources": json.dumps(sources, ensure_ascii=False) if sources else "",
        "reason": artifact.reason,
        "at": artifact.at,
        "said_at": artifact.said_at,
    }


def check_storable(artifact: Artifact, texts: Mapping[str, str]) -> None:
    """Raise a `StoreError` if some backend cannot keep a record without loss.

    ``texts`` are the record's `labels`. A record beyond a limit is refused whole, never cut.
    """
    if _size("text", artifact.text, artifact) > RECORD_BYTES:
        raise _refusal(
            f"the text of the record is longer than {RECORD_BYTES:,} bytes",
            artifact,
            hint="split the text with acc.stores.protocol.split_text, and store the parts",
        )
    sizes = (_size(name, value, artifact) for name, value in texts.items())
    if sum(sizes) > LABEL_BYTES:
        raise _refusal(
            f"the names, sources and reason of the record are longer than {LABEL_BYTES:,} bytes",
            artifact,
            hint="shorten them, and put long content into the text",
        )
    for number in (artifact.seq, artifact.turn, artifact.part, artifact.parts):
        if not -_INTEGER <= number < _INTEGER:
            raise _refusal(
                "a number in the record does not fit into 64 bits",
                artifact,
                hint="use smaller numbers for seq, turn, part and parts",
            )


def _size(name: str, value: str, artifact: Artifact) -> int:
    if value.isascii():
        return len(value)
    try:
        return len(value.encode())
    except UnicodeEncodeError as error:
        raise _refusal(
            f"the field {name} of the record holds a lone surrogate, which is not a character",
            artifact,
            hint="replace the surrogate by U+FFFD, as acc.turn.observations.Observation does",
        ) from error


def _refusal(what: str, artifact: Artifact, *, hint: str) -> StoreError:
    return StoreError(what, where=f"artifact {artifact.id[:80]!a}", hint=hint)


@runtime_checkable
class ArtifactStore(Protocol):
    """The operations of a backend. `acc.testing.check_store` tests one.

    Every operation of a store raises a `StoreError` if it fails; the error says why and how to fix it.
    """

    @property
    def shared(self) -> bool:
        """Whether another process may write to the same data. False promises exclusive access."""
        ...

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Insert records with an absent id; existing records stay unchanged.

        On return the records survive a kill of the process. Idempotent.
        """
        ...

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """Return the existing records of these ids, in the requested order; any number of ids."""
        ...

    def close(self) -> None:
        """Release files and connections. Idempotent; any later use raises a `StoreError`."""
        ...


@runtime_checkable
class ManagedStore(ArtifactStore, Protocol):
    """A store that can list, replace and delete records, for retention and erasure.

    Optional for a backend; `acc.testing.check_store` tests it if present. No turn needs it, and no
    turn lists records.
    """

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """Return the sorted ids of all records, or of those of this kind or thread.

        May take time linear in the tenant's records.
        """
        ...

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, overwriting existing ones; no old content stays readable.

        A kill leaves each record either old or new. Idempotent.
        """
        ...

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Delete the records of these ids; ignore absent ones.

        Deleted bytes may stay in the files until `compact` erases them.
        """
        ...

    def compact(self) -> bool:
        """Rewrite the files without deleted or replaced content; False if a server owns the files.

        A kill leaves every record unchanged. Idempotent.
        """
        ...


def managed(store: ArtifactStore) -> ManagedStore:
    """Return ``store`` if it supports retention and erasure; else raise a `StoreError`."""
    if isinstance(store, ManagedStore):
        return store
    raise StoreError(
        "the store cannot list, replace and delete records",
        where=type(store).__name__,
        hint="implement acc.stores.protocol.ManagedStore; acc.testing.check_store tests it",
    )


@runtime_checkable
class DenseStore(ManagedStore, Protocol):
    """A store that keeps dense vectors with its records, to embed each text only once.

    The vectors derive from the texts and may be lost. They never outlive a text: `replace` and
    `delete` first drop the vectors of their records, and `compact` removes them from the files.
    """

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep the vectors (float32, all of one length) of these ids, overwriting earlier ones.

        The embedder's name also determines the length.
        """
        ...

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the kept vectors of these ids by this embedder, without absent and lost ones."""
        ...


@runtime_checkable
class SearchableStore(ManagedStore, Protocol):
    """A store that finds records by their text, with an index of its own, for ``acc search``.

    Optional for a backend; `acc.testing.check_store` tests it if present. No turn needs it.
    """

    def containing(self, tenant: str, word: str) -> list[str]:
        """Return the sorted ids of the records whose text contains ``word`` in any case.

        Args:
            tenant: The tenant.
            word: Letters and digits, at least one.
        """
        ...

"""What the journal takes and gives out: what names threads and heads, turns, messages and commits."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.state.tail import Message
from acc.turn.observations import storable

MAIN = "main"

NO_END = 1 << 62
"""A number that no message has."""

DOCUMENTS = "acc:documents"
"""Name of the threads in which ingested documents lie, one for each scope. Recall reads them beside a conversation."""


@dataclass(frozen=True)
class ThreadKey:
    """A conversation, by the names that its application gave. Equal keys are the same thread."""

    thread: str
    tenant: str = ""
    user: str = ""
    agent: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.tenant, self.user, self.agent, self.thread) if part)

    def digest(self, key: bytes) -> str:
        """Return what names the thread after it was deleted. Without a key, names can be guessed from it."""
        body = "\x00".join((self.tenant, self.user, self.agent, self.thread))
        data = body.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=key[:64], digest_size=16).hexdigest()


Key = ThreadKey | str
"""A thread; a string is its name, without tenant, user and agent."""


def key_of(thread: Key) -> ThreadKey:
    """Return the key of a thread.

    Raises:
        InputError: A name is empty, or no database can hold it.
    """
    key = thread if isinstance(thread, ThreadKey) else ThreadKey(thread)
    parts = (key.thread, key.tenant, key.user, key.agent)
    if not key.thread or any(not isinstance(p, str) or storable(p) != p for p in parts):
        raise InputError(
            f"{thread!r} is no name of a thread",
            where="thread",
            hint="give text that is not empty, without NUL and without half of a surrogate pair",
        )
    return key


def home(tenant: str = "", user: str = "", agent: str = "") -> ThreadKey:
    """Return the thread of the documents of a scope; those of nobody in particular are everybody's of the tenant."""
    return ThreadKey(DOCUMENTS, tenant, user, agent)


def is_home(key: ThreadKey) -> bool:
    """Whether a thread holds documents."""
    return key.thread == DOCUMENTS


def may_read(key: ThreadKey, home: ThreadKey) -> bool:
    """Whether a thread may read the documents of a home."""
    is_theirs = home.user in ("", key.user) and home.agent in ("", key.agent)
    return is_theirs and home.tenant == key.tenant and not is_home(key)


def whole_of(ref: str) -> str:
    """Return the ref of the document that a part's ref belongs to."""
    return ref.rpartition(".")[0]


@dataclass(frozen=True)
class Head:
    """The last commit of a branch.

    Attributes:
        hash: Hash of its state; empty if nothing was committed yet.
        epoch: Rises with an erasure in the thread. A commit that names an earlier one is refused.
        seq: Number of the last message that it took.
    """

    thread: ThreadKey
    branch: str = MAIN
    hash: str = ""
    version: int = 0
    epoch: int = 0
    seq: int = 0


@dataclass(frozen=True)
class Place:
    """A branch's rows.

    Attributes:
        ancestry: Branches that it came from, the nearest first, each with the last number that it sees of it.
        is_begun: Whether the head has a row.
    """

    thread_id: int
    branch_id: int
    ancestry: tuple[tuple[int, int], ...]
    head: Head
    is_begun: bool

    @property
    def sees(self) -> tuple[tuple[int, int], ...]:
        """The branches whose messages it sees, the root first, each with the last number that it sees of it."""
        return (*reversed(self.ancestry), (self.branch_id, NO_END))

    @property
    def begun(self) -> int:
        """Number of the last message before the branch's own."""
        return self.ancestry[0][1] if self.ancestry else 0

    @property
    def where(self) -> str:
        """What names the branch in errors."""
        return f"{self.head.thread}, branch {self.head.branch}"

    @property
    def lineage(self) -> tuple[int, ...]:
        """The branch and those that it came from, the nearest first."""
        return (self.branch_id, *(branch for branch, _ in self.ancestry))


@dataclass(frozen=True)
class Appended:
    """A turn that is in the journal.

    Attributes:
        head: The head that it follows; of a turn that was committed, the last commit that belongs to it.
        first: Number of its first message in the branch; ``last`` is that of its last.
        is_new: Whether this call wrote it; not, if a repeated step found it.
        is_committed: Whether a commit took it. Then ``head`` names what was made of it.
    """

    head: Head
    first: int
    last: int
    refs: tuple[str, ...]
    is_new: bool = False
    is_committed: bool = False

    def and_then(self, turn: Appended) -> Appended:
        """Return both as one turn."""
        return replace(turn, first=self.first, refs=(*self.refs, *turn.refs), is_new=False)


@dataclass(frozen=True)
class Waiting:
    """What was appended after a head and no commit took, with its messages; None if there is nothing.

    It is a turn that was recorded, or one whose step failed, was killed, or is being made by another worker.
    """

    messages: tuple[Message, ...] = ()
    turn: Appended | None = None


NOTHING = Waiting()


@dataclass(frozen=True)
class StoredMessage:
    """A message with its place.

    Attributes:
        message: The message. A blanked one has an empty text.
        branch: The branch that it was appended to.
        seq: Its number. Numbers rise along a branch and the branches that it came from.
        version: Version of the commit that took it; 0 if none has.
        digest: Keyed digest of the message as it was appended; empty if it was blanked.
    """

    message: Message
    branch: str
    seq: int
    version: int = 0
    digest: str = ""
    id: int = 0

    @property
    def name(self) -> tuple[str, str]:
        """Branch and ref, which name it within its thread."""
        return self.branch, self.message.ref


@dataclass(frozen=True)
class StoredCommit:
    """A commit with its record.

    Attributes:
        kind: Where the state comes from (`acc.journal.record.Kind`).
        parent: Hash of the state before.
        policy: Fingerprint of the policy.
        span: Numbers of the first and last message that it took; (0, 0) if it took none.
        seq: Number of the last message that any commit of the branch had taken.
        record: What was given and noted (`acc.journal.record.record_of`); None if it cannot be read.
        state: The state's canonical form; None if it cannot be read.
        problem: Why it cannot be read; empty if it can.
    """

    branch: str
    version: int
    kind: str
    parent: str
    hash: str
    policy: str
    turn: int
    span: tuple[int, int]
    seq: int
    at: str
    record: Mapping[str, Any] | None
    state: Mapping[str, Any] | None
    id: int
    problem: str = ""


@dataclass(frozen=True)
class Damage:
    """A row of a table that somebody changed; its number is 0 if rows are missing."""

    thread: ThreadKey
    branch: str
    table: str
    row: int
    what: str

    def __str__(self) -> str:
        return f"{self.thread}, branch {self.branch}: {self.table} row {self.row}: {self.what}"


@dataclass
class Report:
    """What `verify` found in some threads.

    Attributes:
        messages: Messages whose digest was checked.
        recomputed: Commits that came out the same.
        reasons: Why others could not be recomputed, each with the number of commits.
        damages: What is wrong.
    """

    threads: int = 0
    messages: int = 0
    recomputed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)

    @property
    def unexplained(self) -> int:
        """How many commits could not be recomputed, without being damaged."""
        return self.reasons.total()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damages


class Size(NamedTuple):
    """How much a branch itself holds.

    Attributes:
        taken: Those that commits took, without blanked ones.
        open: Those of a turn after its head, without blanked ones.
    """

    commits: int
    messages: int
    taken: int
    open: int

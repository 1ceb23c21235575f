"""What names a thread and a head in the journal; a turn, a message and a commit that lie there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from acc.tail import Message

MAIN = "main"


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
        return hashlib.blake2b(
            body.encode("utf-8", "surrogatepass"), key=key[:64], digest_size=16
        ).hexdigest()


@dataclass(frozen=True)
class Head:
    """The last commit of a branch.

    Attributes:
        thread: The thread.
        branch: The branch.
        hash: Hash of its state; empty if nothing was committed yet.
        version: Its version.
        epoch: Rises when somebody takes the branch over. A commit that names an earlier one is refused.
        seq: Number of the last message that it took.
    """

    thread: ThreadKey
    branch: str = MAIN
    hash: str = ""
    version: int = 0
    epoch: int = 0
    seq: int = 0


@dataclass(frozen=True)
class Appended:
    """A turn that is in the journal.

    Attributes:
        head: The head that it follows; of a turn that was committed, the last commit that belongs to it.
        first: Number of its first message in the branch.
        last: Number of its last message.
        refs: Refs of its messages.
        is_new: Whether this call wrote it; not, if a repeated step found it.
        is_committed: Whether a commit took it. Then ``head`` names what was made of it.
        identity: Its identity, by which a repeated step finds it.
    """

    head: Head
    first: int
    last: int
    refs: tuple[str, ...]
    is_new: bool
    is_committed: bool
    identity: bytes

    def and_then(self, turn: Appended) -> Appended:
        """Return both as one turn."""
        return replace(turn, first=self.first, refs=(*self.refs, *turn.refs))


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
        seq: Its number. Numbers rise along a branch and the branches that it came from.
        branch: The branch that it was appended to.
        version: Version of the commit that took it; 0 if none has.
        message: The message. A blanked one has an empty text.
        digest: Keyed digest of the message as it was appended.
        id: Its row.
    """

    seq: int
    branch: str
    version: int
    message: Message
    digest: str
    id: int


@dataclass(frozen=True)
class StoredCommit:
    """A commit with its record.

    Attributes:
        branch: Its branch.
        version: Version of its state.
        kind: Where the state comes from (`acc.journal.record.Kind`).
        parent: Hash of the state before.
        hash: Hash of the state.
        policy: Fingerprint of the policy.
        epoch: Epoch of the branch at that time.
        turn: Number of the turn.
        span: Numbers of the first and last message that it took; (0, 0) if it took none.
        seq: Number of the last message that any commit of the branch had taken.
        at: When it was committed.
        record: What was given and noted (`acc.journal.record.record_of`); None where an erasure blanked it.
        state: The state's canonical form; None where an erasure blanked it.
        id: Its row.
        problem: Why it cannot be read; empty if it can.
    """

    branch: str
    version: int
    kind: str
    parent: str
    hash: str
    policy: str
    epoch: int
    turn: int
    span: tuple[int, int]
    seq: int
    at: str
    record: Mapping[str, Any] | None
    state: Mapping[str, Any] | None
    id: int
    problem: str = ""

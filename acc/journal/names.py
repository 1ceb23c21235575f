"""What names a thread, a head and a message in the journal."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

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

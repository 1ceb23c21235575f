"""What is to be erased, and what that takes: the words of a plan are the words that are to go."""

from __future__ import annotations

from dataclasses import dataclass, fields

from acc.errors import InputError
from acc.store import Thread


@dataclass(frozen=True)
class Target:
    """What is to be erased: a user, a thread, or one piece of evidence.

    Attributes:
        user: The user; alone, everything of theirs, whatever the agent.
        thread: One thread of the user, who is ``default`` if none is named, and agent.
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
                mend="name it, or leave it out: then more is meant",
            )
        if (self.user, self.thread, self.artifact) == (None, None, None):
            raise InputError(
                "nothing to erase",
                where="what is to be erased",
                mend="name a user, a thread or an artifact",
            )

    @property
    def whose(self) -> str:
        """The user."""
        return self.user or "default"

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
        conversations: Names of the threads whose evidence goes: what a checkpointer knows them by.
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

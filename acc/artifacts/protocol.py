"""What an artifact store holds and promises: messages of threads, found by words and meaning.

The journal is the truth. A store can be filled from it anew at any time, so a store needs no transaction: adding
what is there already writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from acc.state.tail import Message


class ThreadName(Protocol):
    """Names a conversation and its owner, as `acc.journal.ThreadKey` does."""

    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def thread(self) -> str: ...


def key_of(thread: ThreadName) -> str:
    """Return what names the thread and no other one: its own name, or JSON of all its names if it has an owner.

    So is a name written that could be such JSON.
    """
    names = {name: getattr(thread, name) for name in ("thread", "tenant", "user", "agent")}
    given = {name: value for name, value in names.items() if value}
    is_plain = list(given) == ["thread"] and not thread.thread.startswith("{")
    return thread.thread if is_plain else json.dumps(given, ensure_ascii=False)


@dataclass(frozen=True)
class Artifact:
    """A message with its place in the journal.

    Attributes:
        message: The message. Its ref is its own on its branch.
        branch: The branch that it was appended to.
        seq: Its number. Numbers rise by one along a branch and the branches that it came from.
    """

    message: Message
    branch: str
    seq: int


Branches = Sequence[tuple[str, int | None]]
"""A branch's ancestry, the root first: each branch with the last seq that is seen of it; None for no end."""

MAIN: Branches = (("main", None),)
"""The ancestry of a thread's main branch."""

Messages = Sequence[tuple[str, str] | Artifact]
"""Messages by branch and ref, or as they were added."""


@runtime_checkable
class ArtifactStore(Protocol):
    """Holds the messages of threads. Safe for use by any number of threads of a process.

    Of a message it gives back channel, ref and text, with branch and number: the journal has the rest.

    Every method raises `StoreError` where the store cannot be used, and nothing else of a vendor's.
    """

    @property
    def stale(self) -> str:
        """Why `clear` is needed; empty if it is not. Until then `add` and `query` raise `StoreMismatchError`."""
        ...

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        """Add messages; return how many were new. The same message again is no write; another text replaces it."""
        ...

    def query(
        self,
        thread: ThreadName,
        question: str,
        *,
        branches: Branches = MAIN,
        upto: int | None = None,
        limit: int = 16,
    ) -> list[tuple[Artifact, float]]:
        """Return the messages nearest in meaning with their cosine, the nearest first.

        Args:
            thread: The conversation.
            question: What is asked.
            branches: The ancestry that is seen.
            upto: The last seq that is seen, whatever the branch.
            limit: How many at most.
        """
        ...

    def get(self, thread: ThreadName, messages: Sequence[tuple[str, str]]) -> list[Artifact]:
        """Return the messages of these branches and refs in the thread's order; absent ones not."""
        ...

    def delete(self, thread: ThreadName, messages: Messages | None = None) -> None:
        """Delete messages, or the whole thread if they are None. Absent ones do no harm.

        Of one that is given as it was added, each part goes, even if somebody deleted others meanwhile.
        """
        ...

    def count(self, thread: ThreadName | None = None) -> int:
        """Return how many messages of the thread, or of all threads, are there."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Return how many messages each branch of every thread has, by `acc.artifacts.rows.lane_of`."""
        ...

    def last(self, thread: ThreadName, branch: str) -> int:
        """Return the highest seq on the branch, from which the journal fills the rest; -1 if nothing is there."""
        ...

    def clear(self) -> None:
        """Begin anew, empty and with this store's embedder."""
        ...

    def compact(self) -> bool:
        """Write the files anew without what was deleted; False if another process owns the files."""
        ...

    def close(self) -> None:
        """Release files and connections. Idempotent; any later use raises."""
        ...

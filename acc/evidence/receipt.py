"""What an erasure takes and costs, before it is carried out, and what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from acc.evidence.searching import Searched, Trace
from acc.evidence.target import Row, Target
from acc.journal import Head, Hold, ThreadKey

Proof = Literal["replay", "fast"]


@dataclass(frozen=True)
class Leaving:
    """An item of a current state that rests on what goes. What is committed anew may hold another in its place."""

    thread: ThreadKey
    branch: str
    id: str
    slot: str
    text: str
    is_pinned: bool


@dataclass(frozen=True)
class Receipt:
    """What an erasure did. It holds none of the words.

    Attributes:
        id: Its id.
        proof: How it was done.
        deleted: Threads that went whole.
        messages: Messages that were blanked or deleted.
        commits: Commits that were made anew or blanked.
        heads: The heads now: anchor them again.
        requests: Requests to a model.
        tokens: Their tokens.
        threads: Threads whose checkpoints are to be deleted.
        searched: What was searched afterwards.
        traces: Where the words still are.
        exports: Copies that were made before: files that the memory does not reach.
        foreign: What could not be searched, such as a server's files.
        is_exact: Whether nothing rests on a guess about what derives from the words.
    """

    id: str
    proof: Proof
    deleted: int
    messages: int
    commits: int
    heads: tuple[Head, ...]
    requests: int
    tokens: int
    threads: tuple[ThreadKey, ...]
    searched: Searched
    traces: tuple[Trace, ...]
    exports: tuple[str, ...]
    foreign: tuple[str, ...]
    is_exact: bool

    @property
    def proved(self) -> bool:
        """Whether nothing can be left: all is exact, everything was searched, and nothing was found."""
        return self.is_exact and not self.traces and not self.foreign


@dataclass(frozen=True)
class ErasurePlan:
    """What an erasure takes, before anything is done.

    Attributes:
        target: What was asked for.
        proof: How.
        deleted: Threads that go whole.
        messages: Messages that go from other threads, without their texts.
        commits: Commits that are made anew, or that may be blanked.
        leaving: Items of current states that rest on them.
        recompressed: Steps that are compressed anew, at most.
        by: Who compresses them: ``keyless`` or ``model``; empty if nobody does.
        requests: Requests to a model, at most.
        tokens: Their tokens, by what the same turns cost before.
        threads: The threads whose checkpoints hold the words.
        held: Holds that it breaks (``despite_holds``).
        why: Stands in the tombstones.
    """

    target: Target
    proof: Proof
    deleted: tuple[ThreadKey, ...]
    messages: tuple[Row, ...]
    commits: int
    leaving: tuple[Leaving, ...]
    recompressed: int
    by: str
    requests: int
    tokens: int
    threads: tuple[ThreadKey, ...]
    held: tuple[Hold, ...]
    why: str
    act: Callable[[ErasurePlan], Receipt] = field(repr=False, compare=False)

    def apply(self) -> Receipt:
        """Carry it out.

        Raises:
            ConflictError: The memory has changed since. Nothing was erased, or a part; plan again.
            CompressionError: The model failed. Nothing was erased.
            StoreError: The journal cannot be used. Erase again.
        """
        return self.act(self)

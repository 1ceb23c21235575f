"""The artifacts of a memory: filled from the journal after each commit, asked before the next.

The journal is the truth. A store that fails, lags or is another process's fails no step: recall then reads the
journal alone and finds by words, and the step says so (`acc.step.Step.warnings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.filling import Filling, Index
from acc.artifacts.protocol import Artifact, ArtifactStore, Branches, ThreadName
from acc.artifacts.recall import Recall, backwards
from acc.controller.documents import homes_of
from acc.errors import AccError, StoreError
from acc.journal import Journal, ThreadKey
from acc.journal.names import MAIN, Head
from acc.recall import Candidate

FOLDER = "chroma"
"""Where the embedded Chroma lies in the memory's folder."""

BEFORE = 1 << 60
"""More than the numbers of passages of one thread."""

BATCH, DRAINING = 100, 30.0
"""Messages of one write; seconds to wait for what is being written."""


class Indexing:
    """A memory's store of artifacts behind its journal.

    Args:
        journal: The journal.
        store: The store, which `close` closes; None to read the journal alone.
        index: ``now``: a step returns when the store has its messages; ``behind``: a worker adds them; ``none``: the
            store is neither filled nor asked.
        problem: Why there is no store, if there should be one.
    """

    def __init__(
        self,
        journal: Journal,
        store: ArtifactStore | None = None,
        index: Index = "now",
        problem: AccError | None = None,
    ) -> None:
        self.store, self._journal, self._problem = store, journal, problem
        used = store if index != "none" else None
        self._filling = Filling(used, self._after, index) if used is not None else None
        self._recall = Recall(used)

    @classmethod
    def of(
        cls,
        journal: Journal,
        store: ArtifactStore | str | None,
        index: Index,
        folder: Path | None,
    ) -> Indexing:
        """Open the index of a memory: a store, a Chroma server, or Chroma in the memory's folder.

        If the folder's Chroma cannot be used, the memory goes on without it, and says so.

        Raises:
            StoreError: The server cannot be reached.
        """
        if isinstance(store, str):
            store = ChromaStore.at(store) if index != "none" else None
        elif store is None and folder is not None and index != "none":
            try:
                store = ChromaStore.embedded(folder / FOLDER)
            except StoreError as error:
                return cls(journal, problem=error)
        return cls(journal, store, index)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the store; empty if nothing is."""
        failed = [self._problem, self._recall.last_error]
        if self._filling is not None:
            failed.append(self._filling.last_error)
        return tuple(dict.fromkeys(f"the index is not used: {each}" for each in failed if each))

    def recall(self, head: Head, question: str) -> Sequence[Candidate]:
        """Return passages for a question: of what a branch saw at its head, and of documents that it may read."""
        found = self._recalled(head, question)
        for number, home in enumerate(homes_of(self._journal, head.thread), 1):
            before = number * BEFORE  # each document is a text of its own, before the thread's
            found += [replace(each, at=each.at - before) for each in self._recalled(home, question)]
        return sorted(found, key=lambda each: (-each.score, -each.at))

    def _recalled(self, head: Head, question: str) -> list[Candidate]:
        def read(first: int, limit: int) -> Iterator[Artifact]:
            return self._messages(head.thread, head.branch, first, limit)

        branches = self._branches(head.thread, head.branch)
        newest = partial(backwards, read, head.seq)
        return self._recall.recall(
            head.thread, question, newest, branches=branches, upto=head.seq, epoch=head.epoch
        )

    def erase(
        self, thread: ThreadKey, refs: Sequence[str] | None, kept: Iterable[Artifact] = ()
    ) -> None:
        """Delete messages of a thread, or the thread, from the store, and forget what was read of it.

        ``kept``: messages of other branches with such a ref, which stay.

        Raises:
            StoreError: The store cannot be used.
        """
        self._recall.forget(thread)
        if self._filling is not None:
            self._filling.drain(
                DRAINING
            )  # what was read before the erasure is written before the deletion
            self._filling.forget(thread)
        if self.store is not None:
            self.store.delete(thread, refs)
            if again := list(kept):
                self.store.add(thread, again)

    def erased(
        self, thread: ThreadKey, refs: Sequence[str] | None, kept: Iterable[Artifact] = ()
    ) -> list[str]:
        """Do what `erase` does; return what went wrong. What is left in the store then, `acc reindex` removes."""
        try:
            self.erase(thread, refs, kept)
        except StoreError as error:
            return [f"the index still holds it: {error}"]
        return [str(self._problem)] if self._problem is not None else []

    def behind(self, head: Head) -> int:
        """Return how many messages of a branch the store lacks at its end; 0 without a store.

        Raises:
            StoreError: The store cannot be used.
        """
        if self._filling is None or self.store is None:
            return 0
        last = self.store.last(head.thread, head.branch)
        return sum(1 for _ in self._after(head.thread, head.branch, last))

    def count(self, head: Head) -> int:
        """Return how many messages of a branch itself the store has to hold."""
        return sum(1 for _ in self._after(head.thread, head.branch, -1))

    def refill(self, thread: ThreadKey, branch: str) -> int:
        """Write what the store lacks of a branch; return how many messages were new.

        Raises:
            StoreError: The store cannot be used.
        """
        rows, count = iter(self._after(thread, branch, -1)), 0
        while self.store is not None and (batch := list(islice(rows, BATCH))):
            count += self.store.add(thread, batch)
        return count

    def committed(self, thread: ThreadKey, branch: str, artifacts: Sequence[Artifact]) -> None:
        """Say that the journal has committed these messages at the end of a branch."""
        if self._filling is not None:
            self._filling.committed(thread, branch, artifacts)

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until the store has everything; return False if it failed, or the time is over."""
        return self._filling is None or self._filling.drain(timeout)

    def close(self) -> None:
        """Fill what is missing, and close the store. What a failing store lacks is filled with the next commit."""
        if self._filling is not None:
            self._filling.close()
        if self.store is not None:
            self.store.close()

    def _branches(self, thread: ThreadKey, branch: str) -> Branches:
        return ((MAIN, None),) if branch == MAIN else self._journal.lineage(thread, branch)

    def _after(self, thread: ThreadName, branch: str, seq: int) -> Iterable[Artifact]:
        """Return the messages of a branch itself above a number."""
        key = ThreadKey(thread.thread, thread.tenant, thread.user, thread.agent)
        forked = max((up_to or 0 for _, up_to in self._branches(key, branch)), default=0)
        found = self._messages(key, branch, max(seq, forked) + 1)
        return (each for each in found if each.branch == branch)

    def _messages(
        self, thread: ThreadKey, branch: str, first: int, limit: int | None = None
    ) -> Iterator[Artifact]:
        for each in self._journal.messages(thread, max(first, 0), limit, branch=branch):
            if each.digest:
                yield Artifact(each.message, each.branch, each.seq)

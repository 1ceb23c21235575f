"""The artifacts of a memory: filled from the journal after each commit, asked before the next.

The journal is the truth. A store that fails, lags or is another process's fails no step: recall then reads the
journal alone and finds by words, and the step says so (`acc.step.step.Step.warnings`).

Base64 is neither filled in nor found: nobody asks for it, and four million characters of it take seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.filling import Filling, Index
from acc.artifacts.recall import Recall, backwards
from acc.artifacts.rows import Artifact, Branches, ThreadName, lane_of
from acc.errors import AccError, InputError, StoreError
from acc.gate import Candidate
from acc.journal import Journal, ThreadKey
from acc.journal.names import DOCUMENTS, MAIN, Head, Size, StoredMessage, is_home
from acc.text.lines import without_data

FOLDER = "chroma"
"""Where the embedded Chroma lies in the memory's folder."""

BEFORE = 1 << 60
"""More than the numbers of passages of one thread."""

BATCH = 100
"""Messages of one write."""

Gone = Mapping[ThreadKey, Collection[tuple[str, str]] | None]
"""Messages of threads by branch and ref; None: the thread goes whole."""


class Indexing:
    """A memory's store of artifacts behind its journal.

    If the folder's Chroma cannot be used, the memory goes on without it, and says so.

    Args:
        journal: The journal.
        store: The store, which `close` closes, or the address of a Chroma server; None for Chroma in the folder.
        index: When the store is filled (`acc.controller.settings.Settings`).
        folder: The memory's folder; without folder and store, nothing is indexed.

    Raises:
        StoreError: The server cannot be reached.
    """

    def __init__(
        self, journal: Journal, store: ChromaStore | str | None, index: Index, folder: Path | None
    ) -> None:
        self._journal = journal
        self._problem: AccError | None = None
        self._place = ""  # where the journal notes that the store is
        if index == "none":
            store = None if isinstance(store, str) else store
        elif isinstance(store, str):
            store = ChromaStore.server(store)
        elif store is None and folder is not None:
            try:
                store = ChromaStore.embedded(folder / FOLDER)
                self._place = FOLDER  # wherever the folder is moved to
            except StoreError as error:
                self._problem = error
        self.store = store
        used = store if index != "none" else None
        if used is not None:
            self._place = self._place or used.where
        self._is_noted = not self._place
        self._filling = (
            Filling(used, self._after, index, held=self._held) if used is not None else None
        )
        self._recall = Recall(used)

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
        thread, branch = head.thread, head.branch
        read = partial(self._messages, thread, branch)
        return self._recall.recall(
            thread, question, partial(backwards, read, head.seq),
            lambda numbers: _artifacts(self._journal.numbered(thread, numbers, branch=branch)),
            branches=self._branches(thread, branch), upto=head.seq, epoch=head.epoch,
            held=partial(self._held, thread, branch),
        )  # fmt: skip

    def erase(self, gone: Gone) -> list[str]:
        """Delete messages from the store, and forget what was read of their threads; return what may still hold them.

        It is called before the journal loses them, so that who is killed in between does it again; and after, as
        another process may have added them meanwhile.
        """
        for thread in gone:
            self._recall.forget(thread)
        if self._filling is not None:  # what was read before the erasure is written before
            self._filling.drain()
        try:
            for thread, messages in gone.items():
                self._delete(thread, messages)
        except StoreError as error:
            return [f"the index still holds it: run acc reindex: {error}"]
        if self._problem is not None:
            return [f"run acc reindex: {each}" for each in self.warnings]
        if others := sorted(self._journal.indexes() - {self._place}):
            return [
                f"the index at {', '.join(others)} may still hold it: open the memory with that index and erase again;"
                " if it is gone for good, run acc reindex"
            ]
        return []

    def _delete(self, thread: ThreadKey, messages: Collection[tuple[str, str]] | None) -> None:
        if self._filling is not None:
            self._filling.forget(thread)
        if self.store is None:
            return
        if messages is None:
            self.store.delete(thread)
            return
        refs: dict[str, list[str]] = {}
        for branch, ref in messages:
            refs.setdefault(branch, []).append(ref)
        for branch, own in refs.items():
            self.store.delete(thread, own, branch)

    def note(self, *, alone: bool = False) -> None:
        """Let the journal know where the store is, before anything is in it; ``alone``: it is the only one."""
        if self._place and (alone or not self._is_noted):
            self._journal.note_index(self._place, alone=alone)
        self._is_noted = True

    def lacking(
        self, sizes: Mapping[tuple[ThreadKey, str], Size]
    ) -> Iterator[tuple[tuple[ThreadKey, str], int]]:
        """Yield the branches of which the store lacks messages, and how many it lacks; none without a store.

        Raises:
            StoreError: The store cannot be used.
        """
        if self._filling is None or self.store is None:
            return
        there = self.store.counts()
        for name, size in sizes.items():
            if (lacks := size.taken - there.get(lane_of(*name), 0)) > 0:
                yield name, lacks

    def begin_anew(self) -> None:
        """Empty the store, which is from now on the only one.

        Raises:
            InputError: There is none.
            StoreError: It cannot be used.
        """
        if self.store is None:
            why = "; ".join(self.warnings) or "it was opened with index='none'"
            raise InputError("the memory has no index", where=why, hint="open it with index='now'")
        self.store.clear()
        if self._filling is not None:
            self._filling.forget()
        self.note(alone=True)

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
            self.note()
            self._filling.committed(thread, branch, [_searchable(each) for each in artifacts])

    def drain(self, timeout: float | None = None) -> bool:
        """Let the store have everything; return False if it failed, or the time is over."""
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
        key = _key(thread)
        forked = max((up_to or 0 for _, up_to in self._branches(key, branch)), default=0)
        found = self._messages(key, branch, max(seq, forked) + 1)
        return (each for each in found if each.branch == branch)

    def _held(self, thread: ThreadName, branch: str, found: Sequence[Artifact]) -> list[Artifact]:
        """Return those that the journal still holds: a store may have what was erased meanwhile."""
        if not found:
            return []
        numbers = [each.seq for each in found]
        there = _artifacts(self._journal.numbered(_key(thread), numbers, branch=branch))
        texts = {(each.branch, each.seq): each.message.text for each in there}
        return [a for a in found if texts.get((a.branch, a.seq)) == a.message.text]

    def _messages(
        self, thread: ThreadKey, branch: str, first: int, limit: int | None = None
    ) -> Iterator[Artifact]:
        return _artifacts(self._journal.messages(thread, max(first, 0), limit, branch=branch))


def _key(thread: ThreadName) -> ThreadKey:
    return ThreadKey(thread.thread, thread.tenant, thread.user, thread.agent)


def _artifacts(stored: Iterable[StoredMessage]) -> Iterator[Artifact]:
    """Yield messages that are not blanked."""
    found = (Artifact(each.message, each.branch, each.seq) for each in stored if each.digest)
    return map(_searchable, found)


def _searchable(artifact: Artifact) -> Artifact:
    """Return the artifact without base64."""
    message = artifact.message
    text = without_data(message.text)
    if text == message.text:
        return artifact
    seen = message.observation.model_copy(update={"text": text})
    return replace(artifact, message=replace(message, observation=seen))


def homes_of(journal: Journal, key: ThreadKey) -> tuple[Head, ...]:
    """Return the heads of the threads whose documents a thread may read, those that exist."""
    return () if is_home(key) else journal.in_scope(DOCUMENTS, key)

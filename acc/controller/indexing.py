"""The index of a memory: filled from the journal after each commit, at once or by a worker, and asked before the next.

The journal is the truth. A store that fails, lags or is another process's fails no step: recall then reads the
journal alone and finds by words, the step says so (`acc.step.result.Step.warnings`), and the branch's next commit,
`Indexing.drain` or the end fills from the journal what is missing. Nothing of this has to survive a crash: the store
itself says how far a branch is filled.

Base64 is neither filled in nor found: nobody asks for it, and four million characters of it take seconds.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.clients import translated
from acc.artifacts.recall import Recall, backwards
from acc.artifacts.store import BATCH, Branches, lane_of
from acc.errors import AccError, InputError, StoreError
from acc.gate import Candidate
from acc.journal import Head, Journal, StoredMessage, ThreadKey
from acc.journal.names import DOCUMENTS, MAIN, Size, is_home
from acc.text.lines import without_data

FOLDER = "chroma"
"""Where the embedded Chroma lies in the memory's folder."""

NOWHERE = "none"
"""As the store: nothing is indexed."""

BEFORE = 1 << 60
"""More than the numbers of passages of one thread."""

PATIENCE = 5.0
"""Seconds until a store that failed is asked again."""

CLOSING = 30.0
"""Seconds that a worker has for what waits at the end."""


class Indexing:
    """A memory's store of artifacts behind its journal. Any number of threads may use it.

    If the folder's Chroma cannot be used, the memory goes on without it, and says so.

    Args:
        journal: The journal.
        store: The store, which `close` closes, or the address of a Chroma server; None for Chroma in the folder;
            ``"none"`` for none (`NOWHERE`).
        folder: The memory's folder; without folder and store, nothing is indexed.
        behind: Whether a worker fills the store, and no step waits for it.

    Raises:
        StoreError: The server cannot be reached.
    """

    def __init__(
        self,
        journal: Journal,
        store: ChromaStore | str | None,
        folder: Path | None,
        *,
        behind: bool = False,
    ) -> None:
        self._journal = journal
        self._problem: AccError | None = None
        self._place = ""  # where the journal notes that the store is
        if store == NOWHERE:
            store = None
        elif isinstance(store, str):
            store = ChromaStore.server(store)
        elif store is None and folder is not None:
            try:
                store = ChromaStore.embedded(folder / FOLDER)
                self._place = FOLDER  # wherever the folder is moved to
            except StoreError as error:
                self._problem = error
        self.store = store
        if store is not None:
            self._place = self._place or store.where
        self._is_noted = not self._place
        self._recall = Recall(store)
        self._filled: dict[tuple[ThreadKey, str], int] = {}
        self._waiting: dict[tuple[ThreadKey, str], None] = {}
        self._filling, self._rested = threading.RLock(), 0.0
        self._failed: AccError | None = None
        self._worker = ThreadPoolExecutor(1, "acc-index") if behind else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the store; empty if nothing is."""
        failed = self._problem, self._recall.last_error, self._failed
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
            partial(self._numbered, thread, branch),
            branches=self._branches(thread, branch), upto=head.seq, epoch=head.epoch,
        )  # fmt: skip

    def committed(self, thread: ThreadKey, branch: str) -> None:
        """Say that the journal has committed messages at the end of a branch. No store fails it."""
        if self.store is None:
            return
        self.note()
        self._waiting[thread, branch] = None
        if self._worker is None:
            self._fill((thread, branch))
        else:
            with suppress(RuntimeError):  # somebody closes it just now
                self._worker.submit(self._fill)

    def drain(self, timeout: float | None = None) -> bool:
        """Let the store have everything; return False if it failed, or the time of a worker is over."""
        self._rested = 0.0
        if self._worker is None:
            self._fill()
        elif wait([self._worker.submit(self._fill)], timeout).not_done:
            return False
        return not self._waiting

    def close(self) -> None:
        """Fill what is missing, and close the store. What a failing store lacks is filled with the next commit."""
        self.drain(CLOSING)
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None
        if self.store is not None:
            self.store.close()

    def _fill(self, *places: tuple[ThreadKey, str]) -> None:
        """Fill these branches, or all that wait, until the store fails."""
        with self._filling:
            for place in places or tuple(self._waiting):
                if time.monotonic() < self._rested:
                    return
                self._waiting.pop(place, None)
                try:
                    with translated("the store cannot be filled", self._place):
                        self.refill(*place)
                    self._failed = None
                except AccError as error:
                    self._failed, self._rested = error, time.monotonic() + PATIENCE
                    self._waiting[place] = None

    def refill(self, thread: ThreadKey, branch: str) -> int:
        """Write what the store lacks at the end of a branch; return how many messages were new.

        Raises:
            StoreError: The store cannot be used.
        """
        store, place, count = self.store, (thread, branch), 0
        if store is None:
            return 0
        with self._filling:
            done = self._filled.get(place)
            if done is None:  # of the last one, parts may be missing: it is read again
                done = store.last(thread, branch) - 1
            branches = self._branches(thread, branch)
            forked = max((up_to or 0 for _, up_to in branches), default=0)
            rows = self._messages(thread, branch, max(done, forked) + 1)
            while batch := list(islice(rows, BATCH)):
                count += store.add(thread, batch)
                held = self._numbered(thread, branch, [each.seq for each in batch])
                there = {each.seq: each.message.text for each in held}
                if gone := [e.message.ref for e in batch if there.get(e.seq) != e.message.text]:
                    store.delete(thread, gone, branch)  # it was erased while it was added
                done = batch[-1].seq
            self._filled[place] = done
        return count

    def clean(self) -> list[str]:
        """Delete from the store what the journal has erased; return what went wrong.

        The journal knows what the store has yet to lose, so that a later call, of any process, does the rest.
        """
        notes = self._journal.unindexed()
        threads = defaultdict[ThreadKey, set[tuple[str, str]]](set)
        for note in notes:
            self._recall.forget(note.thread)
            threads[note.thread].add((note.branch, note.ref))
        try:
            for thread, messages in threads.items():
                self._delete(thread, messages)
        except StoreError as error:
            return [f"the index still holds it: {error}"]
        if self._problem is not None:
            return list(self.warnings)
        if others := sorted(self._journal.indexes() - {self._place}):
            return [
                f"the index at {', '.join(others)} may still hold it: open the memory with that index and erase again;"
                " if it is gone for good, run acc reindex"
            ]
        self._journal.settle(notes)
        return []

    def _delete(self, thread: ThreadKey, messages: Collection[tuple[str, str]]) -> None:
        """Delete messages by branch and ref, and ask the store anew how far the thread is filled."""
        if self.store is None:
            return
        with self._filling:
            if ("", "") in messages:
                self.store.delete(thread)
            for branch in {branch for branch, _ in messages if branch}:
                self.store.delete(thread, [ref for of, ref in messages if of == branch], branch)
            kept = self._filled.items()
            self._filled = {place: seq for place, seq in kept if place[0] != thread}
            if ("", "") in messages:  # a thread of the same name may have begun since
                for head in self._journal.branches(thread):
                    self.refill(thread, head.branch)

    def begin_anew(self) -> None:
        """Empty the store, which is from now on the only one.

        Raises:
            InputError: There is none.
            StoreError: It cannot be used.
        """
        if self.store is None:
            why = "; ".join(self.warnings) or "it was opened with store='none'"
            raise InputError("the memory has no index", where=why, hint="open it with a store")
        with self._filling:
            self.store.clear()
            self._filled = {}
        self.note(alone=True)

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
        if self.store is None:
            return
        there = self.store.counts()
        for name, size in sizes.items():
            if (lacks := size.taken - there.get(lane_of(*name), 0)) > 0:
                yield name, lacks

    def _branches(self, thread: ThreadKey, branch: str) -> Branches:
        return ((MAIN, None),) if branch == MAIN else self._journal.lineage(thread, branch)

    def _messages(
        self, thread: ThreadKey, branch: str, first: int, limit: int | None = None
    ) -> Iterator[StoredMessage]:
        """Yield messages that are not blanked, from a number on."""
        found = self._journal.messages(thread, max(first, 0), limit, branch=branch)
        return (_searchable(each) for each in found if each.digest)

    def _numbered(
        self, thread: ThreadKey, branch: str, numbers: Sequence[int]
    ) -> list[StoredMessage]:
        found = self._journal.numbered(thread, numbers, branch=branch)
        return [_searchable(each) for each in found if each.digest]


def _searchable(stored: StoredMessage) -> StoredMessage:
    """Return the message without base64."""
    message = stored.message
    text = without_data(message.text)
    if text == message.text:
        return stored
    seen = message.observation.model_copy(update={"text": text})
    return replace(stored, message=replace(message, observation=seen))


def homes_of(journal: Journal, key: ThreadKey) -> tuple[Head, ...]:
    """Return the heads of the threads whose documents a thread may read, those that exist."""
    return () if is_home(key) else journal.in_scope(DOCUMENTS, key)

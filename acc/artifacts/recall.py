"""Recall: the passages of a thread for a question, by the store's own query and by BM25 in context, fused.

A thread is read as far as a question needs. Its newest messages are read from the journal, up to `WINDOW`
characters; of what is older, the store proposes the nearest messages, which are read with those around them. Both
stand in one index of words. A store whose embedder knows words alone is not asked while the whole thread is read. A
message's own score is

    bm25 / highest bm25  +  weight * (cosine - least) / (highest - least)

over the messages that the store proposed, before the share of the scores around it is added: what answers by
meaning lifts its context, too. The passages of the best messages are then scored for the gate
(`acc.artifacts.scope`). Measured by ``benchmarks/locomo_next.py``: rank fusion finds less.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from acc.artifacts.clients import translated
from acc.artifacts.embedding import HASHED_WORDS
from acc.artifacts.scope import Scope
from acc.artifacts.store import MAIN, Branches, Hit, Store
from acc.errors import StoreError
from acc.gate import Candidate
from acc.text.ranking import Numbers

if TYPE_CHECKING:  # values of the journal, which recall reads by their fields
    from acc.artifacts.scope import Around
    from acc.journal import StoredMessage, ThreadKey

    Newest = Callable[[], Iterable[StoredMessage]]
    """The journal's messages that a branch sees, the newest first, read as far as they are asked for."""

WINDOW = 400_000
"""Characters of the newest messages that are read at the first question: some 0.15 s."""

POOL = 128
"""Messages that the store proposes."""

WEIGHT = 0.5
"""Weight of the cosine, if the embedder knows meaning: `HASHED_WORDS` does not, it only proposes."""

UNRELATED, MEANING = 0.3, 0.3
"""Cosine up to which two texts share no meaning; what the highest cosine adds to a passage's score for the gate."""

MOST = 64
"""Threads whose messages are kept, the least recently used first to go."""

MESSAGES, LIMIT = 24, 64
"""Messages whose passages are scored, and passages that are returned."""

FIRST_PAGE = 8
"""Messages that are read first: mostly those of the last turn are new."""


def backwards(
    read: Callable[[int, int], Iterable[StoredMessage]], last: int, page: int = 256
) -> Iterator[StoredMessage]:
    """Yield a branch's messages from the ``last`` seq back to the first, by pages that grow up to ``page``.

    Mostly a few are new. ``read`` returns, in order, the messages from a seq on, as many as asked for.
    """
    size = min(page, FIRST_PAGE)
    while last >= 0:
        first = max(0, last - size + 1)
        yield from [each for each in read(first, size) if first <= each.seq <= last][::-1]
        last, size = first - 1, min(page, 4 * size)


class Recall:
    """Finds passages of threads. Safe for use by any number of threads of a process.

    Args:
        store: Where the messages are indexed; None to read the whole thread and find by words alone.
        weight: Weight of the cosine; by default `WEIGHT`, or 0 for `HASHED_WORDS`.
        window: Characters of the newest messages that are read; without a store all are.

    Attributes:
        last_error: Why the store was not asked last; None if it answered. Recall then has the window alone.
    """

    def __init__(
        self,
        store: Store | None,
        *,
        weight: float | None = None,
        window: int = WINDOW,
    ) -> None:
        self.store = store
        is_lexical = store is not None and store.embedder is HASHED_WORDS
        self.weight = weight if weight is not None else 0.0 if is_lexical else WEIGHT
        self._window = window if store is not None else 1 << 60
        self._scopes: OrderedDict[tuple[ThreadKey, Branches, int], Scope] = OrderedDict()
        self._lock = threading.Lock()
        self.last_error: StoreError | None = None

    def recall(
        self,
        thread: ThreadKey,
        question: str,
        newest: Newest,
        around: Around,
        *,
        branches: Branches = MAIN,
        upto: int | None = None,
        epoch: int = 0,
    ) -> list[Candidate]:
        """Return at most `LIMIT` passages, the best first.

        Args:
            question: What is asked: best the user's last words alone.
            newest: Reads the journal from its newest row backwards.
            around: Reads messages by their numbers: what stands around one that the store proposes, and the best ones
                once more, as the journal may have lost them since they were read.
            branches: The ancestry that is seen, the root first; ``newest`` and ``around`` have to read the same.
            upto: The last seq that candidates may have.
            epoch: That of the branch: what was read under another one is read anew, since something was erased.
        """
        read = self.reading(thread, question, newest, around, branches, upto, epoch)
        with read as (scope, cosines):
            best = scope.best(question, cosines, self.weight, upto, MESSAGES)
            best = scope.still_there(best, around)
            meaning = MEANING * np.maximum(0, cosines - UNRELATED) / (1 - UNRELATED)
            return scope.candidates(question, best, meaning * bool(self.weight), LIMIT)

    @contextmanager
    def reading(
        self,
        thread: ThreadKey,
        question: str,
        newest: Newest,
        around: Around,
        branches: Branches = MAIN,
        upto: int | None = None,
        epoch: int = 0,
    ) -> Iterator[tuple[Scope, Numbers]]:
        """Lend what was read of a thread, with all that a question needs, and the cosine of each message."""
        scope = self._scope(thread, branches, epoch)
        with scope.lock:
            scope.read(newest(), self._window)
            is_enough = scope.is_whole and not self.weight
        proposed = [] if is_enough else self._proposed(thread, question, branches, upto)
        with scope.lock:
            scope.meet(around, proposed)
            yield scope, scope.cosines(proposed)

    def forget(self, thread: ThreadKey) -> None:
        """Drop what was read of the thread, after an erasure."""
        with self._lock:
            for scope in [scope for scope in self._scopes if scope[0] == thread]:
                del self._scopes[scope]

    def _scope(self, thread: ThreadKey, branches: Branches, epoch: int) -> Scope:
        name = thread, tuple(branches), epoch
        with self._lock:
            found = self._scopes.pop(name) if name in self._scopes else Scope()
            if found.size > 4 * self._window:  # it met half a long thread
                found = Scope()
            self._scopes[name] = found
            while len(self._scopes) > MOST:
                self._scopes.popitem(last=False)
            return found

    def _proposed(
        self, thread: ThreadKey, question: str, branches: Branches, upto: int | None
    ) -> list[Hit]:
        if self.store is None or not question.strip():
            return []
        try:
            with translated("the store cannot be searched", type(self.store).__name__):
                found = self.store.query(thread, question, branches=branches, upto=upto, limit=POOL)
        except StoreError as error:
            self.last_error = error
            return []
        self.last_error = None
        return found

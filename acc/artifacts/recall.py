"""Recall: the passages of a thread for a question, by the store's own query and by BM25 in context, fused.

A thread is read as far as a question needs. Its newest messages are read from the journal, up to `WINDOW`
characters; of what is older, the store proposes the nearest messages, which are read with those around them. Both
stand in one `PartialIndex`. A store whose embedder knows words alone is not asked while the whole thread is read. A
message's own score is

    bm25 / highest bm25  +  weight * (cosine - least) / (highest - least)

over the messages that the store proposed, before the share of the scores around it is added: what answers by
meaning lifts its context, too. The passages of the best messages are then scored as `acc.recall` scores them,
so that the gate's bounds hold. Measured by ``benchmarks/locomo_next.py``: rank fusion finds less.
"""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import pairwise
from statistics import fmean

import numpy as np

from acc.artifacts.embedding import HashedWords
from acc.artifacts.faults import translated
from acc.artifacts.lexical import NEAR, Numbers, PartialIndex, Rarities
from acc.artifacts.protocol import MAIN, Artifact, ArtifactStore, Branches, ThreadName, key_of
from acc.errors import StoreError
from acc.recall import AROUND, LATER, LENGTH, LESS_TRUSTED, OWN, Candidate, candidate_of, passages
from acc.text.ranking import terms
from acc.turn.observations import Trust, is_ingested

WINDOW = 400_000
"""Characters of the newest messages that are read at the first question: some 0.15 s."""

POOL, FAR = 128, 40
"""Messages that the store proposes; those of them, the nearest first, that are read if they are not known."""

WEIGHT = 0.5
"""Weight of the cosine, if the embedder knows meaning: `HashedWords` does not, it only proposes."""

UNRELATED, MEANING = 0.3, 0.3
"""Cosine up to which two texts share no meaning; what the highest cosine adds to a passage's score for the gate."""

_MESSAGES, _AROUND, _PASSAGES = 24, 2, 1 << 20
_LEFT_OUT = -1
FIRST_PAGE = 8
"""Messages that are read first: mostly those of the last turn are new."""


def backwards(
    read: Callable[[int, int], Iterable[Artifact]], last: int, page: int = 256
) -> Iterator[Artifact]:
    """Yield a branch's messages from the ``last`` seq back to the first, by pages that grow up to ``page``.

    Mostly a few are new. ``read`` returns, in order, the messages from a seq on, as many as asked for.
    """
    size = min(page, FIRST_PAGE)
    while last >= 0:
        first = max(0, last - size + 1)
        yield from [each for each in read(first, size) if first <= each.seq <= last][::-1]
        last, size = first - 1, min(page, 4 * size)


Newest = Callable[[], Iterable[Artifact]]
"""The journal's messages that a branch sees, the newest first, read as far as they are asked for."""

Around = Callable[[Sequence[int]], Iterable[Artifact]]
"""The journal's messages with these numbers that a branch sees."""


class Recall:
    """Finds passages of threads. Safe for use by any number of threads of a process.

    Args:
        store: Where the messages are indexed; None to read the whole thread and find by words alone.
        weight: Weight of the cosine; by default `WEIGHT`, or 0 for `HashedWords`.
        window: Characters of the newest messages that are read; without a store all are.
        most: Threads whose index is kept, the least recently used first to go.

    Attributes:
        last_error: Why the store was not asked last; None if it answered. Recall then has the window alone.
    """

    def __init__(
        self,
        store: ArtifactStore | None,
        *,
        weight: float | None = None,
        window: int = WINDOW,
        most: int = 64,
    ) -> None:
        self.store, self._most = store, most
        is_lexical = isinstance(getattr(store, "embedder", None), HashedWords)
        self._weight = weight if weight is not None else 0.0 if is_lexical else WEIGHT
        self._window = window if store is not None else 1 << 60
        self._scopes: OrderedDict[tuple[str, tuple[object, ...]], Scope] = OrderedDict()
        self._lock = threading.Lock()
        self.last_error: StoreError | None = None

    def recall(
        self,
        thread: ThreadName,
        question: str,
        newest: Newest,
        around: Around,
        *,
        branches: Branches = MAIN,
        upto: int | None = None,
        limit: int = 64,
        epoch: int = 0,
        held: Callable[[Sequence[Artifact]], Sequence[Artifact]] = list,
    ) -> list[Candidate]:
        """Return at most ``limit`` passages, the best first.

        Args:
            thread: The conversation.
            question: What is asked: best the user's last words alone.
            newest: Reads the journal from its newest row backwards.
            around: Reads what stands around a message that the store proposes.
            branches: The ancestry that is seen, the root first; ``newest`` and ``around`` have to read the same.
            upto: The last seq that candidates may have.
            limit: How many at most.
            epoch: That of the branch: what was read under another one is read anew, since something was erased.
            held: Returns those messages that the journal still holds; others are no candidates.
        """
        read = self._read(thread, question, newest, around, branches, upto, epoch)
        with read as (scope, cosines):
            best = scope.best(question, cosines, self._weight, upto, _MESSAGES)
            there = {_name(each) for each in held([scope.artifacts[at] for at in best])}
            best = [at for at in best if _name(scope.artifacts[at]) in there]
            meaning = MEANING * np.maximum(0, cosines - UNRELATED) / (1 - UNRELATED)
            return scope.candidates(question, best, meaning * bool(self._weight), limit)

    def ranked(
        self,
        thread: ThreadName,
        question: str,
        newest: Newest,
        around: Around,
        *,
        limit: int = _MESSAGES,
    ) -> list[Artifact]:
        """Return at most ``limit`` messages of a main branch, the best first; arguments as in `recall`."""
        with self._read(thread, question, newest, around, MAIN, None, 0) as (scope, cosines):
            best = scope.best(question, cosines, self._weight, None, limit)
            return [scope.artifacts[at] for at in best]

    @contextmanager
    def _read(
        self,
        thread: ThreadName,
        question: str,
        newest: Newest,
        around: Around,
        branches: Branches,
        upto: int | None,
        epoch: int,
    ) -> Iterator[tuple[Scope, Numbers]]:
        """Lend what was read of a thread, with all that a question needs, and the cosine of each message."""
        scope = self._scope(thread, branches, epoch)
        with scope.lock:
            scope.read(newest(), self._window)
            is_enough = scope.is_whole and not self._weight
        proposed = [] if is_enough else self._proposed(thread, question, branches, upto)
        with scope.lock:
            scope.meet(around, [artifact for artifact, _ in proposed])
            yield scope, scope.cosines(proposed)

    def forget(self, thread: ThreadName) -> None:
        """Drop what was read of the thread, after an erasure."""
        with self._lock:
            for scope in [scope for scope in self._scopes if scope[0] == key_of(thread)]:
                del self._scopes[scope]

    def _scope(self, thread: ThreadName, branches: Branches, epoch: int) -> Scope:
        name = (key_of(thread), (*branches, epoch))
        with self._lock:
            found = self._scopes.pop(name) if name in self._scopes else Scope()
            if found.size > 4 * self._window:  # it met half a long thread
                found = Scope()
            self._scopes[name] = found
            while len(self._scopes) > self._most:
                self._scopes.popitem(last=False)
            return found

    def _proposed(
        self, thread: ThreadName, question: str, branches: Branches, upto: int | None
    ) -> list[tuple[Artifact, float]]:
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


class Scope:
    """What was read of a thread, as one branch sees it.

    Attributes:
        artifacts: The messages.
        is_whole: Whether these are all that the branch sees.
        size: Their characters.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._index = PartialIndex()
        self.artifacts: list[Artifact] = []
        self._seqs = array("q")
        self._follows: list[bool] = []
        self._places: dict[tuple[str, str], int] = {}
        self.is_whole = False
        self._passages: dict[int, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self.size = 0

    def read(self, newest: Iterable[Artifact], window: int) -> None:
        """Read the newest messages, back to one that is known, or as far as the window reaches."""
        new: list[Artifact] = []
        for artifact in newest:
            if _name(artifact) in self._places:
                break  # as much as was read before it
            if window <= 0:
                self.is_whole = False
                break
            window -= len(artifact.message.text)
            new.append(artifact)
        else:
            self.is_whole = True
        self._add(new[::-1])

    def meet(self, around: Around, proposed: Sequence[Artifact]) -> None:
        """Read the messages that the store proposes, with those around them, if they are not known."""
        far = [artifact for artifact in proposed if _name(artifact) not in self._places][:FAR]
        numbers = {a.seq + step for a in far for step in range(-_AROUND, _AROUND + 1)}
        rows = around(sorted(numbers)) if numbers else ()
        rows = [row for row in rows if _name(row) not in self._places]
        self._add(sorted(rows, key=lambda row: row.seq))

    def cosines(self, proposed: Sequence[tuple[Artifact, float]]) -> Numbers:
        """Return the cosine of each message; the least of those that are known where the store proposes it not."""
        found = np.full(len(self.artifacts), min((cosine for _, cosine in proposed), default=0.0))
        for artifact, cosine in proposed:
            if (at := self._places.get(_name(artifact), _LEFT_OUT)) != _LEFT_OUT:
                found[at] = cosine
        return found

    def best(
        self, question: str, cosines: Numbers, weight: float, upto: int | None, limit: int
    ) -> list[int]:
        """Return the places of the best messages."""
        own = self._index.own_scores(question)
        own /= max(own.max(initial=0), 1e-9)
        above = cosines - cosines.min(initial=1)
        own += weight * above / max(above.max(initial=0), 1e-9)
        scores = self._index.in_context(own)
        if upto is not None:
            scores[np.array(self._seqs) > upto] = 0
        return self._index.best(scores, limit)

    def candidates(
        self, question: str, places: Sequence[int], meaning: Numbers, limit: int
    ) -> list[Candidate]:
        """Return the best passages of messages, scored as in `acc.recall`, each with its share of the meaning."""
        rarity = self._index.rarities()
        asked = {term: rarity[term] for term in sorted(frozenset(terms(question)))}
        worths, whole = self._index.worths(asked).tolist(), sum(asked.values()) or 1.0
        count = len(self.artifacts)
        ages = np.empty(count, int)
        ages[np.argsort(np.array(self._seqs), kind="stable")] = np.arange(count)
        found: list[tuple[float, int, int, int]] = []
        mean = fmean([len(text) for at in places for text, _ in self._passages_of(at)] or [1])

        for at in places:
            message, own, age = self.artifacts[at].message, self._passages_of(at), int(ages[at])
            before = worths[at - 1] if self._follows[at] else 0.0
            around = AROUND * (worths[at] + before)
            trust = 1 if message.channel.trust >= Trust.AGENT else LESS_TRUSTED
            weight = trust * (1 + LATER * age / count) / whole
            for place, (text, said) in enumerate(own):
                worth = sum(asked[term] for term in asked.keys() & said)
                score = (OWN * worth + around) * weight
                score = score / (1 - LENGTH + LENGTH * len(text) / mean) + meaning[at] / len(own)
                if score > 0:
                    found.append((float(score), age * _PASSAGES + place, at, place))
        return [self._candidate(rarity, *each) for each in nlargest(limit, found)]

    def _candidate(
        self, rarity: Rarities, score: float, number: int, at: int, place: int
    ) -> Candidate:
        text, said = self._passages_of(at)[place]
        return candidate_of(self.artifacts[at].message, text, place, number, score, said, rarity)

    def _passages_of(self, at: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if at not in self._passages:
            split = passages(self.artifacts[at].message.text)
            self._passages[at] = tuple((each, tuple(terms(each))) for each in split)
        return self._passages[at]

    def _add(self, artifacts: Sequence[Artifact]) -> None:
        """Add messages in the order of the thread. Calls of tools are left out: their results say more."""
        kept = [
            a for a in artifacts if a.message.text.strip() and not a.message.observation.is_call
        ]
        for before, artifact in pairwise([None, *kept]):
            assert artifact is not None
            follows = before is not None and 0 <= _row(artifact) - _row(before) <= NEAR
            text = before.message.text if before is not None and follows else ""
            self._index.add(_row(artifact), artifact.message.text, text)
            self._places[_name(artifact)] = len(self.artifacts)
            self.artifacts.append(artifact)
            self._seqs.append(artifact.seq)
            self.size += len(artifact.message.text)
            self._follows.append(follows)
        for artifact in artifacts:
            self._places.setdefault(_name(artifact), _LEFT_OUT)


def _row(artifact: Artifact) -> int:
    """Return the number of a message; that of a document is far from every other document's: none is its context."""
    ref = artifact.message.ref
    if not is_ingested(ref):
        return artifact.seq
    own = hashlib.blake2b(ref.rpartition(".")[0].encode(), digest_size=4).digest()
    return (int.from_bytes(own, "big") << 30) + artifact.seq


def _name(artifact: Artifact) -> tuple[str, str]:
    return artifact.branch, artifact.message.ref

"""Fills the artifact store behind the journal's commit: at once, or by a worker.

The journal is the truth, the store is an index of it. A store that fails never fails a step: the lag is told, and
the branch's next commit, `Filling.drain` or the end fills from the journal what is missing. Nothing of this has to
survive a crash: the store itself says how far a branch is filled (`Store.last`), and the journal has the rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import Literal

from acc.artifacts.clients import translated
from acc.artifacts.rows import Artifact, ThreadName
from acc.artifacts.store import BATCH, Store
from acc.errors import AccError

Index = Literal["now", "behind", "none"]

After = Callable[[ThreadName, str, int], Iterable[Artifact]]
"""Reads from the journal the messages of a thread's branch with a seq above the given one, in order."""

Held = Callable[[ThreadName, str, Sequence[Artifact]], Sequence[Artifact]]
"""Returns those messages of a thread's branch that the journal still holds."""

_CLOSING = 30.0
"""Seconds that a worker has for what waits at the end."""

MOST = 10_000
"""Branches that wait at most. One that finds no room is filled with its next commit."""

_Place = tuple[ThreadName, str]


class Filling:
    """Keeps a store filled. Safe for use by any number of threads of a process.

    Args:
        index: ``now``: `committed` returns when the store has the messages; ``behind``: one worker adds them.
        patience: Seconds until a store that failed is asked again.
        held: Tells what was erased while it was added.

    Attributes:
        last_error: What failed last; None as soon as the store takes messages again.
    """

    def __init__(
        self,
        store: Store,
        after: After,
        index: Index = "now",
        *,
        patience: float = 5.0,
        held: Held = lambda _, __, added: added,
    ) -> None:
        self._store, self._after, self._patience, self._held = store, after, patience, held
        self.last_error: AccError | None = None
        self._filled: dict[_Place, int] = {}
        self._waiting: dict[_Place, None] = {}
        self._adding, self._rested = threading.RLock(), 0.0
        self._worker = ThreadPoolExecutor(1, "acc-filling") if index == "behind" else None

    def committed(self, thread: ThreadName, branch: str, artifacts: Sequence[Artifact]) -> None:
        """Add the messages that the journal has committed at the end of a branch. No store fails it."""
        place = (thread, branch)
        if not artifacts:
            return
        if len(self._waiting) < MOST:
            self._waiting[place] = None
        if self._worker is not None:
            with suppress(RuntimeError):  # somebody closes it just now
                self._worker.submit(self._fill_waiting)
        elif time.monotonic() >= self._rested:
            self._try(place, artifacts)

    def forget(self, thread: ThreadName | None = None) -> None:
        """Ask the store anew how far a thread, or every thread, is filled: something was deleted from it."""
        with self._adding:
            kept = self._filled.items() if thread is not None else ()
            self._filled = {place: seq for place, seq in kept if place[0] != thread}

    def drain(self, timeout: float | None = None) -> bool:
        """Let the store have everything; return False if it fails, or the time of a worker is over."""
        self._rested = 0.0
        if self._worker is None:
            self._fill_waiting()
        else:
            wait([self._worker.submit(self._fill_waiting)], timeout)
        return not self._waiting

    def close(self) -> bool:
        """Drain and stop; return whether the store has everything. The store stays open."""
        drained, worker = self.drain(_CLOSING), self._worker
        if worker is not None:
            worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None
        return drained

    def _fill_waiting(self) -> None:
        """Fill the branches that wait until the store fails."""
        with self._adding:
            for place in tuple(self._waiting):
                if time.monotonic() >= self._rested:
                    self._try(place)

    def _try(self, place: _Place, given: Sequence[Artifact] = ()) -> None:
        with self._adding:
            is_waiting = place in self._waiting
            self._waiting.pop(place, None)
            try:
                with translated("the store cannot be filled", type(self._store).__name__):
                    self._fill(place, given)
                self.last_error = None
            except AccError as error:
                self.last_error = error
                self._rested = time.monotonic() + self._patience
                if is_waiting:
                    self._waiting[place] = None

    def _fill(self, place: _Place, given: Sequence[Artifact]) -> None:
        """Add what the store lacks: the given messages if they follow what it has, else the journal's."""
        (thread, branch), done = place, self._filled.get(place)
        if done is None:  # of the last one, parts may be missing: it is read again
            done = self._store.last(thread, branch) - 1
        follows = bool(given) and given[0].seq == done + 1
        rows = iter(given if follows else self._after(thread, branch, done))
        while batch := list(islice(rows, BATCH)):
            self._store.add(thread, batch)
            there = {each.seq for each in self._held(thread, branch, batch)}
            if gone := [each.message.ref for each in batch if each.seq not in there]:
                self._store.delete(thread, gone, branch)
            done = self._filled[place] = batch[-1].seq
        self._filled[place] = done

"""Fills the artifact store behind the journal's commit: now, behind, or not at all.

The journal is the truth, the store is an index of it. A store that fails never fails a step: the lag is told, and
what is missing is read from the journal later. Nothing of this has to survive a crash: the store itself says how
far a branch is filled (`ArtifactStore.last`), and the journal has the rest.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal

from acc.artifacts.faults import translated
from acc.artifacts.protocol import Artifact, ArtifactStore, ThreadName, key_of
from acc.errors import AccError, StoreError

Index = Literal["now", "behind", "none"]

After = Callable[[ThreadName, str, int], Iterable[Artifact]]
"""Reads from the journal the messages of a thread's branch with a seq above the given one, in order."""

Held = Callable[[ThreadName, str, Sequence[Artifact]], Sequence[Artifact]]
"""Returns those messages of a thread's branch that the journal still holds."""

MOST = 10_000
"""Branches that wait at most. One that finds no room is filled with its next commit, or by `Filling.resume`."""

_BATCH = 100
_Place = tuple[str, str]


class Filling:
    """Keeps a store filled. Safe for use by any number of threads of a process.

    Args:
        store: The store.
        after: Reads the journal.
        index: ``now``: `committed` returns when the store has the messages; ``behind``: one worker of the process
            adds them; ``none``: nobody does.
        patience: Seconds until a store that failed is asked again.
        held: Tells what was erased while it was added.

    Attributes:
        last_error: What failed last; None as soon as the store takes messages again.
    """

    def __init__(
        self,
        store: ArtifactStore,
        after: After,
        index: Index = "now",
        *,
        patience: float = 5.0,
        held: Held = lambda _, __, added: added,
    ) -> None:
        self.index, self._store, self._after, self._patience = index, store, after, patience
        self._held = held
        self.last_error: AccError | None = None
        self._filled: dict[_Place, int] = {}
        self._waiting: OrderedDict[_Place, tuple[ThreadName, str]] = OrderedDict()
        self._adding, self._changed = threading.Lock(), threading.Condition()
        self._busy = self._closed = False
        self._rested, self._failures = 0.0, 0
        self._worker: threading.Thread | None = None

    @property
    def lag(self) -> int:
        """How many branches have messages that the store has not."""
        return len(self._waiting) + self._busy

    def committed(self, thread: ThreadName, branch: str, artifacts: Sequence[Artifact]) -> None:
        """Say that the journal has committed these messages at the end of a branch. No store fails it.

        With ``now`` the store has them on return; if it fails, the worker goes on trying.
        """
        place = (key_of(thread), branch)
        is_calm = place not in self._waiting and time.monotonic() >= self._rested
        if self.index == "none" or self._closed or not artifacts:
            return
        if self.index == "behind" or not is_calm or not self._filled_now(thread, branch, artifacts):
            self.resume(thread, branch)

    def resume(self, thread: ThreadName, branch: str) -> None:
        """Let the worker read from the journal what the store lacks of a branch."""
        with self._changed:
            if self._closed or len(self._waiting) >= MOST:
                return
            self._waiting[key_of(thread), branch] = (thread, branch)
            if self._worker is None or not self._worker.is_alive():  # a fork has no threads
                self._worker = threading.Thread(target=self._work, name="acc-filling", daemon=True)
                self._worker.start()
            self._changed.notify_all()

    def forget(self, thread: ThreadName) -> None:
        """Ask the store anew how far a thread is filled: something was deleted from it."""
        with self._adding:
            for place in [place for place in self._filled if place[0] == key_of(thread)]:
                del self._filled[place]

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until the store has everything; return False if it failed, or the time is over."""
        with self._changed:
            self._rested, begun = 0.0, self._failures
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self.lag or self._failures > begun, timeout)
            return not self.lag

    def close(self, timeout: float = 30.0) -> bool:
        """Drain and stop the worker; return whether the store has everything. Idempotent; the store stays open."""
        drained = self.drain(timeout)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._worker is not None:
            self._worker.join(timeout)
        return drained

    def _filled_now(self, thread: ThreadName, branch: str, artifacts: Sequence[Artifact]) -> bool:
        try:
            with translated("the store cannot be filled", type(self._store).__name__):
                self._fill(thread, branch, artifacts)
            self.last_error = None
            return True
        except AccError as error:
            self._failed(error)
            return False

    def _fill(self, thread: ThreadName, branch: str, given: Sequence[Artifact] = ()) -> None:
        """Add what the store lacks: the given messages if they follow what it has, else the journal's."""
        place = (key_of(thread), branch)
        with self._adding:
            done = self._filled.get(place)
            if done is None:  # of the last one, parts may be missing: it is read again
                done = self._store.last(thread, branch) - 1
            follows = bool(given) and given[0].seq == done + 1
            rows = iter(given if follows else self._after(thread, branch, done))
            while batch := list(islice(rows, _BATCH)):
                self._store.add(thread, batch)
                there = {each.seq for each in self._held(thread, branch, batch)}
                if gone := [each for each in batch if each.seq not in there]:
                    self._store.delete(thread, gone)
                done = self._filled[place] = batch[-1].seq
            self._filled[place] = done

    def _work(self) -> None:
        while (taken := self._taken()) is not None:
            try:
                self._fill(*taken)
            except Exception as error:  # the journal is not ours; nothing may end the worker
                self._failed(error)
                self.resume(*taken)
            else:
                self.last_error = None
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _taken(self) -> tuple[ThreadName, str] | None:
        """Wait for a branch, and for a store that failed to rest; None at the end."""
        with self._changed:
            while not self._closed:
                rest = self._rested - time.monotonic()
                if self._waiting and rest <= 0:
                    self._busy = True
                    return self._waiting.popitem(last=False)[1]
                self._changed.wait(rest if self._waiting else None)
            return None

    def _failed(self, error: Exception) -> None:
        if not isinstance(error, AccError):
            said = f"the journal cannot be read: {type(error).__name__}: {error}"[:300]
            error = StoreError(said, where="filling", hint="read the cause")
        with self._changed:
            self.last_error = error
            self._failures += 1
            self._rested = time.monotonic() + self._patience
            self._changed.notify_all()

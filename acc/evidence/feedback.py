"""Feedback: how good what came of a turn was, told of the evidence that was admitted in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from acc.audit import AuditLog
from acc.errors import InputError
from acc.evidence.shelf import Shelf, namespace_of
from acc.evidence.usage import Event, admitted_in, told
from acc.store import ArtifactStore, Thread


def tell(
    store: ArtifactStore,
    log: AuditLog | None,
    thread: Thread,
    target: int | str,
    utility: float,
    at: str,
) -> tuple[str, ...]:
    """Write feedback: one record, so that a kill leaves it told or not told.

    Args:
        store: Where it is kept.
        log: The thread's audit log, which knows what a turn admitted.
        thread: The thread.
        target: A turn's number, whose admitted evidence it is about; or one ref.
        utility: Any finite number; higher is better. Policies compare it with their beta.
        at: The time.

    Returns:
        Keys of the evidence that it is about; none where the turn admitted nothing.

    Raises:
        InputError: No such turn or evidence, or no number.
        StoreError: It cannot be written.
    """
    if isinstance(utility, bool) or not isinstance(utility, int | float):
        raise _refused(f"a utility is a number, not {type(utility).__name__}", thread)
    if not math.isfinite(utility):
        raise _refused(f"a utility is a finite number, not {utility}", thread)
    if isinstance(target, bool) or not isinstance(target, int | str):
        raise _refused(f"feedback on {type(target).__name__}", thread)
    keys = _of_turn(log, target, thread) if isinstance(target, int) else [_key(thread, target)]
    if keys:
        usage = Shelf(store, namespace_of(thread), "usage")
        told(usage, Event(of=tuple(keys), kind="feedback", utility=float(utility)), at)
    return tuple(keys)


def _of_turn(log: AuditLog | None, turn: int, thread: Thread) -> Sequence[str]:
    if log is None:
        raise _refused("no audit log says what a turn admitted", thread)
    found = [entry for entry in log.records() if entry["state"]["turn"] == turn]
    if not found:
        raise _refused(f"no turn {turn}", thread)
    return admitted_in(found[-1])


def _key(thread: Thread, ref: str) -> str:
    """The key of a ref as the thread's states and verdicts have it."""
    near, slash, far = ref.partition("/")
    if slash:
        raise _refused(f"{ref!r} is of another thread: give feedback there on {far!r}", thread)
    if ref.startswith(("doc.", "exp.")):
        return f"{namespace_of(thread).key}:{near}"
    return f"{thread.key}:{near}"


def _refused(what: str, thread: Thread) -> InputError:
    return InputError(
        what,
        where=f"feedback on thread {thread.thread!r}",
        mend="give a committed turn's number or a ref, and a finite number",
    )

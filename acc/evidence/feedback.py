"""Feedback: the utility of a turn's result, recorded for the evidence admitted in the turn."""

from __future__ import annotations

from collections.abc import Sequence

from acc.audit.log import AuditLog
from acc.errors import InputError
from acc.evidence.usage import Event, admitted_in, checked_utility, evidence_key, is_named, told
from acc.state.model import ROOT
from acc.stores.directory import enrolled
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.stores.shelf import Shelf, document_spaces, namespace_of
from acc.thread.branch import Branch
from acc.thread.log import ThreadLog
from acc.turn.observations import is_ingested


def opened(store: ArtifactStore, thread: Thread, ref: str) -> str:
    """Return the whole text behind ``ref`` if ``thread`` may see it; "" if there is none.

    Args:
        store: Any store.
        thread: The thread with the citing state.
        ref: A document or one of its parts (``doc.8f1c22ab90.2``), or an observation of another
            thread of the same user and agent (``294d8b34/u1``).

    Raises:
        StoreError: The store cannot be read.
    """
    if is_ingested(ref):
        return "".join(part.text for part in documents_named(store, thread, ref))
    near, slash, far = ref.partition("/")
    if not (slash and near and thread.has_user):
        return ""
    others = enrolled(store, namespace_of(thread))
    return next((_said(store, other, far) for other in others if other.key.startswith(near)), "")


def documents_named(store: ArtifactStore, thread: Thread, ref: str) -> list[Artifact]:
    """Return the parts that ``ref`` names of a document visible to ``thread``, in order.

    Raises:
        StoreError: The store cannot be read.
    """
    for space in document_spaces(namespace_of(thread)):
        records = Shelf(store, space, "documents").records()
        if named := [a for a in records if is_named(a, ref)]:
            return named
    return []


def _said(store: ArtifactStore, thread: Thread, ref: str) -> str:
    branch = Branch(store, thread, ROOT)
    branch.refresh()
    return branch.text(ref)


def give_feedback(
    store: ArtifactStore,
    log: AuditLog | None,
    thread: Thread,
    target: int | str,
    utility: float,
    at: str,
    known: ThreadLog | None = None,
) -> tuple[str, ...]:
    """Write feedback atomically.

    It is written in the thread's own namespace. A prune of documents in another namespace, which
    the thread may see, reads it there.

    Args:
        store: The store of the feedback.
        log: The thread's audit log, which knows the evidence that a turn admitted.
        thread: The thread.
        target: A turn's number, for its admitted evidence; or a ref of the thread, of a document or
            one of its parts, or of an experience.
        utility: Any finite number; higher is better. Policies compare it with their beta.
        at: The time.
        known: The thread's log, if it is open; otherwise it is read.

    Returns:
        Keys of the concerned evidence; none if the turn admitted nothing.

    Raises:
        InputError: There is no such turn or evidence, or the utility is not a finite number.
        StoreError: The feedback cannot be written.
        AuditError: The audit log cannot be read.
    """
    worth = checked_utility(utility, f"feedback on thread {thread.thread!r}")
    if isinstance(target, bool) or not isinstance(target, int | str):
        raise _refused(f"feedback on {type(target).__name__}", thread)
    if isinstance(target, int):
        keys = _of_turn(log, target, thread)
    else:
        keys = _of_ref(store, log, target, known or ThreadLog(store, thread, lambda: at))
    if keys:
        usage = Shelf(store, namespace_of(thread), "usage")
        told(usage, Event(of=tuple(keys), kind="feedback", utility=worth), at)
    return tuple(keys)


def _of_turn(log: AuditLog | None, turn: int, thread: Thread) -> Sequence[str]:
    if log is None:
        raise _refused("no audit log says what a turn admitted", thread)
    found = [entry for entry in log.records() if entry["state"]["turn"] == turn]
    if not found:
        raise _refused(f"no turn {turn}", thread)
    return admitted_in(found[-1])


def _of_ref(
    store: ArtifactStore, log: AuditLog | None, ref: str, known: ThreadLog
) -> Sequence[str]:
    """Return keys of the evidence that a ref names in the thread's states and verdicts."""
    thread = known.thread
    _, slash, far = ref.partition("/")
    if slash:
        raise _refused(f"{ref!r} is of another thread: give feedback there on {far!r}", thread)
    if is_ingested(ref):
        named = documents_named(store, thread, ref)
    elif ref.startswith("exp."):
        records = Shelf(store, namespace_of(thread), "experiences").records()
        named = [a for a in records if is_named(a, ref)]
    else:
        newest = log.newest_by_branch() if log is not None else ()
        branches = [ROOT, *(entry["state"]["branch"] for entry in newest)]
        named = [a for branch in branches for a in known.branch(branch).parts(ref)]
    if not named:
        raise _refused(f"no evidence {ref!r}", thread)
    return list(dict.fromkeys(map(evidence_key, named)))


def _refused(what: str, thread: Thread) -> InputError:
    return InputError(
        what,
        where=f"feedback on thread {thread.thread!r}",
        hint="give a committed turn's number or a ref, and a finite number",
    )

"""Evidence that a ref names: read it, hold it, and record feedback on it."""

from __future__ import annotations

from collections.abc import Sequence

from acc.audit.log import AuditLog
from acc.errors import InputError
from acc.evidence.usage import (
    Event,
    admitted_in,
    checked_utility,
    evidence_key,
    hold_record,
    holds,
    is_named,
    record_event,
)
from acc.state.model import ROOT
from acc.stores.directory import document_spaces, enrolled, namespace_of
from acc.stores.protocol import Artifact, ArtifactStore, Thread, managed
from acc.stores.shelf import Shelf
from acc.thread.branch import Branch
from acc.thread.log import ThreadLog
from acc.turn.observations import is_ingested


def text_behind(store: ArtifactStore, thread: Thread, ref: str) -> str:
    """Return the whole text behind ``ref`` if ``thread`` may see it; "" if there is none.

    The ref names a document or one of its parts (``doc.8f1c22ab90.2``), or an observation of another
    thread of the same user and agent (``294d8b34/u1``).
    """
    if is_ingested(ref):
        return "".join(part.text for part in document_parts(store, thread, ref))
    near, slash, far = ref.partition("/")
    if not (slash and near and thread.has_user):
        return ""
    others = enrolled(store, namespace_of(thread))
    return next((_text_of(store, other, far) for other in others if other.key.startswith(near)), "")


def document_parts(store: ArtifactStore, thread: Thread, ref: str) -> list[Artifact]:
    """Return the parts that ``ref`` names of a document visible to ``thread``, in order."""
    for space in document_spaces(namespace_of(thread)):
        records = Shelf(store, space, "documents").records()
        if named := [a for a in records if is_named(a, ref)]:
            return named
    return []


def _text_of(store: ArtifactStore, thread: Thread, ref: str) -> str:
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
    """Write feedback atomically, in the thread's own namespace.

    A prune of documents in another namespace, which the thread may see, reads it there.

    The target is a turn's number, for its admitted evidence, which the audit log knows; or a ref of the thread,
    of a document or one of its parts, or of an experience. ``known`` is the thread's log, if it is open.

    Returns:
        Keys of the concerned evidence; none if the turn admitted nothing.

    Raises:
        InputError: There is no such turn or evidence, or the utility is not a finite number.
    """
    worth = checked_utility(utility, f"feedback on thread {thread.thread!r}")
    if isinstance(target, bool) or not isinstance(target, int | str):
        raise _refused(f"the target of feedback is a {type(target).__name__}", thread)
    if isinstance(target, int):
        keys = _of_turn(log, target, thread)
    else:
        keys = _of_ref(store, log, target, known or ThreadLog(store, thread, lambda: at))
    if keys:
        usage = Shelf(store, namespace_of(thread), "usage")
        record_event(usage, Event(of=tuple(keys), kind="feedback", utility=worth), at)
    return tuple(keys)


def _of_turn(log: AuditLog | None, turn: int, thread: Thread) -> Sequence[str]:
    if log is None:
        raise _refused("without an audit log, the evidence of a turn is not known", thread)
    found = [entry for entry in log.records() if entry["state"]["turn"] == turn]
    if not found:
        raise _refused(f"the audit log has no turn {turn}", thread)
    return list(dict.fromkeys(admitted_in(found[-1])))


def _of_ref(
    store: ArtifactStore, log: AuditLog | None, ref: str, known: ThreadLog
) -> Sequence[str]:
    """Return keys of the evidence that a ref names in the thread's states and verdicts."""
    thread = known.thread
    _, slash, far = ref.partition("/")
    if slash:
        raise _refused(f"{ref!r} belongs to another thread: give feedback there on {far!r}", thread)
    if is_ingested(ref):
        named = document_parts(store, thread, ref)
    elif ref.startswith("exp."):
        records = Shelf(store, namespace_of(thread), "experiences").records()
        named = [a for a in records if is_named(a, ref)]
    else:
        newest = log.newest_by_branch() if log is not None else ()
        branches = [ROOT, *(entry["state"]["branch"] for entry in newest)]
        named = [a for branch in branches for a in known.branch(branch).parts(ref)]
    if not named:
        raise _refused(f"there is no evidence {ref!r}", thread)
    return list(dict.fromkeys(map(evidence_key, named)))


def _refused(what: str, thread: Thread) -> InputError:
    return InputError(
        what,
        where=f"feedback on thread {thread.thread!r}",
        hint="give a committed turn's number or a ref, and a finite number",
    )


def hold(usage: Shelf, owner: Thread, ref: str, reason: str, at: str) -> None:
    """Hold the evidence that ``ref`` of ``owner`` names; an empty ``ref`` holds the thread.

    The owner of documents and experiences is the namespace, whose shelf ``usage`` is. The reason says who asks
    for the hold, and why.

    Raises:
        InputError: There is no reason, or no such evidence: the hold would protect nothing.
    """
    if not reason.strip():
        raise InputError(
            "a hold needs a reason",
            where=ref or owner.thread,
            hint="give the reason: who asks for the hold, and why",
        )
    store, tenant = managed(usage.store), owner.tenant
    records = store.get(tenant, store.ids(tenant, thread=owner.key))
    if not any(is_named(record, ref) or not ref for record in records):
        raise InputError(
            f"nothing to hold: there is no evidence {ref or owner.thread!r}",
            where=f"thread {owner.thread!r}, user {owner.user!r}, agent {owner.agent!r}",
            hint="find the evidence with acc search, then name its thread, user and agent",
        )
    usage.append([hold_record(f"{owner.key}:{ref}", reason, at)])


def release(usage: Shelf, owner: Thread, ref: str, at: str) -> None:
    """Release a hold; raise an `InputError` if there is none."""
    key = f"{owner.key}:{ref}"
    if key not in holds(usage.records()).reasons:
        raise InputError(
            "this evidence is not held", where=ref or owner.thread, hint="list the holds first"
        )
    usage.append([hold_record(key, "", at, held=False)])

"""Opening by its ref what a state cites and its own thread does not hold: documents, the user's other threads."""

from __future__ import annotations

from acc.branch import Branch
from acc.evidence.directory import enrolled
from acc.evidence.shelf import Shelf, document_spaces, namespace_of
from acc.evidence.usage import is_named
from acc.refs import is_ingested
from acc.state import ROOT
from acc.store import Artifact, ArtifactStore, Thread


def opened(store: ArtifactStore, thread: Thread, ref: str) -> str:
    """The whole text behind ``ref``, as far as ``thread`` may see it; "" where there is none.

    Args:
        store: Any store.
        thread: Whose state cites it.
        ref: A document or one of its parts (``doc.8f1c22ab90.2``), or what another thread of the same
            user and agent said (``294d8b34/u1``).

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
    """The parts that ``ref`` names of a document that ``thread`` may see, in order.

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

"""What stays in the place of a deleted record, so that logs can be read past it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from acc.errors import StateError, StoreError
from acc.laws.reasons import Reason
from acc.state import CompressedCognitiveState
from acc.store import Artifact, ArtifactStore, ManagedStore

if TYPE_CHECKING:
    from acc.branch import Branch

ERASED = "erased"
"""Reason on the tombstone of what was erased."""

_DIGEST = re.compile("[0-9a-f]{24}")
"""The form of the ids that a message without one gets: a digest of its words."""

Why = Literal["erased", "pruned", "overtaken"]


def buried(artifact: Artifact, why: Why, at: str) -> Artifact:
    """The record that takes the place of ``artifact``: where it stood, and nothing it said.

    That a rule was retired outlives the words of it: such a record stays, empty, or the old
    rule could be recalled as if it still held. After a prune the identity stays too, by which a
    retry is recognised; it is a digest of the words, so an erasure takes it. The id of the chat
    message stays, so that a graph whose checkpoint still has the message does not store it again;
    but not one that `acc.integrations.messages` may have made from the words.
    """
    told = why == "erased" and _DIGEST.fullmatch(artifact.message)
    kept = {
        "at": at, "text": "", "call_id": "", "message": "" if told else artifact.message,
        "part": artifact.part, "parts": artifact.parts,
    }  # fmt: skip
    if marks_retirement(artifact):
        return artifact.model_copy(
            update={**kept, "identity": _identity(artifact, why), "name": ""}
        )
    return artifact.model_copy(
        update={
            **kept, "kind": "tombstone", "name": "", "sources": (), "reason": why, "trust": None,
            "identity": _identity(artifact, why),
        }
    )  # fmt: skip


def is_grave(artifact: Artifact) -> bool:
    """Whether an erasure has been here: nothing of the record is left but its place."""
    return artifact.identity == f"{ERASED}:{artifact.id}"


def marks_retirement(artifact: Artifact) -> bool:
    """Whether the record says that a rule or goal was retired."""
    return artifact.kind == "set_aside" and artifact.reason == Reason.RETIRED.value


def managed(store: ArtifactStore) -> ManagedStore:
    """``store``, which offers what retention and erasure need.

    Raises:
        StoreError: It does not.
    """
    if isinstance(store, ManagedStore):
        return store
    raise StoreError(
        "the store cannot list, replace and delete",
        where=type(store).__name__,
        mend="give it the methods of acc.store.ManagedStore; acc.testing.check_store proves them",
    )


def refuse_erased(branch: Branch, state: CompressedCognitiveState) -> None:
    """Raise where ``state`` still says what was erased since it was committed.

    Raises:
        StateError: An item rests on erased evidence alone, or such evidence is pending.
    """
    if not branch.erased:
        return
    resting = [i.id for _, i in state.items() if i.sources and branch.erased.issuperset(i.sources)]
    resting += [o.ref for o in state.pending if o.ref in branch.erased]
    if resting:
        raise StateError(
            f"the state still holds what was erased: {', '.join(resting)}",
            where=f"version {state.version}, branch {state.branch}",
            mend="go on from last_state(thread), and erase the checkpoints that hold the old one",
        )


def _identity(artifact: Artifact, why: Why) -> str:
    return artifact.identity if why == "pruned" else f"{why}:{artifact.id}"

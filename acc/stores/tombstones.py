"""Tombstones: what remains of a record that was erased, pruned, or placed by a writer that lost a race."""

from __future__ import annotations

import re
from typing import Any, Literal

from acc.state.reasons import Reason
from acc.stores.protocol import Artifact

ERASED = "erased"
"""Reason on the tombstone of an erased record."""

_DIGEST = re.compile("[0-9a-f]{24}")
"""Form of the ids of messages that came without one: a digest of the words."""

Why = Literal["erased", "pruned", "overtaken"]


def tombstone_of(artifact: Artifact, why: Why, at: str) -> Artifact:
    """Return the record that replaces ``artifact``: its place without its content.

    - The record of a retirement keeps its kind: without it, recall could return the old rule as valid.
    - A prune keeps the identity, which recognizes a retry. An erasure removes it: it is a digest of
      the words.
    - The id of a chat message stays: a graph with that message in its checkpoint must not store it
      again. An erasure removes an id that `acc.integrations.messages` may have made from the words.
    """
    is_digest = why == "erased" and _DIGEST.fullmatch(artifact.message)
    emptied: dict[str, Any] = {
        "at": at, "text": "", "call_id": "", "name": "",
        "message": "" if is_digest else artifact.message,
        "identity": artifact.identity if why == "pruned" else f"{why}:{artifact.id}",
    }  # fmt: skip
    if not marks_retirement(artifact):
        emptied |= {"kind": "tombstone", "sources": (), "reason": why, "trust": None}
    return artifact.model_copy(update=emptied)


def is_erased(artifact: Artifact) -> bool:
    """Return whether the record was erased: only its place is left."""
    return artifact.identity == f"{ERASED}:{artifact.id}"


def marks_retirement(artifact: Artifact) -> bool:
    """Return whether the record says that a rule or goal was retired."""
    return artifact.kind == "set_aside" and artifact.reason == Reason.RETIRED.value

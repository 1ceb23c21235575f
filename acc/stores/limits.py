"""Limits of a record, equal for every backend: records can move between backends.

The limits stay within the hosted Chroma's quotas (documents of 16,384 bytes, 32 metadata values of
4,096 bytes). A record beyond a limit is refused whole, never cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from acc.errors import StoreError
from acc.stores.protocol import RECORD_BYTES, Artifact

LABEL_BYTES = 48_000
"""Limit, in UTF-8 bytes, of all texts of a record except ``text``, including the tenant."""

_INTEGER = 1 << 63


def labels(tenant: str, artifact: Artifact) -> dict[str, str]:
    """Return all texts of a record except ``text``, by name; any sources as a JSON array."""
    sources = artifact.sources
    return {
        "tenant": tenant,
        "id": artifact.id,
        "thread_id": artifact.thread,
        "branch": artifact.branch,
        "ref": artifact.ref,
        "name": artifact.name,
        "call_id": artifact.call_id,
        "message": artifact.message,
        "identity": artifact.identity,
        "sources": json.dumps(sources, ensure_ascii=False) if sources else "",
        "reason": artifact.reason,
        "at": artifact.at,
    }


def check_storable(artifact: Artifact, texts: Mapping[str, str]) -> None:
    """Check that every backend can keep a record without loss; ``texts`` are its `labels`.

    Raises:
        StoreError: Text or labels are too long, there is a lone surrogate, or a number exceeds
            64 bits.
    """
    if _size("text", artifact.text, artifact) > RECORD_BYTES:
        raise _refusal(
            f"the text of a record is over {RECORD_BYTES:,} bytes",
            artifact,
            hint="cut it with acc.stores.protocol.split_text and store the parts",
        )
    sizes = (_size(name, value, artifact) for name, value in texts.items())
    if sum(sizes) > LABEL_BYTES:
        raise _refusal(
            f"names, sources and reason of a record are over {LABEL_BYTES:,} bytes together",
            artifact,
            hint="shorten them, and carry long content in the text",
        )
    for number in (artifact.seq, artifact.turn, artifact.part, artifact.parts):
        if not -_INTEGER <= number < _INTEGER:
            raise _refusal(
                "a number of a record does not fit into 64 bits", artifact, hint="count from 1"
            )


def _size(name: str, value: str, artifact: Artifact) -> int:
    if value.isascii():
        return len(value)
    try:
        return len(value.encode())
    except UnicodeEncodeError as error:
        raise _refusal(
            f"the field {name} of a record holds a lone surrogate, which is no character",
            artifact,
            hint="replace it by U+FFFD, as acc.turn.observations.Observation does",
        ) from error


def _refusal(what: str, artifact: Artifact, *, hint: str) -> StoreError:
    return StoreError(what, where=f"artifact {artifact.id[:80]!a}", hint=hint)

"""An artifact as Chroma keeps it: an id, a document, a vector, flat metadata; and back, equal.

Empty values are left out of the metadata, because each is a row of its own in Chroma's
tables. A value beyond 4,096 bytes continues under ``<key>.1``, ``<key>.2``. An id that Chroma
cannot hold is hashed and kept in the metadata. Within `acc.stores.limits` a record needs at
most 32 keys: 20 of its own, and 12 for what continues.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.errors import StoreError
from acc.store import Artifact
from acc.stores.embedding import embed
from acc.stores.limits import check_storable, labels

if TYPE_CHECKING:
    from array import array

ID_BYTES = 128
VALUE_BYTES = 4_096

ID_KEY = "id"
"""Where the metadata keeps an id that is no id of Chroma's."""

_HASHED = "sha256-"
_EMPTY: Mapping[str, str | int] = {
    "id": "",
    "thread_id": "",
    "branch": "",
    "ref": "",
    "part": 0,
    "parts": 1,
    "name": "",
    "call_id": "",
    "message": "",
    "identity": "",
    "sources": "[]",
    "reason": "",
    "at": "",
}
_NOT_FIELDS = ("tenant", "sha256")


class Row(NamedTuple):
    """One record as `chromadb.Collection.add` takes it.

    Attributes:
        id: `row_id` of the artifact's id.
        document: Its text.
        embedding: `acc.stores.embedding.embed` of its text.
        metadata: Everything else, flat.
    """

    id: str
    document: str
    embedding: array[float]
    metadata: dict[str, str | int]


def row_id(id_: str) -> str:
    """The artifact's id, or its hash where it is empty, long, not plain ASCII, or like a hash."""
    plain = id_.isascii() and id_.isprintable() and not id_.startswith(_HASHED)
    if plain and 0 < len(id_) <= ID_BYTES:
        return id_
    return _HASHED + hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()


def to_rows(tenant: str, artifacts: Iterable[Artifact]) -> list[Row]:
    """The rows of ``artifacts``; of several with one id the first alone.

    Raises:
        StoreError: A record is beyond `acc.stores.limits`.
    """
    rows: dict[str, Row] = {}
    for artifact in artifacts:
        texts = labels(tenant, artifact)
        check_storable(artifact, texts)
        key = row_id(artifact.id)
        if key not in rows:
            metadata = _metadata(key, artifact, texts)
            rows[key] = Row(key, artifact.text, embed(artifact.text), metadata)
    return list(rows.values())


def from_row(key: str, document: str | None, metadata: Mapping[str, Any] | None) -> Artifact:
    """The artifact of a stored row.

    Raises:
        StoreError: The row is damaged, or was changed after it was written.
    """
    text = document or ""
    if not metadata or metadata.get("sha256") != _sha256(text):
        raise StoreError(
            "the text of a record is not the one that was stored",
            where=f"record {key!a}",
            mend="restore the store from a backup",
        )
    try:
        fields = {**_EMPTY, **_joined(metadata)}
        fields["thread"] = fields.pop("thread_id")
        fields["sources"] = json.loads(fields["sources"])
        if not key.startswith(_HASHED):
            fields["id"] = key
        for name in _NOT_FIELDS:
            fields.pop(name, None)
        return Artifact(text=text, **fields)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            "a record cannot be read back",
            where=f"record {key!a}",
            mend="restore the store from a backup; the cause names the field",
        ) from error


def _metadata(key: str, artifact: Artifact, texts: dict[str, str]) -> dict[str, str | int]:
    metadata: dict[str, str | int] = {
        "sha256": _sha256(artifact.text),
        "kind": artifact.kind,
        "channel": artifact.channel.value,
        "seq": artifact.seq,
        "turn": artifact.turn,
    }
    if artifact.trust is not None:
        metadata["trust"] = artifact.trust.word
    if (artifact.part, artifact.parts) != (0, 1):
        metadata |= {"part": artifact.part, "parts": artifact.parts}
    for name, value in texts.items():
        if name == "id" and value == key:
            continue
        if len(value) * 4 <= VALUE_BYTES:
            if value:
                metadata[name] = value
            continue
        for index, piece in enumerate(_pieces(value)):
            metadata[f"{name}.{index}" if index else name] = piece
    return metadata


def _pieces(value: str) -> list[str]:
    data = value.encode()
    pieces = []
    while data:
        piece = data[:VALUE_BYTES].decode(errors="ignore")  # never half a character
        pieces.append(piece)
        data = data[len(piece.encode()) :]
    return pieces


def _joined(metadata: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    continued = []
    for key, value in metadata.items():
        if "." in key:
            name, _, index = key.partition(".")
            continued.append((name, int(index), value))
        else:
            fields[key] = value
    for name, _, value in sorted(continued):
        fields[name] += value
    return fields


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""Rows of a Chroma collection, and calls to it in batches that one call can take."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from acc.errors import StoreError
from acc.stores.embedding import embed
from acc.stores.protocol import Artifact, check_storable, labels

if TYPE_CHECKING:
    from array import array

    from chromadb import Collection


T = TypeVar("T")

ID_BYTES = 128
VALUE_BYTES = 4_096

ID_KEY = "id"
"""Metadata key of an artifact id that cannot be Chroma's id."""

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
    "said_at": "",
}
_NOT_FIELDS = ("tenant", "sha256")


class Row(NamedTuple):
    """One record in the form of `chromadb.Collection.add`; ``metadata`` has all other fields."""

    id: str
    document: str
    embedding: array[float]
    metadata: dict[str, str | int]


def row_id(id_: str) -> str:
    """Return the artifact's id, or its hash if it is empty, long, not plain ASCII, or hash-like."""
    plain = id_.isascii() and id_.isprintable() and not id_.startswith(_HASHED)
    if plain and 0 < len(id_) <= ID_BYTES:
        return id_
    return _HASHED + hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()


def to_rows(tenant: str, artifacts: Iterable[Artifact]) -> list[Row]:
    """Return the rows of ``artifacts``; of several with one id only the first."""
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
    """Return the artifact of a stored row."""
    text = document or ""
    if not metadata or metadata.get("sha256") != _sha256(text):
        raise StoreError(
            "the text of a record was changed after it was stored",
            where=f"record {key!a}",
            hint="restore the store from a backup",
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
            hint="restore the store from a backup; the cause names the wrong field",
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


BATCH = 100
"""Records per write call: Chroma holds the interpreter's lock during the call."""

READ = 300
"""Ids per read call: the hosted Chroma's limit."""


def batches(items: Sequence[T], size: int = BATCH) -> Iterator[list[T]]:
    """Yield ``items`` in lists of at most ``size``."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def list_ids(ask: Any, collection: Collection, *, kind: str, thread: str) -> list[str]:
    """Return the sorted artifact ids of a collection, or of one kind or thread.

    Chroma lists any number of its own ids, but reads the metadata of some 32,000 records at most.
    """
    wanted = [{name: value} for name, value in (("kind", kind), ("thread_id", thread)) if value]
    where: Any = {"$and": wanted} if len(wanted) > 1 else (wanted[0] if wanted else None)
    return _artifact_ids(
        ask, collection, ask(lambda: collection.get(where=where, include=[]))["ids"]
    )


def ids_containing(ask: Any, collection: Collection, word: str) -> list[str]:
    """Return the sorted artifact ids of the records whose text contains ``word`` in any case."""
    pattern: Any = {"$regex": f"(?i){re.escape(word)}"}
    return _artifact_ids(
        ask, collection, ask(lambda: collection.get(where_document=pattern, include=[]))["ids"]
    )


def _artifact_ids(ask: Any, collection: Collection, keys: Sequence[str]) -> list[str]:
    """Return the sorted artifact ids of these rows."""
    plain = [key for key in keys if not key.startswith(_HASHED)]
    hashed = [key for key in keys if key.startswith(_HASHED)]
    return sorted([*plain, *_full_ids(ask, collection, hashed)])


def _full_ids(ask: Any, collection: Collection, hashed: Sequence[str]) -> Iterator[str]:
    """Yield the artifact ids of rows that have a hash as Chroma's id."""
    for batch in batches(hashed, READ):
        found = ask(lambda batch=batch: collection.get(ids=batch, include=["metadatas"]))
        for metadata in found["metadatas"] or ():
            yield str(_joined(metadata)[ID_KEY])


def replace_rows(ask: Any, collection: Collection, rows: Sequence[Row]) -> None:
    """Overwrite existing rows with ``rows``: one call per batch, each atomic."""
    for batch in batches(rows):
        found = ask(
            lambda ids=[row.id for row in batch]: collection.get(ids=ids, include=["metadatas"])
        )
        old = dict(zip(found["ids"], found["metadatas"] or [], strict=True))
        # Chroma merges metadata: keys that the new record lacks must be removed by name.
        metadatas: list[Any] = [
            {**dict.fromkeys(old.get(row.id) or {}), **row.metadata} for row in batch
        ]
        ask(
            lambda batch=batch, metadatas=metadatas: collection.upsert(
                ids=[row.id for row in batch],
                documents=[row.document for row in batch],
                embeddings=as_numpy(row.embedding for row in batch),
                metadatas=metadatas,
            )
        )


def as_numpy(vectors: Iterable[Any]) -> list[Any]:
    """Return vectors, as float32 or its bytes, in the form that Chroma takes."""
    import numpy

    return [numpy.frombuffer(vector, numpy.float32) for vector in vectors]


def delete_rows(ask: Any, collection: Collection, keys: Sequence[str]) -> None:
    """Delete the existing rows of these keys."""
    for batch in batches(list(dict.fromkeys(keys))):
        there = ask(lambda batch=batch: collection.get(ids=batch, include=[]))["ids"]
        if there:
            ask(lambda there=there: collection.delete(ids=there))

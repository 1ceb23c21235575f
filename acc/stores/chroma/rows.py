"""Rows of a Chroma collection, and calls to it in batches that one call can take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.errors import StoreError
from acc.stores.embedding import embed
from acc.stores.limits import check_storable, labels
from acc.stores.protocol import Artifact

if TYPE_CHECKING:
    from array import array

    from chromadb import Collection


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
}
_NOT_FIELDS = ("tenant", "sha256")


class Row(NamedTuple):
    """One record in the form of `chromadb.Collection.add`.

    Attributes:
        id: `row_id` of the artifact's id.
        document: Its text.
        embedding: `acc.stores.embedding.embed` of its text.
        metadata: All other fields, flat.
    """

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
    """Return the rows of ``artifacts``; of several with one id only the first.

    Raises:
        StoreError: A record exceeds `acc.stores.limits`.
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
    """Return the artifact of a stored row.

    Raises:
        StoreError: The row is damaged, or was changed after it was written.
    """
    text = document or ""
    if not metadata or metadata.get("sha256") != _sha256(text):
        raise StoreError(
            "the text of a record is not the one that was stored",
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
            hint="restore the store from a backup; the cause names the field",
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


def listed(ask: Any, collection: Collection, *, kind: str, thread: str) -> list[str]:
    """Return the sorted artifact ids of a collection, or of one kind or thread."""
    wanted = [{name: value} for name, value in (("kind", kind), ("thread_id", thread)) if value]
    where: Any = {"$and": wanted} if len(wanted) > 1 else (wanted[0] if wanted else None)
    found = ask(lambda: collection.get(where=where, include=["metadatas"]))
    metadatas = found["metadatas"] or []
    pairs = zip(found["ids"], metadatas, strict=True)
    return sorted(_full_id(key, metadata or {}) for key, metadata in pairs)


def replaced(ask: Any, collection: Collection, rows: Sequence[Row]) -> None:
    """Overwrite existing rows with ``rows``: one call per batch, each atomic."""
    import numpy

    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        found = ask(
            lambda ids=[row.id for row in batch]: collection.get(ids=ids, include=["metadatas"])
        )
        old = dict(zip(found["ids"], found["metadatas"] or [], strict=True))
        embeddings: list[Any] = [numpy.frombuffer(row.embedding, numpy.float32) for row in batch]
        # Chroma merges metadata: keys that the new record lacks must be removed by name.
        metadatas: list[Any] = [
            {**dict.fromkeys(old.get(row.id) or {}), **row.metadata} for row in batch
        ]
        ask(
            lambda batch=batch, embeddings=embeddings, metadatas=metadatas: collection.upsert(
                ids=[row.id for row in batch],
                documents=[row.document for row in batch],
                embeddings=embeddings,
                metadatas=metadatas,
            )
        )


def embedded_again(ask: Any, collection: Collection, keys: Sequence[str]) -> None:
    """Rebuild the vectors of these records from their texts; repeated texts come last.

    The index is a graph: equal vectors inserted early link to each other and isolate others.
    """
    seen: set[bytes] = set()
    repeated: list[str] = []
    for start in range(0, len(keys), BATCH):
        made = _embedded(ask, collection, keys[start : start + BATCH])
        digests = {key: hashlib.sha256(vector).digest() for key, vector in made.items()}
        first = {digest: key for key, digest in reversed(digests.items()) if digest not in seen}
        seen |= first.keys()
        fresh = {key: made[key] for key in first.values()}
        repeated += [key for key in made if key not in fresh]
        _upserted(ask, collection, fresh)
    for start in range(0, len(repeated), BATCH):
        _upserted(ask, collection, _embedded(ask, collection, repeated[start : start + BATCH]))


def _embedded(ask: Any, collection: Collection, keys: Sequence[str]) -> dict[str, array[float]]:
    rows = ask(lambda: collection.get(ids=list(keys), include=["documents"]))
    pairs = zip(rows["ids"], rows["documents"] or [], strict=True)
    return {key: embed(text or "") for key, text in pairs}


def _upserted(ask: Any, collection: Collection, made: Mapping[str, array[float]]) -> None:
    import numpy

    vectors: list[Any] = [numpy.frombuffer(vector, numpy.float32) for vector in made.values()]
    # An upsert without documents and metadata leaves those unchanged.
    if made:
        ask(lambda: collection.upsert(ids=list(made), embeddings=vectors))


def deleted(ask: Any, collection: Collection, keys: Sequence[str]) -> None:
    """Delete the existing rows of these keys."""
    whole = list(dict.fromkeys(keys))
    for start in range(0, len(whole), BATCH):
        keys = whole[start : start + BATCH]
        there = ask(lambda keys=keys: collection.get(ids=keys, include=[]))["ids"]
        if there:
            ask(lambda there=there: collection.delete(ids=there))


def vectors(ask: Any, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
    """Return vectors by artifact id. A batch with a lost vector is split until the rest is read."""
    keys = {row_id(id_): id_ for id_ in ids}
    found: dict[str, bytes] = {}
    for batch in _batches(ids, READ):
        for key, vector in read(ask, collection, batch):
            found[keys[key]] = vector
    return found


def tells_of_loss(error: BaseException) -> bool:
    """Return whether Chroma failed because its index and its list of ids disagree."""
    return any(words in str(error) for words in ("Error getting embedding", "Error finding id"))


def read(ask: Any, collection: Collection, keys: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield keys with their vectors; skip keys with a lost vector."""
    import numpy

    try:
        got = ask(lambda: collection.get(ids=keys, include=["embeddings"]))
    except BaseException as error:
        if not tells_of_loss(error):
            raise
        half = len(keys) // 2
        if half:
            yield from read(ask, collection, keys[:half])
            yield from read(ask, collection, keys[half:])
        return
    embeddings = got["embeddings"] if got["embeddings"] is not None else []
    for key, vector in zip(got["ids"], embeddings, strict=True):
        yield key, numpy.asarray(vector, numpy.float32).tobytes()


def _batches(ids: Sequence[str], size: int) -> Iterator[list[str]]:
    keys = list(dict.fromkeys(row_id(id_) for id_ in ids))
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _full_id(key: str, metadata: Any) -> str:
    if ID_KEY not in metadata:
        return key
    pieces, index = [str(metadata[ID_KEY])], 1
    while f"{ID_KEY}.{index}" in metadata:
        pieces.append(str(metadata[f"{ID_KEY}.{index}"]))
        index += 1
    return "".join(pieces)

"""An artifact as rows of Chroma, and back: the text as the document, everything else as metadata.

A row has few metadata, as each value is a row of Chroma's SQLite and costs a twentieth of an add: ``thread``
(`key_of`), ``channel``, and its number under the branch's name (`seq_of`). Branch and ref stand in its id. The journal
has the rest. A text over `PART` bytes has several rows: Chroma slows down with long documents, the
hosted one refuses them, and embedders read no more than their first page. Each has their count, too, ``parts``, and
all but the first its number, ``part``.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from acc.artifacts.protocol import Artifact, Branches, ThreadName, key_of
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

FORM = 3
"""Rises with every change of a row's id or metadata: rows of another form cannot be read."""

PART = 8_000
"""Limit of a row's text in UTF-8 bytes."""

_NO_END = 1 << 53


class StoredRow(NamedTuple):
    """One row of the collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]


def rows_of(thread: ThreadName, artifact: Artifact) -> Iterator[StoredRow]:
    """Yield the rows of an artifact. A plain client of Chroma reads thread and channel off each."""
    message = artifact.message
    metadata: dict[str, Any] = {
        "thread": key_of(thread),
        "channel": message.channel.value,
        seq_of(artifact.branch): artifact.seq,
    }
    texts = list(parts(message.text))
    if len(texts) > 1:
        metadata["parts"] = len(texts)
    id_ = id_of(thread, artifact.branch, message.ref)
    for number, text in enumerate(texts):
        part = {"part": number} if number else {}
        yield StoredRow(part_id(id_, number), text, {**metadata, **part})


def seq_of(branch: str) -> str:
    """Return the name of the metadata that holds the number of a message of this branch."""
    return f"seq:{branch}"


def lane_of(thread: ThreadName, branch: str) -> str:
    """Return what the ids of a branch's messages begin with (`acc.artifacts.protocol.ArtifactStore.counts`)."""
    digest = hashlib.sha256(key_of(thread).encode()).hexdigest()[:24]
    return f"{digest}:{branch.replace('%', '%25').replace(':', '%3A')}"


def id_of(thread: ThreadName, branch: str, ref: str) -> str:
    """Return the id of a message: the same for the same message whenever it is added."""
    return f"{lane_of(thread, branch)}:{ref}"


def lane_in(id_: str) -> str:
    """Return the lane of the message that an id is of; empty if it is of a further part of its text."""
    digest, branch, _ = id_.split(":", 2)
    return "" if "+" in digest else f"{digest}:{branch}"


def part_id(id_: str, number: int) -> str:
    """Return the id of a part of a text."""
    return id_.replace(":", f"+{number}:", 1) if number else id_


def whole_id(id_: str) -> str:
    """Return the id of the text that a row is a part of."""
    digest, rest = id_.split(":", 1)
    return f"{digest.partition('+')[0]}:{rest}"


def parts(text: str, most: int = PART) -> Iterator[str]:
    """Yield the text in pieces of at most ``most`` UTF-8 bytes.

    Each ends with a paragraph, a line or a word if its second half has the end of one.
    """
    at = 0
    while at < len(text) or not at:
        head = text[at : at + most].encode()[:most].decode(errors="ignore")
        if at + len(head) < len(text):
            ends = (head.rfind(mark) + len(mark) for mark in ("\n\n", "\n", " "))
            head = head[: next((end for end in ends if end > len(head) // 2), len(head))]
        yield head
        at += max(len(head), 1)


def artifacts_of(rows: Iterable[StoredRow]) -> list[Artifact]:
    """Return the artifacts of these rows, in the thread's order; each needs all its parts.

    Of a message they have channel, ref and text.
    """
    texts: dict[str, dict[int, str]] = {}
    of: dict[str, Mapping[str, Any]] = {}
    for id_, text, metadata in rows:
        whole = whole_id(id_)
        texts.setdefault(whole, {})[int(metadata.get("part", 0))] = text or ""
        of[whole] = metadata
    found = [_artifact(id_, of[id_], [own[n] for n in sorted(own)]) for id_, own in texts.items()]
    return sorted(found, key=lambda each: (each.seq, each.branch, each.message.ref))


def _artifact(id_: str, metadata: Mapping[str, Any], texts: Sequence[str]) -> Artifact:
    _, branch, ref = id_.split(":", 2)
    branch, channel = unquote(branch), Channel(metadata["channel"])
    seen = Observation(channel=channel, ref=ref, text="".join(texts))
    return Artifact(Message(seen, 0), branch, int(metadata[seq_of(branch)]))


def seen_by(branches: Branches, upto: int | None = None) -> dict[str, Any]:
    """Return Chroma's filter for what a branch sees, of whatever thread."""
    lanes = [
        {seq_of(branch): {"$lte": min(n for n in (end, upto, _NO_END) if n is not None)}}
        for branch, end in branches
    ]
    return {"$or": lanes} if len(lanes) > 1 else lanes[0]


def filter_of(thread: ThreadName, *further: Mapping[str, Any]) -> dict[str, Any]:
    """Return Chroma's filter for the rows of a thread that pass further ones."""
    own = {"thread": key_of(thread)}
    return {"$and": [own, *further]} if further else own


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$lte": operator.le,
    "$gt": operator.gt,
}


def passes(metadata: Mapping[str, Any], where: Any) -> bool:
    """Whether a row passes a filter, as Chroma would say."""
    for name, wanted in (where or {}).items():
        if name in ("$and", "$or"):
            fits = (all if name == "$and" else any)(passes(metadata, each) for each in wanted)
        elif isinstance(wanted, Mapping):
            ((compared, value),) = wanted.items()
            fits = name in metadata and _COMPARED[compared](metadata[name], value)
        else:
            fits = metadata.get(name) == wanted
        if not fits:
            return False
    return True

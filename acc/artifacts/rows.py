"""An artifact as rows of Chroma, and back: the text as the document, everything else as metadata.

A text over `PART` bytes has several rows. Chroma slows down with long documents, the hosted one refuses them, and
embedders read no more than their first page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acc.artifacts.protocol import Artifact, Branches, ThreadName, id_of, key_of
from acc.tail import Message
from acc.turn.observations import Observation

PART = 8_000
"""Limit of a row's text in UTF-8 bytes."""


@dataclass(frozen=True)
class Row:
    """One row of the collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]


def rows_of(thread: ThreadName, artifact: Artifact) -> Iterator[Row]:
    """Yield the rows of an artifact. A plain client of Chroma reads thread and channel off each."""
    message, seen = artifact.message, artifact.message.observation
    metadata: dict[str, Any] = {
        "tenant": thread.tenant,
        "user": thread.user,
        "agent": thread.agent,
        "thread": thread.thread,
        "key": key_of(thread),
        "branch": artifact.branch,
        "seq": artifact.seq,
        "turn": message.turn,
        "ref": message.ref,
        "channel": message.channel.value,
        "name": seen.name,
        "at": message.at,
        "call_id": seen.call_id,
        "message": seen.message,
        "said_at": seen.at,
    }
    # Each value costs Chroma a tenth of a millisecond: what nobody named is left out.
    full = {name: value for name, value in metadata.items() if value != ""}
    texts = list(parts(message.text))
    if len(texts) > 1:
        full["parts"] = len(texts)
    id_ = id_of(thread, artifact)
    for number, text in enumerate(texts):
        more = {"part": number} if number else {}
        yield Row(part_id(id_, number), text, {**full, **more})


def part_id(id_: str, number: int) -> str:
    """Return the id of a part of a text."""
    return f"{id_}+{number}" if number else id_


def is_part(ref: str) -> bool:
    """Whether the ref that an id ends with is that of a further part of a text."""
    return "+" in ref


def whole_id(id_: str, metadata: Mapping[str, Any]) -> str:
    """Return the id of the text that a row is a part of."""
    return id_.removesuffix(part_id("", metadata.get("part", 0)))


def parts(text: str) -> Iterator[str]:
    """Yield the text in pieces of at most `PART` bytes, cut at white space where there is some."""
    while len(text) > PART // 4 and len(text.encode()) > PART:
        head = text.encode()[:PART].decode(errors="ignore")
        cut = max(head.rfind(mark) for mark in "\n ") + 1
        end = cut if cut > len(head) // 2 else len(head)
        yield text[:end]
        text = text[end:]
    yield text


def artifacts_of(rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[Artifact]:
    """Return the artifacts of these rows (id, text, metadata), in their order; each needs all its parts."""
    texts: dict[str, dict[int, str]] = {}
    of: dict[str, Mapping[str, Any]] = {}
    for id_, text, metadata in rows:
        whole = whole_id(id_, metadata)
        texts.setdefault(whole, {})[int(metadata.get("part", 0))] = text or ""
        of[whole] = metadata
    found = [_artifact(of[id_], [own[n] for n in sorted(own)]) for id_, own in texts.items()]
    return sorted(found, key=lambda each: (each.seq, each.branch, each.message.ref))


def _artifact(metadata: Mapping[str, Any], texts: Sequence[str]) -> Artifact:
    def said(name: str) -> str:
        return str(metadata.get(name, ""))

    names = ("name", "call_id", "ref", "message", "channel")
    given = {**{name: said(name) for name in names}, "text": "".join(texts), "at": said("said_at")}
    observation = Observation.model_validate(given)
    message = Message(observation, int(metadata.get("turn", 0)), said("at"))
    return Artifact(message, said("branch"), int(metadata["seq"]))


def filter_of(
    thread: ThreadName | None,
    branches: Branches = (),
    upto: int | None = None,
    where: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return Chroma's filter for what a branch of a thread sees; for every thread if it is None."""
    clauses: list[dict[str, Any]] = [{"key": key_of(thread)}] if thread is not None else []
    lanes = [
        {"branch": branch}
        if end is None
        else {"$and": [{"branch": branch}, {"seq": {"$lte": end}}]}
        for branch, end in branches
    ]
    if lanes:
        clauses.append({"$or": lanes} if len(lanes) > 1 else lanes[0])
    if upto is not None:
        clauses.append({"seq": {"$lte": upto}})
    clauses += [{name: value} for name, value in (where or {}).items()]
    return {"$and": clauses} if len(clauses) > 1 else clauses[0]

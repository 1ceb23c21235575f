"""An artifact, and the rows that it is in Chroma: the text as documents, everything else as ids and metadata.

A row has few metadata, as each value is a row of Chroma's SQLite and costs a twentieth of an add: ``thread``
(`key_of`), ``channel``, ``ref``, and its number under the branch's name (`seq_of`). The journal has the rest. A text
over `PART` bytes has several rows: Chroma slows down with long documents, the hosted one refuses them, and embedders
read no more than their first page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from acc.state.tail import Message

PART = 8_000
"""Limit of a row's text in UTF-8 bytes."""


class ThreadName(Protocol):
    """Names a conversation and its owner, as `acc.journal.ThreadKey` does."""

    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def thread(self) -> str: ...


def key_of(thread: ThreadName) -> str:
    """Return what names the thread and no other one: its own name, or JSON of all its names if it has an owner.

    So is a name written that could be such JSON.
    """
    names = {name: getattr(thread, name) for name in ("thread", "tenant", "user", "agent")}
    given = {name: value for name, value in names.items() if value}
    is_plain = list(given) == ["thread"] and not thread.thread.startswith("{")
    return thread.thread if is_plain else json.dumps(given, ensure_ascii=False)


@dataclass(frozen=True)
class Artifact:
    """A message with its place in the journal.

    Attributes:
        message: The message. Its ref is its own on its branch.
        branch: The branch that it was appended to.
        seq: Its number. Numbers rise by one along a branch and the branches that it came from.
    """

    message: Message
    branch: str
    seq: int

    @property
    def name(self) -> tuple[str, str]:
        """Branch and ref, which name it within its thread."""
        return self.branch, self.message.ref


Branches = Sequence[tuple[str, int | None]]
"""A branch's ancestry, the root first: each branch with the last seq that is seen of it; None for no end."""

MAIN: Branches = (("main", None),)
"""The ancestry of a thread's main branch."""


class Row(NamedTuple):
    """One row of the collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]


class Place(NamedTuple):
    """What an id says: the branch of a thread (`lane_of`), the message, and which part of its text."""

    lane: str
    ref: str
    part: int

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return unquote(self.lane.partition(":")[2])


def rows_of(thread: ThreadName, artifact: Artifact) -> Iterator[Row]:
    """Yield the rows of an artifact, the first part first."""
    message = artifact.message
    metadata: dict[str, Any] = {
        "thread": key_of(thread),
        "channel": message.channel.value,
        "ref": message.ref,
        seq_of(artifact.branch): artifact.seq,
    }
    digest, _, branch = lane_of(thread, artifact.branch).partition(":")
    for number, text in enumerate(parts(message.text)):
        part = f"+{number}" if number else ""
        yield Row(f"{digest}{part}:{branch}:{message.ref}", text, metadata)


def seq_of(branch: str) -> str:
    """Return the name of the metadata that holds the number of a message of this branch."""
    return f"seq:{branch}"


def lane_of(thread: ThreadName, branch: str) -> str:
    """Return what names a branch of a thread in ids."""
    digest = hashlib.sha256(key_of(thread).encode()).hexdigest()[:24]
    return f"{digest}:{branch.replace('%', '%25').replace(':', '%3A')}"


def place_of(id_: str) -> Place:
    """Return what an id says."""
    head, branch, ref = id_.split(":", 2)
    digest, _, number = head.partition("+")
    return Place(f"{digest}:{branch}", ref, int(number or 0))


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

"""What the tests of the artifacts share: messages, and a journal of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from acc.artifacts.protocol import Artifact, ThreadName
from acc.journal import ThreadKey
from acc.testing.artifact_conformance import said

THREAD = ThreadKey("a conversation")


@dataclass
class Journal:
    """Messages of one thread's main branch, in order."""

    rows: list[Artifact] = field(default_factory=list)
    read: int = 0

    def write(self, text: str, **fields: object) -> list[Artifact]:
        row = said(len(self.rows), text, **fields)  # type: ignore[arg-type]
        self.rows.append(row)
        return [row]

    def after(self, thread: ThreadName, branch: str, seq: int) -> Iterable[Artifact]:
        self.read += 1
        return [row for row in self.rows if row.branch == branch and row.seq > seq]

    def newest(self) -> Iterable[Artifact]:
        return reversed(self.rows)

    def around(self, numbers: Sequence[int]) -> list[Artifact]:
        return [row for row in self.rows if row.seq in numbers]

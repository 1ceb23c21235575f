"""A memory to erase from, and what is left of words in it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from acc.controller.controller import MemoryController
from acc.evidence.evidence import Evidence
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedPin, ProposedRecord
from acc.state.reading import Reading
from acc.turn.turn import Turn


def opened(folder: Path, **settings: Any) -> MemoryController[Any]:
    """Open a memory without Chroma, for speed."""
    return MemoryController.open(folder, **{"store": "none", **settings})


def talk(memory: MemoryController[Any], *said: str, thread: str = "t") -> Any:
    """Take turns of a user."""
    step: Any = None
    for each in said:
        step = memory.step(None, Turn.said(each), thread=thread)
    return step


def left_of(memory: MemoryController[Any], words: str) -> list[str]:
    """Return where words are left: in the bytes of files, and in records and states, which are compressed."""
    found = []
    for path in (p for p in memory.folder.rglob("*") if p.is_file()):  # type: ignore[union-attr]
        data = path.read_bytes()
        starts = [at for at in range(len(data)) if data.startswith(b"x\x9c", at)]
        texts = (_unpacked(data[at:]) for at in starts)
        if words.encode() in data or any(words.encode() in each for each in texts):
            found.append(str(path))
    for key in memory.threads():
        for head in memory.journal.branches(key):
            found += [
                f"{key} {head.branch} {each.version}"
                for each in memory.journal.commits(key, head.branch)
                if words in repr((each.record, each.state))
            ]
    return found


def _unpacked(data: bytes) -> bytes:
    with suppress(zlib.error):
        return zlib.decompressobj().decompress(data, 1 << 20)
    return b""


def check_gone(memory: MemoryController[Any], *words: str, policies: Sequence[Policy] = ()) -> None:
    """Check that words are nowhere, and that every commit recomputes."""
    assert [left_of(memory, each) for each in words] == [[] for _ in words]
    report = memory.journal.verify([memory.policy, *policies])
    assert report.is_clean, report.damages


class Scripted:
    """A compressor that proposes what it was told, one after the other; then nothing."""

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self.proposals, self.read = list(proposals), list[Reading]()

    def __call__(self, reading: Reading) -> Proposal:
        self.read.append(reading)
        return self.proposals.pop(0) if self.proposals else Proposal()


def pin(quote: str, ref: str, **more: str) -> ProposedPin:
    """Return a proposed rule."""
    return ProposedPin(quote=quote, ref=ref, **more)


def fact(text: str, *refs: str, id: str = "") -> ProposedRecord:
    """Return a proposed fact."""
    subject, _, value = text.partition(": ")
    return ProposedRecord("relational_map", {"text": f"{subject}: {value}"}, refs, id)


def evidence_of(memory: MemoryController[Any]) -> Evidence:
    """Return the evidence of a memory."""
    return Evidence(memory)

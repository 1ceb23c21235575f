"""kill -9 at any point of an ingest of many parts: the document is there whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_evidence_kills import killed

from acc import MemoryController
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.stores.directory import namespace
from acc.stores.shelf import Shelf

pytestmark = pytest.mark.slow

INGEST = """
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.stores.directory import namespace
shelf = Documents.of(memory, namespace(user="ana"))
act(lambda: shelf.add("long.md", [Section(f"Paragraph {n} of lamps.") for n in range(330)]))
"""


def test_a_long_document_is_taken_in_whole_or_not_at_all(tmp_path: Path) -> None:
    empty, space = tmp_path / "empty", namespace(user="ana")
    with MemoryController.open(empty):
        pass
    seen = set()
    for folder, point in killed(INGEST, empty, tmp_path / "kills", most=20):
        with MemoryController.open(folder) as memory:
            there = len(Shelf(memory.artifacts, space, "documents").records())
            said = "; ".join(memory.resumed)
            assert there in (0, 330), (point, said)
            if said:
                assert ("and is complete" in said) == (there == 330), (point, said)
            done = Documents.of(memory, space).add(
                "long.md", [Section(f"Paragraph {n} of lamps.") for n in range(330)]
            )
            assert (done.parts, done.ended) == (330 - there, False)
        seen.add((there, bool(said)))
    assert {(0, False), (0, True), (330, True), (330, False)} <= seen

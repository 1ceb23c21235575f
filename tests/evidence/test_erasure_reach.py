"""How far an erasure reaches: every agent of a user, every part of a document, and no further."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_erasure import SECRET, erased

from acc import MemoryController
from acc.errors import InputError
from acc.evidence.addition import Addition
from acc.evidence.erasure_plan import Target
from acc.evidence.erasure_planning import plan_erasure
from acc.evidence.experience import ExperienceMemory
from acc.evidence.keeping import documents
from acc.evidence.parsing import Section
from acc.evidence.shelf import Shelf, namespace
from acc.stores.memory import MemoryArtifactStore


def test_a_users_documents_and_experiences_go_though_their_agent_never_spoke(
    tmp_path: Path,
) -> None:
    coder = namespace(user="eve", agent="coder")
    with MemoryController(MemoryArtifactStore(), audit=tmp_path / "audit") as memory:
        documents(memory, coder).add("a.md", [Section(SECRET)])
        tasks = ExperienceMemory(
            memory.artifacts, namespace(user="eve", agent="planner"), memory.now,
            addition=Addition("all"),
        )  # fmt: skip
        tasks.finish("call a patient", SECRET)
        documents(memory, namespace(user="bob")).add("b.md", [Section("Bob's words stay.")])
        assert erased(memory, Target(user="eve")).proved
        store = memory.artifacts
        left = store.get("default", store.ids("default"))  # type: ignore[attr-defined]
        assert {a.text for a in left if a.kind == "document"} == {"Bob's words stay."}
        assert not [a for a in left if "eve" in a.text or "Quandt" in a.text]


def test_one_document_goes_by_its_ref_with_all_its_parts_and_no_other(tmp_path: Path) -> None:
    with MemoryController(MemoryArtifactStore(), audit=tmp_path / "audit") as memory:
        shelf = documents(memory, namespace())
        gone = shelf.add("a.md", [Section(SECRET), Section(f"{SECRET} And more.")])
        stays = shelf.add("b.md", [Section("The lamp in room 9 is broken.")])
        for name in ("doc", "doc.", gone.ref[:-1], "exp"):
            with pytest.raises(InputError, match="nothing of the artifact"):
                plan_erasure(memory.artifacts, None, Target(artifact=name))
        assert erased(memory, Target(artifact=gone.ref)).records == 2
        left = Shelf(memory.artifacts, namespace(), "documents").records()
        assert [a.ref for a in left] == [f"{stays.ref}.1"]

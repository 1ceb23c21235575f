"""Documents: ingested in parts, recalled in the threads of their scope, cited, opened, replaced, erased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers_evidence import check_gone, evidence_of, opened, talk

from acc.artifacts.chroma import ChromaStore
from acc.errors import InputError
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.journal.names import home
from acc.turn.turn import Turn

POLICY = "# Refunds\n\nA refund above 500 euros needs the approval of Henrietta Vasquez.\n\n# Travel\n\nTrains only."
QUESTION = "Who has to approve a refund above 500 euros?"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "policy.md"
    path.parent.mkdir()
    path.write_text(POLICY)
    return path


def _admitted(memory: Any, question: str, thread: Any = "t") -> set[str]:
    step = memory.step(None, Turn.said(question), thread=thread)
    return {v.ref for v in step.verdicts if v.reason == "admitted"}


@pytest.mark.parametrize("settings", [{}, {"store": None}])
def test_a_document_is_recalled_opened_and_verified(
    tmp_path: Path, policy: Path, settings: dict[str, Any]
) -> None:
    if "store" in settings:
        settings["store"] = ChromaStore.embedded(tmp_path / "index")
    with opened(tmp_path / "m", **settings) as memory:
        evidence = evidence_of(memory)
        (done,) = evidence.ingest(policy)
        assert (done.is_new, done.parts) == (True, 1)
        talk(memory, "Hello there.", "Let us begin.")
        ref = f"{done.ref}.1"
        assert ref in _admitted(memory, QUESTION)
        assert "Henrietta" in memory.open_evidence(ref, thread="t").text
        assert "Trains only" in memory.open_evidence(done.ref, thread="t").text
        assert memory.journal.verify([memory.policy]).is_clean
        assert not evidence.ingest(policy)[0].is_new
        assert [(d.name, d.parts) for d in evidence.documents()] == [(policy.as_posix(), 1)]
    with opened(tmp_path / "m") as memory:
        assert _admitted(memory, QUESTION, "another")


def test_a_document_is_recalled_for_those_of_its_scope_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        evidence_of(memory).ingest_text("p", POLICY, user="ana")
        ana, bob = ThreadKey("x", user="ana", agent="clerk"), ThreadKey("x", user="bob")
        assert _admitted(memory, QUESTION, ana)
        assert not _admitted(memory, QUESTION, bob)
        assert not _admitted(memory, QUESTION, ThreadKey("x", tenant="other", user="ana"))
        ref = evidence_of(memory).documents()[0].ref
        with pytest.raises(InputError):
            memory.open_evidence(ref, thread=bob)


@pytest.mark.parametrize("target", ["document", "scope"])
def test_a_document_goes_from_all_who_read_it(tmp_path: Path, target: str) -> None:
    with opened(tmp_path) as memory:
        evidence = evidence_of(memory)
        done = evidence.ingest_text("p", POLICY)
        for name in ("a", "b"):
            talk(memory, "Hello there.", thread=name)
            assert _admitted(memory, QUESTION, name)
        talk(memory, "Nothing to do with it.", thread="c")
        named = Target(document=done.ref) if target == "document" else Target(thread=home())
        plan = evidence.plan_erasure(named)
        assert {key.thread for key in plan.threads} == {"a", "b"}
        assert plan.apply().proved
        assert not _admitted(memory, QUESTION, "a")
        check_gone(memory, "Henrietta")
        assert evidence.documents() == ()
        assert evidence.ingest_text("p", POLICY).is_new


def test_a_new_version_replaces_the_old_one(tmp_path: Path) -> None:
    with opened(tmp_path, store=ChromaStore.embedded(tmp_path / "index")) as memory:
        evidence = evidence_of(memory)
        evidence.ingest_text("p", POLICY)
        done = evidence.ingest_text("p", POLICY.replace("Henrietta", "Otto"), replace=True)
        assert done.replaced == 1
        assert "Henrietta" not in repr(evidence.search("Vasquez"))
        assert "Otto" in repr(evidence.search("vasquez"))
        assert memory.index.store is not None
        assert memory.index.store.count(home()) == 1
        assert memory.journal.verify([memory.policy]).is_clean


def test_files_that_cannot_be_ingested(tmp_path: Path) -> None:
    for name, data in (("b.pdf", b"\xff\xfe\xfa"), ("c.txt", b"  \n")):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    with opened(tmp_path / "m") as memory:
        for name in ("b.pdf", "c.txt", "folder", "nothing"):
            with pytest.raises(InputError):
                evidence_of(memory).ingest(tmp_path / name)
        assert list(memory.threads()) == []


def test_secrets_do_not_come_in(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        evidence_of(memory).ingest_text(
            "keys", "The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD here."
        )
        assert "abcdefghijklmnop" not in repr(evidence_of(memory).search("key"))

"""Export, import, heads, health, reindex, search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers_evidence import evidence_of, opened, talk

from acc.artifacts.chroma import ChromaStore
from acc.errors import ConflictError, InputError, StoreError
from acc.evidence.files import read_heads
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."


def test_a_users_threads_move_to_another_memory(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    ana = ThreadKey("x", user="ana")
    with opened(tmp_path / "a") as memory:
        talk(memory, RULE, "And now?", thread=ana)  # type: ignore[arg-type]
        talk(memory, "Hello.", thread=ThreadKey("x", user="bob"))  # type: ignore[arg-type]
        evidence_of(memory).ingest_text("p", "The canteen opens at noon.", user="ana")
        done = evidence_of(memory).export(out, user="ana")
        assert done.threads == 2
        state = memory.last_state(ana)
        with pytest.raises(InputError, match="already"):
            evidence_of(memory).export(out, user="ana")
        with pytest.raises(InputError, match="no such thread"):
            evidence_of(memory).export(tmp_path / "none", user="eve")
    assert all(json.loads(line) for line in out.read_text("utf-8").splitlines())
    with opened(tmp_path / "b", store=ChromaStore.embedded(tmp_path / "index")) as memory:
        evidence = evidence_of(memory)
        assert set(evidence.import_(out)) == {ana, ThreadKey("acc:documents", user="ana")}
        assert memory.last_state(ana) == state
        assert memory.journal.verify([memory.policy]).is_clean
        assert evidence.health().lag == ()
        with pytest.raises(ConflictError):
            evidence.import_(out)


def test_heads_that_were_kept_elsewhere_find_a_rewritten_journal(tmp_path: Path) -> None:
    out = tmp_path / "heads.jsonl"
    with opened(tmp_path / "a") as memory:
        talk(memory, RULE, "How are you?", "Go on.")
        assert evidence_of(memory).write_heads(out) == 1
        heads = read_heads(out)
        talk(memory, "And then?")
        assert memory.journal.verify([memory.policy], anchors=heads).is_clean
        evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert not memory.journal.verify([memory.policy], anchors=heads).is_clean
    with opened(tmp_path / "b") as memory:
        talk(memory, RULE, "How are you?", "Another word.")
        assert not memory.journal.verify([memory.policy], anchors=heads).is_clean
    out.write_text("{}\n")
    with pytest.raises(InputError):
        read_heads(out)


def test_the_doctor_sees_lag_open_turns_and_sizes(tmp_path: Path) -> None:
    store = ChromaStore.embedded(tmp_path / "index")
    with opened(tmp_path, store=store) as memory:
        talk(memory, RULE, "How are you?")
        evidence = evidence_of(memory)
        assert evidence.health().is_well
        memory.record(Turn.said("Recorded.").observations, thread="t")
        store.delete(ThreadKey("t"), ["u2"])
        found = evidence.health()
        assert [(lag.branch, lag.messages) for lag in found.lag] == [("main", 1)]
        assert [turn.messages for turn in found.open] == [1]
        assert (found.threads, found.commits) == (1, 2)
        assert found.sizes["journal"] > 0
        assert not found.is_well
        assert evidence.reindex().messages == 2
        assert evidence.health().lag == ()
        assert store.count() == 2


def test_reindex_drops_what_the_journal_lacks(tmp_path: Path) -> None:
    store = ChromaStore.embedded(tmp_path / "index")
    with opened(tmp_path / "a", store=store) as memory:
        talk(memory, "One.", "Two.", "Three.")
        store.close = lambda: None  # type: ignore[method-assign]
    with opened(tmp_path / "b", store=store) as memory:
        talk(memory, "Other.", thread="b")
        assert store.count() == 4
        assert evidence_of(memory).reindex().messages == 1
        assert store.count() == 1
    with opened(tmp_path / "c") as memory, pytest.raises(InputError):
        evidence_of(memory).reindex()


def test_search_finds_all_words_in_any_case(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, RULE, "Restart it on Sundays. 100% sure.", "Hello.", thread="a")
        talk(memory, "nginx is down", thread=ThreadKey("b", user="ana"))  # type: ignore[arg-type]
        evidence = evidence_of(memory)
        assert {hit.thread.thread for hit in evidence.search("NGINX")} == {"a", "b"}
        assert [hit.ref for hit in evidence.search("restart hours")] == ["u1"]
        assert [hit.thread.thread for hit in evidence.search("nginx", user="ana")] == ["b"]
        assert [hit.ref for hit in evidence.search("100%")] == ["u2"]
        assert evidence.search("nginx", thread="nowhere") == ()
        assert len(evidence.search("n", limit=2)) == 2
        with pytest.raises(InputError):
            evidence.search(" ")


def test_chroma_holds_nothing_of_it(tmp_path: Path) -> None:
    with opened(tmp_path, store=ChromaStore.embedded(tmp_path / "chroma")) as memory:
        talk(memory, RULE, "My brother Karl has had Huntington since last spring.", "And the gate?")
        evidence = evidence_of(memory)
        receipt = evidence.erase(Target(thread="t", refs=("u2",)))
        assert receipt.proved, receipt
        assert receipt.searched.files > 3
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or b"Huntington" not in path.read_bytes()
        assert memory.index.store is not None
        assert memory.index.store.count() == 2
        assert evidence.health().is_well
        talk(memory, "Go on.")
        assert evidence.erase(Target(thread="t")).proved
        assert memory.index.store.count() == 0
        talk(memory, "A new beginning.")
        assert memory.index.store.count() == 1


def test_a_store_that_fails_leaves_it_unproved(tmp_path: Path) -> None:
    class Failing(ChromaStore):
        def delete(self, *_: Any, **__: Any) -> None:
            raise StoreError("no way", where="store", hint="none")

    with opened(tmp_path, store=Failing.embedded(tmp_path / "index")) as memory:
        talk(memory, RULE, "How are you?")
        receipt = evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert not receipt.proved
        assert "no way" in receipt.foreign[0]

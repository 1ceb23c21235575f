"""A process that ends in between loses nothing: another one finds what is committed, and commits the rest."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from driving import KINDS, SAID, Driven, Held, in_front, texts

from acc.audit.verify import verify
from acc.memory import whose
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore

kinds = pytest.mark.parametrize("kind", KINDS)


class Gone:
    """What a killed process left behind, whose commits after the first ``committed`` never came.

    Attributes:
        kept: What its last `finish` returned.
        store, audit: As they stood when it was killed.
    """

    def __init__(self, kind: str, folder: Path, said: Sequence[str], committed: int) -> None:
        held = Held()
        driven = Driven(kind, compressor=held, audit=folder / "alive")
        self.kept: CompressedCognitiveState | None = None
        for place, words in enumerate(said):
            if place == committed:
                held.hold()
            self.kept = driven.turn(self.kept, words)
            if place < committed:
                assert driven.drain()
        self.store, self.audit = InMemoryStore(), folder / "left"
        artifacts = driven.memory.artifacts
        self.store.add("default", artifacts.get("default", artifacts.ids("default")))
        if (folder / "alive").exists():
            shutil.copytree(folder / "alive", self.audit)
        held.let_go()
        driven.close()


@kinds
@pytest.mark.parametrize("committed", [0, 1, 4])
@pytest.mark.parametrize("keeps", [True, False], ids=["checkpointed", "by the log"])
def test_another_process_goes_on_as_if_nothing_had_happened(
    kind: str, committed: int, keeps: bool, tmp_path: Path
) -> None:
    said = SAID[: committed + 3]
    gone = Gone(kind, tmp_path, said, committed)
    again = Driven(kind, store=gone.store, audit=gone.audit)
    assert gone.kept is not None
    state = gone.kept.canonical() if keeps else again.last_state()
    entry = again.begin(state, "So?", wait=None)
    assert entry.waiting == 0
    assert entry.state.hash == in_front(said).hash
    seen = texts(again.memory, entry.state, whose("t"))
    assert seen == [x for words in said for x in (words, f"Answer to {words}")] + ["So?"]
    log = again.memory._audit_of(whose("t"))
    assert log is not None
    policy = again.memory.settings.policy
    assert verify(log, {policy.fingerprint: policy}, head=entry.state.hash) == len(said)


@kinds
def test_until_they_are_committed_the_agent_reads_them(kind: str, tmp_path: Path) -> None:
    gone = Gone(kind, tmp_path, SAID[:3], 1)
    held = Held(open=False)
    again = Driven(kind, store=gone.store, compressor=held, audit=gone.audit)
    entry = again.begin(gone.kept, "So?")
    assert entry.waiting == 2
    assert [o.ref for o in entry.state.pending] == ["u2", "a2", "u3", "a3"]
    assert all(words in entry.reads or f'"{words}"' in entry.reads for words in SAID[1:3])
    held.let_go()
    assert again.close()


@kinds
def test_a_result_that_came_before_the_end_is_joined_from_the_audit_log(
    kind: str, tmp_path: Path
) -> None:
    store = InMemoryStore()
    one = Driven(kind, store=store, audit=tmp_path)
    kept = one.turn(one.turn(None, SAID[0]), SAID[1])
    assert one.drain()

    def never(*_: Any) -> Proposal:
        raise AssertionError("it is committed already")

    again = Driven(kind, store=store, compressor=never, audit=tmp_path)
    entry = again.begin(kept, "So?")
    assert (entry.state, entry.waiting) == (again.memory.last_state("t"), 0)
    assert entry.state.hash == in_front(SAID[:2]).hash


@kinds
def test_a_result_of_another_parent_is_dropped(kind: str, tmp_path: Path) -> None:
    store = InMemoryStore()
    one = Driven(kind, store=store, audit=tmp_path)
    first = one.turn(None, SAID[0])
    before = one.begin(first, "?", wait=None).state
    abandoned = one.turn(before, "Never page ann.")
    kept = one.turn(before, "Never page bob.")
    assert one.drain()
    rules = []
    for state in (kept, abandoned, before):
        again = Driven(kind, store=store, audit=tmp_path)
        found = again.begin(state, "So?", wait=None).state
        rules.append([c.text for c in found.constraints][1:])
    assert rules == [["Never page bob"], ["Never page ann"], []]


@kinds
def test_without_an_audit_log_a_kept_state_has_its_turns_folded_in(kind: str) -> None:
    store = InMemoryStore()
    held = Held(open=False)
    one = Driven(kind, store=store, compressor=held)
    kept = one.turn(None, SAID[0])
    again = Driven(kind, store=InMemoryStore())
    assert again.last_state() is None
    done = again.begin(again.turn(kept, SAID[1]), "So?", wait=None)
    assert [c.text for c in done.state.constraints] == [SAID[0].rstrip(".")]
    held.let_go()


def test_an_event_loop_that_ends_commits_what_waits(tmp_path: Path) -> None:
    driven = Driven("tasks", compressor=Held(), audit=tmp_path)
    state = None
    for words in SAID:
        state = driven.turn(state, words)
    driven.end_loop()
    last = driven.memory.last_state("t")
    assert last is not None
    assert last.hash == in_front().hash


def test_a_lane_of_a_loop_that_died_is_taken_up_in_the_next(tmp_path: Path) -> None:
    held = Held()
    driven = Driven("tasks", compressor=held, audit=tmp_path)
    kept = driven.turn(None, SAID[0])
    driven.drop_loop()
    entry = driven.begin(kept, "So?", wait=None)
    assert entry.state.hash == in_front(SAID[:1]).hash

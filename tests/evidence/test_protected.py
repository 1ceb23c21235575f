"""What no policy takes: what is held, on its own or with its document, when it is planned and when done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_retention import SAID, SPACE, Everything, memory_in, talk

from acc import Turn
from acc.errors import InputError, StoreError
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.evidence.references import hold
from acc.evidence.retention import Retention
from acc.evidence.upkeep import left_half_done
from acc.stores.protocol import Thread
from acc.stores.shelf import Shelf


def test_a_hold_protects_a_ref_and_a_whole_thread(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        talk(memory, *SAID)
        keeper, usage = Retention(memory), Shelf(memory.artifacts, SPACE, "usage")
        gone = {d.ref for d in keeper.plan(SPACE, Everything(), ("observation",)).doomed}
        ref = sorted(gone)[0]
        hold(usage, Thread(thread="inc"), ref, "case 9", memory._now())
        plan = keeper.plan(SPACE, Everything(), ("observation",))
        assert {d.ref for d in plan.doomed} == gone - {ref}
        hold(usage, Thread(thread="inc"), "", "audit of the year", memory._now())
        assert keeper.plan(SPACE, Everything(), ("observation",)).doomed == ()


def test_a_hold_on_a_document_protects_its_parts_and_one_on_nothing_is_refused(
    tmp_path: Path,
) -> None:
    with memory_in(tmp_path) as memory:
        shelf, usage = Documents.of(memory, SPACE), Shelf(memory.artifacts, SPACE, "usage")
        held = shelf.add("a.md", [Section("One."), Section("Two.")])
        shelf.add("b.md", [Section("Three.")])
        hold(usage, SPACE, held.ref, "case 9", memory._now())
        plan = Retention(memory).plan(SPACE, Everything())
        assert {d.ref.rpartition(".")[0] for d in plan.protected} == {held.ref}
        assert len(plan.protected) == 2
        for owner, ref in ((SPACE, "doc.nothing"), (SPACE, "doc"), (Thread(thread="inc"), "")):
            with pytest.raises(InputError, match="nothing to hold"):
                hold(usage, owner, ref, "case 9", memory._now())


def test_what_came_to_be_held_since_the_plan_stays(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        shelf, keeper = Documents.of(memory, SPACE), Retention(memory)
        refs = [shelf.add(f"{n}.md", [Section(f"Page {n}.")]).ref for n in range(3)]
        plan = keeper.plan(SPACE, Everything())
        assert len(plan.ids) == 3
        hold(Shelf(memory.artifacts, SPACE, "usage"), SPACE, refs[1], "case 9", memory._now())
        assert keeper.prune(plan) == 2
        fresh = Shelf(memory.artifacts, SPACE, "documents").records()
        assert [a.ref for a in fresh] == [f"{refs[1]}.1"]
        assert keeper.prune(plan) == 0


def test_a_prune_that_failed_is_ended_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StoreError("no room", where="disk", hint="free some")

    with memory_in(tmp_path) as memory:
        shelf, keeper = Documents.of(memory, SPACE), Retention(memory)
        shelf.add("a.md", [Section("One.")])
        plan = keeper.plan(SPACE, Everything())
        with monkeypatch.context() as patched:
            patched.setattr(memory.artifacts, "replace", full)
            with pytest.raises(StoreError, match="no room"):
                keeper.prune(plan)
        assert left_half_done(memory)
        shelf.add("b.md", [Section("Two.")])
        held = keeper.plan(SPACE, Everything())
        assert keeper.prune(held) == 2
        assert Documents.of(memory, SPACE).shelf.records() == []
        assert not left_half_done(memory)


@pytest.mark.slow
def test_a_branch_that_rested_for_long_keeps_what_it_cites(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        first = memory.step(None, Turn.said(SAID[1]), thread="inc").state
        memory.step(first, Turn.said("A future that rests."), thread="inc")
        state = memory.step(first, Turn.said("Another future."), thread="inc").state
        for number in range(70):
            state = memory.step(state, Turn.said(f"Good, {number}."), thread="inc").state
        plan = Retention(memory).plan(SPACE, Everything(), ("observation",))
        why = {d.ref: d.why for d in plan.protected}
        assert "u1" in why
        assert "u2" in why  # the next turn of the branch that rests reads it

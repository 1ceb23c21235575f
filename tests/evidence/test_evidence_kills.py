"""kill -9 at any point of a prune, an erasure, a vacuum, an import, feedback: it has happened or not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import killed_at, points
from test_erasure import raw, speaks, standing, talk

from acc import MemoryController, Turn
from acc.audit.namespaces import threads_of
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.evidence.portability import export
from acc.evidence.usage import events
from acc.stores.directory import namespace
from acc.stores.protocol import Thread
from acc.stores.shelf import Shelf

pytestmark = pytest.mark.slow

MOST = 14
"""Points of each act at which a process is killed."""

SPACE = namespace()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with two threads, documents and a turn that admitted evidence."""
    folder = tmp_path_factory.mktemp("filled") / "memory"
    with MemoryController.open(folder) as memory:
        talk(memory)
        for number in range(4):
            state = memory.last_state("old")
            memory.step(state, Turn.said(f"Old talk number {number} of lamps."), thread="old")
        found = [Section(f"Paragraph {n} of the handbook about lamps.") for n in range(7)]
        Documents.of(memory, SPACE).add("handbook.md", found)
    return folder


def killed(
    program: str, filled: Path, tmp_path: Path, *more: object, most: int = MOST
) -> Iterator[tuple[Path, int]]:
    """A copy of the memory after each kill; the last after none."""
    whole = tmp_path / "whole"
    shutil.copytree(filled, whole)
    passed = killed_at(program, whole, 0, *more)
    assert passed
    for point in points(passed, most):
        folder = tmp_path / f"killed-{point}"
        shutil.copytree(filled, folder)
        killed_at(program, folder, point, *more)
        yield folder, point
        shutil.rmtree(folder)
    yield whole, passed + 1


ERASE = """
from acc.evidence.erasure_plan import plan_erasure, Target
from acc.evidence.erasure import Erasure
plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(thread="inc", artifact="u3"))
act(lambda: Erasure(memory).erase(plan))
"""


def test_an_erasure_happens_or_does_not(filled: Path, tmp_path: Path) -> None:
    seen = set()
    for folder, point in killed(ERASE, filled, tmp_path):
        with MemoryController.open(folder) as memory:
            said = memory.resumed
            state = memory.last_state("inc")
            assert state is not None
            happened = not speaks(state)
            talk(memory, "inc", "Is bill-db-7 healthy?")
            assert len(memory.artifacts.ids("default", kind="tombstone")) == happened
        assert bool(standing(folder)) != happened, (point, said, standing(folder))
        assert not [name for name in raw(folder) if "erasure.json" in name or "erasing" in name]
        seen.add((happened, bool(said)))
    assert {(False, False), (True, True), (True, False)} <= seen


PRUNE = """
from acc.evidence.deletion import Deletion
from acc.evidence.retention import Retention
from acc.stores.directory import namespace

class Everything(Deletion):
    def __call__(self, usages, t):
        return {usage.key: "all" for usage in usages}

keeper = Retention(memory)
plan = keeper.plan(namespace(), Everything(), ("document", "observation"))
assert len(plan.ids) > 4, plan
act(lambda: keeper.prune(plan))
"""


def test_a_prune_happens_or_does_not(filled: Path, tmp_path: Path) -> None:
    seen = set()
    for folder, point in killed(PRUNE, filled, tmp_path):
        with MemoryController.open(folder) as memory:
            left = len(Shelf(memory.artifacts, SPACE, "documents").records())
            graves = len(memory.artifacts.ids("default", kind="tombstone"))
            assert (left, bool(graves)) in ((7, False), (0, True)), (point, memory.resumed)
            talk(memory, "old", "More of lamps.")
            seen.add((bool(graves), bool(memory.resumed)))
            assert graves in (0, 7), point
    assert (False, False) in seen
    assert (True, False) in seen


VACUUM = """
from acc.evidence.upkeep import vacuum
act(lambda: vacuum(memory))
"""


def test_a_vacuum_loses_nothing(filled: Path, tmp_path: Path) -> None:
    ids: list[str] = []
    told = set()
    for folder, point in killed(VACUUM, filled, tmp_path):
        with MemoryController.open(folder) as memory:
            found = memory.artifacts.ids("default")
            ids = ids or found
            assert found == ids, point
            told.add(bool(memory.resumed))
            talk(memory, "inc", "Is bill-db-7 healthy?")
    assert told == {True, False}


IMPORT = """
from acc.evidence.portability import import_into
act(lambda: import_into(memory, Path(sys.argv[3])))
"""


def test_an_import_happens_or_does_not(filled: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with MemoryController.open(filled) as memory:
        count = export(memory.artifacts, memory.settings.audit, SPACE, out).records
    empty = tmp_path / "empty"
    with MemoryController.open(empty):
        pass
    told = set()
    for folder, point in killed(IMPORT, empty, tmp_path / "kills", out):
        with MemoryController.open(folder) as memory:
            there = len(memory.artifacts.ids("default"))
            assert there in (0, count), (point, memory.resumed)
            threads = threads_of(memory.artifacts, memory.settings.audit, SPACE)
            assert len(threads) == (2 if there else 0)
            assert (memory.last_state("inc") is not None) == bool(there)
            told.add((bool(there), bool(memory.resumed)))
    assert {(False, True), (True, False)} <= told


FEEDBACK = """
from acc.evidence.references import give_feedback
thread = Thread(thread="inc")
log = memory._audit_of(thread)
act(lambda: give_feedback(memory.artifacts, log, thread, "u1", 0.5, "2026-01-01T00:00:00Z"))
"""


def test_feedback_happens_or_does_not(filled: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    for folder, _ in killed(FEEDBACK, filled, tmp_path):
        with MemoryController.open(folder) as memory:
            found = events(Shelf(memory.artifacts, SPACE, "usage").records())
            assert all(e.of == (f"{Thread(thread='inc').key}:u1",) for e in found)
            seen.append(len(found))
    assert set(seen) == {0, 1}
